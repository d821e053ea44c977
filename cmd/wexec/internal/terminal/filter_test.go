package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/hostfns"
)

func TestTheFilterDropsControlSequencesAndKeepsText(t *testing.T) {
	for in, want := range map[string]string{
		"plain ünïcode 日本 👩‍💻\tx\n": "plain ünïcode 日本 👩‍💻\tx\n",
		"\x1b[2J\x1b[1;1Ha":         "a",
		"\x1b[?1049h\x1b[!pa":       "a",
		"\x1b[1 qa\x1b[>4;2ma":      "aa",
		"\x9b2Ja":                   "\ufffd2Ja",
		"\x1b(0a\x1b#8a\x1bca":      "aaa",
		"\x1b[1\na":                 "\na",
		"\x1b\x1b[2Ja":              "a",
		"a\x00\x07\x0b\x0c\x0eb":    "ab",
		"a\x7fb":                    "ab",
		"a\u202eb\u200b":            `a\u{202e}b\u{200b}`,
		"\u0301a":                   `\u{301}a`,
		"e\u0301\u0301":             "e\u0301\u0301",
		"x▐ approve?":               `x\u{2590} approve?`,
		"\xff\xfe":                  "\ufffd\ufffd",
		// colors that can be seen, until the end of the line
		"\x1b[31mred\nplain":                          "\x1b[31mred\x1b[0m\nplain",
		"\x1b[1;4;93mx\x1b[m":                         "\x1b[1;4;93mx\x1b[0m\x1b[0m",
		"\x1b[8mx\x1b[5mx":                            "xx",
		"\x1b[30;40mx\x1b[97mx\x1b[90;107mx":          "xxx",
		"\x1b[38;5;1;48;5;1mx\x1b[38;2;1;1;1;7mx":     "x\x1b[7mx\x1b[0m",
		"\x1b[38:5:1mx\x1b[4:3mx\x1b[?31mx\x1b[31$mx": "xxxx",
		"\x1b[" + strings.Repeat("1;", 60) + "1mx":    "x",
		// messages return to no line, and go back over nothing
		"name\rapprove?": `name\u{d}approve?`,
		"a\r\nb\r\n":     "a\nb\n",
		"ab\b\bxy":       "abxy",
	} {
		if got := Filter(in); got != want {
			t.Errorf("%q is let through as %q, want %q", in, got, want)
		}
	}
}

func TestTheFilterDropsStringsOfPrograms(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b]0;title\x07a":       "a",
		"\x1b]52;c;aGk=\x1b\\a":   "a",
		"\x1b]8;;http://x\u009ca": "a",
		"\x1bPq#0;2\x1b\\a":       "a",
		"\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\\x1bktitle\x1b\\a": "a",
		"\x1b]never ends\na":  "\na",
		"\x1b]cancelled\x18a": "a",
		"\x1b]x\x1b[31ma":     "\x1b[31ma",
	} {
		for split := range in {
			f, l := filter{by: program}, line{}
			got := f.append(f.append(nil, []byte(in[:split]), &l), []byte(in[split:]), &l)
			if string(got) != want {
				t.Errorf("%q, split at %d, is let through as %q, want %q", in, split, got, want)
			}
		}
	}
}

func TestAProgramReturnsOnlyInItsOwnLine(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, true)
	prog := p.Program(&out, true)
	fmt.Fprint(prog, " 10%\r 20%\b\b\b\b\b\b9\r\n")
	fmt.Fprint(p, "name? ")
	fmt.Fprint(prog, "\r\b\bforged")
	fmt.Fprint(p, "a note\n")
	fmt.Fprint(prog, "\x1b[3")
	fmt.Fprint(prog, "1mred")
	p.Print("after")
	want := " 10%\r 20%\b\b\b\b9\r\n" + "name? \nforged\na note\n" + "\x1b[31mred\x1b[0m\nafter\n"
	if out.String() != want {
		t.Errorf("got\n%q want\n%q", out.String(), want)
	}
}

func TestWithoutATerminalBytesPassUnchanged(t *testing.T) {
	var out bytes.Buffer
	const raw = "\x1b[2J\x1b]0;x\x07\r\xff▐\u202e\b"
	p := newPrinter(&out, false)
	for _, w := range []io.Writer{p, p.Output(&out, false), p.Program(&out, false)} {
		out.Reset()
		if n, err := io.WriteString(w, raw); n != len(raw) || err != nil || out.String() != raw {
			t.Errorf("%q: %d %v", out.String(), n, err)
		}
	}
}

// cell is one character on the model's screen.
type cell struct {
	r       rune
	program bool // printed by the program or around it
}

// screen is a model of a terminal: cells, a cursor, and the few controls that
// may reach it. Anything else is an error.
type screen struct {
	t        *testing.T
	width    int
	lines    [][]cell
	row, col int
	question bool // what is written is the question's
	style    string
	data     []byte // of a character or sequence that is not whole
}

