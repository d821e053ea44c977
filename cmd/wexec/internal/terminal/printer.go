// Package terminal is how the command talks to a person: messages, errors,
// questions, and a status line while a program runs. All of it goes to standard
// error; results go to standard output through [Printer.Output].
//
// Messages start in lower case and end without a full stop. An error, its place
// and its hint are separate lines. What is printed to a terminal is filtered, so
// text from outside cannot control it; pass a name or an argument through
// [Visible] to keep it on one line. While a question is open, everything else is
// held back. Color is used only on a terminal, unless the environment asks for
// it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Printer writes messages for a person. It is safe for concurrent use. Whatever
// is written through it first erases the status line. Close it to print what a
// question held back.
type Printer struct {
	// Interactive reports whether the writer is a terminal.
	Interactive bool
	// Quiet suppresses notes, warnings and status lines. Set it before use.
	Quiet bool

	w        io.Writer
	messages *stream
	color    bool

	mu       sync.Mutex
	closed   sync.Cond // a question was closed
	line     line
	status   bool // a status line is drawn
	open     int  // questions on the screen; everything else is held meanwhile
	answered int  // questions that are closed
	held     []heldWrite
	heldSize int
}

// heldWrite is what was written to one stream during a question.
type heldWrite struct {
	to   *stream
	data []byte
}

// maxHeld bounds the bytes that are held during a question. Writers of more wait
// until it is closed.
const maxHeld = 1 << 20

