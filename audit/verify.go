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

// Report is the result of [Verify].
type Report struct {
	Segments []SegmentReport `json:"segments"`
	Records  int             `json:"records"`
	Problems []Problem       `json:"problems,omitempty"`
}

// OK reports whether every chain is intact.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// SegmentReport is the result for one segment.
type SegmentReport struct {
	Name    string    `json:"name"`
	Records int       `json:"records"`
	Head    string    `json:"head,omitempty"`   // hash of the last record
	Key     string    `json:"key,omitempty"`    // public key that signed the head, in hex
	Signed  uint64    `json:"signed,omitempty"` // last record that the head covers
	Time    time.Time `json:"time,omitzero"`    // of the head
	Closed  bool      `json:"closed,omitempty"` // full: nothing is added
	Torn    int64     `json:"torn,omitempty"`   // bytes of an incomplete record at the end, which was never acknowledged
}

// Change is a kind of damage to a chain.
type Change string

// Kinds of damage.
const (
	Changed   Change = "changed"   // a line was changed
	Removed   Change = "removed"   // records in the middle, or a segment, are missing
	Reordered Change = "reordered" // a record is out of order
	Repeated  Change = "repeated"  // a record occurs twice
	Replaced  Change = "replaced"  // a line was replaced, with a valid hash
	Cut       Change = "cut"       // records at the end are missing
	Unsigned  Change = "unsigned"  // a head is missing, damaged, or not signed by a known key
)

// Problem is damage at one position.
type Problem struct {
	Segment string `json:"segment"`
	Line    int    `json:"line,omitempty"` // from 1; 0 for the whole segment
	Seq     uint64 `json:"seq,omitempty"`  // of the record
	Change  Change `json:"change"`
	Message string `json:"message"`
}

// String returns segment:line: message.
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Segment, p.Line, p.Message)
	}
	return p.Segment + ": " + p.Message
}

// Verify checks every chain of a directory and reports each line that was
// changed, removed, reordered, repeated, replaced or cut. An incomplete record at
// the end of a segment is not a problem: a killed process leaves one. If keys are
// given, each head must be signed by one of them, and there must be one. Without
// keys, anyone who can write to the directory can forge a chain. With them, an
// older copy of the whole directory still verifies.
//
// The error is for a directory that cannot be read. Damage is in the report.
func Verify(dir string, keys ...ed25519.PublicKey) (Report, error) {
	names, highest, err := segments(dir)
	if err != nil {
		return Report{}, err
	}
	var rep Report
	heads, tails := map[string]head{}, map[string]tail{}
	continued := map[string]map[string]string{} // segment, hash of a record in it, segment that continues from it
	for _, name := range names {
		h, last, ok := headOf(dir, name)
		if !ok {
			continue
		}
		heads[name], tails[name] = h, last
		if h.After != "" {
			if continued[h.After] == nil {
				continued[h.After] = map[string]string{}
			}
			continued[h.After][h.Prev] = name
		}
	}
	next := 1
	for _, name := range names {
		next = rep.skipped(next, segmentNumber(name)) + 1
		h, headed := heads[name]
		s, err := rep.segment(dir, name, h, tails[name], headed, continued[name], keys)
		if err != nil {
			return Report{}, err
		}
		rep.Segments = append(rep.Segments, s)
		rep.Records += s.Records
	}
	rep.skipped(next, highest+1)
	if len(keys) > 0 && len(names) == 0 {
		rep.add(filepath.Base(dir), 0, 0, Removed, "no segment is signed by the key: the directory has none")
	}
	slices.SortStableFunc(rep.Problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Line, b.Line))
	})
	return rep, nil
}

// skipped reports the segments from a number to before another one as missing,
// and returns the second.
func (r *Report) skipped(from, to int) int {
	for n := from; n < to; n++ {
		r.add(segmentName(n), 0, 0, Removed, "the segment is missing")
	}
	return to
}

func (r *Report) add(segment string, line int, seq uint64, change Change, format string, args ...any) {
	const bound = 1000
	if len(r.Problems) < bound {
		r.Problems = append(r.Problems, Problem{segment, line, seq, change, fmt.Sprintf(format, args...)})
	}
}

