package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// The rules of the command's voice. Everything but results goes to stderr. An
// error is a headline, then where, then what to do next, each on lines of its
// own; no capitals at the start, no full stops. Colour only on a terminal that
// wants it.

// voice writes to people. What passes through it first takes away the line that
// tells of progress, where one stands.
type voice struct {
	w        io.Writer
	colour   bool
	terminal bool
	width    int // of the terminal, in characters

	mu        sync.Mutex
	line      bool // a line stands that is to be taken away
	partial   bool // what was written last goes on in the same line
	questions int  // open at the terminal: no line is drawn beside them
	answered  int  // questions that are no longer open
}

func newVoice(inv *Invocation) *voice {
	v := &voice{w: inv.Stderr}
	if f, ok := inv.Stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		v.terminal = true
		v.width, _, _ = term.GetSize(int(f.Fd()))
	}
	v.colour = v.terminal
	if inv.Env != nil {
		if s, ok := inv.Env.Lookup("NO_COLOR"); ok && s != "" {
			v.colour = false
		}
		if s, ok := inv.Env.Lookup("TERM"); ok && s == "dumb" {
			v.colour = false
		}
		for _, name := range []string{"FORCE_COLOR", "CLICOLOR_FORCE"} {
			if s, ok := inv.Env.Lookup(name); ok && s != "" && s != "0" {
				v.colour = true
			}
		}
	}
	return v
}

func (v *voice) paint(code, s string) string {
	if !v.colour || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Write writes to stderr.
func (v *voice) Write(p []byte) (int, error) { return v.writeTo(v.w, p) }

func (v *voice) writeTo(w io.Writer, p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wipeLocked()
	if len(p) > 0 {
		v.partial = p[len(p)-1] != '\n'
	}
	return w.Write(p)
}

// show draws a line in place of the one that stands, if any. None is drawn
// while a question is open, nor over what was written without an end of line.
func (v *voice) show(line string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.questions == 0 && !v.partial {
		fmt.Fprintf(v.w, "\r\x1b[K%s", line)
		v.line = true
	}
}

// wipe takes the line away.
func (v *voice) wipe() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wipeLocked()
}

func (v *voice) wipeLocked() {
	if v.line {
		fmt.Fprint(v.w, "\r\x1b[K")
		v.line = false
	}
}

// question keeps lines from being drawn until it is answered.
func (v *voice) question() (answered func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.wipeLocked()
	v.questions++
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.questions--
		v.answered++
		v.partial = false // whoever answers ends the line
	}
}

// answers is how many questions were answered so far, or came to nothing.
func (v *voice) answers() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.answered
}

// beside is a writer to the same terminal, before which the line is taken away.
func (v *voice) beside(w io.Writer) io.Writer {
	if !v.terminal {
		return w
	}
	return besideVoice{v, w}
}

type besideVoice struct {
	v *voice
	w io.Writer
}

func (b besideVoice) Write(p []byte) (int, error) { return b.v.writeTo(b.w, p) }

func (v *voice) say(format string, args ...any) { fmt.Fprintf(v, format+"\n", args...) }

func (v *voice) note(format string, args ...any) {
	v.say("%s %s", v.paint("36", "note:"), fmt.Sprintf(format, args...))
}

func (v *voice) warn(format string, args ...any) {
	v.say("%s %s", v.paint("33", "warning:"), fmt.Sprintf(format, args...))
}

func (v *voice) hint(text string) {
	if text != "" {
		v.say("%s %s", v.paint("32", "hint:"), text)
	}
}

// fault tells of an error that no run had.
func (v *voice) fault(err error) {
	var e *engine.Error
	if errors.As(err, &e) {
		v.runError(e)
		return
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) && len(joined.Unwrap()) > 1 {
		for _, one := range joined.Unwrap() {
			v.headline(fault.CodeOf(one), one.Error())
			v.hint(fault.HintOf(one))
		}
		return
	}
	v.headline(fault.CodeOf(err), err.Error())
	if hint := fault.HintOf(err); hint != "" || fault.CodeOf(err) != fault.AuditUnavailable {
		v.hint(hint)
		return
	}
	v.hint("without a record nothing is done: free the disk, or name another folder with --audit DIR")
}

// runError tells of the error of a run.
func (v *voice) runError(e *engine.Error) {
	v.headline(e.Code, e.Error())
	if e.File != "" {
		at := e.File
		if e.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, e.Line)
			if e.Column > 0 {
				at = fmt.Sprintf("%s:%d", at, e.Column)
			}
		}
		v.say("  %s %s", v.paint("34", "-->"), at)
	}
	if e.Excerpt != "" {
		v.say("%s", strings.TrimRight(e.Excerpt, "\n"))
	}
	if e.Rule != "" {
		v.say("  %s %s", v.paint("34", "rule:"), e.Rule)
	}
	for _, f := range frames(e) {
		v.say("  %s", v.paint("2", f))
	}
	switch {
	case e.Hint != "decided by "+e.Rule:
		v.hint(e.Hint)
	case e.Rule == "command line" && e.Code == fault.DeniedTool && e.Tool != "" && strings.Contains(e.Message, "no rule allows"):
		v.hint("--allow-tool " + e.Tool + " allows it, or a policy file does")
	}
}

func (v *voice) headline(code fault.Code, text string) {
	first, rest, more := strings.Cut(text, "\n")
	v.say("%s %s %s", v.paint("1;31", "error:"), v.paint("1", first), v.paint("2", "["+string(code)+"]"))
	if more {
		v.say("%s", strings.TrimRight(rest, "\n"))
	}
}

// frames are the lines of a stack that say more than headline and place do.
func frames(e *engine.Error) []string {
	lines := strings.Split(strings.TrimSpace(e.Stack), "\n")
	if strings.TrimSpace(lines[0]) == strings.TrimSpace(strings.SplitN(e.Error(), "\n", 2)[0]) {
		lines = lines[1:]
	}
	calls := 0
	for _, l := range lines {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "at ") || strings.HasPrefix(l, "File \"") {
			calls++
		}
	}
	if len(lines) < 2 || calls == 1 && e.Excerpt != "" || e.Code == fault.GuestSyntax && e.Excerpt != "" {
		return nil
	}
	var out []string
	same := 0
	for i, l := range lines {
		if i > 0 && l == lines[i-1] {
			same++
			continue
		}
		out = append(repeated(out, same), strings.TrimRight(l, " "))
		same = 0
	}
	return repeated(out, same)
}

// repeated says how often the last frame stood there once more.
func repeated(lines []string, times int) []string {
	if times == 0 {
		return lines
	}
	last := lines[len(lines)-1]
	indent := last[:len(last)-len(strings.TrimLeft(last, " "))]
	return append(lines, fmt.Sprintf("%s… %d more like it", indent, times))
}
