package engine

import (
	"encoding/json"
	"time"

	"github.com/wexec/wexec/fault"
)

// Status says in one word how a run ended.
type Status string

// The statuses of a [Result].
const (
	StatusOK      Status = "ok"
	StatusError   Status = "error"   // classes guest, usage, upstream, cancelled, internal
	StatusDenied  Status = "denied"  // a denial that the program did not catch
	StatusLimit   Status = "limit"   // a limit was reached
	StatusWaiting Status = "waiting" // people are waited for; the door keeps the run
)

// A Result is what became of a run. Every door shows this one shape. What is
// absent did not happen.
type Result struct {
	RunID   string    `json:"run_id"`
	Status  Status    `json:"status"`
	Started time.Time `json:"started"`
	// Value is the program's result as JSON; nil (JSON null) where it had none.
	Value  json.RawMessage `json:"value"`
	Stdout string          `json:"stdout,omitempty"`
	Stderr string          `json:"stderr,omitempty"`
	Error  *Error          `json:"error,omitempty"`
	Usage  Usage           `json:"usage"`
	Calls  []Call          `json:"calls,omitempty"`
	// Privacy is what was found and replaced.
	Privacy    *Privacy   `json:"privacy,omitempty"`
	Provenance Provenance `json:"provenance"`
	// Cache is hit, miss or off.
	Cache string `json:"cache"`
	// Waiting lists the questions a waiting run has put to people.
	Waiting []Waiting `json:"waiting,omitempty"`

	output []byte              // of a plugin: its bytes
	reveal func(string) string // tokens to values, for the Go host
}

// An Error is a failure as the caller sees it.
type Error struct {
	Code    fault.Code  `json:"code"`
	Class   fault.Class `json:"class"`
	Message string      `json:"message"`
	Hint    string      `json:"hint,omitempty"`
	Name    string      `json:"name,omitempty"` // the exception's own: TypeError
	Tool    string      `json:"tool,omitempty"`
	Rule    string      `json:"rule,omitempty"`
	File    string      `json:"file,omitempty"`
	Line    int         `json:"line,omitempty"`   // from 1
	Column  int         `json:"column,omitempty"` // from 1, in characters
	Excerpt string      `json:"excerpt,omitempty"`
	Stack   string      `json:"stack,omitempty"`
	Exit    int         `json:"exit,omitempty"` // of guest.exit: the program's own status

	cause error
}

// Error is the message, after the exception's name where there is one.
func (e *Error) Error() string {
	if e.Name != "" {
		return e.Name + ": " + e.Message
	}
	return e.Message
}

// Unwrap gives the code, so that errors.Is(err, fault.LimitFuel) holds, and
// the host's own cause where there is one.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.cause}
}

// Usage is what a run used up.
type Usage struct {
	Fuel       int64 `json:"fuel"`        // about one wasm instruction each
	MemoryPeak int64 `json:"memory_peak"` // bytes of linear memory
	WallMS     int64 `json:"wall_ms"`     // from start to end, waiting included
	GuestMS    int64 `json:"guest_ms"`    // of that, inside the guest
	ToolCalls  int   `json:"tool_calls"`
	ToolBytes  int64 `json:"tool_bytes"`   // answers of tools, as the guest saw them
	ResultSize int64 `json:"result_bytes"` // value, stdout and stderr
	// TokensInTools estimates the tokens of all tool answers, TokensOut those
	// of what goes back to the caller.
	TokensInTools int64 `json:"tokens_in_tools"`
	TokensOut     int64 `json:"tokens_out"`
	// ContextSavings is 1 − TokensOut/TokensInTools, never below 0; nil
	// without calls.
	ContextSavings *float64 `json:"context_savings,omitempty"`
}

// A Call is one call of a tool, in the order in which the calls were started.
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

// Provenance says what exactly was run, by digest. Two runs with the same
// digests and a deterministic clock give the same value.
type Provenance struct {
	Code      string   `json:"code_sha256,omitempty"`
	Args      string   `json:"args_sha256,omitempty"`
	Value     string   `json:"value_sha256,omitempty"`
	Policy    string   `json:"policy_sha256,omitempty"`
	Guest     string   `json:"guest_sha256,omitempty"`
	Tools     []string `json:"tools,omitempty"`
	AuditHead string   `json:"audit_head,omitempty"`
}

// Waiting is a question that a person has not answered yet.
type Waiting struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

// Output gives the bytes a plugin's function returned; nil for programs.
func (r *Result) Output() []byte { return r.output }

// Decode puts the value into v, as json.Unmarshal does.
func (r *Result) Decode(v any) error {
	if r.Value == nil {
		return fault.New(fault.GuestResult, "the program gave no value")
	}
	if err := json.Unmarshal(r.Value, v); err != nil {
		return fault.New(fault.GuestResult, "the value does not fit: %w", err)
	}
	return nil
}

// Reveal gives the value with the tokens of this run replaced by what they
// stand for. Only a Go host can ask: no door ever shows it.
func (r *Result) Reveal() json.RawMessage {
	if r.reveal == nil || r.Value == nil {
		return r.Value
	}
	return json.RawMessage(r.reveal(string(r.Value)))
}
