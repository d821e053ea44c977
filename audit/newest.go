package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/wexec/wexec/fault"
)

// Newest iterates over the events of a directory as [Read] does, but from the
// last to the first: the time of the first event does not depend on the length
// of the trail. It ignores Follow.
func Newest(ctx context.Context, dir string, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		names, _, err := segments(dir)
		if err != nil {
			yield(Event{}, err)
			return
		}
		var all []*backward
		defer func() {
			for _, s := range all {
				s.file.Close()
			}
		}()
		for _, name := range names {
			s, err := openBackward(dir, name)
			if err != nil {
				yield(Event{}, err)
				return
			}
			all = append(all, s)
		}
		for {
			if err := ctx.Err(); err != nil {
				yield(Event{}, fault.New(fault.Cancelled, "stopped reading: %w", err))
				return
			}
			var last *backward
			for _, s := range all {
				if s.fill(&f); s.have && (last == nil || !s.event.Time.Before(last.event.Time)) {
					last = s
				}
			}
			if last == nil {
				return
			}
			last.have = false
			if err := last.err; err != nil {
				if !yield(Event{}, err) {
					return
				}
			} else if !yield(last.event, nil) {
				return
			}
		}
	}
}

// backward is a segment that is being read from its end.
type backward struct {
	name  string
	file  *os.File
	at    int64  // offset of data in the file
	data  []byte // complete lines that are not returned yet, after part of one
	event Event
	err   error
	have  bool
}

func openBackward(dir, name string) (*backward, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, fault.New(fault.UsageAudit, "read %s: %w", name, err)
	}
	s := &backward{name: name, file: f}
	info, err := f.Stat()
	if err == nil {
		_, s.at, err = lastLine(f, info.Size()) // without an incomplete line
	}
	if err != nil {
		f.Close()
		return nil, fault.New(fault.UsageAudit, "read %s: %w", name, err)
	}
	return s, nil
}

// fill reads back to the next selected event, unless there is one already.
func (s *backward) fill(f *Filter) {
	for !s.have {
		line, err := s.previous()
		if errors.Is(err, io.EOF) {
			return
		}
		at := s.at + int64(len(s.data))
		if err != nil {
			s.at, s.data = 0, nil
			s.err, s.have = fault.New(fault.UsageAudit, "read %s before byte %d: %w", s.name, at, err), true
			return
		}
		e, err := parseEvent(line)
		if err != nil {
			var damaged *fault.Error
			errors.As(err, &damaged)
			s.event = Event{Time: s.event.Time}
			s.err, s.have = fault.New(fault.UsageAudit, "%s, byte %d: %s", s.name, at, damaged.Message), true
			return
		}
		if f.Matches(&e) {
			s.event, s.err, s.have = e, nil, true
		}
	}
}

// previous returns the line before those that were returned, without its line
// end, or io.EOF. The slice is valid until the next call.
func (s *backward) previous() ([]byte, error) {
	for {
		if n := len(s.data); n > 0 {
			start := bytes.LastIndexByte(s.data[:n-1], '\n') + 1
			if start > 0 || s.at == 0 {
				line := s.data[start : n-1]
				s.data = s.data[:start]
				return line, nil
			}
			if n > maxLine {
				return nil, errLong
			}
		}
		if s.at == 0 {
			return nil, io.EOF
		}
		// Doubling keeps the copies of a long line linear in its length.
		n := min(s.at, max(firstRead, int64(len(s.data))))
		data := make([]byte, n, n+int64(len(s.data)))
		if _, err := s.file.ReadAt(data, s.at-n); err != nil {
			return nil, err
		}
		s.data = append(data, s.data...)
		s.at -= n
	}
}
