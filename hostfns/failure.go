package hostfns

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// Failure is a call that failed in a way that the program may catch. Every
// other error of [Run.Call] ends the run.
type Failure struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Tool    string     `json:"tool,omitempty"`
	Hint    string     `json:"hint,omitempty"`
	Rule    string     `json:"rule,omitempty"`
}

// Error is the message.
func (f *Failure) Error() string { return f.Message }

// Unwrap gives the code, so that errors.Is(err, fault.DeniedTool) holds.
func (f *Failure) Unwrap() error { return f.Code }

// answer is the failure as the guest receives it.
func (f *Failure) answer() Answer {
	b, err := json.Marshal(f)
	if err != nil {
		b = []byte(`{"code":"internal","message":"an error could not be written"}`)
	}
	return Answer{Kind: Error, Data: b}
}

// maxMessage bounds what a server may say in an error.
const maxMessage = 8 << 10

// catchable lists the codes that a provider's error may carry into the
// program. Everything else a provider says is tool.failed.
func catchable(code fault.Code) bool {
	switch code {
	case fault.ToolFailed, fault.ToolUnknown, fault.ToolInvalidArgs, fault.ToolTooLarge, fault.ToolTimeout,
		fault.DeniedTool, fault.DeniedNetwork, fault.DeniedFile, fault.DeniedApproval, fault.DeniedPinned,
		fault.UpstreamUnavailable:
		return true
	}
	return false
}

// failureIn is the failure that an error holds, or nil.
func failureIn(err error) *Failure {
	if err == nil {
		return nil // most calls: nothing is allocated for what is not there
	}
	var f *Failure
	errors.As(err, &f)
	return f
}

// failureOf turns the error of a provider into one that the program may catch.
func failureOf(err error, tool string) *Failure {
	var f *Failure
	if errors.As(err, &f) {
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

// endsRun reports whether an error that a provider hands back may not be
// caught by the program: a budget of the run, or a record that was not written.
func endsRun(err error) bool {
	code := fault.CodeOf(err)
	return code.Class() == fault.ClassLimit || code == fault.AuditUnavailable
}

// clean makes text of a server fit to be shown: valid, without control
// characters, bounded.
func clean(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "�")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20 || (r >= 0x7f && r < 0xa0):
			return -1
		case r == 0x2028 || r == 0x2029 || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069):
			return -1
		}
		return r
	}, s)
}
