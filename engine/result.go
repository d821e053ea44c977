package engine

import (
	"encoding/json"
	"time"

	"github.com/wexec/wexec/engine/internal/tokens"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/review"
)

// Status is how a run ended.
type Status string

// The statuses of a [Result].
const (
	StatusOK      Status = "ok"
	StatusError   Status = "error"   // classes guest, usage, upstream, cancelled, internal
	StatusDenied  Status = "denied"  // a denied call that the program did not catch
	StatusLimit   Status = "limit"   // a limit was reached
	StatusWaiting Status = "waiting" // the run waits for people, and its server keeps it
)

// A Result is the outcome of a run, in the shape that the command, the MCP server
// and the HTTP API show. What is absent did not happen.
type Result struct {
	RunID   string    `json:"run_id"`
	Status  Status    `json:"status"`
	Started time.Time `json:"started"`
	// Value is the program's result as JSON; nil (JSON null) if it had none.
	Value  json.RawMessage `json:"value"`
	Stdout string          `json:"stdout,omitempty"`
	Stderr string          `json:"stderr,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Usage  Usage           `json:"usage"`
	Calls  []Call          `json:"calls,omitempty"`
	// Privacy counts the personal data that was found.
	Privacy    *Privacy   `json:"privacy,omitempty"`
	Provenance Provenance `json:"provenance"`
	// Cache is hit, miss or off.
	Cache string `json:"cache"`
	// Review is what a review of the program found before the run; nil if it was not reviewed.
	Review *review.Assessment `json:"review,omitempty"`
	// Workspace is what the run changed in its workspace.
	Workspace *Workspace `json:"workspace,omitempty"`
	// Waiting lists the questions to people that a waiting run has open.
	Waiting []Waiting `json:"waiting,omitempty"`
	// Parked is set if the run left memory while it waits, see [Request].
	Parked *Parked `json:"parked,omitempty"`

	output []byte              // of a plugin
	reveal func(string) string // replaces tokens by values, for the Go host
}

// Workspace describes the workspace of a run.
type Workspace struct {
	ID      string `json:"id"`
	Changed int    `json:"changed"` // paths that differ from the folder
}

// An Error is a failure as the caller sees it.
type Error struct {
	Code    fault.Code  `json:"code"`
	Class   fault.Class `json:"class"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
	Name    string      `json:"name,omitempty"` // of the exception: TypeError
	Tool    string      `json:"tool,omitempty"`
	Rule    string      `json:"rule,omitempty"`
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"`   // from 1
	Column  int         `json:"column,omitempty"` // from 1, in characters
	Excerpt string      `json:"excerpt,omitempty"`
	Stack   string      `json:"stack,omitempty"`
	Exit    int         `json:"exit,omitempty"` // of guest.exit: the program's exit status

	cause error
}

// Error returns the message, after the name of the exception if there is one.
func (e *Error) Error() string {
	if e.Name != "" {
		return e.Name + ": " + e.Message
	}
	return e.Message
}

// Unwrap returns the code, so that errors.Is(err, fault.LimitFuel) works, and the
// cause on the host's side if there is one.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.cause}
}

// Usage is what a run used.
type Usage struct {
	Fuel       int64 `json:"fuel"`        // about one wasm instruction each
	MemoryPeak int64 `json:"memory_peak"` // bytes of linear memory
	WallMS     int64 `json:"wall_ms"`     // from start to end, with waiting
	GuestMS    int64 `json:"guest_ms"`    // of WallMS, inside the guest
	ToolCalls  int   `json:"tool_calls"`
	ToolBytes  int64 `json:"tool_bytes"`   // of answers of tools, as the guest got them
	ResultSize int64 `json:"result_bytes"` // value, stdout and stderr
	// TokensInTools estimates the tokens of all tool answers, TokensOut those of
	// value, stdout and stderr.
	TokensInTools int64 `json:"tokens_in_tools"`
	TokensOut     int64 `json:"tokens_out"`
	// ContextSavings is 1 − TokensOut/TokensInTools, at least 0; nil without
	// calls.
	ContextSavings *float64 `json:"context_savings,omitempty"`
	// Cost is what the run cost; nil without a server that knows prices.
	Cost *Cost `json:"cost,omitempty"`
}

