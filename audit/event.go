// Package audit keeps the record of what programs did: one append-only chain
// of JSON lines, in which each line carries the hash of the line before.
//
// A [Sink] takes records. Nothing may be done whose record could not be
// written: [Sink.Record] returns audit.unavailable then, and the caller stops.
// [Open] gives the sink that writes files; [Memory] keeps records for hosts and
// tests; [None] is for hosts that decide to keep none.
//
// [Read] goes through the records of a folder, [Verify] says which line was
// changed, removed, reordered or cut, and [LoadRecording] gathers what a replay of one
// run needs.
//
// What this package does not do: it never decides what is secret. Callers hand
// over values only where the policy says full, and with personal data replaced.
package audit

import (
	"context"
	"time"
)

// Event is one record. Exactly one of Start, Decision, Call, Privacy and End is
// set. The caller fills in Run and that one, and Time where it is not now; the
// sink sets Seq, Type, Prev and Hash.
type Event struct {
	Seq      uint64    `json:"seq"` // from 1 within a segment, without gaps
	Time     time.Time `json:"time"`
	Run      string    `json:"run"`
	Type     Type      `json:"type"`
	Start    *Start    `json:"start,omitempty"`
	Decision *Decision `json:"decision,omitempty"`
	Call     *Call     `json:"call,omitempty"`
	Privacy  *Privacy  `json:"privacy,omitempty"`
	End      *End      `json:"end,omitempty"`
	Prev     string    `json:"prev"` // hash of the record before
	Hash     string    `json:"hash"` // SHA-256 of this line up to here, in hex
}

// Type names which part of an [Event] is set.
type Type string

// The types.
const (
	TypeStart    Type = "start"
	TypeDecision Type = "decision"
	TypeCall     Type = "call"
	TypePrivacy  Type = "privacy"
	TypeEnd      Type = "end"
)

// Kind is the type of an event, told by the part that is set, or "" where none
// or more than one is.
func (e *Event) Kind() Type {
	var kind Type
	n := 0
	if e.Start != nil {
		kind, n = TypeStart, n+1
	}
	if e.Decision != nil {
		kind, n = TypeDecision, n+1
	}
	if e.Call != nil {
		kind, n = TypeCall, n+1
	}
	if e.Privacy != nil {
		kind, n = TypePrivacy, n+1
	}
	if e.End != nil {
		kind, n = TypeEnd, n+1
	}
	if n != 1 {
		return ""
	}
	return kind
}

// Sink takes records. It is safe for concurrent use; the records of one
// goroutine are written in its order.
type Sink interface {
	// Record writes one event and returns its hash. When it returns without an
	// error the record has left the process: it survives the process being
	// killed. Any error has the code audit.unavailable, and what the record
	// announced must not be done. A cancelled context stops no record: that a
	// run was cancelled is recorded too.
	Record(ctx context.Context, e Event) (head string, err error)
}

// Start says what is about to run. A replay takes everything it needs from
// here; the texts stand only where the policy keeps them.
type Start struct {
	Version  string `json:"version,omitempty"` // of wexec
	Language string `json:"language,omitempty"`
	File     string `json:"file,omitempty"`     // the name under which errors point at the program
	Plugin   string `json:"plugin,omitempty"`   // a foreign plugin, by name
	Function string `json:"function,omitempty"` // the function of it

	CodeSHA256  string   `json:"code_sha256,omitempty"`
	Code        Blob     `json:"code,omitempty"` // full only, as given
	ArgsSHA256  string   `json:"args_sha256,omitempty"`
	Args        Blob     `json:"args,omitempty"` // full only, as given
	Argv        []string `json:"argv,omitempty"` // full only
	InputSHA256 string   `json:"input_sha256,omitempty"`
	Input       Blob     `json:"input,omitempty"` // full only: standard input
	Env         []string `json:"env,omitempty"`   // full only: NAME=value, as the program sees it

	Intent  string `json:"intent,omitempty"`
	Trigger string `json:"trigger,omitempty"`
	Actor   Actor  `json:"actor,omitzero"`
	Session string `json:"session,omitempty"`

	Deterministic bool      `json:"deterministic,omitempty"`
	Seed          Blob      `json:"seed,omitempty"`    // of the guest's random source; full only where it is not deterministic
	Clock         time.Time `json:"clock,omitzero"`    // what the guest's clock showed at its start
	Limits        Limits    `json:"limits,omitzero"`   // as they held
	Servers       []string  `json:"servers,omitempty"` // identifiers the program could reach
	Offers        []string  `json:"offers,omitempty"`  // what else it found: app, dry-run, fetch, files, packages, pii

	GuestSHA256     string `json:"guest_sha256,omitempty"`
	PolicySHA256    string `json:"policy_sha256,omitempty"`
	CatalogueSHA256 string `json:"catalogue_sha256,omitempty"`
	Keep            Keep   `json:"keep,omitzero"`
}

// Keep says how much of a run is in its records: "hash", "full" or "none" each.
type Keep struct {
	Code    string `json:"code,omitempty"`
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
}

// Full reports whether everything is kept, which a replay needs.
func (k Keep) Full() bool { return k.Code == "full" && k.Inputs == "full" && k.Outputs == "full" }

