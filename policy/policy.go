// Package policy says what a program may do. A policy is a pure function: a
// [Request] goes in, a [Decision] comes out; it reads no clock, no file and no
// environment.
//
//	p, err := policy.Parse("policy.yaml", data)
//	d := p.Decide(policy.Request{Tool: tool, Args: args, Now: time.Now()})
//	if d.Effect != policy.Allow { … }
//
// Deny beats ask beats allow beats the default, which is deny: order and
// specificity of rules never matter. A nil policy denies everything, and so
// does the zero [Decision]. A condition that faults counts against the caller.
//
// Several files are put together by [Layer]; what the flags of a command line
// allow becomes a policy by [FromFlags].
package policy

import (
	"strings"

	"github.com/wexec/wexec/fault"
)

// Effect is what a decision comes to. The zero effect is Deny.
type Effect uint8

// The effects, from the strictest to the loosest.
const (
	Deny Effect = iota
	Ask
	Allow
)

// String is the effect as a policy file writes it.
func (e Effect) String() string {
	switch e {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// MarshalText writes the effect as a policy file does.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an effect as a policy file writes it.
func (e *Effect) UnmarshalText(text []byte) error {
	switch string(text) {
	case "deny":
		*e = Deny
	case "ask":
		*e = Ask
	case "allow":
		*e = Allow
	default:
		return fault.New(fault.UsagePolicy, "%q is not one of %s", text, strings.Join(effectWords, ", "))
	}
	return nil
}

var effectWords = []string{"deny", "ask", "allow"}

// Policy is a set of rules that does not change. It is safe for concurrent
// use. The nil policy denies everything.
type Policy struct {
	layers []*layer
	digest string
}
