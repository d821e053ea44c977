package policy

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wexec/wexec/policy/internal/expr"
)

// Decide decides a tool call.
func (p *Policy) Decide(req Request) Decision {
	if p == nil {
		return Decision{Message: "there is no policy, so no tool may be called"}
	}
	e := evaluations.Get().(*evaluation)
	e.begin(req)
	d, _ := p.decide(e, nil)
	e.release()
	return d
}

// evaluation is the state of one decision.
type evaluation struct {
	id     string     // server.tool
	facts  expr.Facts // as conditions see them
	masked expr.Facts // as messages see them, if they may differ and are ready
	ready  bool
	found  []int32 // indexes of the rules whose patterns match, layer by layer
	ends   []int   // where each layer's part of found ends
}

var evaluations = sync.Pool{New: func() any { return new(evaluation) }}

func (e *evaluation) begin(req Request) {
	e.id = req.Tool.ID()
	e.facts.Reset(req.call())
}

// release returns e to the pool.
func (e *evaluation) release() {
	e.facts.Reset(expr.Call{})
	e.masked.Reset(expr.Call{})
	e.ready = false
	evaluations.Put(e)
}

func (req *Request) call() expr.Call {
	return expr.Call{Tool: req.Tool, Args: req.Args, Reveal: req.Reveal, Run: expr.Run(req.Run), Actor: expr.Actor(req.Actor), Calls: req.Calls, Now: req.Now}
}

// forMessages returns the facts of which messages may speak.
func (e *evaluation) forMessages() *expr.Facts {
	call := e.facts.Call()
	if call.Reveal == nil {
		return &e.facts
	}
	if !e.ready {
		call.Reveal = nil
		e.masked.Reset(call)
		e.ready = true
	}
	return &e.masked
}

// errOnValues is the failure of a condition that does not fail on tokens. The
// failure itself may quote a value.
var errOnValues = errors.New("it cannot be evaluated for the values of the tokens in the arguments")

// matches evaluates the condition of a rule whose pattern matches. The error
// quotes no value that a token stands for.
func (e *evaluation) matches(r *rule) (bool, error) {
	if r.when == nil {
		return true, nil
	}
	ok, err := r.when.Bool(&e.facts)
	if err == nil || e.facts.Call().Reveal == nil {
		return ok, err
	}
	if _, err = r.when.Bool(e.forMessages()); err == nil {
		err = errOnValues
	}
	return false, err
}

func (e *evaluation) find(layers []*layer) {
	e.found, e.ends = e.found[:0], e.ends[:0]
	for _, l := range layers {
		e.found = l.index.find(l.rules, e.id, e.found)
		e.ends = append(e.ends, len(e.found))
	}
}

// foundIn returns the indexes of the rules of one layer.
func (e *evaluation) foundIn(layer int) []int32 {
	if layer == 0 {
		return e.found[:e.ends[0]]
	}
	return e.found[e.ends[layer-1]:e.ends[layer]]
}

// outcome is the effect of one rule on a decision.
type outcome struct {
	rule    *rule
	matched bool
	err     error // of its condition
}

// errFlagIgnored is the outcome of a rule made of a flag that a file overrules.
var errFlagIgnored = errors.New("a policy file says which tools are allowed, and flags do not widen it")

// verdict is the decision of one layer. The zero verdict is that of a layer that
// has nothing to say about a call.
type verdict struct {
	by      *layer
	effect  Effect
	rule    string
	message string
	timeout time.Duration
	args    []string // Decision.Arguments
	asking  *Asking  // Decision.Asking
	digest  string   // Decision.Digest
}

// askSooner takes the timeout of another verdict that asks if it is shorter.
func (v *verdict) askSooner(other verdict) {
	if v.effect == Ask && other.effect == Ask {
		v.timeout = tighter(v.timeout, other.timeout)
	}
}

// decide decides a call and returns the layer that decided. If watch is not nil
// it evaluates every rule whose pattern matches and passes on each outcome.
func (p *Policy) decide(e *evaluation, watch func(outcome)) (Decision, *layer) {
	e.find(p.layers)
	var d Decision
	final := p.firstDenial(e, watch)
	if final.by == nil || watch != nil {
		if rest := p.strictest(e, &d, watch); final.by == nil {
			final = rest
		}
	}
	switch {
	case final.by == nil:
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule allows %s", e.id), Warnings: d.Warnings}, nil
	case final.effect == Deny:
		return Decision{Rule: final.rule, Message: final.message, Warnings: d.Warnings}, final.by
	}
	d.Effect, d.Rule, d.Message = final.effect, final.rule, final.message
	if d.Effect == Ask {
		d.Cache, d.Timeout, d.Arguments, d.Asking, d.Digest = 0, final.timeout, final.args, final.asking, final.digest
	}
	return d, final.by
}

// firstDenial returns the verdict of the first deny rule that matches.
func (p *Policy) firstDenial(e *evaluation, watch func(outcome)) (denial verdict) {
	for i, l := range p.layers {
		for _, n := range e.foundIn(i) {
			r := &l.rules[n]
			if r.effect != Deny {
				break
			}
			matched, err := e.matches(r)
			matched = matched || err != nil
			if watch != nil {
				watch(outcome{r, matched, err})
			}
			if matched && denial.by == nil {
				denial = verdict{by: l, rule: r.where, message: r.messageFor(e.forMessages, err)}
				if watch == nil {
					return denial
				}
			}
		}
	}
	return denial
}