// Cost is amounts of money by the prices of the model on whose behalf a program runs.
type Cost struct {
	Currency string  `json:"currency"`
	Model    string  `json:"model"`   // whose prices Plain and Program have
	Models   float64 `json:"models"`  // of calls of models by the program
	Plain    float64 `json:"plain"`   // what plain tool calls would have cost; 0 without calls
	Program  float64 `json:"program"` // of writing the program and reading its result
}

// EstimateTokens estimates the tokens of a text, as [Usage] does.
func EstimateTokens(text []byte) int64 { return tokens.Estimate(text) }

// A Call is one tool call. A result lists calls in the order of their starts.
type Call struct {
	Tool     string     `json:"tool"`
	Decision string     `json:"decision"` // allow, deny or ask
	Rule     string     `json:"rule,omitempty"`
	MS       int64      `json:"ms"`
	Bytes    int64      `json:"bytes"`
	OK       bool       `json:"ok"`
	Code     fault.Code `json:"code,omitempty"`
}

// Privacy counts the personal data that was found in answers of tools.
type Privacy struct {
	Mode   string         `json:"mode"`
	Counts map[string]int `json:"counts"`
}

// Provenance identifies what was run by digests. Two deterministic runs with the
// same digests give the same value.
type Provenance struct {
	Code      string   `json:"code_sha256,omitempty"`
	Args      string   `json:"args_sha256,omitempty"`
	Value     string   `json:"value_sha256,omitempty"`
	Policy    string   `json:"policy_sha256,omitempty"`
	Guest     string   `json:"guest_sha256,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	AuditHead string   `json:"audit_head,omitempty"`
}

// Waiting is a question that no person has answered yet.
type Waiting struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

// Output returns the bytes that a plugin's function returned; nil for programs.
func (r *Result) Output() []byte { return r.output }

// Decode stores the value in v, as json.Unmarshal does.
func (r *Result) Decode(v any) error {
	if r.Value == nil {
		return fault.New(fault.GuestResult, "the program returned no value")
	}
	if err := json.Unmarshal(r.Value, v); err != nil {
		return fault.New(fault.GuestResult, "decode the value: %w", err)
	}
	return nil
}

// Reveal returns the value with the tokens of this run replaced by the personal
// data that they stand for. It is for Go hosts: no command or server shows it.
func (r *Result) Reveal() json.RawMessage {
	if r.reveal == nil || r.Value == nil {
		return r.Value
	}
	return json.RawMessage(r.reveal(string(r.Value)))
}

// EventType names one kind of [Event].
type EventType string

// The kinds of progress. Each run ends with exactly one [EventDone].
const (
	EventQueued    EventType = "queued"    // the run waits for a core; Count runs are before it
	EventCompiling EventType = "compiling" // a guest is compiled for the first time on this machine; Text is its name
	EventStarted   EventType = "started"   // the program runs
	EventCalling   EventType = "calling"   // a tool call begins; Text is the tool, Number identifies the call
	EventCall      EventType = "call"      // a tool call has ended; Call is set, and Number as in EventCalling
	EventFuel      EventType = "fuel"      // the program computes; sent a few times a second, for its Fuel
	EventOutput    EventType = "output"    // Text was written to Stream
	EventProgress  EventType = "progress"  // the program or a tool reports progress: Done of Total, Text
	EventWaiting   EventType = "waiting"   // the run waits for people; Text says why
	EventDone      EventType = "done"      // the run has ended; Text is its status
)

// An Event is one step of a run, or of a warm-up. Which fields are set depends
// on its type.
type Event struct {
	Type   EventType `json:"type"`
	Run    string    `json:"run,omitempty"`
	Time   time.Time `json:"time"`
	Text   string    `json:"text,omitempty"`
	Stream string    `json:"stream,omitempty"` // stdout or stderr
	Call   *Call     `json:"call,omitempty"`
	Number uint64    `json:"number,omitempty"`
	Fuel   int64     `json:"fuel,omitempty"` // used when it was last read; in every event
	Count  int       `json:"count,omitempty"`
	Done   float64   `json:"done,omitempty"`
	Total  float64   `json:"total,omitempty"`
}