// segment checks one file against its own hashes, its head, and the segments that
// continue from it.
func (r *Report) segment(dir, name string, h head, last tail, headed bool, continued map[string]string, keys []ed25519.PublicKey) (SegmentReport, error) {
	s := SegmentReport{Name: name}
	if headed && h.Segment != name {
		r.add(name, 0, 0, Unsigned, "the head file belongs to %s", h.Segment)
		h, last, headed = head{}, tail{}, false
	}
	recs, torn, err := readRecords(filepath.Join(dir, name), func(line int, err error) {
		r.add(name, line, 0, Changed, "line %d is not a record", line)
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
		r.add(name, 0, 0, Unsigned, "the head file is missing or damaged")
	case headed:
		s.Key, s.Signed, s.Time, s.Closed = h.Key, h.Seq, h.Time, h.Closed
		r.against(name, h, last, recs)
	}
	if headed && len(keys) > 0 && !slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return hex.EncodeToString(k) == h.Key }) {
		why := "is signed by another key"
		if h.Key == "" {
			why = "is not signed"
		}
		r.add(name, 0, 0, Unsigned, "the head file %s", why)
	}
	for hash, next := range continued {
		if hash != h.Prev && !slices.ContainsFunc(recs, func(p placed) bool { return p.hash == hash }) {
			r.add(name, 0, 0, Cut, "the record that %s continues from is missing", next)
		}
	}
	return s, nil
}

// placed is a link with its line number.
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
			// The line counts as one record, so that the next has its number.
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
	next, unknown := uint64(1), false // unknown: the hash of the record before is not known
	for i, rec := range recs {
		if rec.seq == 0 {
			next, unknown = next+1, true // already reported: not a record
			continue
		}
		if !rec.intact {
			r.add(name, rec.line, rec.seq, Changed, "record %d was changed: its hash does not match", rec.seq)
		}
		switch {
		case seen[rec.seq] > 0:
			r.add(name, rec.line, rec.seq, Repeated, "record %d is repeated; it first occurs on line %d", rec.seq, seen[rec.seq])
			continue
		case rec.seq > next:
			gone := missing(present, next, rec.seq)
			if gone != "" {
				r.add(name, rec.line, rec.seq, Removed, "%s before this line", gone)
			} else {
				r.add(name, rec.line, rec.seq, Reordered, "record %d is in the place of record %d", rec.seq, next)
			}
		case rec.seq < next:
			r.add(name, rec.line, rec.seq, Reordered, "record %d follows record %d", rec.seq, next-1)
		case !unknown && rec.intact && rec.prev != prev && (i > 0 || headed):
			r.add(name, rec.line, rec.seq, Replaced, "record %d does not chain to the line before it: one of the two was replaced", rec.seq)
		}
		seen[rec.seq] = rec.line
		prev, unknown = rec.hash, false
		if rec.seq >= next {
			next = rec.seq + 1
		}
	}
}

// missing describes the records from a to b-1 that are not present.
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
		return fmt.Sprintf("record %d is missing", from)
	}
	return fmt.Sprintf("%d records from %d on are missing", n, from)
}

// against checks a segment against its head and its tail.
func (r *Report) against(name string, h head, last tail, recs []placed) {
	var end uint64
	for _, rec := range recs {
		end = max(end, rec.seq)
		if rec.seq == h.Seq && rec.hash != h.Hash && h.Seq > 0 {
			r.add(name, rec.line, rec.seq, Replaced, "record %d is not the one that the head covers", rec.seq)
		}
	}
	if n := len(recs); n > 0 && last.seq > h.Seq && recs[n-1].seq == last.seq && recs[n-1].hash != last.hash {
		r.add(name, recs[n-1].line, last.seq, Replaced, "record %d is not the last one that was written", last.seq)
	}
	if newest := max(h.Seq, last.seq); end < newest && (len(recs) == 0 || recs[len(recs)-1].seq != 0) {
		gone := fmt.Sprintf("records %d to %d are", end+1, newest)
		if end+1 == newest {
			gone = fmt.Sprintf("record %d is", newest)
		}
		r.add(name, len(recs)+1, newest, Cut, "%s missing at the end", gone)
	}
	if h.Closed && end > h.Seq {
		r.add(name, len(recs), end, Replaced, "records were added after the segment was closed")
	}
}
