package audit

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/wexec/wexec/fault"
)

// Closed is a segment to which nothing is added any more. It may be a copy that is kept
// outside of its directory.
type Closed struct {
	Name string // of its file
	Head []byte // the line of its head file
	// Open opens its records.
	Open func() (io.ReadCloser, error)
}

// ClosedSegments returns the closed segments of a directory, the oldest first.
func ClosedSegments(dir string) ([]Closed, error) {
	names, _, err := segments(dir)
	if err != nil {
		return nil, err
	}
	var all []Closed
	for _, name := range names {
		line := closedHead(dir, name)
		if line == nil {
			continue
		}
		all = append(all, Closed{Name: name, Head: line, Open: func() (io.ReadCloser, error) {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				return nil, fault.New(fault.UsageAudit, "read %s: %w", name, err)
			}
			return f, nil
		}})
	}
	return all, nil
}

// closedHead returns the head of a segment if it is closed, or nil.
func closedHead(dir, name string) (line []byte) {
	data, err := os.ReadFile(filepath.Join(dir, headName(name)))
	if err != nil {
		return nil
	}
	for slot := range slices.Chunk(data[:min(len(data), 2*headSlot)], headSlot) {
		one, err := parseHead(slot)
		if err == nil && one.Closed && one.Segment == name {
			line = bytes.TrimSpace(slot)
		}
	}
	return line
}

// Copies are closed segments of one directory that are kept outside of it. A segment
// that is not closed has no copy, so those who keep copies count them.
type Copies []Closed

// Verify checks copies as [Verify] checks a directory, and accepts that segments are missing.
func (c Copies) Verify(keys ...ed25519.PublicKey) Report {
	var rep Report
	heads, continued := map[string]head{}, continuations{}
	for _, one := range c {
		h, err := parseHead(one.Head)
		if err == nil {
			heads[one.Name] = h
			continued.add(h)
		}
		if err != nil || !h.Closed {
			rep.add(one.Name, 0, 0, Unsigned, "the head of the copy is damaged, or is not that of a closed segment")
		}
	}
	for _, one := range c {
		h, headed := heads[one.Name]
		s, err := rep.segment(one.Open, one.Name, h, tail{}, headed, continued[one.Name], nil, keys)
		if err != nil {
			rep.add(one.Name, 0, 0, Changed, "the copy cannot be read: %v", err)
		}
		rep.Segments = append(rep.Segments, s)
		rep.Records += s.Records
	}
	rep.sort()
	return rep
}

// Compare reports the copies that differ from what a directory has, by their reports:
// the records of one that is in both end with the same hash. A copy of a segment that
// the directory no longer has is a problem of the directory.
func (r *Report) Compare(dir Report) {
	for _, s := range r.Segments {
		i := slices.IndexFunc(dir.Segments, func(d SegmentReport) bool { return d.Name == s.Name })
		if i >= 0 && (dir.Segments[i].Head != s.Head || dir.Segments[i].Records != s.Records) {
			r.add(s.Name, 0, 0, Replaced, "the copy differs from the file in the directory")
		}
	}
	r.sort()
}

// Add adds a problem.
func (r *Report) Add(p Problem) {
	r.Problems = append(r.Problems, p)
	r.sort()
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
}
