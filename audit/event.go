// Package audit keeps the record of what programs did: one append-only chain
// of JSON lines, in which each line carries the hash of the line before.
//
// A [Sink] takes records. An action whose record cannot be written must not
// happen: [Sink.Record] then returns audit.unavailable, and the caller stops.
// [Open] returns a sink that writes files. [Memory] keeps records in memory, for
// hosts and tests. [None] discards them.
//
// [Read] iterates over the records of a directory. [Verify] reports every line
// that was changed, removed, reordered or cut. [LoadRecording] collects what a
// replay of one run needs.
//
// This package does not decide what is secret. Callers pass values only if the
// policy says full, with personal data replaced.
package audit

import (
	"context"
	"time"
)

// Event is one record. The caller sets Run, exactly one of Start, Decision,
// Call, Privacy, End, Anchor and Deletion, and Time unless it is now. The sink sets Seq, Type,
// Prev and Hash.
type Event struct {
	Seq      uint64       `json:"seq"` // from 1 in each segment, without gaps
	Time     time.Time    `json:"time"`
	Run      string       `json:"run"`
	Type     Type         `json:"type"`
	Start    *Start       `json:"start,omitempty"`
	Decision *Decision    `json:"decision,omitempty"`
	Call     *Call        `json:"call,omitempty"`
	Privacy  *Privacy     `json:"privacy,omitempty"`
	End      *End         `json:"end,omitempty"`
	Anchor   *AnchorState `json:"anchor,omitempty"`
	Deletion *Deletion    `json:"deletion,omitempty"`
	Detail   string       `json:"detail,omitempty"` // SHA-256 of what is kept outside the chain, in hex
	Prev     string       `json:"prev"`             // hash of the record before
	Hash     string       `json:"hash"`             // SHA-256 of the line before this member, in hex
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
	TypeAnchor   Type = "anchor"
	TypeDeletion Type = "deletion"
)

// Kind returns the type of the part that is set, or "" if none or several are.
func (e *Event) Kind() Type {
	kind, _ := e.part()
	return kind
}

// part returns the part that is set and its type, or nil if none or several
// are.
func (e *Event) part() (kind Type, part any) {
	n := 0
	if e.Start != nil {
		kind, part, n = TypeStart, e.Start, n+1
	}
	if e.Decision != nil {
		kind, part, n = TypeDecision, e.Decision, n+1
	}
	if e.Call != nil {
		kind, part, n = TypeCall, e.Call, n+1
	}
	if e.Privacy != nil {
		kind, part, n = TypePrivacy, e.Privacy, n+1
	}
	if e.End != nil {
		kind, part, n = TypeEnd, e.End, n+1
	}
	if e.Anchor != nil {
		kind, part, n = TypeAnchor, e.Anchor, n+1
	}
	if e.Deletion != nil {
		kind, part, n = TypeDeletion, e.Deletion, n+1
	}
	if n != 1 {
		return "", nil
	}
	return kind, part
}

// Sink takes records. It is safe for concurrent use; the records of one
// goroutine are written in its order.
type Sink interface {
	// Record writes one event and returns its hash. If it returns no error, the
	// record survives the process being killed. Every error has the code
	// audit.unavailable; the caller must not do what the record announced. A
	// canceled context does not stop a record: cancellation is recorded too.
	Record(ctx context.Context, e Event) (head string, err error)
}

