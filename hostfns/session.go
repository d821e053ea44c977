package hostfns

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Session is what the runs of a session share: the vault, the counts of calls per
// rule, and calls that a person approved for good. The zero value is ready.
type Session struct {
	ID string

	mu       sync.Mutex
	byRule   map[string]int // calls that were let through, by rule
	byTool   map[string]int // the same, by tool
	approved map[string]bool
	runOnly  []string                 // keys of approved that end with the run
	refused  map[string]bool          // questions that a person answered with no in this run
	open     map[string]chan struct{} // questions that wait for an answer; closed after it
	vault    *privacy.Vault
	asleep   *privacy.VaultState // of the vault that the next run restores; or nil
}

// SessionState is what the runs of a session share, to be kept while the session
// sleeps. It has values of personal data: seal it.
type SessionState struct {
	ByRule   map[string]int      `json:"by_rule,omitempty"`
	ByTool   map[string]int      `json:"by_tool,omitempty"`
	Approved []string            `json:"approved,omitempty"`
	Refused  []string            `json:"refused,omitempty"` // of a run that goes on
	Vault    *privacy.VaultState `json:"vault,omitempty"`
}

// RestoreSession returns a session with a state. With approvals false, calls that a
// person approved for good are asked about again.
func RestoreSession(id string, state SessionState, approvals bool) *Session {
	s := &Session{ID: id, byRule: maps.Clone(state.ByRule), byTool: maps.Clone(state.ByTool), asleep: state.Vault}
	if approvals {
		for _, key := range state.Approved {
			s.approve(key, false)
		}
	}
	for _, question := range state.Refused {
		s.refuse(question)
	}
	return s
}

// State returns what the runs of the session share. No run may be in it.
func (s *Session) State() SessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := SessionState{ByRule: maps.Clone(s.byRule), ByTool: maps.Clone(s.byTool), Approved: slices.Sorted(maps.Keys(s.approved)),
		Refused: slices.Sorted(maps.Keys(s.refused)), Vault: s.asleep}
	if s.vault != nil {
		state.Vault = s.vault.State()
	}
	return state
}

// Issued returns the tokens of the session with their values, for a Go host.
func (s *Session) Issued() []privacy.Issued {
	s.mu.Lock()
	vault := s.vault
	s.mu.Unlock()
	if vault == nil {
		return nil
	}
	return vault.Issued(0)
}

// count counts calls of a tool, and under the rules that allowed them. The lock is
// held.
func (s *Session) count(tool string, limits policy.RuleLimits, by int) {
	if s.byTool == nil {
		s.byTool = map[string]int{}
	}
	if s.byRule == nil {
		s.byRule = map[string]int{}
	}
	s.byTool[tool] += by
	for _, l := range limits {
		s.byRule[l.Rule] += by
	}
}

// uncount takes back a count, for a call that was not sent.
func (s *Session) uncount(tool string, limits policy.RuleLimits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(tool, limits, -1)
}

// calls returns the counts of calls by tool.
func (s *Session) calls() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.byTool)
}

// isApproved reports whether a person approved a call for good.
func (s *Session) isApproved(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approved[key]
}

// approve remembers an approval, for this run or the whole session.
func (s *Session) approve(key string, runOnly bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.approved == nil {
		s.approved = map[string]bool{}
	}
	s.approved[key] = true
	if runOnly {
		s.runOnly = append(s.runOnly, key)
	}
}

// begin begins a question. If one that is the same is open, it returns a channel that
// is closed after its answer, else the function that ends the question.
func (s *Session) begin(question string) (open <-chan struct{}, end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open, ok := s.open[question]; ok {
		return open, nil
	}
	if s.open == nil {
		s.open = map[string]chan struct{}{}
	}
	answered := make(chan struct{})
	s.open[question] = answered
	return nil, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, question)
		close(answered)
	}
}

// isRefused reports whether a person answered a question with no in this run.
func (s *Session) isRefused(question string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[question]
}

// refuse remembers a no for this run: a program does not get a yes by asking again.
func (s *Session) refuse(question string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refused == nil {
		s.refused = map[string]bool{}
	}
	s.refused[question] = true
}

// endRun forgets the answers that were for one run.
func (s *Session) endRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.runOnly {
		delete(s.approved, key)
	}
	s.runOnly, s.refused = nil, nil
}

