package meter

// plan plans the edits of every function and writes it, one after the
// other.
func (m *module) plan() error {
	p := planner{m: m}
	e := emitter{fuel: m.globals, refillIndex: m.refill()}
	m.code = make([]byte, 0, len(m.src)+len(m.src)/4)
	for i := range m.functions {
		f := &m.functions[i]
		if err := p.function(f); err != nil {
			return err
		}
		body := e.function(f, p.edits, p.extra)
		m.code = append(appendU32(m.code, uint32(len(body))), body...)
		if f.trampoline != 0 {
			body = e.trampoline(m.moved(m.refill()+uint32(i)), m.types[f.typ].paramCount, price(p.regions[0]))
			m.trampolines = append(appendU32(m.trampolines, uint32(len(body))), body...)
		}
		if len(m.code)+len(m.trampolines) > maxCode {
			return errAt(ErrTooLarge, f.base, "more than %d bytes of metered code", maxCode)
		}
	}
	return nil
}

// planner holds buffers that are reused for each function.
type planner struct {
	m       *module
	f       *function
	edits   []edit  // in order
	extra   uint32  // further i32 locals that they need
	regions []int64 // cost of the function's own region, then of each loop's
	frames  []frame
	now     path
}

// path is how many instructions ran since the last charge, minus what it paid
// for, on the shortest and on the longest way to a place. A dead path is
// never taken.
type path struct {
	least, most int64
	live        bool
}

func (p *path) join(q path) {
	switch {
	case !q.live:
	case !p.live:
		*p = q
	default:
		p.least, p.most = min(p.least, q.least), max(p.most, q.most)
	}
}

// frame is an open block.
type frame struct {
	op     byte
	region int
	exit   path // joined paths to its end
	other  path // of an if: the path to its else
}

// price returns what the start of a region is charged.
func price(region int64) int64 { return min(max(region, 1), regionCap) }

func (p *planner) function(f *function) error {
	p.f, p.edits, p.extra = f, p.edits[:0], 0
	if !f.leaf {
		if err := p.measure(); err != nil {
			return err
		}
	}
	d := p.m.decode(f)
	p.frames = append(p.frames[:0], frame{op: opBlock})
	p.now = path{live: true}
	if !f.leaf {
		kind := editCharge
		switch {
		case f.trampoline != 0:
			kind = editChargeEntry
		case f.check:
			kind = editChargeCheck
		}
		p.charge(kind, f.code, price(p.regions[0]))
	}
	var in instruction
	loops := 0
	for len(p.frames) > 0 {
		d.next(&in)
		if d.r.err != nil {
			return d.r.err
		}
		if !f.leaf {
			p.milestone(&in)
		}
		p.rewrite(&in)
		cost := p.cost(&in)
		p.now.least, p.now.most = p.now.least+cost, p.now.most+cost
		p.follow(&d, &in)
		if in.op == opLoop && !f.leaf {
			loops++
			kind := editChargeLoop
			if p.m.takes(f, &in) {
				kind = editChargeCheck
			}
			p.charge(kind, in.end, price(p.regions[loops]))
		}
	}
	return nil
}

// cost returns what an instruction adds to its region, called leaves included.
func (p *planner) cost(in *instruction) int64 {
	c := in.cost(&p.m.o.Weights)
	if in.op == opCall && in.index >= p.m.refill() {
		if callee := &p.m.functions[in.index-p.m.refill()]; callee.leaf {
			c += callee.free
		}
	}
	return c
}

// measure sums the costs of the regions.
func (p *planner) measure() error {
	d := p.m.decode(p.f)
	p.regions = append(p.regions[:0], 0)
	p.frames = append(p.frames[:0], frame{})
	region := 0
	var in instruction
	for len(p.frames) > 0 {
		d.next(&in)
		if d.r.err != nil {
			return d.r.err
		}
		p.regions[region] += p.cost(&in)
		switch in.op {
		case opBlock, opIf:
			p.frames = append(p.frames, frame{region: region})
		case opLoop:
			p.frames = append(p.frames, frame{region: region})
			p.regions = append(p.regions, 0)
			region = len(p.regions) - 1
		case opEnd:
			region = p.frames[len(p.frames)-1].region
			p.frames = p.frames[:len(p.frames)-1]
		}
	}
	return nil
}

