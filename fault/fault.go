// Package fault defines the errors of wexec and their codes.
//
// A [Code] is an error, so callers test for it with errors.Is:
//
//	if errors.Is(err, fault.LimitFuel) { … }
//
// Codes are append-only: a code is never renamed or reused. The class of a code
// determines the exit status of the command and the form of an MCP answer. Return
// an [Error] across packages; within a package, plain errors are enough.
package fault

import (
	"errors"
	"fmt"
)

// Code identifies a kind of failure. It implements error for errors.Is.
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Class is a group of codes.
type Class string

// The classes, in the documented order.
const (
	ClassOK        Class = "ok"
	ClassGuest     Class = "guest"
	ClassUsage     Class = "usage"
	ClassDenied    Class = "denied"
	ClassLimit     Class = "limit"
	ClassUpstream  Class = "upstream"
	ClassCancelled Class = "cancelled"
	ClassInternal  Class = "internal"
)

// Exit returns the exit status of a command that fails with class c.
func (c Class) Exit() int {
	switch c {
	case ClassOK:
		return 0
	case ClassGuest:
		return 1
	case ClassUsage:
		return 2
	case ClassDenied:
		return 3
	case ClassLimit:
		return 4
	case ClassUpstream:
		return 5
	case ClassCancelled:
		return 130
	}
	return 70
}

// Error is a failure: what was attempted, why it failed, and what to do.
type Error struct {
	Code    Code   // empty means [Internal]
	Op      string // what was attempted, such as "read policy"; may be empty
	Message string // why it failed: lower case, no full stop
	Hint    string // what to do, as an imperative; may be empty
	Err     error  // the cause; may be nil
}

// New returns an error with a code and a formatted message. The operand of %w is
// the cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns a copy of e with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithOp returns a copy of e with an operation.
func (e *Error) WithOp(op string) *Error {
	c := *e
	c.Op = op
	return &c
}

// Error returns the operation, if any, and the message. A message from [New]
// includes the cause.
func (e *Error) Error() string {
	msg := e.Message
	if msg == "" && e.Err != nil {
		msg = e.Err.Error()
	}
	if msg == "" {
		msg = string(e.code())
	}
	if e.Op != "" {
		return e.Op + ": " + msg
	}
	return msg
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the code of e.
func (e *Error) Is(target error) bool {
	c, ok := target.(Code)
	return ok && c == e.code()
}

func (e *Error) code() Code {
	if e.Code == "" {
		return Internal
	}
	return e.Code
}

// CodeOf returns the code of the outermost [*Error] or [Code] in a chain. It
// returns [Internal] if there is none, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.code()
	}
	var c Code
	if errors.As(err, &c) {
		return c
	}
	return Internal
}

// HintOf returns the outermost hint in a chain, or "".
func HintOf(err error) string {
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}
