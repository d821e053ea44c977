package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
)

// CanAsk reports whether a person can be asked: both in and p are terminals.
func (p *Printer) CanAsk(in io.Reader) bool {
	return p.Interactive && IsTerminal(in)
}

// Choose asks for numbers from 1 to n. It returns nil if the person chooses
// nothing or gives three answers that make no sense.
func (p *Printer) Choose(in io.Reader, question string, n int) []int {
	for i := range 3 {
		line := p.askLine(in, fmt.Sprintf("%s [numbers from 1 to %d, all, enter for none]? ", question, n), i == 0)
		if line == "" {
			return nil
		}
		if out, ok := parseChoice(line, n); ok {
			return out
		}
		p.Print("enter a number, several such as 1 2, or all")
	}
	return nil
}

// askLine asks for one line. It returns "" if there is none. Only the first question
// of several discards what was typed before.
func (p *Printer) askLine(in io.Reader, prompt string, first bool) string {
	p.beginQuestion()
	if first {
		discardInput(in)
	}
	p.drawQuestion(nil, prompt)
	line, err := ReadLine(in)
	p.endQuestion(err == nil)
	return line
}

// parseChoice parses an answer such as "1, 3" or "all".
func parseChoice(line string, n int) ([]int, bool) {
	var out []int
	if strings.EqualFold(line, "all") {
		for i := range n {
			out = append(out, i+1)
		}
		return out, true
	}
	for _, field := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		i, err := strconv.Atoi(field)
		if err != nil || i < 1 || i > n {
			return nil, false
		}
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out, len(out) > 0
}

// Confirm asks a question with yes or no for an answer. Anything but yes is no.
func (p *Printer) Confirm(in io.Reader, question string) bool {
	line := p.askLine(in, question+" [y/N]? ", true)
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes")
}

// ReadLine reads one line, byte by byte: what follows it stays unread.
func ReadLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < 4096 {
		n, err := r.Read(b[:])
		if n == 1 {
			if b[0] == '\n' {
				break
			}
			line = append(line, b[0])
		}
		if err != nil {
			return "", err
		}
	}
	return strings.TrimSpace(string(line)), nil
}

// Asker asks the person at the terminal to approve calls, one at a time.
type Asker struct {
	// Rule returns the rule that would allow what a question is about, as it is
	// shown, and what writes it. It returns "" if there is no file to write it to.
	// Nil: no rules are written.
	Rule func(hostfns.Grant) (shown string, write func() error)

	p  *Printer
	in io.Reader

	asking sync.Mutex // held while a question is open

	mu      sync.Mutex
	changed sync.Cond
	answers chan string // receives lines while a question is open, else nil
	started bool        // the goroutine that reads lines runs; it outlives questions
	ended   bool
	keep    bool     // lines that answer no question are kept for ReadLine
	kept    []string // at most maxKept, and one that was read while they were
}

// maxKept bounds the lines that are read before they are asked for.
const maxKept = 256

// NewAsker returns an asker that reads answers from in.
func NewAsker(p *Printer, in io.Reader) *Asker {
	a := &Asker{p: p, in: in}
	a.changed.L = &a.mu
	return a
}

// ReadLine returns the next line that answers no question, without its end, or
// io.EOF. It prints the prompt first. If the context ends, the line that is
// being entered is for the next call.
func (a *Asker) ReadLine(ctx context.Context, prompt string) (string, error) {
	a.p.prompt(prompt)
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.changed.Broadcast()
	})()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep = true
	a.start()
	for {
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case len(a.kept) > 0:
			line := a.kept[0]
			a.kept = a.kept[1:]
			a.changed.Broadcast()
			return line, nil
		case a.ended:
			return "", io.EOF
		}
		a.changed.Wait()
	}
}

// DiscardLines discards the lines that were read and not asked for.
func (a *Asker) DiscardLines() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = nil
	a.changed.Broadcast()
}

// start starts to read. The caller holds the lock.
func (a *Asker) start() {
	if !a.started {
		a.started = true
		go a.read()
	}
}