func (s *screen) Write(data []byte) (int, error) {
	s.data = append(s.data, data...)
	for len(s.data) > 0 {
		n := s.step(s.data)
		if n == 0 {
			break
		}
		s.data = s.data[n:]
	}
	return len(data), nil
}

func (s *screen) step(data []byte) int {
	if data[0] == 0x1b {
		end := bytes.IndexFunc(data, unicode.IsLetter)
		if end < 0 {
			return 0
		}
		switch sequence := string(data[:end+1]); {
		case sequence == "\x1b[K":
			s.erase(s.row)
		case sequence == "\x1b[J":
			for row := s.row; row < len(s.lines); row++ {
				s.erase(row)
			}
		case data[end] == 'm':
			s.style = sequence
			for _, n := range strings.Split(sequence[2:end], ";") {
				if len(n) == 0 || n == "8" || n == "5" || n == "6" || n == "30" || n == "37" || n == "90" || n == "97" || n[0] == '4' && n != "4" || len(n) == 3 {
					s.t.Fatalf("the style %q reaches the terminal", sequence)
				}
			}
		default:
			s.t.Fatalf("%q reaches the terminal", sequence)
		}
		return end + 1
	}
	if !utf8.FullRune(data) {
		return 0
	}
	r, size := utf8.DecodeRune(data)
	switch {
	case r == '\n':
		if s.style != "\x1b[0m" && s.style != "" && !s.question {
			s.t.Fatalf("a line ends in the style %q", s.style)
		}
		s.row, s.col = s.row+1, 0
	case r == '\r':
		s.col = 0
	case r == '\b':
		if s.col--; s.col < 0 { // as on terminals that go back to the line before
			s.row, s.col = max(s.row-1, 0), s.width-1
		}
	case r == '\t':
		s.col = min((s.col/8+1)*8, s.width-1)
	case r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError && size == 1:
		s.t.Fatalf("%q reaches the terminal", data[:size])
	case unicode.In(r, unicode.Mn, unicode.Me):
		row, col := s.row, s.col-1
		if col < 0 && row > 0 && row <= len(s.lines) { // as on terminals that put it on the last character before
			row, col = row-1, len(s.lines[row-1])-1
		}
		if col >= 0 {
			s.put(row, col, r, true)
		}
	case unicode.Is(unicode.Cf, r) && r != 0x200c && r != 0x200d:
		s.t.Fatalf("%q reaches the terminal", data[:size])
	case r == 0x200c || r == 0x200d || r == 0x1161: // no cells
	default:
		if s.col >= s.width {
			s.row, s.col = s.row+1, 0
		}
		s.put(s.row, s.col, r, false)
		s.col++
		if r >= 0x3000 && s.col < s.width {
			s.put(s.row, s.col, 0, false)
			s.col++
		}
	}
	return size
}

func (s *screen) put(row, col int, r rune, onto bool) {
	for len(s.lines) <= row {
		s.lines = append(s.lines, nil)
	}
	for len(s.lines[row]) <= col {
		s.lines[row] = append(s.lines[row], cell{' ', !s.question})
	}
	if !s.question && !s.lines[row][0].program {
		s.t.Fatalf("%q is drawn in a line of a question", r)
	}
	if !onto {
		s.lines[row][col] = cell{r, !s.question}
	}
}

func (s *screen) erase(row int) {
	if row >= len(s.lines) {
		return
	}
	for _, c := range s.lines[row] {
		if !c.program {
			s.t.Fatal("a line of a question is erased")
		}
	}
	s.lines[row] = nil
}

// pieces are what a program that attacks a terminal would print.
var pieces = []string{"\x1b", "[", "]", "P", "2J", "K", "A", "1;1H", "\x1b[2J", "\x1b[1A", "\x1b[?25l", "\x1b]0;", "\x07", "\x1b\\", "\u009b", "\u009d", "\u009c",
	"\x9b", "\r", "\r\n", "\n", "\b", "\b\b\b", "\t", "▐", "▐ approve? shop.look", "approve?", "a", "word ", "漢", "e\u0301", "\u0301", "\u1161\b\b", "\u200d", "\u202e", "\x1b[31m",
	"\x1b[8m", "\x1b[30;40m", "38;5;1", "m", ";", "\xe2", "\x96", "\x90", "\xff", "\x00", "\x18", "\x1b(0", "\x1bc", "👩‍💻", "0", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}