// charge adds a charge that pays for what follows.
func (p *planner) charge(kind editKind, at int, cost int64) {
	p.add(edit{kind: kind, at: uint32(at), end: uint32(at), n: cost})
	p.now.least, p.now.most = -cost, -cost
	p.m.info.ChargePoints++
}

// milestone adds a charge where the path since the last one is long: in
// full if every path is long, capped if only some are.
func (p *planner) milestone(in *instruction) {
	if !p.now.live {
		return
	}
	cost := int64(regionCap)
	switch {
	case p.now.least >= lineMax:
		cost = p.now.least
	case p.now.most >= pathMax:
	default:
		return
	}
	p.add(edit{kind: editChargeCheck, at: uint32(in.at), end: uint32(in.at), n: cost})
	p.now.least -= cost
	p.now.most = max(0, p.now.least)
	p.m.info.ChargePoints++
}

// takes reports whether a block has parameters.
func (m *module) takes(f *function, in *instruction) bool {
	r := reader{b: f.body, p: in.at + 1}
	t := r.s33()
	return t >= 0 && m.types[t].paramCount > 0
}

func (p *planner) add(e edit) { p.edits = append(p.edits, e) }

// rewrite adds the edits of one instruction.
func (p *planner) rewrite(in *instruction) {
	m := p.m
	at, end := uint32(in.at), uint32(in.end)
	own := func(kind editKind, cost int64, extra uint32) {
		p.add(edit{kind, at, end, cost})
		p.extra = max(p.extra, extra)
		m.info.ChargePoints++
	}
	switch in.op {
	case opCall, opReturnCall:
		if in.index >= m.refill() {
			p.add(edit{editIndex, at, end, int64(m.moved(in.index))})
		} else if h := m.hosts[in.index]; h.cost > 0 {
			p.add(edit{editChargeCheck, at, at, h.cost})
			m.info.ChargePoints++
		}
	case opRefFunc:
		p.add(edit{editIndex, at, end, int64(m.referred(in.index))})
		m.declare = true
	case opMemoryGrow:
		own(editGrow, m.o.Weights.Page, 2)
	case opAtomic:
		if in.priced() && m.o.Weights.Host > 0 {
			p.add(edit{editChargeCheck, at, at, m.o.Weights.Host})
			m.info.ChargePoints++
		}
	case opMisc:
		switch in.sub {
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
			own(editBytes, bulkBytesShift, 1)
		case miscTableInit, miscTableCopy, miscTableFill:
			own(editEntries, bulkEntriesShift, 1)
		case miscTableGrow:
			own(editGrowTable, bulkEntriesShift, 2)
		}
	}
}

// follow updates the paths through the code.
func (p *planner) follow(d *decoder, in *instruction) {
	top := len(p.frames) - 1
	branch := func(label uint32) {
		if target := &p.frames[top-int(label)]; target.op != opLoop {
			target.exit.join(p.now)
		}
	}
	switch in.op {
	case opBlock, opLoop:
		p.frames = append(p.frames, frame{op: in.op})
	case opIf:
		p.frames = append(p.frames, frame{op: in.op, other: p.now})
	case opElse:
		f := &p.frames[top]
		f.exit.join(p.now)
		p.now, f.other = f.other, path{}
	case opEnd:
		f := p.frames[top]
		p.now.join(f.other)
		p.now.join(f.exit)
		p.frames = p.frames[:top]
	case opBrIf, opBrOnNull, opBrOnNonNull:
		branch(in.index)
	case opBr:
		branch(in.index)
		p.now.live = false
	case opBrTable:
		d.targets(in, branch)
		p.now.live = false
	case opUnreachable, opReturn, opReturnCall, opReturnIndirect, opReturnCallRef:
		p.now.live = false
	}
}
