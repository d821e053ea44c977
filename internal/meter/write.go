package meter

// write assembles the metered module.
func (m *module) write() ([]byte, error) {
	// Sections with references to functions come first: they decide
	// which imports need a thunk.
	made := map[byte][]byte{}
	for _, s := range m.sections {
		r := s.reader()
		var body []byte
		switch s.id {
		case secTable:
			body = appendU32(body, r.u32())
			for r.more() {
				m.table(r, false, &body)
			}
		case secGlobal:
			body = m.globalSection(r)
		case secElement:
			m.elementSegments(r, &body)
		case secExport:
			body = m.exportSection(r)
		case secStart:
			if m.o.Start != "" {
				continue // it is exported instead
			}
			body = appendU32(nil, m.moved(r.u32()))
		case secType:
			r.u32()
			body = m.typeSection(r.b[r.p:])
			r.p = len(r.b)
		case secImport:
			n := r.u32()
			body = m.importSection(n, r)
		default:
			continue
		}
		if r.err != nil {
			return nil, r.err
		}
		made[s.id] = body
	}
	for id, build := range map[byte]func() []byte{
		secType:   func() []byte { return m.typeSection(nil) },
		secImport: func() []byte { return m.importSection(0, &reader{}) },
		secGlobal: func() []byte { return m.globalSection(&reader{b: []byte{0}}) },
		secExport: func() []byte { return m.exportSection(&reader{b: []byte{0}}) },
	} {
		if made[id] == nil {
			made[id] = build()
		}
	}
	if m.added() > 0 {
		made[secFunction] = m.functionSection()
		if m.declare && len(m.thunks) > 0 {
			made[secElement] = m.declareThunks(made[secElement])
		}
	}
	return m.assemble(made), nil
}

// assemble writes the sections in order: the new ones, and the
// others unchanged.
func (m *module) assemble(made map[byte][]byte) []byte {
	original := map[byte][]byte{}
	for _, s := range m.sections {
		if s.id != secStart {
			original[s.id] = s.body
		}
	}
	out := make([]byte, 0, len(m.src)+len(m.src)/2)
	out = append(out, m.src[:8]...)
	put := func(id byte, body []byte) {
		out = append(appendU32(append(out, id), uint32(len(body))), body...)
	}
	for _, id := range []byte{secType, secImport, secFunction, secTable, secMemory, secGlobal, secExport,
		secStart, secElement, secDataCount, secCode, secData} {
		body := made[id]
		if body == nil {
			body = original[id]
		}
		if id == secCode && (body != nil || m.added() > 0) {
			body = m.codeSection()
		}
		if body != nil {
			put(id, body)
		}
	}
	if names, ok := original[secCustom]; ok {
		body := appendName(nil, "name")
		m.readNames(&reader{b: names}, &body)
		put(secCustom, body)
	}
	return out
}

func (m *module) typeSection(rest []byte) []byte {
	out := append(appendU32(nil, m.typeItems+1), rest...)
	return append(out, 0x60, 1, 0x7e, 1, 0x7e)
}

// redirect is the name of a module in the section of imports, and its
// replacement.
type redirect struct {
	from, to int
	module   string
}

// importSection writes the n imports that follow in r, and refill.
func (m *module) importSection(n uint32, r *reader) []byte {
	out := appendU32(nil, n+1)
	for _, d := range m.redirected {
		out = appendName(append(out, r.b[r.p:d.from]...), d.module)
		r.p = d.to
	}
	out = append(out, r.b[r.p:]...)
	r.p = len(r.b)
	out = appendName(appendName(out, m.o.ImportModule), m.o.ImportName)
	return appendU32(append(out, 0), uint32(len(m.types)))
}

// added returns the number of added functions: the trampolines, then
// the thunks.
func (m *module) added() uint32 { return m.trampolined + uint32(len(m.thunks)) }

func (m *module) functionSection() []byte {
	out := appendU32(nil, uint32(len(m.functions))+m.added())
	for i := range m.functions {
		out = appendU32(out, m.functions[i].typ)
	}
	for i := range m.functions {
		if m.functions[i].trampoline != 0 {
			out = appendU32(out, m.functions[i].typ)
		}
	}
	for _, t := range m.thunks {
		out = appendU32(out, m.hosts[t].typ)
	}
	return out
}

func (m *module) globalSection(r *reader) []byte {
	n := r.u32()
	out := appendU32(nil, n+1)
	for range n {
		from := r.p
		r.valueType(maxTypes)
		r.u8()
		out = append(out, r.b[from:r.p]...)
		m.constExpr(r, &out)
	}
	return append(out, 0x7e, 1, opI64Const, 0, opEnd)
}

func (m *module) exportSection(r *reader) []byte {
	n, added := r.u32(), uint32(1)
	later := m.info.Start && m.o.Start != ""
	if later {
		added++
	}
	out := appendU32(nil, n+added)
	for range n {
		from := r.p
		r.name()
		kind := r.u8()
		out = append(out, r.b[from:r.p]...)
		i := r.u32()
		if kind == 0 {
			i = m.moved(i)
		}
		out = appendU32(out, i)
	}
	if later {
		out = appendU32(append(appendName(out, m.o.Start), 0), m.moved(m.start))
	}
	out = append(appendName(out, FuelExport), 3)
	return appendU32(out, m.globals)
}

// declareThunks adds a segment that declares the thunks
// for ref.func.
func (m *module) declareThunks(section []byte) []byte {
	r := &reader{b: section}
	n := uint32(0)
	if section != nil {
		n = r.u32()
	}
	out := append(appendU32(nil, n+1), section[r.p:]...)
	out = appendU32(append(out, 3, 0), uint32(len(m.thunks)))
	for _, t := range m.thunks {
		out = appendU32(out, m.hosts[t].thunk)
	}
	return out
}

func (m *module) codeSection() []byte {
	e := emitter{fuel: m.globals, refillIndex: m.refill()}
	out := make([]byte, 0, len(m.code)+len(m.trampolines)+16)
	out = append(appendU32(out, uint32(len(m.functions))+m.added()), m.code...)
	out = append(out, m.trampolines...)
	for _, t := range m.thunks {
		h := m.hosts[t]
		body := e.thunk(t, m.types[h.typ].paramCount, h.cost)
		out = append(appendU32(out, uint32(len(body))), body...)
	}
	return out
}
