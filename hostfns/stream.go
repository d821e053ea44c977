package hostfns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"sync"

	"github.com/wexec/wexec/fault"
)

// maxStreams bounds the streams that a run has open.
const maxStreams = 256

// stream is a body that the program reads in slices.
type stream struct {
	mu   sync.Mutex // held while it is read
	body io.ReadCloser
	done bool // nothing follows

	once sync.Once
}

func (s *stream) close() { s.once.Do(func() { _ = s.body.Close() }) }

// keepStream keeps the body of an answer for the run and puts its number into
// the answer's object as "body".
func (r *Run) keepStream(a Answer) ([]byte, error) {
	r.mu.Lock()
	if r.streams == nil || len(r.streams) >= maxStreams {
		r.mu.Unlock()
		closeBody(a)
		return nil, fault.New(fault.ToolFailed, "more than %d streams are open", maxStreams).WithHint("read or close the bodies of responses")
	}
	r.lastID++
	id := r.lastID
	r.streams[id] = &stream{body: a.Body}
	r.mu.Unlock()
	head := bytes.TrimSpace(a.Data)
	if len(head) < 2 || head[0] != '{' {
		head = []byte("{}")
	}
	out := append([]byte(`{"body":`), strconv.FormatInt(id, 10)...)
	if rest := bytes.TrimSpace(head[1:]); rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, head[1:]...), nil
}

type streamArgs struct {
	Stream int64
	Max    int
}

func (r *Run) stream(id int64) (*stream, *Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.streams[id]
	if s == nil {
		return nil, &Failure{Code: fault.ToolInvalidArgs, Message: "there is no open stream of that number"}
	}
	return s, nil
}

// readStream reads the next slice; an empty one is the end.
func (r *Run) readStream(ctx context.Context, args []byte) (Answer, error) {
	var in streamArgs
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	s, f := r.stream(in.Stream)
	if f != nil {
		return Answer{}, f
	}
	size := in.Max
	if size <= 0 || size > streamLimit {
		size = min(streamLimit, 64<<10)
		if in.Max > streamLimit {
			size = streamLimit
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, streamPatience, fault.ToolTimeout)
	defer cancel()
	type result struct {
		data []byte
		err  error
	}
	got := make(chan result, 1)
	go func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		var res result
		defer func() {
			if p := recover(); p != nil {
				res = result{err: fault.New(fault.ToolFailed, "the body of a response failed")}
			}
			got <- res
		}()
		if s.done {
			return
		}
		buf := make([]byte, size)
		n, err := io.ReadAtLeast(s.body, buf, 1)
		res.data = buf[:n]
		if err != nil {
			s.done = true
			if n == 0 && !errors.Is(err, io.EOF) {
				res.err = err
			}
		}
	}()
	select {
	case res := <-got:
		if res.err != nil {
			s.close()
			if err := r.Err(); err != nil {
				return Answer{}, err
			}
			if endsRun(res.err) {
				r.fail(res.err)
				return Answer{}, res.err
			}
			return Answer{}, failureOf(res.err, "wexec:read")
		}
		if len(res.data) == 0 {
			r.drop(in.Stream)
		}
		return Answer{Kind: Bytes, Data: res.data, Checked: true}, nil
	case <-ctx.Done():
		s.close()
		r.drop(in.Stream)
		if err := r.Err(); err != nil {
			return Answer{}, err
		}
		if context.Cause(ctx) == error(fault.ToolTimeout) {
			return Answer{}, &Failure{Code: fault.ToolTimeout, Message: "the rest of a response did not arrive in time"}
		}
		return Answer{}, fault.New(fault.Cancelled, "the reading of a response was cancelled")
	}
}

func (r *Run) closeStream(args []byte) (Answer, error) {
	var in streamArgs
	if f := readOwn(args, &in); f != nil {
		return Answer{}, f
	}
	r.drop(in.Stream)
	return null(), nil
}

// drop forgets a stream.
func (r *Run) drop(id int64) {
	r.mu.Lock()
	s := r.streams[id]
	delete(r.streams, id)
	r.mu.Unlock()
	if s != nil {
		s.close()
	}
}

// strip keeps the secrets that went into a call from coming back in its
// answer.
func (q *request) strip(a *Answer) error {
	if len(q.secrets) == 0 || a.Kind == Bytes {
		return nil
	}
	a.Data = stripSecrets(a.Data, q.secrets)
	return nil
}

// stripSecrets replaces the values of secrets, as they are and as JSON writes
// them.
func stripSecrets(data []byte, secrets []Secret) []byte {
	for _, s := range secrets {
		if len(s.Value) < 4 {
			continue // too short to tell from ordinary text
		}
		mark := []byte("[secret " + s.Name + "]")
		data = bytes.ReplaceAll(data, []byte(s.Value), mark)
		if quoted, err := json.Marshal(s.Value); err == nil && len(quoted) > 2 {
			data = bytes.ReplaceAll(data, quoted[1:len(quoted)-1], mark)
		}
	}
	return data
}
