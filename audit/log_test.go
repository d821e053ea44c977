package audit

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
)

var ctx = context.Background()

func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func decision(run string, call uint64) Event {
	return Event{Run: run, Decision: &Decision{Call: call, Tool: "github.list", Effect: "allow", Rule: "policy.yaml:3", ArgsSHA256: Digest([]byte("{}"))}}
}

func record(t testing.TB, s Sink, e Event) string {
	t.Helper()
	head, err := s.Record(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func events(t testing.TB, dir string, f Filter) []Event {
	t.Helper()
	var out []Event
	for e, err := range Read(ctx, dir, f) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func whole(t testing.TB, dir string, keys ...ed25519.PublicKey) Report {
	t.Helper()
	rep, err := Verify(dir, keys...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rep.Problems {
		t.Errorf("%s (%s)", p, p.Change)
	}
	return rep
}

func TestRecordsComeBackAsTheyWereWritten(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	at := time.Date(2026, 11, 21, 8, 0, 0, 123, time.UTC)
	written := []Event{
		{Run: "r1", Time: at, Start: &Start{Language: "python", Code: Blob("print('ü')\n\x00\u2028</script>"), Args: Blob(`{"a": 1}`), Seed: Blob{0xff, 0xfe}, Clock: at, Limits: Limits{Fuel: 5, TimeMS: 30000}, Keep: Keep{"full", "full", "full"}, Actor: Actor{"a", "agent"}}},
		{Run: "r1", Time: at, Decision: &Decision{Call: 1, Tool: "mail.send", Effect: "ask", Rule: "p:1", Message: "leaves", Approval: &Approval{Via: "terminal", Answer: "yes", MS: 1200}}},
		{Run: "r1", Time: at, Call: &Call{Call: 1, Tool: "mail.send", OK: true, MS: 3, Bytes: 5, AnswerKind: 4, Answer: Blob{0xff, 0, 1}}},
		{Run: "r1", Time: at, Privacy: &Privacy{Call: 1, Where: "answer", Mode: "tokenize", Counts: map[string]int{"email": 2}}},
		{Run: "r1", Time: at, End: &End{Status: "ok", Value: Blob(`[ 1 ]`), Order: []uint64{1}, Usage: Usage{Fuel: 4}}},
	}
	var head string
	for _, e := range written {
		head = record(t, l, e)
	}
	if l.Head() != head {
		t.Errorf("head %s, want %s", l.Head(), head)
	}
	got := events(t, dir, Filter{})
	if len(got) != len(written) || got[4].Hash != head || got[1].Prev != got[0].Hash || got[0].Seq != 1 {
		t.Fatalf("%d events, chain broken: %+v", len(got), got)
	}
	for i := range got {
		got[i].Seq, got[i].Prev, got[i].Hash, got[i].Type = 0, "", "", ""
	}
	if diff := cmp.Diff(written, got); diff != "" {
		t.Error(diff)
	}
	if rep := whole(t, dir); rep.Records != 5 || rep.Segments[0].Signed != 5 {
		t.Errorf("%+v", rep)
	}
}

func TestAnEventHasExactlyOnePart(t *testing.T) {
	l := open(t, t.TempDir(), Options{})
	var m Memory
	for _, sink := range []Sink{l, &m, None()} {
		for _, e := range []Event{{Run: "r"}, {Run: "r", End: &End{}, Call: &Call{}}} {
			if _, err := sink.Record(ctx, e); fault.CodeOf(err) != fault.AuditUnavailable {
				t.Errorf("%T took %+v: %v", sink, e, err)
			}
		}
	}
}

func TestACancelledRunIsRecordedToo(t *testing.T) {
	gone, cancel := context.WithCancel(ctx)
	cancel()
	l := open(t, t.TempDir(), Options{})
	if _, err := l.Record(gone, Event{Run: "r", End: &End{Status: "error"}}); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryChainsLikeTheDisk(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	var m Memory
	for i := range 5 {
		e := decision("r", uint64(i+1))
		e.Time = time.Unix(int64(i), 0).UTC()
		if a, b := record(t, l, e), record(t, &m, e); a != b {
			t.Fatalf("hash on disk %s, in memory %s", a, b)
		}
	}
	if diff := cmp.Diff(events(t, dir, Filter{}), m.Events()); diff != "" {
		t.Error(diff)
	}
	m.Fail(os.ErrPermission)
	if _, err := m.Record(ctx, decision("r", 9)); fault.CodeOf(err) != fault.AuditUnavailable {
		t.Error(err)
	}
}

func TestTheNextProcessGoesOnWhereTheLastOneStopped(t *testing.T) {
	dir := t.TempDir()
	for i := range 4 {
		l := open(t, dir, Options{})
		record(t, l, decision("r", uint64(i)))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Record(ctx, decision("r", 0)); fault.CodeOf(err) != fault.AuditUnavailable {
			t.Error("a closed log takes records")
		}
	}
	if rep := whole(t, dir); len(rep.Segments) != 1 || rep.Records != 4 {
		t.Errorf("%+v", rep)
	}
}

func TestManyProcessesHaveASegmentEach(t *testing.T) {
	dir := t.TempDir()
	var logs []*Log
	for range 3 {
		logs = append(logs, open(t, dir, Options{}))
	}
	var wg sync.WaitGroup
	for i, l := range logs {
		for g := range 4 {
			wg.Go(func() {
				for n := range 50 {
					if _, err := l.Record(ctx, decision(fmt.Sprintf("r%d-%d", i, g), uint64(n+1))); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if rep := whole(t, dir); len(rep.Segments) != 3 || rep.Records != 600 {
		t.Errorf("%d segments, %d records", len(rep.Segments), rep.Records)
	}
	// Those of one run come in their order.
	next := map[string]uint64{}
	for _, e := range events(t, dir, Filter{}) {
		if next[e.Run]++; e.Decision.Call != next[e.Run] {
			t.Fatalf("run %s: call %d, want %d", e.Run, e.Decision.Call, next[e.Run])
		}
	}
}

func TestSegmentsRotateBySizeAndStayOneChain(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Rotate: 2000})
	for i := range 60 {
		record(t, l, decision("r", uint64(i+1)))
	}
	rep := whole(t, dir)
	if len(rep.Segments) < 5 || rep.Records != 60 {
		t.Fatalf("%d segments, %d records", len(rep.Segments), rep.Records)
	}
	for i, s := range rep.Segments {
		if info, err := os.Stat(filepath.Join(dir, s.Name)); err != nil || info.Size() > 2000 {
			t.Errorf("%s: %v bytes, %v", s.Name, info.Size(), err)
		}
		if s.Closed != (i < len(rep.Segments)-1) {
			t.Errorf("%s: closed %v", s.Name, s.Closed)
		}
	}
	if got := events(t, dir, Filter{Run: "r"}); len(got) != 60 || got[59].Decision.Call != 60 {
		t.Errorf("%d events", len(got))
	}
	// A segment that is gone is missed, wherever it was.
	for i := range rep.Segments {
		copied := copyDir(t, dir)
		os.Remove(filepath.Join(copied, rep.Segments[i].Name))
		os.Remove(filepath.Join(copied, headName(rep.Segments[i].Name)))
		after, err := Verify(copied)
		if err != nil || !slices.ContainsFunc(after.Problems, func(p Problem) bool {
			return p.Change == Removed && p.Segment == rep.Segments[i].Name
		}) {
			t.Errorf("%s is not missed: %v %v", rep.Segments[i].Name, after.Problems, err)
		}
	}
}

func copyDir(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// A process killed at any byte leaves a chain that verifies up to the last
// whole record and goes on from there.
func TestKilledAtAnyByteTheChainGoesOn(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Sync: SyncNever})
	headFile := filepath.Join(dir, headName(segmentName(1)))
	heads := make([][]byte, 3) // after so many records
	for i := range heads {
		if i > 0 {
			record(t, l, decision("r", uint64(i)))
		}
		var err error
		if heads[i], err = os.ReadFile(headFile); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	step := 1
	if testing.Short() {
		step = 17
	}
	for n := 0; n <= len(data); n += step {
		copied := copyDir(t, dir)
		if err := os.WriteFile(filepath.Join(copied, segmentName(1)), data[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(data[:n]), "\n")
		// The head file is from before the record, or from after it.
		if err := os.WriteFile(filepath.Join(copied, headName(segmentName(1))), heads[max(0, lines-n%2)], 0o600); err != nil {
			t.Fatal(err)
		}
		if rep := whole(t, copied); rep.Records != lines {
			t.Fatalf("cut at %d: %d records, want %d", n, rep.Records, lines)
		}
		again, err := Open(copied, Options{Sync: SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		record(t, again, decision("r", 99))
		again.Close()
		rep := whole(t, copied)
		if rep.Records != lines+1 || len(rep.Segments) != 1 || rep.Segments[0].Torn != 0 {
			t.Fatalf("cut at %d: %+v", n, rep)
		}
	}
}

// A head that a killed process left half written gives way to the one before.
func TestAHalfWrittenHeadGivesWayToTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	record(t, l, Event{Run: "r", End: &End{Status: "ok"}})
	record(t, l, Event{Run: "r", End: &End{Status: "ok"}})
	l.Close()
	name := filepath.Join(dir, headName(segmentName(1)))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for slot := range 2 {
		torn := slices.Clone(data)
		for i := slot*headSlot + 100; i < (slot+1)*headSlot; i++ {
			torn[i] = 'x'
		}
		if err := os.WriteFile(name, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		if rep := whole(t, dir); rep.Segments[0].Signed < 1 {
			t.Errorf("slot %d: vouches for %d", slot, rep.Segments[0].Signed)
		}
	}
}

func TestATamperedSegmentIsLeftAsEvidence(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for i := range 3 {
		record(t, l, decision("r", uint64(i+1)))
	}
	l.Close()
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cut := data[:strings.LastIndexByte(string(data[:len(data)-1]), '\n')+1]
	if err := os.WriteFile(name, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir, Options{})
	record(t, again, decision("r", 4))
	rep, err := Verify(dir)
	if err != nil || len(rep.Segments) != 2 || rep.OK() || rep.Problems[0].Change != Cut {
		t.Errorf("%+v %v", rep, err)
	}
}

func TestSyncWords(t *testing.T) {
	for word, want := range map[string]Sync{"": SyncWrites, "writes": SyncWrites, "never": SyncNever, "always": SyncAlways} {
		if got, err := ParseSync(word); err != nil || got != want {
			t.Errorf("%q: %v %v", word, got, err)
		}
	}
	if _, err := ParseSync("sometimes"); fault.CodeOf(err) != fault.UsageConfig {
		t.Error(err)
	}
}

func BenchmarkRecord(b *testing.B) {
	l := open(b, b.TempDir(), Options{Sync: SyncNever})
	e := decision("01JABCDEFGHJKMNPQRSTVWXYZ0", 7)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Record(ctx, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRecordParallel(b *testing.B) {
	l := open(b, b.TempDir(), Options{Sync: SyncNever})
	e := decision("01JABCDEFGHJKMNPQRSTVWXYZ0", 7)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := l.Record(ctx, e); err != nil {
				b.Fatal(err)
			}
		}
	})
}
