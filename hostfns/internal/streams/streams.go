// Package streams keeps the bodies of responses that a program reads in slices.
package streams

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/wexec/wexec/hostfns/internal/guard"
)

// Max is the number of streams that may be open at once.
const Max = 256

// Bounds of one read. A stream that has given nothing yet is read with a buffer
// of firstRead bytes, whatever the program asks for; what it has given is added.
const (
	maxRead     = 8 << 20
	firstRead   = 64 << 10
	defaultRead = 64 << 10
	maxSilence  = 2 * time.Minute
)

// Errors of a [Set]. A read returns an error of the context as it is, and any
// other error is the body's.
var (
	ErrFull    = errors.New("too many open streams")
	ErrUnknown = errors.New("no open stream has this number")
	ErrTimeout = errors.New("the stream timed out")
)

// Set holds the open streams of one run. The zero value is empty. It is safe for
// concurrent use.
type Set struct {
	mu     sync.Mutex
	open   map[int64]*stream
	last   int64
	closed bool
}

type stream struct {
	mu   sync.Mutex // held during a read
	body io.ReadCloser
	read int  // bytes so far
	done bool // nothing follows
	once sync.Once
}

func (s *stream) close() { s.once.Do(func() { _ = s.body.Close() }) }

// Add keeps a body and returns its number. If it cannot, it closes the body.
func (s *Set) Add(body io.ReadCloser) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.open) >= Max {
		_ = body.Close()
		return 0, ErrFull
	}
	if s.open == nil {
		s.open = map[int64]*stream{}
	}
	s.last++
	s.open[s.last] = &stream{body: body}
	return s.last, nil
}

// Read returns the next bytes of a stream, at most n if n is positive. No bytes
// are the end, after which the stream is closed, as after an error.
func (s *Set) Read(ctx context.Context, id int64, n int) ([]byte, error) {
	s.mu.Lock()
	one := s.open[id]
	s.mu.Unlock()
	if one == nil {
		return nil, ErrUnknown
	}
	if n <= 0 {
		n = defaultRead
	}
	ctx, cancel := context.WithTimeoutCause(ctx, maxSilence, ErrTimeout)
	defer cancel()
	data, err := guard.Call(ctx, func() ([]byte, error) { return one.next(min(n, maxRead)) })
	if err != nil || len(data) == 0 {
		one.close()
	}
	if ctx.Err() != nil || len(data) == 0 && err == nil {
		s.Close(id)
	}
	return data, err
}

// next returns at most n bytes. While it waits for them it holds no more memory
// than the stream has given, which the run was charged for.
func (s *stream) next(n int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil, nil
	}
	buf := make([]byte, min(n, firstRead+s.read))
	n, err := io.ReadAtLeast(s.body, buf, 1)
	s.read += n
	s.done = err != nil
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	if n < len(buf)/2 {
		return bytes.Clone(buf[:n]), err // an answer is kept until the guest reads it
	}
	return buf[:n], err
}

// Close closes a stream and forgets it.
func (s *Set) Close(id int64) {
	s.mu.Lock()
	one := s.open[id]
	delete(s.open, id)
	s.mu.Unlock()
	if one != nil {
		one.close()
	}
}

// CloseAll closes every stream. The set takes no more.
func (s *Set) CloseAll() {
	s.mu.Lock()
	open := s.open
	s.open, s.closed = nil, true
	s.mu.Unlock()
	for _, one := range open {
		one.close()
	}
}
