package audit

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wexec/wexec/fault"
)

// Report is what [Verify] found.
type Report struct {
	Segments []SegmentReport `json:"segments"`
	Records  int             `json:"records"`
	Problems []Problem       `json:"problems,omitempty"`
}

// OK reports whether every chain is whole.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// SegmentReport is one file of a folder.
type SegmentReport struct {
	Name    string    `json:"name"`
	Records int       `json:"records"`
	Head    string    `json:"head,omitempty"`   // hash of the last record
	Key     string    `json:"key,omitempty"`    // that signed its head, public, in hex
	Signed  uint64    `json:"signed,omitempty"` // up to which record its head vouches
	Time    time.Time `json:"time,omitzero"`    // of its head
	Closed  bool      `json:"closed,omitempty"` // it is full, and nothing is added
	Torn    int64     `json:"torn,omitempty"`   // bytes of half a record at its end, which was never acknowledged
}

// Change names what was done to a chain.
type Change string

// The changes.
const (
	Changed   Change = "changed"   // a line is not what was written
	Removed   Change = "removed"   // records are gone from the middle, or a whole segment
	Reordered Change = "reordered" // a record stands out of its order
	Repeated  Change = "repeated"  // a record stands twice
	Replaced  Change = "replaced"  // a line and its hash were made anew
	Cut       Change = "cut"       // records are gone from the end
	Unsigned  Change = "unsigned"  // a head is missing, damaged, or not signed by a known key
)

// Problem is one place where a chain is not whole.
type Problem struct {
	Segment string `json:"segment"`
	Line    int    `json:"line,omitempty"` // from 1; 0 where the segment as a whole is meant
	Seq     uint64 `json:"seq,omitempty"`  // of the record
	Change  Change `json:"change"`
	Message string `json:"message"`
}

// String is segment:line and the message.
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Segment, p.Line, p.Message)
	}
	return p.Segment + ": " + p.Message
}

