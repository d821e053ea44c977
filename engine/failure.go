package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// guestError is an error outcome as a guest writes it, see wasm-modules/ABI.md.
// A program may have a hand in every field of it.
type guestError struct {
	Code    fault.Code `json:"code"`
	Name    string     `json:"name"`
	Message string     `json:"message"`
	Hint    string     `json:"hint"`
	Tool    string     `json:"tool"`
	Rule    string     `json:"rule"`
	File    string     `json:"file"`
	Line    int        `json:"line"`
	Column  int        `json:"column"`
	Text    string     `json:"text"`
	Stack   string     `json:"stack"`
	Exit    int        `json:"exit"`

	placed bool // in the author's own terms
}

// Bounds of what is shown of a guest's error.
const (
	maxMessage = 16 << 10
	maxStack   = 16 << 10
	maxName    = 200
	maxExcerpt = 160 // characters of a source line
)

// readGuestError reads an error outcome. Whatever it says, it becomes an error
// of a class that a program can cause.
func readGuestError(data []byte) *guestError {
	g := &guestError{}
	if err := json.Unmarshal(data, g); err != nil {
		return &guestError{Code: fault.GuestException, Message: "the program failed and its error could not be read"}
	}
	switch g.Code.Class() {
	case fault.ClassGuest, fault.ClassDenied, fault.ClassUpstream:
	default:
		if g.Code != fault.LimitRecursion {
			g.Code = fault.GuestException
		}
	}
	g.Message = clip(g.Message, maxMessage)
	g.Stack = clip(g.Stack, maxStack)
	for _, s := range []*string{&g.Name, &g.Tool, &g.Rule, &g.File} {
		*s = clip(*s, maxName)
	}
	g.Hint = clip(g.Hint, 4*maxName)
	g.Line, g.Column = max(g.Line, 0), max(g.Column, 0)
	g.Exit &= 0xff
	return g
}

// failure is the error that the caller sees.
func (j *job) failure() *Error {
	if j.fault != nil {
		f := j.fault
		e := &Error{Code: fault.CodeOf(f), Class: fault.CodeOf(f).Class(), Message: f.Error(), Hint: fault.HintOf(f), cause: f}
		var exit *sys.ExitError
		if errors.As(f, &exit) {
			e.Exit = int(exit.ExitCode() & 0xff)
		}
		return e
	}
	g := j.guestErr
	if s := j.refused; s != nil && g.Line == 0 && g.Message == s.Error() {
		g.Name, g.Message, g.Hint, g.placed = "SyntaxError", s.Message, s.Hint, true
		g.File, g.Line, g.Column, g.Text = s.File, s.Line, s.Column, s.Text
	}
	g.place(j.source)
	g.Stack = j.source.Stack(g.Stack)
	for _, p := range j.modules {
		g.place(p)
		g.Stack = p.Stack(g.Stack)
	}
	shown := func(s string) string { return j.tools.Egress("error", s) }
	e := &Error{
		Code: g.Code, Class: g.Code.Class(), Message: shown(g.Message), Hint: shown(g.Hint), Name: shown(g.Name),
		Tool: g.Tool, Rule: g.Rule, File: g.File, Line: g.Line, Column: g.Column, Stack: shown(g.Stack), Exit: g.Exit,
	}
	e.Excerpt = shown(excerpt(g.Text, g.Line, g.Column))
	return e
}

// faultOf makes any error a fault.
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

// statusOf is the status of a run that ended with e.
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

// excerpt shows a line of source with a caret below the column. A long line is
// cut around it.
func excerpt(text string, line, column int) string {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" || line <= 0 {
		return ""
	}
	runes := []rune(strings.ReplaceAll(text, "\t", " "))
	at := min(max(column-1, 0), len(runes))
	if len(runes) > maxExcerpt {
		from := max(0, min(at-maxExcerpt/2, len(runes)-maxExcerpt))
		runes = runes[from : from+maxExcerpt]
		at -= from
	}
	head := fmt.Sprintf("%4d | ", line)
	out := head + string(runes)
	if column > 0 {
		out += "\n" + strings.Repeat(" ", len(head)-2) + "| " + strings.Repeat(" ", at) + "^"
	}
	return out
}

// clip cuts a text to n bytes at a whole character.
func clip(s string, n int) string {
	if len(s) <= n {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.ToValidUTF8(s[:n], "\uFFFD") + "…"
}