// Start is the record of a run that begins. It has everything that a replay
// needs, as far as the policy keeps it.
type Start struct {
	Version  string `json:"version,omitempty"` // of wexec
	Language string `json:"language,omitempty"`
	File     string `json:"file,omitempty"`     // name of the program in errors
	Plugin   string `json:"plugin,omitempty"`   // a foreign plugin, by name
	Function string `json:"function,omitempty"` // function of the plugin

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
	// Generation is that of the image from which the session woke; 0: it never slept.
	Generation int64 `json:"generation,omitempty"`

	Deterministic bool      `json:"deterministic,omitempty"`
	Seed          Blob      `json:"seed,omitempty"`    // of the random source; full only unless deterministic
	Clock         time.Time `json:"clock,omitzero"`    // initial value of the guest's clock
	Limits        Limits    `json:"limits,omitzero"`   // in effect
	Servers       []string  `json:"servers,omitempty"` // identifiers of servers in reach
	Offers        []string  `json:"offers,omitempty"`  // other features: app, artifacts, dry-run, fetch, files, packages, pii

	Review *Review `json:"review,omitempty"` // of the program, if it was reviewed

	GuestSHA256     string `json:"guest_sha256,omitempty"`
	PolicySHA256    string `json:"policy_sha256,omitempty"`
	CatalogueSHA256 string `json:"catalogue_sha256,omitempty"`
	Keep            Keep   `json:"keep,omitzero"`
}

// Review is what a review of the program found before the run. Personal data in names
// is replaced.
type Review struct {
	Level              string   `json:"level"`
	Rules              []string `json:"rules,omitempty"` // of the findings, sorted
	Tools              []string `json:"tools,omitempty"` // that the program names
	CapabilitiesSHA256 string   `json:"capabilities_sha256"`
}

// Keep is how much of a run its records have: each is "hash", "full" or "none".
type Keep struct {
	Code    string `json:"code,omitempty"`
	Inputs  string `json:"inputs,omitempty"`
	Outputs string `json:"outputs,omitempty"`
}

// Full reports whether the records suffice for a replay.
func (k Keep) Full() bool { return k.Code == "full" && k.Inputs == "full" && k.Outputs == "full" }

// Actor is the person or program on whose behalf a run happens.
type Actor struct {
	ID   string `json:"id,omitempty"`
	Type string `json:"type,omitempty"`
}

// Limits are the limits of a run, in bytes and milliseconds.
type Limits struct {
	Fuel      int64 `json:"fuel,omitempty"`
	Memory    int64 `json:"memory,omitempty"`
	TimeMS    int64 `json:"time,omitempty"`
	Output    int64 `json:"output,omitempty"`
	ToolCalls int   `json:"tool_calls,omitempty"`
	Parallel  int   `json:"parallel,omitempty"`
	HostBytes int64 `json:"host_bytes,omitempty"`
	Recursion int   `json:"recursion,omitempty"`
	CPU       int   `json:"cpu,omitempty"` // percent of one core
}

