package meter

import "bytes"

// parse reads everything but the instructions.
func parse(src []byte, o Options) (*module, error) {
	m := &module{o: o, src: src}
	if len(src) > maxModule {
		return nil, errAt(ErrTooLarge, 0, "%d bytes, at most %d are supported", len(src), maxModule)
	}
	if len(src) < 8 || !bytes.Equal(src[:4], []byte("\x00asm")) {
		return nil, errAt(ErrMalformed, 0, "not a WebAssembly module")
	}
	if bytes.Equal(src[4:8], []byte{0x0d, 0, 1, 0}) {
		return nil, errAt(ErrUnsupported, 4, "a component instead of a module")
	}
	if !bytes.Equal(src[4:8], []byte{1, 0, 0, 0}) {
		return nil, errAt(ErrMalformed, 4, "unknown version")
	}
	if err := m.split(); err != nil {
		return nil, err
	}
	for _, s := range m.sections {
		r := s.reader()
		m.section(s.id, r)
		if err := r.done(); err != nil {
			return nil, err
		}
	}
	for i := range m.functions {
		if m.functions[i].body == nil {
			return nil, errAt(ErrMalformed, len(src), "function %d has no code", i)
		}
	}
	m.info.Functions = len(m.functions)
	return m, nil
}

// split finds the sections and checks their order.
func (m *module) split() error {
	r := &reader{b: m.src, p: 8}
	last := 0
	for r.more() {
		at := r.p
		id := r.u8()
		body := r.sub(r.u32())
		if r.err != nil {
			return r.err
		}
		s := section{id, body.base, body.b}
		switch {
		case id == secTag:
			return errAt(ErrUnsupported, at, "exception handling (tag section)")
		case int(id) >= len(order):
			return errAt(ErrMalformed, at, "unknown section %d", id)
		case id == secCustom:
			name := body.name()
			if body.err != nil {
				return body.err
			}
			if name == "name" {
				m.sections = append(m.sections, section{id, body.base + body.p, body.b[body.p:]})
			} else {
				m.info.Dropped = append(m.info.Dropped, name)
			}
		case order[id] <= last:
			return errAt(ErrMalformed, at, "section %d is out of order", id)
		default:
			last = order[id]
			m.sections = append(m.sections, s)
		}
	}
	return r.err
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secCustom:
		m.readNames(r, nil)
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		n := r.count("functions", maxFunctions)
		m.functions = make([]function, n)
		for i := range m.functions {
			m.functions[i].typ = r.index("type", uint32(len(m.types)))
		}
	case secTable:
		m.ownTables = r.count("tables", maxTables)
		for range m.ownTables {
			m.table(r, false, nil)
		}
	case secMemory:
		if n := r.count("memories", maxItems); n > 1 {
			r.fail(ErrUnsupported, "multiple memories")
		} else if n == 1 {
			m.memory(r, false)
		}
	case secGlobal:
		n := r.count("globals", maxItems)
		for range n {
			r.valueType(maxTypes)
			r.u8()
			m.constExpr(r, nil)
			m.globals++
			if r.err != nil {
				return
			}
		}
	case secExport:
		m.readExports(r)
	case secStart:
		f := r.index("function", m.funcs())
		m.info.Start, m.start = true, f
		m.keep(f)
	case secElement:
		m.elementSegments(r, nil)
	case secCode:
		m.readCode(r)
	case secData:
		m.readData(r)
	case secDataCount:
		m.data = r.u32()
		if m.data > maxItems {
			r.fail(ErrTooLarge, "%d data segments", m.data)
		}
	}
}

func (m *module) readTypes(r *reader) {
	m.typeItems = r.count("types", maxTypes)
	for range m.typeItems {
		if r.err != nil {
			return
		}
		form := r.u8()
		if form == 0x4e { // a recursive group
			for range r.count("types", maxTypes) {
				if m.functionType(r, r.u8()); r.err != nil {
					return
				}
			}
			continue
		}
		m.functionType(r, form)
	}
}

func (m *module) functionType(r *reader, form byte) {
	switch form {
	case 0x60:
	case 0x5e, 0x5f, 0x50, 0x4f:
		r.fail(ErrUnsupported, "garbage collection (type form %#x)", form)
		return
	default:
		r.fail(ErrMalformed, "unknown type form %#x", form)
		return
	}
	if len(m.types) >= maxTypes {
		r.fail(ErrTooLarge, "more than %d types", maxTypes)
		return
	}
	var s signature
	s.params, s.paramCount = m.valueTypes(r)
	s.results, _ = m.valueTypes(r)
	m.types = append(m.types, s)
}

