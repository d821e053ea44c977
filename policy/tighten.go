package policy

// Tightening is the part of a policy that can only forbid: its deny and ask
// rules, what it denies of the network and of files, its limits and its
// languages. It is what a project's policy says before a person has trusted
// it. An ask rule in it asks about calls that another policy allows, and lets
// none pass that no other allows. Nil stays nil.
func (p *Policy) Tightening() *Policy {
	if p == nil {
		return nil
	}
	var layers []*layer
	for _, l := range p.layers {
		t := &layer{
			file: l.file, origin: l.origin, source: l.source, base: l.base, tightens: true,
			conditions: l.conditions, limits: l.limits, languages: l.languages, hasLanguages: l.hasLanguages,
		}
		for _, r := range l.rules {
			if r.effect != Allow {
				t.rules = append(t.rules, r)
			}
		}
		t.index = newIndex(t.rules)
		if l.network != nil {
			t.network = &netRules{deny: l.network.deny}
		}
		if l.files != nil {
			t.files = &fileRules{deny: l.files.deny}
		}
		layers = append(layers, t)
	}
	return newPolicy(layers)
}