// Actor is on whose behalf a program runs.
type Actor struct {
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

// Limits are the limits that held for a run: bytes and milliseconds.
type Limits struct {
	Fuel      int64 `json:"fuel,omitempty"`
	Memory    int64 `json:"memory,omitempty"`
	TimeMS    int64 `json:"time,omitempty"`
	Output    int64 `json:"output,omitempty"`
	ToolCalls int   `json:"tool_calls,omitempty"`
	Parallel  int   `json:"parallel,omitempty"`
	HostBytes int64 `json:"host_bytes,omitempty"`
	Recursion int   `json:"recursion,omitempty"`
}

// Decision says what was decided about something a program wants to do, before
// it is done.
type Decision struct {
	Call   uint64 `json:"call,omitempty"`   // number of the call within the run, from 1; 0 outside of calls
	Kind   string `json:"kind,omitempty"`   // "tool" where empty; "network", "file", "language", "pin", "schema"
	Tool   string `json:"tool,omitempty"`   // server.tool in original names, or the prelude's own name
	Target string `json:"target,omitempty"` // of network and file: "GET https://host:port", the path
	Effect string `json:"effect"`           // allow, ask or deny
	Rule   string `json:"rule,omitempty"`   // file:line
	Code   string `json:"code,omitempty"`   // of a denial
	// Message is the rule's, with personal data replaced.
	Message    string    `json:"message,omitempty"`
	ArgsSHA256 string    `json:"args_sha256,omitempty"`
	Args       Blob      `json:"args,omitempty"`   // full only, as the program wrote them
	Writes     bool      `json:"writes,omitempty"` // what is announced may change something outside
	Approval   *Approval `json:"approval,omitempty"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// Approval is how a question to people ended.
type Approval struct {
	ID     string `json:"id,omitempty"`
	Via    string `json:"via,omitempty"`    // terminal, mcp or socket
	By     string `json:"by,omitempty"`     // who answered, where that is known
	Answer string `json:"answer,omitempty"` // yes, always, no, expired, nobody
	MS     int64  `json:"ms,omitempty"`     // how long people were waited for
}

// Call says how a call ended.
type Call struct {
	Call    uint64 `json:"call"` // number within the run, as in its Decision
	Tool    string `json:"tool"`
	OK      bool   `json:"ok"`
	Code    string `json:"code,omitempty"`    // where it failed
	Message string `json:"message,omitempty"` // where it failed, with personal data replaced
	MS      int64  `json:"ms"`
	Bytes   int64  `json:"bytes"`           // of the answer, as the guest saw it
	Cache   string `json:"cache,omitempty"` // hit, where the answer came from a cache
	Tries   int    `json:"tries,omitempty"` // where more than one

	Args         Blob   `json:"args,omitempty"`        // full only: as the program wrote them, where its decision has no or other ones
	AnswerKind   int    `json:"answer_kind,omitempty"` // as the guest ABI numbers them
	AnswerSHA256 string `json:"answer_sha256,omitempty"`
	Answer       Blob   `json:"answer,omitempty"` // full only: the bytes the guest saw
}

// Privacy says what personal data was found and replaced, never a value.
type Privacy struct {
	Call   uint64         `json:"call,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Where  string         `json:"where,omitempty"` // answer, arguments, value, stdout, stderr, error, progress, approval
	Mode   string         `json:"mode,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
	Fields []string       `json:"fields,omitempty"` // paths at which it was found
}

// End says how a run ended.
type End struct {
	Status  string `json:"status"` // as in a Result
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"` // with personal data replaced
	Exit    int    `json:"exit,omitempty"`
	Cache   string `json:"cache,omitempty"` // hit, miss or off

	ValueSHA256  string `json:"value_sha256,omitempty"`
	Value        Blob   `json:"value,omitempty"` // full only
	StdoutSHA256 string `json:"stdout_sha256,omitempty"`
	Stdout       Blob   `json:"stdout,omitempty"` // full only
	StderrSHA256 string `json:"stderr_sha256,omitempty"`
	Stderr       Blob   `json:"stderr,omitempty"` // full only

	Usage Usage `json:"usage,omitzero"`
	// Order lists the numbers of the calls in the order in which their answers
	// were delivered to the program. Where everything is kept, 0 stands for a
	// wait that ended before any answer came.
	Order []uint64       `json:"order,omitempty"`
	Tools []string       `json:"tools,omitempty"` // that were called, sorted
	Found map[string]int `json:"found,omitempty"` // personal data by kind
	World *World         `json:"saw,omitempty"`   // full only
}

// Usage is what a run used up.
type Usage struct {
	Fuel       int64 `json:"fuel,omitempty"`
	MemoryPeak int64 `json:"memory_peak,omitempty"`
	WallMS     int64 `json:"wall_ms,omitempty"`
	GuestMS    int64 `json:"guest_ms,omitempty"`
	ToolCalls  int   `json:"tool_calls,omitempty"`
	ToolBytes  int64 `json:"tool_bytes,omitempty"`
	HostBytes  int64 `json:"host_bytes,omitempty"`
	Output     int64 `json:"output,omitempty"`
}