// strictest returns the strictest verdict of all layers. A tightening layer
// changes only what another layer decided.
func (p *Policy) strictest(e *evaluation, d *Decision, watch func(outcome)) verdict {
	var final, tightening verdict
	granted := p.grantsTools()
	for i, l := range p.layers {
		v := l.decide(e, e.foundIn(i), granted, d, watch)
		switch {
		case v.by == nil:
		case l.tightening && tightening.by == nil:
			tightening = v
		case l.tightening:
		case final.by == nil || v.effect < final.effect:
			final = v
		default:
			final.askSooner(v)
		}
	}
	if final.by != nil && tightening.by != nil {
		if tightening.effect < final.effect {
			return tightening
		}
		final.askSooner(tightening)
	}
	return final
}

// decide evaluates the ask and allow rules of a layer that match the name. It
// collects limits and warnings in d. granted means that a file says which tools
// are allowed, so that flags do not.
func (l *layer) decide(e *evaluation, found []int32, granted bool, d *Decision, watch func(outcome)) verdict {
	var ask, allow, approved verdict
	for _, n := range found {
		r := &l.rules[n]
		if r.effect == Deny {
			continue
		}
		if l.origin == FromCLI && granted {
			if watch != nil {
				watch(outcome{r, false, errFlagIgnored})
			}
			continue
		}
		matched, err := e.matches(r)
		matched = matched || err != nil && r.effect == Ask
		if watch != nil {
			watch(outcome{r, matched, err})
		}
		if err != nil {
			d.Warnings = append(d.Warnings, fmt.Sprintf("the condition of %s failed: %s", r.where, err))
		}
		if !matched {
			continue
		}
		if r.limited {
			d.Limits = append(d.Limits, r.limits)
		}
		d.AskUnknown = d.AskUnknown || r.askUnknown
		d.Idempotent = d.Idempotent || r.idempotent && !l.tightening
		if r.effect == Ask {
			if ask.by == nil {
				ask = verdict{by: l, effect: Ask, rule: r.where, message: r.messageFor(e.forMessages, err), args: r.arguments, asking: r.asking, digest: r.digest}
			}
			ask.timeout = tighter(ask.timeout, r.timeout)
			continue
		}
		v := verdict{by: l, effect: Allow, rule: r.where, message: r.message}
		if allow.by == nil {
			allow = v
		}
		if r.approved && approved.by == nil {
			approved = v
		}
		d.Cache = tighter(d.Cache, r.cache)
		if r.annotations {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s depends on what the server says about its own tool %s", r.where, e.id))
		}
	}
	switch {
	case ask.by != nil && approved.by != nil:
		return approved
	case ask.by != nil:
		return ask
	case allow.by != nil:
		return allow
	case !l.grantsTools():
		return verdict{}
	case l.byDefault == Deny:
		return verdict{by: l, effect: Deny, rule: l.defaultRule(), message: fmt.Sprintf("no rule allows %s", e.id)}
	}
	v := verdict{by: l, effect: l.byDefault, rule: l.defaultRule(), message: l.defaultMessage()}
	if v.effect == Ask {
		v.asking, v.digest = &Asking{File: l.file, Default: true}, defaultDigest
	}
	return v
}

// defaultDigest is the digest of a default that asks.
var defaultDigest = digestOf("default")

func (l *layer) defaultMessage() string {
	return fmt.Sprintf("%s is the default for tools that no rule matches", l.byDefault)
}

// file returns the file that a decision without a rule names.
func (p *Policy) file() string {
	for _, l := range p.layers {
		if l.origin != FromCLI && !l.tightening {
			return l.file
		}
	}
	if p.layers[0].tightening {
		return ""
	}
	return p.layers[0].file
}

// messageFor returns the message of a rule that decided. failed is the error of
// its condition.
func (r *rule) messageFor(facts func() *expr.Facts, failed error) string {
	if r.messageExpr != nil {
		if text, err := r.messageExpr.String(facts()); err == nil && text != "" {
			return text
		}
	}
	switch {
	case r.message != "":
		return r.message
	case failed != nil:
		return fmt.Sprintf("the condition of a rule for %s failed: %s", r.tool, failed)
	case r.effect == Ask:
		return fmt.Sprintf("%s needs approval", r.tool)
	}
	return fmt.Sprintf("the policy denies %s", r.tool)
}

// BestEffect returns the most permissive effect that a call of a tool can have,
// whatever its arguments: Deny if every call is denied, Ask if none passes
// without a person. Search and listings show it. It decides nothing.
func (p *Policy) BestEffect(tool string) Effect {
	best, decided := Allow, false
	for _, l := range p.all() {
		if effect, ok := l.bestEffect(tool, p.grantsTools()); ok {
			best = min(best, effect)
			decided = decided || !l.tightening
		}
	}
	if !decided {
		return Deny
	}
	return best
}

func (l *layer) bestEffect(tool string, granted bool) (effect Effect, decided bool) {
	mayAsk, mustAsk, mayAllow, approved := false, false, false, false
	for _, n := range l.index.find(l.rules, tool, nil) {
		r := &l.rules[n]
		switch {
		case r.effect == Deny && r.when == nil:
			return Deny, true
		case r.effect == Ask:
			mayAsk = true
			mustAsk = mustAsk || r.when == nil
		case r.effect == Allow && !(l.origin == FromCLI && granted):
			mayAllow, approved = true, approved || r.approved
		}
	}
	switch {
	case mustAsk && !approved:
		return Ask, true
	case l.tightening:
		return Deny, false
	case mayAllow:
		return Allow, true
	case l.grantsTools() && mayAsk:
		return max(Ask, l.byDefault), true
	case l.grantsTools():
		return l.byDefault, true
	}
	return Ask, mayAsk
}
