package policy

import (
	"fmt"
	"sync"
	"time"
)

// Decide says what becomes of a call. It is a pure function of the policy and
// the request.
func (p *Policy) Decide(req Request) Decision {
	if p == nil {
		return Decision{Message: "there is no policy, and so no tool may be called"}
	}
	f := factsPool.Get().(*facts)
	defer f.release()
	f.reset(req)
	d, _ := p.decide(f, nil)
	return d
}

// outcome is what became of one rule in a decision.
type outcome struct {
	layer   *layer
	rule    *rule
	matched bool
	err     error // of its condition
}

// verdict is what one layer says.
type verdict struct {
	speaks  bool
	effect  Effect
	rule    string
	message string
	timeout time.Duration
}

// decide is Decide; where watch is not nil it goes through every rule and tells
// each outcome.
func (p *Policy) decide(f *facts, watch func(outcome)) (Decision, *layer) {
	var d Decision
	f.found = f.found[:0]
	f.ends = f.ends[:0]
	for _, l := range p.layers {
		f.found = l.index.find(l.rules, f.id, f.found)
		f.ends = append(f.ends, len(f.found))
	}
	drawn := false
	for _, l := range p.layers {
		drawn = drawn || l.draws()
	}

	// A denial ends the matter, from whichever layer.
	var denial *verdict
	var by *layer
	from := 0
	for i, l := range p.layers {
		for _, n := range f.found[from:f.ends[i]] {
			r := &l.rules[n]
			if r.effect != Deny {
				break
			}
			ok, err := r.matches(f, l)
			if watch != nil {
				watch(outcome{l, r, ok || err != nil, err})
			}
			if (!ok && err == nil) || denial != nil {
				continue
			}
			denial = &verdict{effect: Deny, rule: r.where, message: r.words(f, l, err)}
			by = l
			if watch == nil {
				return Decision{Rule: r.where, Message: denial.message, Warnings: d.Warnings}, l
			}
		}
		from = f.ends[i]
	}

	// Each layer says allow, ask, deny by default, or nothing. The strictest
	// holds.
	var final, tighter verdict
	var tightens *layer
	from = 0
	for i, l := range p.layers {
		v := l.verdict(f, f.found[from:f.ends[i]], drawn, &d, watch)
		from = f.ends[i]
		if l.tightens {
			if v.speaks && !tighter.speaks {
				tighter, tightens = v, l
			}
			continue
		}
		if v.speaks && (!final.speaks || v.effect < final.effect) {
			final, by = v, l
		} else if v.speaks && v.effect == Ask && final.effect == Ask && v.timeout > 0 && (final.timeout == 0 || v.timeout < final.timeout) {
			final.timeout = v.timeout
		}
	}
	switch {
	case !final.speaks || !tighter.speaks:
	case tighter.effect < final.effect:
		final, by = tighter, tightens
	case final.effect == Ask && tighter.timeout > 0 && (final.timeout == 0 || tighter.timeout < final.timeout):
		final.timeout = tighter.timeout
	}
	switch {
	case denial != nil:
		return Decision{Rule: denial.rule, Message: denial.message, Warnings: d.Warnings}, by
	case !final.speaks:
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule allows %s", f.id), Warnings: d.Warnings}, by
	case final.effect == Deny:
		return Decision{Rule: final.rule, Message: final.message, Warnings: d.Warnings}, by
	}
	d.Effect, d.Rule, d.Message = final.effect, final.rule, final.message
	if d.Effect == Ask {
		d.Cache, d.Timeout = 0, final.timeout
	}
	return d, by
}

// verdict goes through the ask and allow rules of a layer that fit the name. It
// gathers limits and warnings in d.
func (l *layer) verdict(f *facts, found []int32, drawn bool, d *Decision, watch func(outcome)) verdict {
	var asks, allows *rule
	var v verdict
	for _, n := range found {
		r := &l.rules[n]
		if r.effect == Deny {
			continue
		}
		if l.origin == FromCLI && r.effect == Allow && drawn {
			if watch != nil {
				watch(outcome{l, r, false, errDrawn})
			}
			continue
		}
		ok, err := r.matches(f, l)
		if err != nil && r.effect == Ask {
			ok = true
		}
		if watch != nil {
			watch(outcome{l, r, ok, err})
		}
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("the condition of %s failed: %s", r.where, err))
		}
		if !ok {
			continue
		}
		if !r.limitless {
			d.Limits = append(d.Limits, r.limits)
		}
		if r.effect == Ask {
			if asks == nil {
				asks = r
				v = verdict{speaks: true, effect: Ask, rule: r.where, message: r.words(f, l, err)}
			}
			if r.timeout > 0 && (v.timeout == 0 || time.Duration(r.timeout) < v.timeout) {
				v.timeout = time.Duration(r.timeout)
			}
			continue
		}
		if allows == nil {
			allows = r
		}
		if r.cache > 0 && (d.Cache == 0 || time.Duration(r.cache) < d.Cache) {
			d.Cache = time.Duration(r.cache)
		}
		if r.rests {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s rests on what server %s says of its own tool", r.where, f.req.Tool.Server))
		}
	}
	switch {
	case asks != nil:
		return v
	case allows != nil:
		return verdict{speaks: true, effect: Allow, rule: allows.where, message: allows.message}
	case !l.draws():
		return verdict{}
	case l.byDefault == Deny:
		return verdict{speaks: true, effect: Deny, rule: l.defaultRule(), message: fmt.Sprintf("no rule allows %s", f.id)}
	}
	return verdict{speaks: true, effect: l.byDefault, rule: l.defaultRule(),
		message: fmt.Sprintf("%s is the default for what no rule names", l.byDefault)}
}

func (l *layer) defaultRule() string {
	if l.defaultAt != "" {
		return l.defaultAt
	}
	return l.file
}

func (p *Policy) file() string {
	for _, l := range p.layers {
		if l.origin != FromCLI && !l.tightens {
			return l.file
		}
	}
	if p.layers[0].tightens {
		return ""
	}
	return p.layers[0].file
}

// matches evaluates the condition of a rule whose pattern fits.
func (r *rule) matches(f *facts, l *layer) (bool, error) {
	if r.when == nil {
		return true, nil
	}
	return r.when.holds(f, l)
}

// words is the message of a rule that decided; err is what went wrong with its
// condition, if anything did.
func (r *rule) words(f *facts, l *layer, err error) string {
	if r.says != nil {
		if text, err := r.says.text(f, l); err == nil && text != "" {
			return text
		}
	}
	switch {
	case r.message != "":
		return r.message
	case err != nil:
		return fmt.Sprintf("the condition of a rule for %s could not be evaluated: %s", r.tool, err)
	case r.effect == Ask:
		return fmt.Sprintf("%s asks first", r.tool)
	case r.effect == Deny:
		return fmt.Sprintf("the policy denies %s", r.tool)
	}
	return ""
}

var factsPool = sync.Pool{New: func() any { return new(facts) }}
