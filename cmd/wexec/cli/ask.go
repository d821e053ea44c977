package cli

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
	"github.com/wexec/wexec/internal/text"
)

// canAsk reports whether a person is at both ends: there is no prompt without
// a terminal.
func (d *door) canAsk() bool {
	in, ok := d.inv.Stdin.(*os.File)
	return ok && d.voice.terminal && term.IsTerminal(int(in.Fd()))
}

// choose asks for numbers from 1 to n, or all; none is nothing chosen.
func (d *door) choose(question string, n int) []int {
	for range 3 {
		fmt.Fprintf(d.voice, "%s [numbers from 1 to %d, all, enter for none]? ", question, n)
		line, err := readAnswer(d.inv.Stdin)
		if err != nil || line == "" {
			return nil
		}
		if out, ok := picked(line, n); ok {
			return out
		}
		d.voice.say("write a number, several like 1 2, or all")
	}
	return nil
}

// picked reads an answer like "1, 3" or "all".
func picked(line string, n int) ([]int, bool) {
	var out []int
	if strings.EqualFold(line, "all") {
		for i := range n {
			out = append(out, i+1)
		}
		return out, true
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ',' || r == ' ' }) {
		i, err := strconv.Atoi(word)
		if err != nil || i < 1 || i > n {
			return nil, false
		}
		if !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	return out, len(out) > 0
}

// readAnswer reads one line, byte by byte, so that nothing behind it is taken
// from whoever reads next.
func readAnswer(r io.Reader) (string, error) {
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

// asker asks at the terminal; nil where nobody is there.
func (d *door) asker() hostfns.Asker {
	if !d.canAsk() {
		return nil
	}
	return &terminalAsker{voice: d.voice, in: d.inv.Stdin}
}

// terminalAsker puts one question at a time to the person at the terminal.
type terminalAsker struct {
	mu    sync.Mutex
	voice *voice
	in    io.Reader

	reading sync.Mutex
	open    chan string // where lines go while a question stands
	started bool        // one goroutine reads lines, and outlives a question
	ended   bool
}

// Ask shows the call as it really is, with control characters made visible,
// and waits for y, n or a.
func (t *terminalAsker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return hostfns.Reply{}, context.Cause(ctx)
	}
	v := t.voice
	defer v.question()()
	lines, done := t.listen()
	defer done()
	v.say("")
	v.say("%s %s", v.paint("1;33", "approve?"), v.paint("1", visibleText(q.Tool)))
	if q.Message != "" {
		v.say("  %s", visibleText(q.Message))
	}
	for _, line := range argumentLines(q.Args) {
		v.say("  %s", line)
	}
	if q.Rule != "" {
		v.say("  %s", v.paint("2", "rule "+visibleText(q.Rule)))
	}
	choices := "[y]es, [n]o"
	if q.Remember == "run" || q.Remember == "session" {
		choices += ", [a]lways for this " + q.Remember
	}
	for {
		fmt.Fprintf(v, "%s: ", choices)
		select {
		case <-ctx.Done():
			v.say("")
			return hostfns.Reply{}, context.Cause(ctx)
		case line, ok := <-lines:
			if !ok {
				return hostfns.Reply{}, fault.New(fault.DeniedApproval, "the terminal was closed")
			}
			switch strings.ToLower(line) {
			case "y", "yes":
				return hostfns.Reply{Approved: true, By: "terminal"}, nil
			case "a", "always":
				if q.Remember == "run" || q.Remember == "session" {
					return hostfns.Reply{Approved: true, Always: true, By: "terminal"}, nil
				}
			case "n", "no":
				return hostfns.Reply{By: "terminal", Reason: "a person said no"}, nil
			}
		}
	}
}

// listen gives the lines that are typed from now on. What is typed between two
// questions is lost: a yes to one that was withdrawn is no yes to the next.
func (t *terminalAsker) listen() (lines <-chan string, done func()) {
	t.reading.Lock()
	defer t.reading.Unlock()
	open := make(chan string, 16)
	if t.ended {
		close(open)
		return open, func() {}
	}
	t.open = open
	if !t.started {
		t.started = true
		go t.read()
	}
	return open, func() {
		t.reading.Lock()
		defer t.reading.Unlock()
		t.open = nil
	}
}

func (t *terminalAsker) read() {
	r := bufio.NewScanner(t.in)
	for r.Scan() {
		t.reading.Lock()
		select {
		case t.open <- strings.TrimSpace(r.Text()):
		default: // nobody asked
		}
		t.reading.Unlock()
	}
	t.reading.Lock()
	defer t.reading.Unlock()
	t.ended = true
	if t.open != nil {
		close(t.open)
	}
}

// argumentLines shows each argument on a line of its own, cut where it is long.
func argumentLines(args json.RawMessage) []string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return []string{cut(visibleText(string(args)), 400)}
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, cut(visibleText(k+": "+string(m[k])), 400))
	}
	return out
}

func cut(s string, n int) string {
	if rs := []rune(s); len(rs) > n {
		return string(rs[:n]) + fmt.Sprintf("… (%d characters)", len(rs))
	}
	return s
}

// visibleText shows whatever is not seen, or moves what is seen, as such, so
// that no text can draw a question of its own.
func visibleText(s string) string {
	if !strings.ContainsAny(s, "\n\t") {
		return text.Visible(s)
	}
	var b strings.Builder
	for part := range strings.SplitAfterSeq(s, "\n") {
		line, broken := strings.CutSuffix(part, "\n")
		for i, cell := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteString(`\t`)
			}
			b.WriteString(text.Visible(cell))
		}
		if broken {
			b.WriteString(`\n`)
		}
	}
	return b.String()
}