// New returns a printer to w. The environment decides about color: NO_COLOR and
// TERM=dumb switch it off, FORCE_COLOR and CLICOLOR_FORCE switch it on.
func New(w io.Writer, lookup func(name string) (string, bool)) *Printer {
	p := newPrinter(w, IsTerminal(w))
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

func newPrinter(w io.Writer, interactive bool) *Printer {
	p := &Printer{w: w, Interactive: interactive}
	p.closed.L = &p.mu
	p.messages = p.stream(w, interactive, interactive, wexec)
	return p
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *Printer) width() int { return Width(p.w) }

// Width returns the columns of a terminal, or 0 if they are unknown.
func Width(file any) int {
	f, ok := file.(*os.File)
	if !ok {
		return 0
	}
	columns, _, _ := term.GetSize(int(f.Fd()))
	return columns
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
func (p *Printer) Note(format string, args ...any) {
	if !p.Quiet {
		p.labeled(Cyan, "note:", format, args)
	}
}

// Warn writes a line that starts with "warning:".
func (p *Printer) Warn(format string, args ...any) {
	if !p.Quiet {
		p.labeled(Yellow, "warning:", format, args)
	}
}

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
func (p *Printer) Write(data []byte) (int, error) { return p.messages.Write(data) }

// stream is a writer next to the status line and to questions.
type stream struct {
	p        *Printer
	w        io.Writer
	terminal bool // it is filtered
	waits    bool // it is held during questions
	filter   filter
}

// Output returns a writer of messages and results to w, which may be the same
// terminal. Only a terminal is filtered, and held during questions.
func (p *Printer) Output(w io.Writer, isTerminal bool) io.Writer {
	return p.stream(w, isTerminal, isTerminal, wexec)
}

// Program is Output for what a program prints. It is held during questions, also
// if w is a pipe, which can lead to the same terminal.
func (p *Printer) Program(w io.Writer, isTerminal bool) io.Writer {
	return p.stream(w, isTerminal, true, program)
}

func (p *Printer) stream(w io.Writer, isTerminal, waits bool, by writer) *stream {
	return &stream{p: p, w: w, terminal: isTerminal, waits: waits, filter: filter{by: by}}
}

// Write implements io.Writer. It waits while a question is open and the held
// bytes are too many.
func (s *stream) Write(data []byte) (int, error) {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for s.waits && p.open > 0 {
		if p.hold(s, data) {
			return len(data), nil
		}
		p.closed.Wait()
	}
	return s.write(data)
}

// hold keeps a write for the end of the question. It returns false if there is no
// room. The caller holds the lock.
func (p *Printer) hold(s *stream, data []byte) bool {
	const entry = 64 // bytes of memory for a write to another stream
	last := len(p.held) - 1
	size := len(data)
	if last < 0 || p.held[last].to != s {
		size += entry
	}
	if p.heldSize+size > maxHeld {
		return false
	}
	p.heldSize += size
	if size > len(data) {
		p.held = append(p.held, heldWrite{to: s})
		last++
	}
	p.held[last].data = append(p.held[last].data, data...)
	return true
}

// write writes now. The caller holds the lock.
func (s *stream) write(data []byte) (int, error) {
	s.p.erase()
	if !s.terminal {
		return s.w.Write(data)
	}
	if _, err := s.w.Write(s.filter.append(nil, data, &s.p.line)); err != nil {
		return 0, err
	}
	return len(data), nil
}

// prompt draws a prompt at the beginning of a line. The line ends where a person
// ends it.
func (p *Printer) prompt(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	fmt.Fprintf(p.w, "%s%s", p.line.end(nil), text)
}

// SetStatus replaces the status line. Nothing is drawn while a question is open
// or after output that did not end its line.
func (p *Printer) SetStatus(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == 0 && p.line.by == nobody {
		fmt.Fprintf(p.w, "%s\r\x1b[K%s", p.line.resetStyle(nil), Filter(line))
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

// beginQuestion starts a question on an empty line in the default style. Until
// endQuestion, only drawQuestion prints.
func (p *Printer) beginQuestion() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.open++
	if p.Interactive {
		_, _ = p.w.Write(append(p.line.end(nil), "\x1b[0m\r\x1b[J"...))
	}
}

// drawQuestion prints lines of a question with the mark and a prompt, after
// which the answer is typed. The lines are wrapped here, since a terminal would
// wrap them without the mark.
func (p *Printer) drawQuestion(lines []string, prompt string) {
	width := p.width()
	if width == 0 {
		width = 80
	}
	mark := p.Paint(Yellow, string(Mark)) + " "
	var out strings.Builder
	for _, l := range lines {
		for i, row := range wrap(Filter(l), max(width-8, 20)) {
			if i > 0 {
				row = "    " + row
			}
			out.WriteString(mark + row + "\n")
		}
	}
	out.WriteString(mark + Filter(prompt))
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = io.WriteString(p.w, out.String())
}

// wrap splits a filtered line into rows of at most width cells.
func wrap(s string, width int) []string {
	var rows []string
	begin, cells, style := 0, 0, false
	for at, r := range s {
		n := 1
		switch {
		case r == 0x1b || style:
			n, style = 0, r != 'm'
		case r >= 0x80:
			n = 2 // or less
		}
		if cells += n; cells > width {
			rows = append(rows, s[begin:at])
			begin, cells = at, n
		}
	}
	return append(rows, s[begin:])
}

// endQuestion prints what was held back. The line of an answer has ended.
func (p *Printer) endQuestion(answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == 0 {
		return // the printer was closed
	}
	if !answered {
		fmt.Fprintln(p.w)
	}
	p.open--
	p.answered++
	p.release()
}

// release writes what was held back. The caller holds the lock.
func (p *Printer) release() {
	for _, h := range p.held {
		_, _ = h.to.write(h.data)
	}
	p.held, p.heldSize = nil, 0
	p.closed.Broadcast()
}

// Close ends open questions, and leaves the terminal in the default style.
func (p *Printer) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open > 0 {
		fmt.Fprintln(p.w)
		p.open = 0
		p.release()
	}
	if p.line.styled != nobody {
		_, _ = p.w.Write(p.line.resetStyle(nil))
	}
}

// closedQuestions returns how many questions have been answered or withdrawn.
func (p *Printer) closedQuestions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered
}
