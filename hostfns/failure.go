package hostfns

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Failure is the error of a call that the program may catch. Every other error of
// [Run.Call] ends the run.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Tool    string     `json:"tool,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	Rule    string     `json:"rule,omitempty"`
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns the code, so that errors.Is(err, fault.DeniedTool) works.
func (f *Failure) Unwrap() error { return f.Code }

// answer returns the failure as the guest receives it.
func (f *Failure) answer() Answer {
	b, err := json.Marshal(f)
	if err != nil {
		b = []byte(`{"code":"internal","message":"the error could not be encoded"}`)
	}
	return Answer{Kind: Error, Data: b}
}

// maxMessage is the number of bytes of an error that a tool may show.
const maxMessage = 8 << 10

// catchable reports whether the error of a provider keeps its code. Every other
// error of a provider is tool.failed.
func catchable(code fault.Code) bool {
	switch code {
	case fault.ToolFailed, fault.ToolUnknown, fault.ToolInvalidArgs, fault.ToolTooLarge, fault.ToolTimeout,
		fault.DeniedTool, fault.DeniedNetwork, fault.DeniedFile, fault.DeniedApproval, fault.DeniedPinned,
		fault.UpstreamUnavailable:
		return true
	}
	return false
}

// failureIn returns the failure that an error wraps, or nil.
func failureIn(err error) *Failure {
	if err == nil {
		return nil // without the allocation of errors.As
	}
	var f *Failure
	errors.As(err, &f)
	return f
}

// failureOf converts the error of a provider.
func failureOf(err error, tool string) *Failure {
	if f := failureIn(err); f != nil {
		c := *f
		if c.Tool == "" {
			c.Tool = tool
		}
		return &c
	}
	code := fault.ToolFailed
	if c := fault.CodeOf(err); catchable(c) {
		code = c
	} else if errors.Is(err, context.DeadlineExceeded) {
		code = fault.ToolTimeout
	}
	return &Failure{Code: code, Message: clean(err.Error(), maxMessage), Tool: tool, Hint: clean(fault.HintOf(err), maxMessage)}
}

// endsRun reports whether the program may not catch the error of a provider: a
// limit of the run, or a record that was not written.
func endsRun(err error) bool {
	code := fault.CodeOf(err)
	return code.Class() == fault.ClassLimit || code == fault.AuditUnavailable
}

// clean returns foreign text fit for a message, of at most n bytes.
func clean(s string, n int) string { return text.Clean(text.Clip(s, n)) }