// CanGrant implements [hostfns.Granter].
func (a *Asker) CanGrant() bool { return true }

// Ask shows a call, with every character of its arguments visible, and waits for
// yes, no or always. Nothing else is printed meanwhile.
func (a *Asker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	if ctx.Err() != nil {
		return hostfns.Reply{}, context.Cause(ctx)
	}
	a.p.beginQuestion()
	answered := false
	defer func() { a.p.endQuestion(answered) }()
	discardInput(a.in)
	answers, stop := a.listen()
	defer stop()
	tool := Visible(q.Tool)
	if q.Grant != nil {
		switch {
		case q.Grant.Kind == "network":
			tool = "host " + Visible(q.Grant.Name)
		case q.Grant.Write:
			tool = "write " + Visible(q.Grant.Name)
		case q.Grant.Kind == "file":
			tool = "read " + Visible(q.Grant.Name)
		}
	}
	choices := "allow " + fit(tool, 40) + "? [y]es, [n]o"
	always := q.Remember == "run" || q.Remember == "session"
	if always {
		choices += ", [a]lways for this " + q.Remember
	}
	rule, write := "", func() error { return nil }
	if q.Grant != nil && a.Rule != nil {
		if rule, write = a.Rule(*q.Grant); rule != "" {
			choices += ", [w]rite the rule"
		}
	}
	lines := append([]string{a.p.Paint("1;33", "approve?") + " " + a.p.Paint(Bold, tool)}, QuestionLines(q)...)
	for writing := false; ; {
		prompt := choices
		if writing {
			lines, prompt = append(lines, Visible(rule)), "write this rule? [y]es, [n]o"
		}
		a.p.drawQuestion(lines, prompt+": ")
		select {
		case <-ctx.Done():
			return hostfns.Reply{}, context.Cause(ctx)
		case line, ok := <-answers:
			if !ok {
				return hostfns.Reply{}, fault.New(fault.DeniedApproval, "the terminal was closed")
			}
			answered = true
			lines = nil
			switch answer := strings.ToLower(line); {
			case writing:
				writing = false
				if answer != "y" && answer != "yes" {
					break
				}
				if err := write(); err != nil {
					lines = []string{"the rule is not written: " + Visible(err.Error())}
					break
				}
				return hostfns.Reply{Approved: true, Always: true, By: "terminal"}, nil
			case rule != "" && (answer == "w" || answer == "write"):
				writing = true
			case answer == "y" || answer == "yes":
				return hostfns.Reply{Approved: true, By: "terminal"}, nil
			case always && (answer == "a" || answer == "always"):
				return hostfns.Reply{Approved: true, Always: true, By: "terminal"}, nil
			case answer == "n" || answer == "no":
				return hostfns.Reply{By: "terminal", Reason: "a person said no"}, nil
			}
			answered = false
		}
	}
}

// listen returns the lines that are read from now on. Lines typed before, for a
// question that was withdrawn, do not count.
func (a *Asker) listen() (answers <-chan string, stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := make(chan string, 16)
	if a.ended {
		close(open)
		return open, func() {}
	}
	a.answers = open
	a.changed.Broadcast()
	a.start()
	return open, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.answers = nil
	}
}

func (a *Asker) read() {
	lines := bufio.NewScanner(a.in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		a.mu.Lock()
		select {
		case a.answers <- strings.TrimSpace(lines.Text()):
		default: // no question is open
			if a.keep {
				// Not an answer to a question that opens while there is no room.
				for len(a.kept) >= maxKept && a.answers == nil {
					a.changed.Wait()
				}
				a.kept = append(a.kept, lines.Text())
				a.changed.Broadcast()
			}
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	a.changed.Broadcast()
	if a.answers != nil {
		close(a.answers)
	}
}

// QuestionLines are [approvals.Lines] at the terminal, with the commands that show what
// is cut.
func QuestionLines(q hostfns.Question) []string {
	room := approvals.OnTerminal
	room.Question, room.Record = "wexec approvals show %s --json", "wexec audit show %s --json"
	return approvals.Lines(q, room)
}