// decide decides a call and in the same step counts it against the limits of the
// rules, so that concurrent calls pass exactly as often as consecutive ones. It
// reports whether the call was counted.
func (s *Session) decide(p *policy.Policy, rates *rates, tool string, req policy.Request) (d policy.Decision, counted bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	req.Calls = s.byTool
	d = p.Decide(req)
	if d.Effect == policy.Deny {
		return d, false
	}
	for _, l := range d.Limits {
		if l.Calls > 0 && s.byRule[l.Rule] >= l.Calls {
			return exceeded(d, l.Rule, fmt.Sprintf("the rule allows %d calls in a run", l.Calls)), false
		}
	}
	if rule, message := rates.take(d.Limits, req.Now); rule != "" {
		return exceeded(d, rule, message), false
	}
	s.count(tool, d.Limits, 1)
	return d, true
}

// exceeded is the denial by a limit of a rule.
func exceeded(d policy.Decision, rule, message string) policy.Decision {
	return policy.Decision{Effect: policy.Deny, Rule: rule, Message: message, Warnings: d.Warnings}
}

// rates limits calls in time, for all runs of a table.
type rates struct {
	mu     sync.Mutex
	byRule map[string]*window
}

// take counts a call against every rate of its rules, or against none. It names
// the first rule whose rate is used up.
func (x *rates) take(limits policy.RuleLimits, now time.Time) (rule, message string) {
	var used []*window
	for _, l := range limits {
		if l.Rate.N <= 0 {
			continue
		}
		if used == nil {
			x.mu.Lock()
			defer x.mu.Unlock()
		}
		w := x.window(l.Rule, l.Rate.N)
		if wait := w.wait(now, l.Rate.Per); wait > 0 {
			return l.Rule, fmt.Sprintf("the rule allows %d calls in %s; retry in %s", l.Rate.N, l.Rate.Per, wait.Round(time.Millisecond))
		}
		used = append(used, w)
	}
	for _, w := range used {
		w.add(now)
	}
	return "", ""
}

func (x *rates) window(rule string, n int) *window {
	w := x.byRule[rule]
	if w == nil || w.limit != n {
		w = &window{limit: n}
		if x.byRule == nil {
			x.byRule = map[string]*window{}
		}
		x.byRule[rule] = w
	}
	return w
}

// window is the times of the last calls under a rule, as a ring.
type window struct {
	limit int
	times []time.Time // at most limit
	next  int         // the oldest, once the ring is full
}

// wait returns how long it takes until another call may pass.
func (w *window) wait(now time.Time, per time.Duration) time.Duration {
	if len(w.times) < w.limit {
		return 0
	}
	return w.times[w.next].Add(per).Sub(now)
}

func (w *window) add(now time.Time) {
	if len(w.times) < w.limit {
		w.times = append(w.times, now)
		return
	}
	w.times[w.next] = now
	w.next = (w.next + 1) % len(w.times)
}

// Durable are the options of a run with a journal.
type Durable struct {
	// Log is the journal.
	Log *journal.Log
	// After is how long the run waits for people and timers until it parks. Zero: it
	// does not.
	After time.Duration
}

// restoreState makes the session of a run that goes on.
func restoreState(d *Durable) (*Session, error) {
	var state SessionState
	if data := d.Log.Shared(); data != nil {
		if err := json.Unmarshal(data, &state); err != nil {
			return nil, fault.New(fault.UsageRun, "go on with a run: its journal is damaged").WithHint("run the program again")
		}
	}
	return RestoreSession("", state, true), nil
}

func differsFromJournal(run, why string) *fault.Error {
	return fault.New(fault.UsageRun, "go on with run %s: the program does not do what its journal has: %s", run, why).WithHint("run the program again")
}

// signals has the signals that a run received.
type signals struct {
	mu     sync.Mutex
	byName map[string]*signalName
}

// signalName has the signals with one name.
type signalName struct {
	turn     chan struct{} // has one value while a call waits for the next
	received int
}

// signalArgs are the arguments of a wait for a signal.
type signalArgs struct {
	Name    string
	Timeout *float64 // seconds
}

// maxSignalNames is how many names of signals a run may wait for.
const maxSignalNames = 1000

// of returns the signals with a name, or nil if the run waits for too many names.
func (s *signals) of(name string) *signalName {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.byName[name]
	if n == nil && len(s.byName) < maxSignalNames {
		if s.byName == nil {
			s.byName = map[string]*signalName{}
		}
		n = &signalName{turn: make(chan struct{}, 1)}
		s.byName[name] = n
	}
	return n
}

// repeat counts the signal of a wait that the journal answers.
func (s *signals) repeat(given []byte) {
	var in signalArgs
	if json.Unmarshal(given, &in) != nil {
		return
	}
	if n := s.of(in.Name); n != nil {
		n.turn <- struct{}{}
		n.received++
		<-n.turn
	}
}