// Decision is the record of a policy decision. It is written before the action.
type Decision struct {
	Call   uint64 `json:"call,omitempty"`   // number of the call in the run, from 1; 0 outside of calls
	Kind   string `json:"kind,omitempty"`   // empty for "tool"; or "network", "file", "language", "pin", "schema", "elicitation", "sampling", "resources", "prompts", "rule", "risk", "workspace", "reveal"
	Tool   string `json:"tool,omitempty"`   // server.tool in original names, or the prelude's own name
	Target string `json:"target,omitempty"` // "GET https://host:port", the path of a file, what a server asks for, or the workspace that is accepted
	Effect string `json:"effect"`           // allow, ask or deny
	Rule   string `json:"rule,omitempty"`   // file:line
	Code   string `json:"code,omitempty"`   // of a denial
	// Message is that of the rule, with personal data replaced.
	Message    string    `json:"message,omitempty"`
	ArgsSHA256 string    `json:"args_sha256,omitempty"`
	Args       Blob      `json:"args,omitempty"`   // full only, as the program wrote them
	Writes     bool      `json:"writes,omitempty"` // the action may have side effects
	Approval   *Approval `json:"approval,omitempty"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// Approval is the outcome of a request for approval.
type Approval struct {
	ID     string `json:"id,omitempty"`
	Via    string `json:"via,omitempty"`    // terminal, mcp or socket
	By     string `json:"by,omitempty"`     // who answered, if known
	Answer string `json:"answer,omitempty"` // yes, always, no, expired, nobody; of a form accept, decline, cancel
	MS     int64  `json:"ms,omitempty"`     // time until the answer
}

// Call is the record of a call that ended.
type Call struct {
	Call    uint64 `json:"call"` // number in the run, as in its Decision
	Tool    string `json:"tool"`
	OK      bool   `json:"ok"`
	Code    string `json:"code,omitempty"`    // of a failure
	Message string `json:"message,omitempty"` // of a failure, with personal data replaced
	MS      int64  `json:"ms"`
	Bytes   int64  `json:"bytes"` // size of the answer to the guest

	Args         Blob   `json:"args,omitempty"`        // full only: as the program wrote them, unless the decision has the same
	AnswerKind   int    `json:"answer_kind,omitempty"` // number in the guest ABI
	AnswerSHA256 string `json:"answer_sha256,omitempty"`
	Answer       Blob   `json:"answer,omitempty"` // full only: as the guest received it
}

// Privacy is the record of personal data that was replaced. It has no values.
type Privacy struct {
	Call   uint64         `json:"call,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Where  string         `json:"where,omitempty"` // answer, arguments, value, stdout, stderr, error, progress, approval
	Mode   string         `json:"mode,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
	Fields []string       `json:"fields,omitempty"` // paths of the values
}

// AnchorState is the record that the anchor began to fail, or works again. It
// belongs to no run.
type AnchorState struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// Deletion is the record that a person was removed from the store of a server. It has
// nothing of the person, and belongs to no run.
type Deletion struct {
	ID      string           `json:"id"`
	Of      string           `json:"of"` // value, token or actor
	By      string           `json:"by,omitempty"`
	Removed map[string]int64 `json:"removed,omitempty"` // how much, by kind
}

// End is the record of a run that ended.
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
	// Order lists the numbers of the calls in the order in which the program
	// received their answers. In a full record, 0 is a wait that ended without
	// an answer.
	Order []uint64       `json:"order,omitempty"`
	Tools []string       `json:"tools,omitempty"` // tools that were called, sorted
	Found map[string]int `json:"found,omitempty"` // personal data by kind
	World *World         `json:"saw,omitempty"`   // full only
}

// Usage is the resource usage of a run.
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

// World is what a program observed while it ran, apart from the answers of its
// calls. A replay uses it instead of the clock, standard input
// and files.
type World struct {
	// Clock lists each reading of the clock, in nanoseconds since the start.
	Clock []int64 `json:"clock,omitempty"`
	// Input is what the program read from a standard input that was not known
	// at the start. Reads lists the length of each read.
	Input Blob  `json:"input,omitempty"`
	Reads []int `json:"reads,omitempty"`
	// Files lists the file operations, in order. Those in the scratch directory
	// and in the library of the language are not recorded.
	Files []FileOp `json:"looks,omitempty"`
	// Dropped names what exceeded the limits of the record: clock, input,
	// files, order. Such a run cannot be replayed.
	Dropped []string `json:"lost,omitempty"`
}

// FileOp is a file operation and its outcome.
type FileOp struct {
	Op    string `json:"op"` // open, stat, lstat, readlink, or the name of a change
	Path  string `json:"path"`
	To    string `json:"to,omitempty"`    // second path
	Flag  int    `json:"flag,omitempty"`  // open only
	Errno int    `json:"errno,omitempty"` // 0: success

	Stat   []int64     `json:"stat,omitempty"` // dev, ino, mode, nlink, size, atim, mtim, ctim
	Text   string      `json:"text,omitempty"` // target of readlink
	Names  []DirEntry  `json:"names,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // of the bytes read
	Parts  []FileRange `json:"parts,omitempty"`  // bytes read
}

// DirEntry is an entry of a directory.
type DirEntry struct {
	Name string `json:"name"`
	Ino  uint64 `json:"ino,omitempty"`
	Mode uint32 `json:"mode,omitempty"`
}

// FileRange is a range of a file that was read.
type FileRange struct {
	At   int64 `json:"at,omitempty"`
	Data Blob  `json:"data"`
}