// Verify goes through every chain of a folder and says which line was changed,
// removed, reordered, repeated, replaced or cut. Half a record at the end of a
// segment is what a killed process leaves and no problem. Where keys are given,
// each head has to be signed by one of them; without keys whoever can write the
// folder can write a new chain.
//
// The error is for a folder that cannot be read; problems are in the report.
func Verify(dir string, keys ...ed25519.PublicKey) (Report, error) {
	names, highest, err := segments(dir)
	if err != nil {
		return Report{}, err
	}
	var rep Report
	heads, tails := map[string]head{}, map[string]tail{}
	goesOn := map[string]map[string]string{} // segment, hash of a record in it, the segment that goes on from there
	for _, name := range names {
		h, last, ok := headOf(dir, name)
		if !ok {
			continue
		}
		heads[name], tails[name] = h, last
		if h.After != "" {
			if goesOn[h.After] == nil {
				goesOn[h.After] = map[string]string{}
			}
			goesOn[h.After][h.Prev] = name
		}
	}
	for i, name := range names {
		before := 0
		if i > 0 {
			before = segmentNumber(names[i-1])
		}
		for n := before + 1; n < segmentNumber(name); n++ {
			rep.add(segmentName(n), 0, 0, Removed, "the segment is missing")
		}
		h, headed := heads[name]
		s, err := rep.segment(dir, name, h, tails[name], headed, goesOn[name], keys)
		if err != nil {
			return Report{}, err
		}
		rep.Segments = append(rep.Segments, s)
		rep.Records += s.Records
	}
	for n := len(names); n < highest; n++ {
		if missing := segmentName(n + 1); n+1 > segmentNumber(last(names)) {
			rep.add(missing, 0, 0, Removed, "the segment is missing")
		}
	}
	slices.SortStableFunc(rep.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	return rep, nil
}

func last(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// segments lists the segments of a folder in their order, and the highest
// number that was given out.
func segments(dir string) (names []string, highest int, err error) {
	// The counter first: a segment that is begun in between is then one too
	// many, and not one that is missed.
	if c, err := os.Open(filepath.Join(dir, counter)); err == nil {
		highest = readCounter(c)
		c.Close()
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, fault.New(fault.UsageAudit, "read the audit folder: %w", err).
			WithHint("name the folder with --audit DIR or WEXEC_AUDIT")
	}
	for _, e := range entries {
		if n := segmentNumber(e.Name()); n > 0 && e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, min(highest, 100_000), nil
}

func (r *Report) add(segment string, line int, seq uint64, change Change, format string, args ...any) {
	const bound = 1000
	if len(r.Problems) < bound {
		r.Problems = append(r.Problems, Problem{segment, line, seq, change, fmt.Sprintf(format, args...)})
	}
}

// headOf reads the head and the tail beside a segment.
func headOf(dir, name string) (head, tail, bool) {
	f, err := os.Open(filepath.Join(dir, headName(name)))
	if err != nil {
		return head{}, tail{}, false
	}
	defer f.Close()
	h, _, ok := readHead(f)
	last, _ := readTail(f)
	return h, last, ok
}

// segment checks one file against itself, against its head, and against the
// segments that go on from it.
func (r *Report) segment(dir, name string, h head, last tail, headed bool, goesOn map[string]string, keys []ed25519.PublicKey) (SegmentReport, error) {
	s := SegmentReport{Name: name}
	if headed && h.Segment != name {
		r.add(name, 0, 0, Unsigned, "the head beside it is that of %s", h.Segment)
		h, last, headed = head{}, tail{}, false
	}
	recs, torn, err := readRecords(filepath.Join(dir, name), func(line int, err error) {
		r.add(name, line, 0, Changed, "line %d is no whole record", line)
	})
	if err != nil {
		return s, fault.New(fault.UsageAudit, "read %s: %w", name, err)
	}
	s.Torn, s.Records = torn, len(recs)
	r.chain(name, h.Prev, headed, recs)
	if n := len(recs); n > 0 {
		s.Head = recs[n-1].hash
	} else {
		s.Head = h.Prev
	}
	switch {
	case !headed && len(recs) > 0:
		r.add(name, 0, 0, Unsigned, "the head beside it is missing or damaged")
	case headed:
		s.Key, s.Signed, s.Time, s.Closed = h.Key, h.Seq, h.Time, h.Closed
		r.against(name, h, last, recs)
	}
	if headed && len(keys) > 0 && !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return hex.EncodeToString(k) == h.Key }) {
		why := "is signed by another key"
		if h.Key == "" {
			why = "is not signed"
		}
		r.add(name, 0, 0, Unsigned, "the head beside it %s", why)
	}
	for hash, next := range goesOn {
		if hash != h.Prev && !slices.ContainsFunc(recs, func(p placed) bool { return p.hash == hash }) {
			r.add(name, 0, 0, Cut, "the record that %s goes on from is gone", next)
		}
	}
	return s, nil
}

// placed is a link with the line it stands on.
type placed struct {
	link
	line int
}

func readRecords(name string, bad func(line int, err error)) (recs []placed, torn int64, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	lines := newLineReader(f)
	var buf []byte
	for {
		buf, err = lines.next(buf)
		switch {
		case errors.Is(err, io.EOF):
			return recs, 0, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return recs, int64(len(buf)), nil
		case err != nil:
			return nil, 0, err
		}
		rec, err := parseLine(buf)
		if err != nil {
			bad(lines.line, err)
			// What follows is judged by the number this line would have had.
			recs = append(recs, placed{link{}, lines.line})
			continue
		}
		recs = append(recs, placed{rec, lines.line})
	}
}

// chain checks that each record follows the one before.
func (r *Report) chain(name, prev string, headed bool, recs []placed) {
	present := make(map[uint64]int, len(recs))
	for _, rec := range recs {
		present[rec.seq]++
	}
	seen := make(map[uint64]int, len(recs))
	next, lost := uint64(1), false // lost: the hash of the record before is not known
	for i, rec := range recs {
		if rec.seq == 0 {
			next, lost = next+1, true // told already: no whole record
			continue
		}
		if !rec.intact {
			r.add(name, rec.line, rec.seq, Changed, "record %d was changed: its hash is not the one it carries", rec.seq)
		}
		switch {
		case seen[rec.seq] > 0:
			r.add(name, rec.line, rec.seq, Repeated, "record %d stands here again, first on line %d", rec.seq, seen[rec.seq])
			continue
		case rec.seq > next:
			gone := missing(present, next, rec.seq)
			if gone != "" {
				r.add(name, rec.line, rec.seq, Removed, "%s before this line", gone)
			} else {
				r.add(name, rec.line, rec.seq, Reordered, "record %d stands where record %d belongs", rec.seq, next)
			}
		case rec.seq < next:
			r.add(name, rec.line, rec.seq, Reordered, "record %d stands after record %d", rec.seq, next-1)
		case !lost && rec.intact && rec.prev != prev && (i > 0 || headed):
			r.add(name, rec.line, rec.seq, Replaced, "record %d does not follow the line before it: one of the two was made anew", rec.seq)
		}
		seen[rec.seq] = rec.line
		prev, lost = rec.hash, false
		if rec.seq >= next {
			next = rec.seq + 1
		}
	}
}

// missing names the records from a to before b that stand nowhere.
func missing(present map[uint64]int, a, b uint64) string {
	var from, n uint64
	for seq := a; seq < b && n < 1_000_000; seq++ {
		if present[seq] == 0 {
			if n == 0 {
				from = seq
			}
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("record %d is gone", from)
	}
	return fmt.Sprintf("%d records from %d on are gone", n, from)
}

// against checks a segment against what its head vouches for, and against the
// record that was written last.
func (r *Report) against(name string, h head, last tail, recs []placed) {
	var end uint64
	for _, rec := range recs {
		end = max(end, rec.seq)
		if rec.seq == h.Seq && rec.hash != h.Hash && h.Seq > 0 {
			r.add(name, rec.line, rec.seq, Replaced, "record %d is not the one that the head names", rec.seq)
		}
	}
	if n := len(recs); n > 0 && last.seq > h.Seq && recs[n-1].seq == last.seq && recs[n-1].hash != last.hash {
		r.add(name, recs[n-1].line, last.seq, Replaced, "record %d is not the one that was written last", last.seq)
	}
	if newest := max(h.Seq, last.seq); end < newest && (len(recs) == 0 || recs[len(recs)-1].seq != 0) {
		gone := fmt.Sprintf("records %d to %d are", end+1, newest)
		if end+1 == newest {
			gone = fmt.Sprintf("record %d is", newest)
		}
		r.add(name, len(recs)+1, newest, Cut, "%s gone from the end", gone)
	}
	if h.Closed && end > h.Seq {
		r.add(name, len(recs), end, Replaced, "records were added after the segment was closed")
	}
}
