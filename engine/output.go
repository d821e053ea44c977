package engine

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// maxLine is how much of a line is held back for its end before it is shown
// anyway.
const maxLine = 64 << 10

// outputs collects what a run writes. Both streams and the value draw on one
// allowance. It is used by the run's goroutine alone.
type outputs struct {
	limit, used int64
	out, err    stream
}

// stream is one of the two. It turns the guest's bytes into valid UTF-8,
// passes whole lines through egress, keeps them for the Result and forwards
// them.
type stream struct {
	all    *outputs
	name   string
	to     io.Writer
	egress func(stream, text string) string // nil: as it is
	event  func(stream, text string)        // nil: nobody listens
	held   []byte                           // bytes not shown yet: an unfinished character or line
	text   strings.Builder
}

func newOutputs(limit int64, to Output, egress func(stream, text string) string, event func(stream, text string)) *outputs {
	o := &outputs{limit: limit}
	o.out = stream{all: o, name: "stdout", to: to.Stdout, egress: egress, event: event}
	o.err = stream{all: o, name: "stderr", to: to.Stderr, egress: egress, event: event}
	return o
}

// take draws n bytes from the allowance and returns how many of them fit.
func (o *outputs) take(n int) int {
	fits := int(min(int64(n), o.limit-o.used))
	o.used += int64(fits)
	return fits
}

// over is the fault of a run that wrote more than it may.
func (o *outputs) over() *fault.Error {
	return fault.New(fault.LimitOutput, "the run's output is more than the %s it may be", size(o.limit)).
		WithHint("return less, or allow more with --output %s", size(max(roundUp(o.limit), 64<<10)))
}

// Write takes what the guest wrote. It panics with a stop where the allowance
// is used up; what fitted has been shown by then.
func (s *stream) Write(p []byte) (int, error) {
	n := s.all.take(len(p))
	s.held = append(s.held, p[:n]...)
	if n < len(p) {
		s.close(true)
		panic(&stop{s.all.over()})
	}
	s.flush()
	return len(p), nil
}

// flush shows what can be shown: whole lines where egress has to see them in
// one piece, whole characters otherwise.
func (s *stream) flush() {
	end := len(s.held) - cutRune(s.held)
	if s.egress != nil && end < maxLine {
		end = bytes.LastIndexByte(s.held, '\n') + 1
	}
	s.show(end)
}

// close shows the rest. Where the output was cut, a character that lost its
// end is dropped.
func (s *stream) close(cut bool) {
	if cut {
		s.held = s.held[:len(s.held)-cutRune(s.held)]
	}
	s.show(len(s.held))
}

func (s *stream) show(n int) {
	if n == 0 {
		return
	}
	text := strings.ToValidUTF8(string(s.held[:n]), "\uFFFD")
	s.held = append(s.held[:0], s.held[n:]...)
	if s.egress != nil {
		text = s.egress(s.name, text)
	}
	s.text.WriteString(text)
	if s.to != nil {
		if _, err := io.WriteString(s.to, text); err != nil {
			s.to = nil
		}
	}
	if s.event != nil {
		s.event(s.name, text)
	}
}

// cutRune is how many bytes at the end of b begin a character that is not
// complete yet.
func cutRune(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		c := b[len(b)-i]
		if utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}
