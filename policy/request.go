package policy

import (
	"net/netip"
	"time"

	"github.com/wexec/wexec/catalogue"
)

// Request is a call of a tool that a program wants to make.
type Request struct {
	Tool  catalogue.Tool
	Args  map[string]any // as JSON decodes them, personal data revealed
	Run   RunFacts
	Actor Actor
	Calls map[string]int // calls made so far in the run, by server.tool
	Now   time.Time
}

// RunFacts is what conditions see as "run".
type RunFacts struct {
	ID, Language, Intent, Trigger string
	Deterministic                 bool
}

// Actor is what conditions see as "actor".
type Actor struct{ ID, Type string }

// Decision is the answer to a request. The zero decision denies.
type Decision struct {
	Effect   Effect
	Rule     string        // file:line of the deciding rule; the file alone where its default decided
	Message  string        // the rule's own words, or why it decided so
	Limits   RuleLimits    // of every rule that lets the call pass; all of them hold
	Cache    time.Duration // how long the answer may be used again; zero: not at all
	Timeout  time.Duration // how long people may be waited for; zero: as the approvals block says
	Warnings []string      // what looks wrong but does not decide
}

// RuleLimits are the limits of all rules that let a call pass. All hold.
type RuleLimits []RuleLimit

// RuleLimit is the limits of one rule. A zero field limits nothing.
type RuleLimit struct {
	Rule    string        // the key under which calls are counted: file:line, with the column or the origin where need be
	Calls   int           // calls within the run or session
	Rate    Rate          // calls within the table
	Result  int64         // bytes of an answer
	Timeout time.Duration // of the call
}

// Rate is a number of calls in a time. The zero rate limits nothing.
type Rate struct {
	N   int
	Per time.Duration
}

// Result is the smallest limit of an answer in bytes, or zero where no rule
// sets one.
func (l RuleLimits) Result() int64 {
	var least int64
	for _, r := range l {
		if r.Result > 0 && (least == 0 || r.Result < least) {
			least = r.Result
		}
	}
	return least
}

// Timeout is the shortest time a call may take, or zero where no rule sets one.
func (l RuleLimits) Timeout() time.Duration {
	var least time.Duration
	for _, r := range l {
		if r.Timeout > 0 && (least == 0 || r.Timeout < least) {
			least = r.Timeout
		}
	}
	return least
}

// NetRequest is one request to the network, or one redirect. It is decided
// twice: before the name is resolved, with the zero IP, and for each address
// that would be connected to.
type NetRequest struct {
	Host   string // as the URL writes it, without port
	Method string
	Port   int
	IP     netip.Addr // zero: not resolved yet
}

// FileRequest is one file to be opened.
type FileRequest struct {
	Path  string // absolute path of the host, cleaned, links resolved
	Write bool
	// Import says that the program imports a file of its own folder, which
	// needs no grant: only a denial stands in the way.
	Import bool
}
