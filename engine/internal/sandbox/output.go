package sandbox

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/text"
)

// maxLine is how much of a line is held back until its end.
const maxLine = 64 << 10

// Outputs collects what a run writes. Both streams and the value share one
// limit. It belongs to the goroutine of the guest.
type Outputs struct {
	Stdout, Stderr stream
	limit, used    int64
}

// OutputSinks says where output goes in addition to [Outputs]. Nil fields are
// skipped.
type OutputSinks struct {
	Stdout, Stderr io.Writer
	Filter         func(stream, text string) string // replaces personal data in whole lines
	Event          func(stream, text string)
}

// stream turns the guest's bytes into valid UTF-8, filters and forwards them.
type stream struct {
	all     *Outputs
	name    string
	to      io.Writer
	sinks   *OutputSinks
	pending []byte // an unfinished character or line
	text    strings.Builder
	skip    int64        // bytes of shown that others handed out
	shown   atomic.Int64 // bytes
}

// NewOutputs returns the outputs of a run.
func NewOutputs(limit int64, sinks OutputSinks) *Outputs {
	o := &Outputs{limit: limit}
	out, err := &o.Stdout, &o.Stderr
	out.all, out.name, out.to, out.sinks = o, "stdout", sinks.Stdout, &sinks
	err.all, err.name, err.to, err.sinks = o, "stderr", sinks.Stderr, &sinks
	return o
}

// take charges n bytes and returns how many of them fit.
func (o *Outputs) take(n int) int {
	fits := int(min(int64(n), o.limit-o.used))
	o.used += int64(fits)
	return fits
}

// Charge counts n bytes of a value. It is limit.output if they do not fit.
func (o *Outputs) Charge(n int) error {
	if o.take(n) < n {
		return outputFault(o.limit)
	}
	return nil
}

func (o *Outputs) close() {
	o.Stdout.show(len(o.Stdout.pending))
	o.Stderr.show(len(o.Stderr.pending))
}

// Shown returns how many bytes of the text were handed out. Any goroutine may call it.
func (s *stream) Shown() int64 { return s.shown.Load() }

// String returns the text that was written.
func (s *stream) String() string { return s.text.String() }

// Write takes bytes from the guest. It ends the run if the limit is reached;
// the bytes below the limit are shown first, without a character that is cut.
func (s *stream) Write(p []byte) (int, error) {
	n := s.all.take(len(p))
	s.pending = append(s.pending, p[:n]...)
	if n < len(p) {
		s.pending = s.pending[:len(s.pending)-incomplete(s.pending)]
		s.show(s.whole(len(s.pending)))
		panic(&stop{outputFault(s.all.limit)})
	}
	end := len(s.pending) - incomplete(s.pending)
	if s.sinks.Filter != nil && end < maxLine {
		end = bytes.LastIndexByte(s.pending, '\n') + 1
	} else {
		end = s.whole(end)
	}
	s.show(end)
	return len(p), nil
}

// whole returns a place near end, but not behind it, that does not cut a word: the
// filter does not recognize a part of a value.
func (s *stream) whole(end int) int {
	if s.sinks.Filter == nil {
		return end
	}
	const longest = 1 << 10
	from := max(0, end-longest)
	if i := bytes.LastIndexAny(s.pending[from:end], " \t\n"); i >= 0 {
		return from + i + 1
	}
	return end
}

// show forwards the first n pending bytes.
func (s *stream) show(n int) {
	if n == 0 {
		return
	}
	shown := text.Valid(string(s.pending[:n]))
	s.pending = append(s.pending[:0], s.pending[n:]...)
	if s.sinks.Filter != nil {
		shown = s.sinks.Filter(s.name, shown)
	}
	s.text.WriteString(shown)
	s.shown.Add(int64(len(shown)))
	if s.skip > 0 {
		n := min(s.skip, int64(len(shown)))
		s.skip -= n
		if shown = shown[n:]; shown == "" {
			return
		}
	}
	if s.to != nil {
		if _, err := io.WriteString(s.to, shown); err != nil {
			s.to = nil
		}
	}
	if s.sinks.Event != nil {
		s.sinks.Event(s.name, shown)
	}
}

// incomplete returns how many bytes at the end of b begin a character whose
// rest is missing.
func incomplete(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax-1); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return i
			}
			return 0
		}
	}
	return 0
}
