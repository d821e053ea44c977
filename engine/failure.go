package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// guestError is an error outcome as a guest writes it, see wasm-modules/ABI.md.
// A program can control every field of it.
type guestError struct {
	Error
	Text string `json:"text"` // of the line

	located bool // the place is one of the author's source
}

// Limits of what is shown of a guest's error.
const (
	maxMessage = 16 << 10
	maxStack   = 16 << 10
	maxName    = 200
	maxExcerpt = 160 // characters of a source line
)

// readGuestError reads an error outcome. Its code becomes one that a program can
// cause.
func readGuestError(data []byte) *guestError {
	g := &guestError{}
	if err := json.Unmarshal(data, g); err != nil {
		return &guestError{Error: Error{Code: fault.GuestException, Message: "the program failed, and its error is not readable"}}
	}
	switch g.Code.Class() {
	case fault.ClassGuest, fault.ClassDenied, fault.ClassUpstream:
	default:
		if g.Code != fault.LimitRecursion {
			g.Code = fault.GuestException
		}
	}
	g.eachText(func(s string, limit int) string { return text.Clip(s, searched*limit) })
	g.Line, g.Column = max(g.Line, 0), max(g.Column, 0)
	g.Exit &= 0xff
	return g
}

// searched is how much of a text is searched for personal data, by its limit. It is
// shortened to the limit after that, since a part of a value is not recognized.
const searched = 4

// eachText changes the texts of an error that a program can control. It passes the
// limit of each.
func (e *Error) eachText(change func(s string, limit int) string) {
	e.Message, e.Hint = change(e.Message, maxMessage), change(e.Hint, 4*maxName)
	e.Name, e.Tool = change(e.Name, maxName), change(e.Tool, maxName)
	e.Rule, e.File = change(e.Rule, maxName), change(e.File, maxName)
	e.Stack, e.Excerpt = change(e.Stack, maxStack), change(e.Excerpt, maxMessage)
}

// refused makes the error that of a compiler.
func (g *guestError) refused(s *guests.SyntaxError) {
	g.Name, g.Message, g.Hint, g.located = "SyntaxError", s.Message, s.Hint, true
	g.File, g.Line, g.Column, g.Text = s.File, s.Line, s.Column, s.Text
}

// locate moves the place of an error from what a guest ran, which a compiler may
// have made, to the author's source.
func (g *guestError) locate(p guests.Program) {
	g.Stack = p.Stack(g.Stack)
	if g.located || g.Line == 0 || p.File == "" || g.File != p.File {
		return
	}
	g.located = true
	at, ok := p.Origin(g.Line, g.Column)
	switch {
	case ok:
		g.Line, g.Column, g.Text = at.Line, at.Column, at.Text
	case p.Map != nil:
		g.Line, g.Column, g.Text = 0, 0, ""
	}
}

func newError(f *fault.Error) *Error {
	code := fault.CodeOf(f)
	return &Error{Code: code, Class: code.Class(), Message: f.Error(), Hint: fault.HintOf(f), cause: f}
}

// failWith makes the result one of a run that failed.
func (r *Result) failWith(f *fault.Error) {
	r.Error = newError(f)
	r.Status = statusOf(r.Error)
}

// faultOf makes a fault of any error.
func faultOf(err error) *fault.Error {
	var f *fault.Error
	if errors.As(err, &f) {
		return f
	}
	var h *hostfns.Failure
	if errors.As(err, &h) {
		return fault.New(h.Code, "%s", h.Message).WithHint("%s", h.Hint)
	}
	return fault.New(fault.CodeOf(err), "%w", err)
}

// statusOf returns the status of a run that ended with e.
func statusOf(e *Error) Status {
	if e == nil {
		return StatusOK
	}
	switch e.Class {
	case fault.ClassDenied:
		return StatusDenied
	case fault.ClassLimit:
		return StatusLimit
	}
	return StatusError
}

// excerpt returns a line of source with a caret below the column. A long line is
// cut around it.
func excerpt(line string, number, column int) string {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" || number <= 0 {
		return ""
	}
	runes := []rune(strings.ReplaceAll(line, "\t", " "))
	at := min(max(column-1, 0), len(runes))
	if len(runes) > maxExcerpt {
		from := max(0, min(at-maxExcerpt/2, len(runes)-maxExcerpt))
		runes = runes[from : from+maxExcerpt]
		at -= from
	}
	head := fmt.Sprintf("%4d | ", number)
	out := head + string(runes)
	if column > 0 {
		out += "\n" + strings.Repeat(" ", len(head)-2) + "| " + strings.Repeat(" ", at) + "^"
	}
	return out
}
