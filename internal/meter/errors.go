package meter

import (
	"errors"
	"fmt"
)

// The ways in which a module can be refused; ask with errors.Is.
var (
	// ErrMalformed is for bytes that are no WebAssembly module.
	ErrMalformed = errors.New("malformed module")
	// ErrUnsupported is for a feature the meter does not know; the message
	// names it.
	ErrUnsupported = errors.New("unsupported feature")
	// ErrTooLarge is for a count or a length beyond what the meter takes.
	ErrTooLarge = errors.New("module too large")
	// ErrReserved is for a module that uses names of the meter, as one does
	// that was metered before.
	ErrReserved = errors.New("reserved name")
)

// Error says why a module was refused and where.
type Error struct {
	Kind    error  // one of ErrMalformed, ErrUnsupported, ErrTooLarge, ErrReserved
	Offset  int    // in bytes from the start of the module
	Message string // lower case, no full stop
}

// Error is the message with the place.
func (e *Error) Error() string {
	return fmt.Sprintf("%v: %s at offset %#x", e.Kind, e.Message, e.Offset)
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

func errAt(kind error, offset int, format string, args ...any) error {
	return &Error{Kind: kind, Offset: offset, Message: fmt.Sprintf(format, args...)}
}
