package streams

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wexec/wexec/hostfns/internal/guard"
)

// body is a stream of a test.
type body struct {
	io.Reader
	closed int
}

func (b *body) Close() error { b.closed++; return nil }

type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

func TestAStreamIsReadInSlicesAndClosedOnce(t *testing.T) {
	var s Set
	b := &body{Reader: strings.NewReader("hello")}
	id, err := s.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hel", "lo", ""} {
		got, err := s.Read(t.Context(), id, 3)
		if err != nil || string(got) != want {
			t.Fatalf("read %q, %v; want %q", got, err, want)
		}
	}
	if _, err := s.Read(t.Context(), id, 3); !errors.Is(err, ErrUnknown) {
		t.Errorf("after the end: %v", err)
	}
	s.CloseAll()
	if b.closed != 1 {
		t.Errorf("closed %d times", b.closed)
	}
	if _, err := s.Add(b); err != ErrFull {
		t.Errorf("a closed set takes a stream: %v", err)
	}
}

func TestABrokenStreamGivesItsError(t *testing.T) {
	var s Set
	defer s.CloseAll()
	broken := errors.New("broken")
	ended, end := context.WithCancelCause(t.Context())
	end(broken)
	for name, c := range map[string]struct {
		ctx  context.Context
		read reader
		want func(error) bool
	}{
		"fails":  {t.Context(), func([]byte) (int, error) { return 0, broken }, func(err error) bool { return err == broken }},
		"hangs":  {ended, func([]byte) (int, error) { select {} }, func(err error) bool { return err == broken }},
		"panics": {t.Context(), func([]byte) (int, error) { panic(1) }, func(err error) bool { var p *guard.Panic; return errors.As(err, &p) }},
	} {
		b := &body{Reader: c.read}
		id, err := s.Add(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(c.ctx, id, 1); !c.want(err) || b.closed != 1 {
			t.Errorf("%s: %v, closed %d times", name, err, b.closed)
		}
	}
}

func TestOpenStreamsAreBounded(t *testing.T) {
	var s Set
	defer s.CloseAll()
	for range Max {
		if _, err := s.Add(&body{Reader: &bytes.Buffer{}}); err != nil {
			t.Fatal(err)
		}
	}
	b := &body{Reader: &bytes.Buffer{}}
	if _, err := s.Add(b); err != ErrFull || b.closed != 1 {
		t.Errorf("%v, closed %d times", err, b.closed)
	}
}

// A guest may ask for much and leave a short answer unread.
func TestAShortReadKeepsAShortBuffer(t *testing.T) {
	var s Set
	id, err := s.Add(io.NopCloser(strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Read(t.Context(), id, maxRead)
	if err != nil || string(data) != "x" || cap(data) > 1<<10 {
		t.Fatalf("%q with room for %d bytes: %v", data, cap(data), err)
	}
}

// A server may send one byte and then nothing, while the program asks for much.
func TestAStreamThatWaitsHoldsASmallBuffer(t *testing.T) {
	asked := make(chan int)
	s := stream{body: io.NopCloser(reader(func(p []byte) (int, error) {
		asked <- len(p)
		return len(p), nil
	}))}
	given := 0
	for range 20 {
		go func() { _, _ = s.next(maxRead) }()
		n := <-asked
		if n > firstRead+given {
			t.Fatalf("a stream that has given %d bytes is read with a buffer of %d", given, n)
		}
		given += n
	}
	if n := given; n < maxRead {
		t.Errorf("a fast stream gave %d bytes in 20 reads", n)
	}
}
