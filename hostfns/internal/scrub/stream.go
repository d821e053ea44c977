package scrub

import "io"

// stream removes secrets from a text that comes in pieces.
type stream struct {
	set  *set
	m    *machine
	held []byte // may end with the beginning of a secret
}

// write appends what is ready of the text to out.
func (s *stream) write(out, piece []byte, last bool) []byte {
	old := len(s.held)
	s.held = append(s.held, piece...)
	s.m.scan(s.held, old)
	to := len(s.held)
	if !last {
		to = min(to, max(s.m.since, to-s.set.longest))
	}
	out, to = s.m.edit(out, s.held, to)
	s.m.since = max(0, s.m.since-to)
	s.held = append(s.held[:0], s.held[to:]...)
	return out
}

// Reader returns a reader of r without the secrets that are known now.
func (s *Scrubber) Reader(r io.Reader) io.Reader {
	if s.Empty() {
		return r
	}
	set := s.current()
	return &reader{r: r, stream: stream{set: set, m: set.machine()}}
}

type reader struct {
	r      io.Reader
	stream stream
	in     []byte
	out    []byte // ready is what remains of it
	ready  []byte
	err    error
}

// chunk is how much is read at once.
const chunk = 32 << 10

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	for len(r.ready) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		if r.in == nil {
			r.in = make([]byte, chunk)
		}
		var n int
		n, r.err = r.r.Read(r.in)
		r.out = r.stream.write(r.out[:0], r.in[:n], r.err != nil)
		r.ready = r.out
	}
	n := copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// Writer writes a text without secrets to another writer. It keeps the beginning of
// what may be a secret until more is written.
type Writer struct {
	to      io.Writer
	secrets *Scrubber
	stream  stream // of the secrets that are known now; without a set: of none
}

// Writer returns a writer to w. It also removes secrets that are added later.
func (s *Scrubber) Writer(w io.Writer) *Writer { return &Writer{to: w, secrets: s} }

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	if set := w.secrets.current(); set != w.stream.set {
		held := w.stream.held
		w.stream = stream{set: set, m: set.machine()}
		p = append(held, p...)
	}
	out := p
	if w.stream.set != nil {
		out = w.stream.write(nil, p, false)
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Held returns what is kept, without secrets.
func (w *Writer) Held() []byte { return w.secrets.Bytes(w.stream.held) }
