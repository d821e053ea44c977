package terminal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// CanAsk reports whether a person can be asked: both in and p are terminals.
func (p *Printer) CanAsk(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && p.Interactive && term.IsTerminal(int(f.Fd()))
}

// Choose asks for numbers from 1 to n. It returns nil if the person chooses
// nothing or gives three answers that make no sense.
func (p *Printer) Choose(in io.Reader, question string, n int) []int {
	for range 3 {
		fmt.Fprintf(p, "%s [numbers from 1 to %d, all, enter for none]? ", question, n)
		line, err := ReadLine(in)
		if err != nil || line == "" {
			return nil
		}
		if out, ok := parseChoice(line, n); ok {
			return out
		}
		p.Print("enter a number, several such as 1 2, or all")
	}
	return nil
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
	fmt.Fprintf(p, "%s [y/N]? ", question)
	line, err := ReadLine(in)
	return err == nil && (strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"))
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
	p  *Printer
	in io.Reader

	asking sync.Mutex // held while a question is open

	mu      sync.Mutex
	answers chan string // receives lines while a question is open, else nil
	started bool        // the goroutine that reads lines runs; it outlives questions
	ended   bool
}

// NewAsker returns an asker that reads answers from in.
func NewAsker(p *Printer, in io.Reader) *Asker { return &Asker{p: p, in: in} }

// Ask shows a call, with every character of its arguments visible, and waits for
// yes, no or always.
func (a *Asker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	a.asking.Lock()
	defer a.asking.Unlock()
	if ctx.Err() != nil {
		return hostfns.Reply{}, context.Cause(ctx)
	}
	defer a.p.beginQuestion()()
	answers, stop := a.listen()
	defer stop()
	a.show(q)
	choices := "[y]es, [n]o"
	always := q.Remember == "run" || q.Remember == "session"
	if always {
		choices += ", [a]lways for this " + q.Remember
	}
	for {
		fmt.Fprintf(a.p, "%s: ", choices)
		select {
		case <-ctx.Done():
			a.p.Print("")
			return hostfns.Reply{}, context.Cause(ctx)
		case line, ok := <-answers:
			if !ok {
				return hostfns.Reply{}, fault.New(fault.DeniedApproval, "the terminal was closed")
			}
			switch answer := strings.ToLower(line); {
			case answer == "y" || answer == "yes":
				return hostfns.Reply{Approved: true, By: "terminal"}, nil
			case always && (answer == "a" || answer == "always"):
				return hostfns.Reply{Approved: true, Always: true, By: "terminal"}, nil
			case answer == "n" || answer == "no":
				return hostfns.Reply{By: "terminal", Reason: "a person said no"}, nil
			}
		}
	}
}

func (a *Asker) show(q hostfns.Question) {
	p := a.p
	p.Print("")
	p.Print("%s %s", p.Paint("1;33", "approve?"), p.Paint(Bold, Visible(q.Tool)))
	if q.Message != "" {
		p.Print("  %s", Visible(q.Message))
	}
	for _, line := range Arguments(q.Args) {
		p.Print("  %s", line)
	}
	if q.Rule != "" {
		p.Print("  %s", p.Paint(Dim, "rule "+Visible(q.Rule)))
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
	if !a.started {
		a.started = true
		go a.read()
	}
	return open, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.answers = nil
	}
}

func (a *Asker) read() {
	for lines := bufio.NewScanner(a.in); lines.Scan(); {
		a.mu.Lock()
		select {
		case a.answers <- strings.TrimSpace(lines.Text()):
		default: // no question is open
		}
		a.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	if a.answers != nil {
		close(a.answers)
	}
}

// Arguments shows the arguments of a call, one a line.
func Arguments(args json.RawMessage) []string {
	const most = 400 // characters of one argument
	var all map[string]json.RawMessage
	if json.Unmarshal(args, &all) != nil {
		return []string{Clip(Visible(string(args)), most)}
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, Clip(Visible(name+": "+string(all[name])), most))
	}
	return out
}
