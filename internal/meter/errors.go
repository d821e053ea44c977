package meter

import (
	"errors"
	"fmt"
)

// Reasons to reject a module, for errors.Is.
var (
	// ErrMalformed means that the bytes are not a WebAssembly module.
	ErrMalformed = errors.New("malformed module")
	// ErrUnsupported means a feature that is not supported; the message
	// names it.
	ErrUnsupported = errors.New("unsupported feature")
	// ErrTooLarge means that a count or a length exceeds a bound.
	ErrTooLarge = errors.New("module too large")
	// ErrReserved means that the module uses names of the meter, for example
	// because it is metered already.
	ErrReserved = errors.New("reserved name")
)

// Error is the reason and the place of a rejection.
type Error struct {
	Kind    error  // one of ErrMalformed, ErrUnsupported, ErrTooLarge, ErrReserved
	Offset  int    // in bytes from the start of the module
	Message string // lower case, no full stop
}

// Error returns the message with the place.
func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s at offset %#x", e.Kind, e.Message, e.Offset)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

func errAt(kind error, offset int, format string, args ...any) error {
	return &Error{Kind: kind, Offset: offset, Message: fmt.Sprintf(format, args...)}
}
