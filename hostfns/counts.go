package hostfns

import (
	"fmt"
	"sync"
	"time"

	"github.com/wexec/wexec/policy"
)

// decideCounted decides a call and, in the same breath, takes it out of what
// the rules still allow: of sixteen calls at once exactly as many pass as one
// after the other. The denied result of a limit names the rule. What was
// counted can be given back with uncount.
func (r *Run) decideCounted(id string, req policy.Request) (d policy.Decision, counted bool) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Calls = s.byTool
	d = r.table.policy.Decide(req)
	if d.Effect == policy.Deny {
		return d, false
	}
	for _, l := range d.Limits {
		if l.Calls > 0 && s.byRule[l.Rule] >= l.Calls {
			return over(d, l.Rule, fmt.Sprintf("the rule allows no more than %d in a run", l.Calls)), false
		}
	}
	if rule, message := r.table.rates.take(d.Limits, req.Now); rule != "" {
		return over(d, rule, message), false
	}
	s.count(id, d.Limits, 1)
	return d, true
}

// uncount gives back what decideCounted counted for a call that was not made.
func (r *Run) uncount(id string, limits policy.RuleLimits) {
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	r.session.count(id, limits, -1)
}

// count counts calls of a tool, and under the rules that let them through. The
// lock is held.
func (s *Session) count(id string, limits policy.RuleLimits, by int) {
	if s.byTool == nil {
		s.byTool, s.byRule = map[string]int{}, map[string]int{}
	}
	s.byTool[id] += by
	for _, l := range limits {
		s.byRule[l.Rule] += by
	}
}

// over is a decision turned into a denial by a limit of a rule.
func over(d policy.Decision, rule, message string) policy.Decision {
	return policy.Decision{Effect: policy.Deny, Rule: rule, Message: message, Warnings: d.Warnings}
}

// rates counts calls in time, for all runs of a table.
type rates struct {
	mu     sync.Mutex
	byRule map[string]*window
}

// window is the times of the last calls of a rule, oldest first.
type window struct {
	times []time.Time
	next  int
}

// take lets a call pass every rate of its rules, or none. It names the first
// rule that is used up.
func (x *rates) take(limits policy.RuleLimits, now time.Time) (rule, message string) {
	limited := false
	for _, l := range limits {
		limited = limited || l.Rate.N > 0
	}
	if !limited {
		return "", ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byRule == nil {
		x.byRule = map[string]*window{}
	}
	for _, l := range limits {
		if l.Rate.N <= 0 {
			continue
		}
		w := x.byRule[l.Rule]
		if w == nil || cap(w.times) != l.Rate.N {
			w = &window{times: make([]time.Time, 0, l.Rate.N)}
			x.byRule[l.Rule] = w
		}
		if wait := w.wait(now, l.Rate.Per); wait > 0 {
			return l.Rule, fmt.Sprintf("the rule allows %d calls in %s; the next one in %s", l.Rate.N, l.Rate.Per, wait.Round(time.Millisecond))
		}
	}
	for _, l := range limits {
		if l.Rate.N > 0 {
			x.byRule[l.Rule].add(now)
		}
	}
	return "", ""
}

// wait is how long it takes until another call may pass.
func (w *window) wait(now time.Time, per time.Duration) time.Duration {
	if len(w.times) < cap(w.times) {
		return 0
	}
	return w.times[w.next].Add(per).Sub(now)
}

func (w *window) add(now time.Time) {
	if len(w.times) < cap(w.times) {
		w.times = append(w.times, now)
		return
	}
	w.times[w.next] = now
	w.next = (w.next + 1) % len(w.times)
}
