package policy

// Outlook is the best that a call of a tool can come to, whatever its
// arguments: Deny where every call is denied, Ask where none passes without a
// person. It is what search and listings show, and decides nothing.
func (p *Policy) Outlook(tool string) Effect {
	if p == nil {
		return Deny
	}
	drawn := false
	for _, l := range p.layers {
		drawn = drawn || l.draws()
	}
	final, spoke := Allow, false
	for _, l := range p.layers {
		effect, speaks := l.outlook(tool, drawn)
		switch {
		case l.tightens && speaks:
			final = min(final, effect)
		case speaks:
			final, spoke = min(final, effect), true
		}
	}
	if !spoke {
		return Deny
	}
	return final
}

// outlook is the best that one layer can say of a tool.
func (l *layer) outlook(tool string, drawn bool) (effect Effect, speaks bool) {
	mayAsk, mustAsk, mayAllow := false, false, false
	for _, n := range l.index.find(l.rules, tool, nil) {
		r := &l.rules[n]
		switch {
		case r.effect == Deny && r.when == nil:
			return Deny, true
		case r.effect == Ask:
			mayAsk = true
			mustAsk = mustAsk || r.when == nil
		case r.effect == Allow && !(l.origin == FromCLI && drawn):
			mayAllow = true
		}
	}
	switch {
	case mustAsk:
		return Ask, true
	case l.tightens:
		return Deny, false
	case mayAllow:
		return Allow, true
	case l.draws():
		if mayAsk {
			return max(Ask, l.byDefault), true
		}
		return l.byDefault, true
	case mayAsk:
		return Ask, true
	}
	return Deny, false
}