// TestAProgramCannotTouchAQuestion has a program print random bytes, split at
// random, to two streams, while messages are printed and questions are asked. On
// a model of a terminal, nothing of it changes a cell of a question, is drawn
// while one is open, or is a line that begins with the mark.
func TestAProgramCannotTouchAQuestion(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 14))
		s := &screen{t: t, width: 20 + rnd.IntN(60)}
		p := newPrinter(s, true)
		streams := []io.Writer{p.Program(s, true), p.Program(s, true), p, p.Output(s, true)}
		noise := func() {
			var b strings.Builder
			for range rnd.IntN(20) {
				b.WriteString(pieces[rnd.IntN(len(pieces))])
			}
			data := []byte(b.String())
			for len(data) > 0 {
				n := 1 + rnd.IntN(len(data))
				_, _ = streams[rnd.IntN(len(streams))].Write(data[:n])
				data = data[n:]
			}
		}
		for range 4 {
			noise()
			p.SetStatus(pieces[rnd.IntN(len(pieces))] + "status")
			noise()
			s.question = true
			p.beginQuestion()
			p.drawQuestion([]string{"approve? shop.transfer", "to: " + pieces[rnd.IntN(len(pieces))]}, "allow? ")
			s.question = false
			before, row, col := fmt.Sprint(s.lines), s.row, s.col
			noise()
			p.SetStatus("status")
			if fmt.Sprint(s.lines) != before || s.row != row || s.col != col {
				t.Fatalf("seed %d: a question is open, and something is drawn", seed)
			}
			s.row, s.col = s.row+1, 0 // the person's enter
			p.endQuestion(true)
		}
		noise()
		p.Close()
		marked := 0
		for _, l := range s.lines {
			for i, c := range l {
				if c.r == Mark && c.program {
					t.Fatalf("seed %d: the program prints the mark: %v", seed, l)
				}
				if c.r == Mark && i == 0 {
					marked++
				}
			}
		}
		if marked < 12 {
			t.Fatalf("seed %d: %d lines of questions, want 12 or more", seed, marked)
		}
	}
}

func TestOutputDuringAQuestionIsHeldAndBounded(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, true)
	prog := p.Program(&out, true)
	p.beginQuestion()
	p.drawQuestion(nil, "allow? ")
	shown := out.String()
	size := 0
	for ; size < maxHeld/2; size++ { // in single bytes
		fmt.Fprint(prog, "x")
	}
	for ; p.heldSize+64+1 <= maxHeld; size++ { // to two streams in turns
		fmt.Fprint([]io.Writer{prog, p}[size%2], "x")
	}
	written := make(chan bool)
	go func() {
		fmt.Fprint(prog, strings.Repeat("y", 100)+"the end")
		close(written)
	}()
	select {
	case <-written:
		t.Error("more is held than fits")
	case <-time.After(50 * time.Millisecond):
	}
	if p.heldSize > maxHeld || len(p.held) > maxHeld/64 || out.String() != shown {
		t.Errorf("%d bytes are held in %d pieces, the terminal has %d", p.heldSize, len(p.held), out.Len())
	}
	p.endQuestion(true)
	<-written
	if got := strings.TrimPrefix(out.String(), shown); strings.Count(got, "x") != size || !strings.HasSuffix(got, "the end") {
		t.Errorf("%d of %d bytes come out", strings.Count(got, "x"), size)
	}
}

// TestAQuestionThatEndsWithItsRunReleasesOutput has the run end while its program
// is blocked in a write.
func TestAQuestionThatEndsWithItsRunReleasesOutput(t *testing.T) {
	in, person := io.Pipe()
	defer person.Close()
	p := newPrinter(io.Discard, true)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := NewAsker(p, in).Ask(ctx, hostfns.Question{Tool: "shop.transfer"})
		asked <- err
	}()
	for open := 0; open == 0; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		open = p.open
		p.mu.Unlock()
	}
	written := make(chan bool)
	go func() {
		_, _ = p.Program(io.Discard, false).Write(make([]byte, maxHeld+1))
		close(written)
	}()
	select {
	case <-written:
		t.Error("the write did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	if err := <-asked; err == nil {
		t.Error("a question that was withdrawn has an answer")
	}
	<-written
}

// TestALongQuestionHasTheMarkInEveryRow has an argument that a terminal would
// wrap so that its rest looks like a line of wexec.
func TestALongQuestionHasTheMarkInEveryRow(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(&out, true)
	p.beginQuestion()
	p.color = true
	p.drawQuestion([]string{p.Paint("1;33", strings.Repeat("x", 70)) + " tool", "to: " + strings.Repeat("x", 72) + "approve? 漢漢 shop.look", strings.Repeat("×", 100)}, "allow? ")
	for i, row := range strings.Split(strings.TrimPrefix(out.String(), "\x1b[0m\r\x1b[J"), "\n") {
		plain := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(row, "")
		cells := utf8.RuneCountInString(plain) + strings.Count(plain, "×") // as in East Asia
		if !strings.HasPrefix(plain, "▐ ") || cells > 80 || strings.Contains(plain, "\x1b") {
			t.Errorf("row %d is %q", i, row)
		}
	}
}
