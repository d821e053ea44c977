// Package policy decides what a program may do. A policy is a pure function of
// a [Request]: it reads no clock, no file and no environment.
//
//	p, err := policy.Parse("policy.yaml", data)
//	d := p.Decide(policy.Request{Tool: tool, Args: args, Now: time.Now()})
//	if d.Effect != policy.Allow { … }
//
// Deny beats ask beats allow beats the default, which is deny; the order and
// the specificity of rules do not matter. A nil policy and the zero [Decision]
// deny. If a condition fails to evaluate, a deny or ask rule matches and an
// allow rule does not. An allow rule with approved: true beats the ask rules of its
// file.
//
// [Layer] combines several files, and [FromFlags] makes a policy of
// command-line flags. To find mistakes in a policy and to run its tests, use
// package lint.
package policy

import (
	"net/netip"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy/internal/expr"
)

// Problem is one thing that is wrong in a policy file.
type Problem = yamldoc.Problem

// Problems is everything that is wrong in a policy file. It is the cause of the
// error that [Parse] returns.
type Problems = yamldoc.Problems

// Effect is the result of a decision. The zero effect is Deny.
type Effect uint8

// The effects, from the strictest to the most permissive.
const (
	Deny Effect = iota
	Ask
	Allow
)

var effectNames = [...]string{Deny: "deny", Ask: "ask", Allow: "allow"}

// String returns the effect as a policy file writes it.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return effectNames[Deny]
}

// MarshalText writes the effect as a policy file does.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an effect as a policy file writes it.
func (e *Effect) UnmarshalText(text []byte) error {
	for i, name := range effectNames {
		if name == string(text) {
			*e = Effect(i)
			return nil
		}
	}
	return fault.New(fault.UsagePolicy, "effect must be deny, ask or allow, not %q", text)
}

// Request is a tool call that a program wants to make.
type Request struct {
	Tool catalogue.Tool
	// Args are the arguments as messages show them, with tokens, and the numbers of
	// package encoding/json: float64 or json.Number. A json.Number keeps every digit.
	Args map[string]any
	// Reveal returns the arguments with values instead of tokens, for conditions.
	// It is called when the first condition reads them; if it fails, so does the
	// condition. Nil: there are no tokens.
	Reveal func() (map[string]any, error)
	Run    RunFacts
	Actor  Actor
	Calls  map[string]int // calls so far in the run, by server.tool
	Now    time.Time
}

// RunFacts is what conditions see as "run".
type RunFacts struct {
	ID, Language, Intent, Trigger string
	Deterministic                 bool
	Risk                          string        // level of the review; empty without one
	Capabilities                  *Capabilities // that the review foresees; nil without one
}

// Capabilities are what a review foresees that a program uses.
type Capabilities = expr.Capabilities

// Actor is what conditions see as "actor".
type Actor struct{ ID, Type string }

// Decision is the answer to a request. The zero decision denies.
type Decision struct {
	Effect   Effect
	Rule     string        // file:line of the deciding rule; the file if its default decided
	Message  string        // of the rule, or the reason
	Limits   RuleLimits    // of every rule that allows the call; all of them apply
	Cache    time.Duration // how long the answer may be reused; zero is not at all
	Timeout  time.Duration // how long to wait for an approval; zero is what the approvals block says
	Warnings []string      // problems that do not affect the decision
	// Arguments are the names of the arguments that the condition and the message
	// of a rule that asks depend on.
	Arguments []string
	// Asking is why a person is asked about a tool; nil if no person is asked.
	Asking *Asking
	// Digest is the digest of the rule because of which a person is asked, as it is written.
	// It stays the same when the rule moves to another line.
	Digest string
	// Idempotent means that a call whose outcome is unknown may be made again, and
	// AskUnknown that a person decides that.
	Idempotent, AskUnknown bool
}

// RuleLimits are the limits of all rules that allow a call. All of them apply.
type RuleLimits []RuleLimit

// RuleLimit is the limits of one rule. A zero field means no limit.
type RuleLimit struct {
	Rule    string        // key under which calls are counted: file:line, with column or origin if ambiguous
	Calls   int           // calls in the run or session
	Rate    Rate          // calls in the table
	Result  int64         // bytes of an answer
	Timeout time.Duration // of the call
}

// Rate is a number of calls per time span. The zero rate means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// Result returns the smallest limit on the bytes of an answer, or zero if there
// is none.
func (l RuleLimits) Result() int64 {
	var least int64
	for _, r := range l {
		least = tighter(least, r.Result)
	}
	return least
}

// Timeout returns the shortest limit on the time of a call, or zero if there is
// none.
func (l RuleLimits) Timeout() time.Duration {
	var least time.Duration
	for _, r := range l {
		least = tighter(least, r.Timeout)
	}
	return least
}

// tighter returns the smaller of two limits; zero means no limit.
func tighter[T ~int64](a, b T) T {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// NetRequest is one network request or redirect. It is decided twice: before
// the name is resolved, with a zero IP, and for each address to connect to.
type NetRequest struct {
	Host   string // as in the URL, without port
	Method string
	Port   int
	IP     netip.Addr // zero: not resolved yet
}

// FileRequest is one file to open.
type FileRequest struct {
	Path  string // absolute path on the host, cleaned, symbolic links resolved
	Write bool
	// Import means that the program imports a file in its folder. That needs
	// no grant; only a deny pattern prevents it.
	Import bool
}

// clip shortens a text for a message.
func clip(s string) string { return text.Clip(s, 60) }
