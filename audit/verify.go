package audit

import (
	"crypto/ed25519"
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
	Anchor   *AnchorReport   `json:"anchor,omitempty"` // nil: not checked against rollback
}

// OK reports whether every chain is intact.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// AnchorReport is what [VerifyAnchored] compared a directory with.
type AnchorReport struct {
	Heads  int           `json:"heads"`
	Newest *AnchoredHead `json:"newest,omitempty"` // nil: there is no head
}

// AnchoredHead is a head that an anchor kept, and what the directory has now.
type AnchoredHead struct {
	Segment string    `json:"segment"`
	Seq     uint64    `json:"seq"`
	Hash    string    `json:"hash"`
	Time    time.Time `json:"time,omitzero"`
	Found   uint64    `json:"found"` // last record of the segment
}

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

	RolledBack Change = "rolled back" // what an anchor has is missing or different
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
// older copy of the whole directory still verifies; see [VerifyAnchored].
//
// The error is for a directory that cannot be read. Damage is in the report.
func Verify(dir string, keys ...ed25519.PublicKey) (Report, error) {
	return verify(dir, &anchored{}, keys)
}

// VerifyAnchored does what [Verify] does, and compares the directory with heads
// that were kept outside it. Every record of a head must be there with its hash;
// otherwise the directory is an older copy, was cut, or was continued from an
// older copy. Heads are JSON values one after another, in arrays, in strings, or in
// the member "heads" of an object: those that an [Anchor] kept, or a [Report]. A
// head of an anchor must be signed if keys are given. A directory with records and
// no head at all is a problem too.
func VerifyAnchored(dir string, heads []byte, keys ...ed25519.PublicKey) (Report, error) {
	a, err := parseHeads(heads, keys)
	if err != nil {
		return Report{}, fault.New(fault.UsageAudit, "read the anchor: %w", err)
	}
	rep, err := verify(dir, a, keys)
	if err != nil {
		return Report{}, err
	}
	rep.Anchor = &AnchorReport{Heads: a.count}
	if n := a.newest; n.Segment != "" {
		found := slices.IndexFunc(rep.Segments, func(s SegmentReport) bool { return s.Name == n.Segment })
		rep.Anchor.Newest = &AnchoredHead{Segment: n.Segment, Seq: n.Seq, Hash: n.Hash, Time: n.Time}
		if found >= 0 {
			rep.Anchor.Newest.Found = uint64(rep.Segments[found].Records)
		}
	}
	return rep, nil
}

func verify(dir string, a *anchored, keys []ed25519.PublicKey) (Report, error) {
	names, highest, err := segments(dir)
	if err != nil {
		return Report{}, err
	}
	var rep Report
	heads, tails, continued := map[string]head{}, map[string]tail{}, continuations{}
	for _, name := range names {
		h, last, ok := headOf(dir, name)
		if !ok {
			continue
		}
		heads[name], tails[name] = h, last
		continued.add(h)
	}
	next := 1
	for _, name := range names {
		next = rep.skipped(next, segmentNumber(name)) + 1
		h, headed := heads[name]
		s, err := rep.segment(func() (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }, name, h, tails[name], headed, continued[name], a.heads[name], keys)
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
	if a.heads != nil {
		rep.absent(a, names)
	}
	rep.sort()
	return rep, nil
}

// continuations are the segments that continue others: by the segment before and the hash
// of a record in it.
type continuations map[string]map[string]string

// add adds a segment by its head.
func (c continuations) add(h head) {
	if h.After == "" {
		return
	}
	if c[h.After] == nil {
		c[h.After] = map[string]string{}
	}
	c[h.After][h.Prev] = h.Segment
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
func (r *Report) segment(open opener, name string, h head, last tail, headed bool, continued map[string]string, anchored []head, keys []ed25519.PublicKey) (SegmentReport, error) {
	s := SegmentReport{Name: name}
	if headed && h.Segment != name {
		r.add(name, 0, 0, Unsigned, "the head file belongs to %s", h.Segment)
		h, last, headed = head{}, tail{}, false
	}
	recs, torn, err := readRecords(open, func(line int, err error) {
		r.add(name, line, 0, Changed, "line %d is not a record", line)
	})
	if err != nil {
		return s, fault.New(fault.UsageAudit, "read %s: %w", name, err)
	}
	s.Torn, s.Records = torn, len(recs)
	r.chain(name, h.Prev, headed, recs)
	r.compare(name, anchored, recs)
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
	if headed && len(keys) > 0 && !signedBy(h, keys) {
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

// opener opens the records of a segment.
type opener = func() (io.ReadCloser, error)

func readRecords(open opener, bad func(line int, err error)) (recs []placed, torn int64, err error) {
	f, err := open()
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

// compare checks the records of a segment against the heads of an anchor.
func (r *Report) compare(name string, heads []head, recs []placed) {
	if len(heads) == 0 {
		return
	}
	hashes, last := make(map[uint64]string, len(recs)), uint64(0)
	for _, rec := range recs {
		hashes[rec.seq], last = rec.hash, max(last, rec.seq)
	}
	newest := slices.MaxFunc(heads, func(a, b head) int { return int(int64(a.Seq) - int64(b.Seq)) })
	if newest.Seq > last {
		r.add(name, len(recs)+1, newest.Seq, RolledBack, "record %d was anchored%s, and the last record is %d: the directory is an older copy, or was cut",
			newest.Seq, on(newest.Time), last)
	}
	for _, h := range heads {
		if hash, ok := hashes[h.Seq]; ok && hash != h.Hash {
			r.add(name, 0, h.Seq, RolledBack, "record %d is not the one that was anchored%s: the directory was continued from an older copy, or replaced", h.Seq, on(h.Time))
			return
		}
	}
}

// absent reports the segments that only the anchor has, and problems of the
// anchor itself.
func (r *Report) absent(a *anchored, names []string) {
	for _, bad := range a.bad {
		r.add("anchor", 0, 0, Unsigned, "%s", bad)
	}
	if a.count == 0 && r.Records > 0 {
		r.add("anchor", 0, 0, RolledBack, "the anchor has no head, and the directory has records: the anchor was emptied, or was set after them and nothing has run since")
	}
	for segment, heads := range a.heads {
		if slices.Contains(names, segment) {
			continue
		}
		newest := slices.MaxFunc(heads, func(a, b head) int { return int(int64(a.Seq) - int64(b.Seq)) })
		r.add(segment, 0, newest.Seq, RolledBack, "the segment is missing, and its record %d was anchored%s: the directory is an older copy, or was emptied", newest.Seq, on(newest.Time))
	}
}

// on returns a time for a message.
func on(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " at " + t.UTC().Format(time.RFC3339)
}