func (m *module) valueTypes(r *reader) ([]byte, uint32) {
	n := r.count("value types", maxParams)
	from := r.p
	for range n {
		r.valueType(maxTypes)
	}
	return r.b[min(from, len(r.b)):r.p], n
}

func (m *module) memory(r *reader, imported bool) {
	m.memories++
	if m.memories > 1 {
		r.fail(ErrUnsupported, "multiple memories")
	}
	m.info.Memory = &Memory{Limits: r.limits(), Imported: imported}
}

// table reads a table type and, if w is not nil, writes it to w with its
// limit lowered to the allowed one.
func (m *module) table(r *reader, imported bool, w *[]byte) {
	from := r.p
	init := false
	if r.more() && r.b[r.p] == 0x40 && !imported {
		init = true
		r.u8()
		if z := r.u8(); z != 0 {
			r.fail(ErrMalformed, "unknown table form %#x", z)
		}
	}
	r.valueType(maxTypes)
	head := r.p
	l := r.limits()
	if limit := m.o.MaxTable; limit >= 0 && !imported {
		if w == nil {
			if m.entries += int64(l.Min); m.entries > limit {
				r.fail(ErrTooLarge, "tables of %d entries, at most %d are allowed", m.entries, limit)
				return
			}
		}
		limit = max(limit/int64(m.ownTables), int64(l.Min)) // all tables together may reach it
		if !l.HasMax || int64(l.Max) > limit {
			l.HasMax, l.Max = true, uint32(min(limit, 1<<32-1))
		}
	}
	if w != nil && r.err == nil {
		*w = append(*w, r.b[from:head]...)
		*w = l.append(*w)
	}
	if w == nil {
		m.tables++
		m.info.Tables = append(m.info.Tables, Table{Limits: l, Imported: imported})
		if len(m.info.Tables) > maxTables {
			r.fail(ErrTooLarge, "more than %d tables", maxTables)
		}
	}
	if init {
		m.constExpr(r, w)
	}
}

func (m *module) readImports(r *reader) {
	n := r.count("imports", maxImports)
	for range n {
		from := r.p
		module, end := r.name(), r.p
		im := Import{Module: module, Name: r.name()}
		at := r.p
		kind := r.u8()
		if r.err != nil {
			return
		}
		switch kind {
		case 0:
			t := r.index("type", uint32(len(m.types)))
			if r.err != nil {
				return
			}
			im.Kind, im.Type = Func, m.types[t].String()
			if im.Module == m.o.ImportModule && im.Name == m.o.ImportName {
				r.p = at
				r.fail(ErrReserved, "import %s.%s is reserved for the meter", im.Module, im.Name)
				return
			}
			cost, named := m.o.Weights.Hosts[im.Module+"."+im.Name]
			if !named {
				cost = m.o.Weights.Host
			}
			m.hosts = append(m.hosts, hostFunc{typ: t, cost: cost})
			if to, ok := m.o.Redirect[im.Module+"."+im.Name]; ok {
				m.redirected = append(m.redirected, redirect{from, end, to})
			}
		case 1:
			im.Kind = TableKind
			m.table(r, true, nil)
		case 2:
			im.Kind = MemoryKind
			m.memory(r, true)
		case 3:
			im.Kind = Global
			r.valueType(maxTypes)
			r.u8()
			m.importedG++
			m.globals++
		case 4:
			r.fail(ErrUnsupported, "exception handling (imported tag)")
		default:
			r.fail(ErrMalformed, "unknown kind of import %#x", kind)
		}
		if r.err != nil {
			return
		}
		m.info.Imports = append(m.info.Imports, im)
	}
}

