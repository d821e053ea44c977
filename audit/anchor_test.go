package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// memoryAnchor keeps heads in memory, and fails or waits on demand.
type memoryAnchor struct {
	mu    sync.Mutex
	heads []head
	fail  error
	slow  bool
}

func (m *memoryAnchor) Keep(ctx context.Context, text []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slow {
		<-ctx.Done()
		return ctx.Err()
	}
	if m.fail != nil {
		return m.fail
	}
	h, err := parseHead(text)
	if err == nil {
		m.heads = append(m.heads, h)
	}
	return err
}

func (m *memoryAnchor) Heads(context.Context) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return json.Marshal(m.heads)
}

func (m *memoryAnchor) set(fail error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memoryAnchor) last() head {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.heads) == 0 {
		return head{}
	}
	return m.heads[len(m.heads)-1]
}

func (m *memoryAnchor) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.heads)
}

func anchoredLog(t *testing.T, dir string, o Options, a Anchoring) *Log {
	t.Helper()
	l := open(t, dir, o)
	if err := l.Anchor(a); err != nil {
		t.Fatal(err)
	}
	return l
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s does not happen", what)
}

// against verifies a directory with the heads of an anchor.
func against(t *testing.T, dir string, a Anchor) Report {
	t.Helper()
	heads, err := a.Heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rep, err := VerifyAnchored(dir, heads)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// anchors are the anchors of this package, each with an empty folder.
func anchors(t *testing.T) map[string]Anchor {
	t.Helper()
	out := map[string]Anchor{"file": FileAnchor(filepath.Join(t.TempDir(), "heads"))}
	if runtime.GOOS != "windows" {
		file := filepath.Join(t.TempDir(), "heads")
		out["command"] = CommandAnchor{"sh", "-c", `if [ "$1" = get ]; then cat "$0"; else cat >> "$0"; fi`, file}
	}
	return out
}

func TestAnOlderCopyIsNoticed(t *testing.T) {
	for name, anchor := range anchors(t) {
		dir := t.TempDir()
		more := func(n int) {
			t.Helper()
			l := anchoredLog(t, dir, Options{}, Anchoring{Anchor: anchor})
			for i := range n {
				record(t, l, decision("r", uint64(i+1)))
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		more(3)
		older := copyDir(t, dir)
		more(4)
		if rep := against(t, dir, anchor); !rep.OK() || rep.Anchor.Newest.Seq != 7 || rep.Anchor.Newest.Found != 7 {
			t.Errorf("%s: %+v, %+v", name, rep.Problems, rep.Anchor)
		}
		if rep, err := Verify(older); err != nil || !rep.OK() || rep.Anchor != nil {
			t.Errorf("%s: without the anchor: %+v, %v", name, rep, err)
		}
		want := func(what, dir, message string) {
			t.Helper()
			rep := against(t, dir, anchor)
			if rep.OK() || rep.Problems[0].Change != RolledBack || !strings.Contains(rep.Problems[0].Message, message) {
				t.Errorf("%s: %s: %+v", name, what, rep.Problems)
			}
		}
		want("an older copy", older, "record 7 was anchored at 20")
		want("an older copy", older, "and the last record is 3: the directory is an older copy, or was cut")
		want("an empty directory", t.TempDir(), "the segment is missing, and its record 7 was anchored at 20")
		// The older copy is put back, and goes on past the record that was anchored.
		if err := errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(older))); err != nil {
			t.Fatal(err)
		}
		more(9)
		want("a copy that was continued", dir, "is not the one that was anchored at 20")
	}
}

func TestVerifyTakesTheReportThatAPersonKept(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	record(t, l, decision("r", 1))
	older := copyDir(t, dir)
	record(t, l, decision("r", 2))
	l.Close()
	kept, err := json.Marshal(whole(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if rep, err := VerifyAnchored(dir, kept); err != nil || !rep.OK() || rep.Anchor.Heads != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
	if rep, err := VerifyAnchored(older, kept); err != nil || rep.OK() {
		t.Errorf("an older copy passes: %+v, %v", rep, err)
	}
	for _, bad := range []string{"{", "7", `{"segment":""}`, `"x"`, `[[[[[[["{}"]]]]]]]`, `{"segment":"00000001.jsonl","seq":-1}`} {
		if _, err := VerifyAnchored(dir, []byte(bad)); fault.CodeOf(err) != fault.UsageAudit {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if rep, err := VerifyAnchored(dir, nil); err != nil || rep.OK() || !strings.Contains(rep.Problems[0].Message, "the anchor has no head") {
		t.Errorf("an empty anchor passes: %+v, %v", rep, err)
	}
}

func TestHeadsOfAnAnchorAreSigned(t *testing.T) {
	dir, anchor, key := t.TempDir(), &memoryAnchor{}, testKey(1)
	l := anchoredLog(t, dir, Options{Key: key}, Anchoring{Anchor: anchor})
	record(t, l, decision("r", 1))
	l.Close()
	heads, _ := anchor.Heads(t.Context())
	if rep, err := VerifyAnchored(dir, heads, key.Public().(ed25519.PublicKey)); err != nil || !rep.OK() {
		t.Errorf("%+v, %v", rep, err)
	}
	// A database may give the members in another order.
	var loose []map[string]any
	if err := json.Unmarshal(heads, &loose); err != nil {
		t.Fatal(err)
	}
	again, _ := json.Marshal(map[string]any{"heads": loose})
	if rep, err := VerifyAnchored(dir, again, key.Public().(ed25519.PublicKey)); err != nil || !rep.OK() {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err := VerifyAnchored(dir, bytes.ReplaceAll(heads, []byte(`"seq":1`), []byte(`"seq":2`)), key.Public().(ed25519.PublicKey)); err == nil {
		t.Error("a forged head of an anchor passes")
	}
	for i := range loose {
		delete(loose[i], "key")
		delete(loose[i], "sig")
	}
	unsigned, _ := json.Marshal(loose)
	if rep, err := VerifyAnchored(dir, unsigned, key.Public().(ed25519.PublicKey)); err != nil || rep.OK() || rep.Problems[0].Change != Unsigned && rep.Problems[0].Change != RolledBack {
		t.Errorf("an unsigned head passes: %+v, %v", rep, err)
	}
}

func TestEverySegmentIsAnchored(t *testing.T) {
	dir, anchor := t.TempDir(), &memoryAnchor{}
	l := anchoredLog(t, dir, Options{Rotate: 2000}, Anchoring{Anchor: anchor, Records: 1})
	other := anchoredLog(t, dir, Options{}, Anchoring{Anchor: anchor})
	for i := range 40 {
		record(t, l, decision("r", uint64(i+1)))
		record(t, other, decision("s", uint64(i+1)))
	}
	if err := errors.Join(l.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	rep := against(t, dir, anchor)
	if !rep.OK() || len(rep.Segments) < 4 {
		t.Fatalf("%+v", rep)
	}
	for _, s := range rep.Segments {
		if !slices.ContainsFunc(anchor.heads, func(h head) bool { return h.Segment == s.Name && int(h.Seq) == s.Records }) {
			t.Errorf("the end of %s is not anchored", s.Name)
		}
	}
}

func TestRecordsAreAnchoredWhileTheLogIsOpen(t *testing.T) {
	for name, o := range map[string]Anchoring{"records": {Records: 3, Every: time.Hour}, "time": {Every: 20 * time.Millisecond}} {
		anchor := &memoryAnchor{}
		o.Anchor = anchor
		l := anchoredLog(t, t.TempDir(), Options{}, o)
		eventually(t, name+": the head at the start", func() bool { return anchor.last().Segment != "" })
		for i := range 3 {
			record(t, l, decision("r", uint64(i+1)))
		}
		eventually(t, name+": the head of record 3", func() bool { return anchor.last().Seq == 3 })
		record(t, l, decision("r", 4))
		l.KeepHead()
		if anchor.last().Seq != 4 {
			t.Errorf("%s: record 4 is not anchored", name)
		}
		n := anchor.count()
		if err := l.Close(); err != nil || anchor.count() != n {
			t.Errorf("%s: the same head is kept twice: %v", name, err)
		}
	}
}

// TestAFailingAnchorIsSaid warns once, records the failure and its end, and loses
// no record.
func TestAFailingAnchorIsSaid(t *testing.T) {
	dir, anchor := t.TempDir(), &memoryAnchor{fail: errors.New("the disk is gone")}
	var mu sync.Mutex
	var said []string
	l := anchoredLog(t, dir, Options{}, Anchoring{Anchor: anchor, Every: 10 * time.Millisecond, Failed: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, err.Error())
	}})
	states := func() (out []AnchorState) {
		for e, err := range Read(t.Context(), dir, Filter{Type: TypeAnchor}) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, *e.Anchor)
		}
		return out
	}
	eventually(t, "a record of the failure", func() bool { return len(states()) == 1 })
	record(t, l, decision("r", 1))
	time.Sleep(50 * time.Millisecond)
	anchor.set(nil)
	eventually(t, "a record that it works again", func() bool { return len(states()) == 2 })
	if got := states(); got[0].OK || got[0].Error != "the disk is gone" || !got[1].OK {
		t.Errorf("recorded %+v", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) != 1 {
		t.Errorf("said %q", said)
	}
	if rep := against(t, dir, anchor); !rep.OK() {
		t.Errorf("%+v", rep.Problems)
	}
}

func TestARequiredAnchorThatFailsStopsTheLog(t *testing.T) {
	anchor := &memoryAnchor{fail: errors.New("the disk is gone")}
	o := Anchoring{Anchor: anchor, Every: 10 * time.Millisecond, Required: true}
	l := open(t, t.TempDir(), Options{})
	if err := l.Anchor(o); fault.CodeOf(err) != fault.AuditUnavailable || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("opened: %v", err)
	}
	_ = l.Close()
	anchor.set(nil)
	l = anchoredLog(t, t.TempDir(), Options{}, o)
	record(t, l, decision("r", 1))
	anchor.set(errors.New("the disk is gone"))
	refused := func() bool {
		_, err := l.Record(t.Context(), decision("r", 2))
		return fault.CodeOf(err) == fault.AuditUnavailable
	}
	eventually(t, "a refused record", refused)
	anchor.set(nil)
	eventually(t, "a record after that", func() bool { return !refused() })
	anchor.set(errors.New("the disk is gone"))
	record(t, l, decision("r", 3))
	if err := l.Close(); fault.CodeOf(err) != fault.AuditUnavailable {
		t.Errorf("closed: %v", err)
	}
}

// TestAnAnchorThatHangsDelaysNoRecord has one that never answers.
func TestAnAnchorThatHangsDelaysNoRecord(t *testing.T) {
	anchor := &memoryAnchor{slow: true}
	l := anchoredLog(t, t.TempDir(), Options{Sync: SyncNever}, Anchoring{Anchor: anchor, Timeout: 2 * time.Second, Records: 1})
	begun := time.Now()
	for i := range 100 {
		record(t, l, decision("r", uint64(i+1)))
	}
	if took := time.Since(begun); took > 2*time.Second { // the anchor would take this for one
		t.Errorf("100 records took %v", took)
	}
	begun = time.Now()
	if err := l.Close(); err != nil || time.Since(begun) > 30*time.Second {
		t.Errorf("closing took %v, %v", time.Since(begun), err)
	}
}

func TestACommandIsBounded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := (CommandAnchor{"sh", "-c", "sleep 60 & sleep 60"}).Keep(ctx, nil); err == nil || time.Since(begun) > 10*time.Second {
		t.Errorf("%v after %v", err, time.Since(begun))
	}
	err := CommandAnchor{"sh", "-c", "echo no room >&2; exit 3"}.Keep(t.Context(), []byte("{}"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3: no room") {
		t.Errorf("error is %v", err)
	}
	out := &limitedBuffer{max: 10}
	if _, err := out.Write(make([]byte, 11)); err == nil {
		t.Error("too much output was kept")
	}
}
