// Package fault holds the codes with which wexec says what went wrong.
//
// A [Code] is itself an error, so callers ask with errors.Is:
//
//	if errors.Is(err, fault.LimitFuel) { … }
//
// Codes are append-only: none is ever renamed or reused. Their classes decide
// the exit status of the command and the shape of an MCP answer.
package fault

import (
	"errors"
	"fmt"
)

// Code names one way to fail. It is an error, so that errors.Is(err, code)
// reads well.
type Code string

// Error makes a code an error of its own.
func (c Code) Error() string { return string(c) }

// Class is the family a code belongs to.
type Class string

// The classes, in the order of the documented table.
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

// Exit is the exit status of a command that ends with an error of class c.
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

// Error is a failure as wexec reports it: what was attempted, why it failed,
// and what to do next.
type Error struct {
	Code    Code   // stable name; the zero code reads as [Internal]
	Op      string // what was attempted, as a verb phrase: "read policy"; may be empty
	Message string // why it failed: lower case, no full stop
	Hint    string // what to do next; may be empty
	Err     error  // the cause; may be nil
}

// New returns an error with a code and a formatted message. A %w verb sets the
// cause.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns a copy of e that carries a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithOp returns a copy of e that says what was attempted.
func (e *Error) WithOp(op string) *Error {
	c := *e
	c.Op = op
	return &c
}

// Error is the message, preceded by the operation where there is one. The
// cause is part of the message already where New made it with %w.
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

// Unwrap gives the cause.
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

// CodeOf finds the code of an error: the outermost [*Error] or [Code] in its
// chain. An error without one is [Internal]; nil has the empty code.
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

// HintOf finds the hint of an error, or "".
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