func (m *module) readExports(r *reader) {
	n := r.count("exports", maxItems)
	for range n {
		name := r.name()
		ex := Export{Name: name}
		at := r.p
		kind := r.u8()
		switch kind {
		case 0:
			f := r.index("function", m.funcs())
			if r.err != nil {
				return
			}
			m.keep(f)
			ex.Kind, ex.Type = Func, m.types[m.typeOf(f)].String()
		case 1:
			ex.Kind = TableKind
			r.index("table", m.tables)
		case 2:
			ex.Kind = MemoryKind
			r.index("memory", m.memories)
		case 3:
			ex.Kind = Global
			r.index("global", m.globals)
		case 4:
			r.fail(ErrUnsupported, "exception handling (exported tag)")
		default:
			r.fail(ErrMalformed, "unknown kind of export %#x", kind)
		}
		if name == FuelExport || m.o.Start != "" && name == m.o.Start {
			r.p = at
			r.fail(ErrReserved, "export %s is reserved for the meter", name)
		}
		if r.err != nil {
			return
		}
		m.info.Exports = append(m.info.Exports, ex)
	}
}

func (m *module) typeOf(f uint32) uint32 {
	if n := uint32(len(m.hosts)); f >= n {
		return m.functions[f-n].typ
	}
	return m.hosts[f].typ
}

func (m *module) readCode(r *reader) {
	n := r.count("function bodies", maxFunctions)
	if int(n) != len(m.functions) {
		r.fail(ErrMalformed, "%d bodies for %d functions", n, len(m.functions))
	}
	for i := range n {
		body := r.sub(r.u32())
		if r.err != nil {
			return
		}
		if len(body.b) > maxBody {
			r.fail(ErrTooLarge, "a function of %d bytes", len(body.b))
			return
		}
		f := &m.functions[i]
		f.base, f.body = body.base, body.b
		if body.b == nil {
			f.body = []byte{}
		}
	}
}

func (m *module) readData(r *reader) {
	n := r.count("data segments", maxItems)
	for range n {
		switch mode := r.u32(); mode {
		case 0:
			m.constExpr(r, nil)
		case 1:
		case 2:
			r.index("memory", m.memories)
			m.constExpr(r, nil)
		default:
			r.fail(ErrMalformed, "unknown data segment %d", mode)
		}
		r.bytes(r.u32())
		if r.err != nil {
			return
		}
	}
}

// elementSegments reads the segments and, if w is not nil, writes them with
// the functions' new indices.
func (m *module) elementSegments(r *reader, w *[]byte) {
	n := r.count("element segments", maxItems)
	put := func(v uint32) uint32 {
		if w != nil {
			*w = appendU32(*w, v)
		}
		return v
	}
	put(n)
	for range n {
		mode := put(r.u32())
		if mode > 7 {
			r.fail(ErrMalformed, "unknown element segment %d", mode)
		}
		if r.err != nil {
			return
		}
		passive, explicit, exprs := mode&1 != 0, mode&2 != 0, mode&4 != 0
		if !passive {
			if explicit {
				put(r.index("table", m.tables))
			}
			m.constExpr(r, w)
		}
		if passive || explicit {
			from := r.p
			if exprs {
				r.valueType(maxTypes)
			} else if kind := r.u8(); kind != 0 {
				r.fail(ErrMalformed, "unknown element kind %#x", kind)
			}
			if w != nil {
				*w = append(*w, r.b[from:r.p]...)
			}
		}
		count := put(r.count("elements", maxItems))
		for range count {
			if exprs {
				m.constExpr(r, w)
			} else {
				m.reference(r, w)
			}
			if r.err != nil {
				return
			}
		}
	}
	if w == nil {
		m.elements = n
	}
}

// readNames reads the name section and, if w is not nil, writes the names of
// the module and of its functions with their new indices, for stack
// traces. All of it is checked, because wazero allocates as many
// names as a count claims.
func (m *module) readNames(r *reader, w *[]byte) {
	for r.more() {
		id := r.u8()
		sub := r.sub(r.u32())
		var body []byte
		switch id {
		case 0:
			body = appendName(nil, sub.name())
		case 1:
			n := sub.count("names", maxFunctions)
			body = appendU32(nil, n)
			for range n {
				f := sub.u32()
				name := sub.name()
				if w != nil {
					body = appendName(appendU32(body, m.moved(f)), name)
				}
			}
		case 2: // locals
			for range sub.count("names", maxFunctions) {
				sub.u32()
				for range sub.count("names", maxItems) {
					sub.u32()
					sub.name()
				}
			}
		default:
			sub.p = len(sub.b)
		}
		if err := sub.done(); err != nil {
			r.err = err
			return
		}
		if w != nil && id <= 1 {
			*w = append(appendU32(append(*w, id), uint32(len(body))), body...)
		}
	}
}
