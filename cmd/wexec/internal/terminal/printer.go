// Package terminal is how the command talks to a person: messages, errors,
// questions, and a status line while a program runs. All of it goes to standard
// error; results go to standard output and are not written here.
//
// Messages start in lower case and end without a full stop. An error, its place
// and its hint are separate lines. Text from outside has to pass through
// [Visible] before it is printed, so that it cannot control the terminal. Color
// is used only on a terminal, unless the environment asks for it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Printer writes messages for a person. It is safe for concurrent use. Whatever
// is written through it first erases the status line.
type Printer struct {
	// Interactive reports whether the writer is a terminal.
	Interactive bool

	w     io.Writer
	color bool
	width int // of the terminal, in characters; 0: unknown

	mu       sync.Mutex
	status   bool // a status line is drawn
	midLine  bool // the last write did not end its line
	open     int  // questions on the screen; no status line is drawn meanwhile
	answered int  // questions that are closed
}

// New returns a printer to w. The environment decides about color: NO_COLOR and
// TERM=dumb switch it off, FORCE_COLOR and CLICOLOR_FORCE switch it on.
func New(w io.Writer, lookup func(name string) (string, bool)) *Printer {
	p := &Printer{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.Interactive = true
		p.width, _, _ = term.GetSize(int(f.Fd()))
	}
	set := func(name string) string {
		v, _ := lookup(name)
		return v
	}
	p.color = p.Interactive && set("NO_COLOR") == "" && set("TERM") != "dumb"
	for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
		if v := set(name); v != "" && v != "0" {
			p.color = true
		}
	}
	return p
}

// A Style is the ANSI code of a color or a weight.
type Style string

// The styles of messages.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Blue   Style = "34"
	Cyan   Style = "36"
)

// Paint returns s in a style, or s itself where color is off.
func (p *Printer) Paint(style Style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + string(style) + "m" + s + "\x1b[0m"
}

// Print writes one line.
func (p *Printer) Print(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// Note writes a line that starts with "note:".
func (p *Printer) Note(format string, args ...any) { p.labeled(Cyan, "note:", format, args) }

// Warn writes a line that starts with "warning:".
func (p *Printer) Warn(format string, args ...any) { p.labeled(Yellow, "warning:", format, args) }

// Hint writes a line that starts with "hint:", or nothing if the text is empty.
func (p *Printer) Hint(text string) {
	if text != "" {
		p.labeled(Green, "hint:", "%s", []any{text})
	}
}

func (p *Printer) labeled(style Style, label, format string, args []any) {
	p.Print("%s %s", p.Paint(style, label), fmt.Sprintf(format, args...))
}

// Write implements io.Writer.
func (p *Printer) Write(data []byte) (int, error) { return p.writeTo(p.w, data) }

// Alongside returns a writer to w, which may be the same terminal: the status
// line is erased before each write.
func (p *Printer) Alongside(w io.Writer) io.Writer {
	if !p.Interactive {
		return w
	}
	return alongside{p, w}
}

type alongside struct {
	p *Printer
	w io.Writer
}

func (a alongside) Write(data []byte) (int, error) { return a.p.writeTo(a.w, data) }

func (p *Printer) writeTo(w io.Writer, data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	if len(data) > 0 {
		p.midLine = data[len(data)-1] != '\n'
	}
	return w.Write(data)
}

// SetStatus replaces the status line. Nothing is drawn while a question is open
// or after output that did not end its line.
func (p *Printer) SetStatus(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == 0 && !p.midLine {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
		p.status = true
	}
}

// ClearStatus erases the status line.
func (p *Printer) ClearStatus() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// erase erases the status line. The caller holds the lock.
func (p *Printer) erase() {
	if p.status {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.status = false
	}
}

// beginQuestion keeps the status line away until end is called.
func (p *Printer) beginQuestion() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.open++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open--
		p.answered++
		p.midLine = false // the answer ended the line
	}
}

// closedQuestions returns how many questions have been answered or withdrawn.
func (p *Printer) closedQuestions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}
