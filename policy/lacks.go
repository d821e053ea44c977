package policy

import "slices"

// LacksTool reports whether a call is denied only because no rule allows it, and by
// which files: a person may then allow it for once, or add a rule to each of
// them. It is false for what a rule denies and for what the system's policy does
// not allow. Without files, no file says which tools are allowed.
func (p *Policy) LacksTool(req Request) (files []string, ok bool) {
	if p == nil {
		return nil, true
	}
	e := evaluations.Get().(*evaluation)
	e.begin(req)
	defer e.release()
	e.find(p.layers)
	if p.firstDenial(e, nil).by != nil {
		return nil, false
	}
	var d Decision
	var lacks lacking
	granted := p.grantsTools()
	for i, l := range p.layers {
		if v := l.decide(e, e.foundIn(i), granted, &d, nil); v.by != nil && !l.tightening {
			lacks.add(l, v.effect != Deny)
		}
	}
	return lacks.result()
}

// LacksHost is [Policy.LacksTool] for a request to a host.
func (p *Policy) LacksHost(req NetRequest) (files []string, ok bool) {
	if p == nil {
		return nil, true
	}
	host, addr, err := cleanHost(req.Host)
	if err != nil {
		return nil, false
	}
	if req.IP.IsValid() {
		addr = req.IP.Unmap().WithZone("")
	}
	var lacks lacking
	granted := slices.ContainsFunc(p.layers, func(l *layer) bool { return l.network != nil && l.network.grants })
	for _, l := range p.layers {
		if l.network == nil {
			continue
		}
		if slices.ContainsFunc(l.network.deny, func(r NetRule) bool { return r.covers(host, addr) && r.appliesTo(req, false) }) {
			return nil, false
		}
		if l.decides(l.network.grants, granted) {
			r, _ := l.network.allows(host, addr, req)
			lacks.add(l, r != nil)
		}
	}
	return lacks.result()
}

// LacksFile is [Policy.LacksTool] for a file.
func (p *Policy) LacksFile(req FileRequest) (files []string, ok bool) {
	if p == nil {
		return nil, !req.Import
	}
	parts, ok := fileParts(req.Path)
	if !ok || req.Import {
		return nil, false
	}
	var lacks lacking
	granted := slices.ContainsFunc(p.layers, func(l *layer) bool { return l.files != nil && l.files.grants })
	for _, l := range p.layers {
		if l.files == nil {
			continue
		}
		if slices.ContainsFunc(l.files.deny, func(d filePattern) bool { return d.forbids(parts) }) {
			return nil, false
		}
		if l.decides(l.files.grants, granted) {
			lacks.add(l, l.files.allows(parts, req.Write) != nil)
		}
	}
	return lacks.result()
}

// lacking collects the layers that do not allow something.
type lacking struct {
	files                    []string
	decided, denied, managed bool
}

func (x *lacking) add(l *layer, allows bool) {
	x.decided = true
	if allows {
		return
	}
	x.denied = true
	x.managed = x.managed || l.origin == System
	if l.origin != FromCLI {
		x.files = append(x.files, l.file)
	}
}

func (x *lacking) result() ([]string, bool) {
	if x.managed || x.decided && !x.denied {
		return nil, false
	}
	return x.files, true
}
