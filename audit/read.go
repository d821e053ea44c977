package audit

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/wexec/wexec/fault"
)

// Filter selects events. The zero filter selects all. Each field that is set
// narrows the selection.
type Filter struct {
	Run    string    // events of this run
	Type   Type      // events of this type
	Tool   string    // events of this tool, as server.tool
	Effect string    // decisions with this effect
	Since  time.Time // at or after
	Until  time.Time // before
	Follow bool      // wait for later records until the context ends
}

// Matches reports whether an event is selected. It ignores Follow.
func (f *Filter) Matches(e *Event) bool {
	switch {
	case f.Run != "" && e.Run != f.Run,
		f.Type != "" && e.Type != f.Type,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until),
		f.Effect != "" && (e.Decision == nil || e.Decision.Effect != f.Effect):
		return false
	}
	if f.Tool == "" {
		return true
	}
	return (e.Decision != nil && e.Decision.Tool == f.Tool) || (e.Call != nil && e.Call.Tool == f.Tool) ||
		(e.Privacy != nil && e.Privacy.Tool == f.Tool)
}

const followEvery = 100 * time.Millisecond

// Read iterates over the events of a directory in order of time. The events of
// one run are in the order in which they happened. A damaged line yields an
// error with the code usage.audit, and reading continues. With Follow, Read ends
// when the context does.
func Read(ctx context.Context, dir string, f Filter) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		m := merger{dir: dir, filter: f, known: map[string]*source{}}
		defer m.close()
		if err := m.open(); err != nil {
			yield(Event{}, err)
			return
		}
		for {
			for {
				if err := ctx.Err(); err != nil {
					if !f.Follow {
						yield(Event{}, fault.New(fault.Cancelled, "stopped reading: %w", err))
					}
					return
				}
				e, err, ok := m.next()
				if !ok {
					break
				}
				if !yield(e, err) {
					return
				}
			}
			if !f.Follow {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(followEvery):
			}
			if err := m.open(); err != nil && !yield(Event{}, err) {
				return
			}
		}
	}
}

// merger merges the segments of a directory by time.
type merger struct {
	dir    string
	filter Filter
	known  map[string]*source
	order  []*source
}

// source is a segment that is being read.
type source struct {
	name  string
	file  *os.File
	lines *lineReader
	buf   []byte
	event Event
	err   error
	have  bool
}

// open opens new segments.
func (m *merger) open() error {
	names, _, err := segments(m.dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if m.known[name] != nil {
			continue
		}
		f, err := os.Open(filepath.Join(m.dir, name))
		if err != nil {
			return fault.New(fault.UsageAudit, "read %s: %w", name, err)
		}
		s := &source{name: name, file: f, lines: newLineReader(f)}
		m.known[name] = s
		m.order = append(m.order, s)
	}
	return nil
}

// next returns the earliest selected event. ok is false if there is none yet.
func (m *merger) next() (e Event, err error, ok bool) {
	var first *source
	for _, s := range m.order {
		if !s.have {
			s.fill(&m.filter)
		}
		if s.have && (first == nil || s.event.Time.Before(first.event.Time)) {
			first = s
		}
	}
	if first == nil {
		return Event{}, nil, false
	}
	first.have = false
	e, err = first.event, first.err
	if err != nil {
		return Event{}, err, true
	}
	return e, nil, true
}

// fill reads up to the next selected event. An incomplete line at the end is
// read again later.
func (s *source) fill(f *Filter) {
	for {
		line, err := s.lines.next(s.buf)
		s.buf = line
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				s.rewind()
				return
			}
			s.event, s.have = Event{}, true
			s.err = fault.New(fault.UsageAudit, "read %s: %w", s.name, err)
			s.lines = newLineReader(eof{})
			return
		}
		e, err := parseEvent(line)
		if err != nil {
			var damaged *fault.Error
			errors.As(err, &damaged)
			s.event = Event{Time: s.event.Time}
			s.err = fault.New(fault.UsageAudit, "%s:%d: %s", s.name, s.lines.line, damaged.Message)
			s.have = true
			return
		}
		if f.Matches(&e) {
			s.event, s.err, s.have = e, nil, true
			return
		}
	}
}

// rewind returns to the end of the last complete line, from which later records
// are read.
func (s *source) rewind() {
	if _, err := s.file.Seek(s.lines.at, io.SeekStart); err == nil {
		s.lines.r.Reset(s.file)
	}
}

func (m *merger) close() {
	for _, s := range m.order {
		s.file.Close()
	}
}

type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }
