package audit

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wexec/wexec/fault"
)

func TestAFilterNarrows(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	at := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	for _, e := range []Event{
		{Run: "a", Time: at(1), Start: &Start{}},
		{Run: "a", Time: at(2), Decision: &Decision{Call: 1, Tool: "x.y", Effect: "deny"}},
		{Run: "b", Time: at(3), Decision: &Decision{Call: 1, Tool: "x.z", Effect: "allow"}},
		{Run: "b", Time: at(4), Call: &Call{Call: 1, Tool: "x.z", OK: true}},
		{Run: "b", Time: at(5), Privacy: &Privacy{Call: 1, Tool: "x.z"}},
		{Run: "a", Time: at(6), End: &End{Status: "denied"}},
	} {
		record(t, l, e)
	}
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "123456"},
		{Filter{Run: "a"}, "126"},
		{Filter{Type: TypeDecision}, "23"},
		{Filter{Tool: "x.z"}, "345"},
		{Filter{Effect: "deny"}, "2"},
		{Filter{Since: at(3), Until: at(5)}, "34"},
		{Filter{Run: "a", Type: TypeCall}, ""},
	} {
		got := ""
		for _, e := range events(t, dir, c.f) {
			got += string(rune('0' + e.Seq))
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.f, got, c.want)
		}
	}
}

func TestFollowReadsLaterRecords(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{Rotate: 600})
	record(t, l, decision("r", 1))
	following, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	seen := make(chan uint64, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range Read(following, dir, Filter{Follow: true}) {
			if err != nil {
				t.Error(err)
				return
			}
			seen <- e.Decision.Call
		}
	}()
	for n := uint64(1); n <= 20; n++ {
		if n > 1 {
			record(t, l, decision("r", n))
		}
		select {
		case got := <-seen:
			if got != n {
				t.Fatalf("call %d, want %d", got, n)
			}
		case <-following.Done():
			t.Fatalf("call %d never came", n)
		}
	}
	stop()
	<-done
}

// An incomplete line is read once it is complete.
func TestAnIncompleteLineIsNotAnEvent(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	record(t, l, decision("r", 1))
	record(t, l, decision("r", 2))
	l.Close()
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, int64(len(data)-5)); err != nil {
		t.Fatal(err)
	}
	if got := events(t, dir, Filter{}); len(got) != 1 {
		t.Errorf("%d events", len(got))
	}
}

func TestADamagedLineIsReportedAndReadingContinues(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for n := range 3 {
		record(t, l, decision("r", uint64(n+1)))
	}
	l.Close()
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), `"call":2`, `"call":7`, 1)
	if err := os.WriteFile(name, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	var calls []uint64
	var damaged []string
	for e, err := range Read(ctx, dir, Filter{}) {
		if err != nil {
			if fault.CodeOf(err) != fault.UsageAudit {
				t.Error(err)
			}
			damaged = append(damaged, err.Error())
			continue
		}
		calls = append(calls, e.Decision.Call)
	}
	if len(calls) != 2 || calls[0] != 1 || calls[1] != 3 || len(damaged) != 1 || !strings.Contains(damaged[0], segmentName(1)+":2") {
		t.Errorf("%v %v", calls, damaged)
	}
}

func TestARecordingHasEverythingForAReplay(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	full := Keep{"full", "full", "full"}
	run := func(id string, keep Keep, end bool) {
		record(t, l, Event{Run: id, Start: &Start{Language: "python", Code: Blob("return 1"), Seed: Blob{1, 2}, Keep: keep}})
		record(t, l, Event{Run: id, Decision: &Decision{Call: 1, Tool: "a.b", Effect: "allow"}})
		record(t, l, Event{Run: id, Decision: &Decision{Call: 2, Tool: "a.c", Effect: "deny"}})
		record(t, l, Event{Run: id, Call: &Call{Call: 2, Tool: "a.c", Code: "denied.tool"}})
		record(t, l, Event{Run: id, Call: &Call{Call: 1, Tool: "a.b", OK: true, Answer: Blob(`{"x": 1}`)}})
		if end {
			record(t, l, Event{Run: id, End: &End{Status: "ok", Order: []uint64{2, 1}, Usage: Usage{Fuel: 7}}})
		}
	}
	run("one", full, true)
	run("hashed", Keep{"hash", "full", "full"}, true)
	run("killed", full, false)
	rec, err := LoadRecording(dir, "one")
	if err != nil {
		t.Fatal(err)
	}
	if string(rec.Start.Code) != "return 1" || len(rec.Start.Seed) != 2 || string(rec.Calls[1].Answer) != `{"x": 1}` || rec.End.Usage.Fuel != 7 || len(rec.Events) != 6 {
		t.Errorf("%+v", rec)
	}
	if d, ok := rec.Decision(2); !ok || d.Effect != "deny" {
		t.Errorf("%+v", d)
	}
	for id, want := range map[string]string{"hashed": "full", "killed": "no end", "none": "no record"} {
		_, err := LoadRecording(dir, id)
		if fault.CodeOf(err) != fault.UsageAudit || !strings.Contains(err.Error()+fault.HintOf(err), want) {
			t.Errorf("%s: %v (%s)", id, err, fault.HintOf(err))
		}
	}
	if err := os.Rename(filepath.Join(dir, headName(segmentName(1))), filepath.Join(dir, "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadRecording(dir, "one"); err != nil {
		t.Errorf("a head that is missing keeps the run from being read: %v", err)
	}
}

func TestBlobsComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Blob(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			want = Blob(rapid.String().Draw(t, "string"))
		}
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Blob
		if err := json.Unmarshal(data, &got); err != nil || string(got) != string(want) {
			t.Fatalf("%q became %q: %v", want, got, err)
		}
	})
}

func TestForeignBlobsAreRefused(t *testing.T) {
	for _, text := range []string{`1`, `[]`, `{}`, `{"$bytes": 1}`, `{"$bytes": "%"}`, `true`} {
		var b Blob
		if err := json.Unmarshal([]byte(text), &b); fault.CodeOf(err) != fault.UsageAudit {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Reading and verifying any directory does not panic, and every event returned
// has its hash.
func FuzzReader(f *testing.F) {
	dir := f.TempDir()
	l := open(f, dir, Options{})
	record(f, l, Event{Run: "r", Start: &Start{Code: Blob("x\xff")}})
	record(f, l, decision("r", 1))
	record(f, l, Event{Run: "r", Call: &Call{Call: 1, Answer: Blob(`{"a":1}`)}})
	record(f, l, Event{Run: "r", End: &End{Status: "ok", Order: []uint64{1}}})
	l.Close()
	seg, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil {
		f.Fatal(err)
	}
	head, err := os.ReadFile(filepath.Join(dir, headName(segmentName(1))))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seg, head)
	f.Add(seg[:len(seg)/2], head)
	f.Add([]byte("\n\n{}\n"), []byte("{}"))
	f.Add([]byte(`{"seq":1,"prev":"","hash":"`+strings.Repeat("0", 64)+"\"}\n"), head[:100])
	f.Fuzz(func(t *testing.T, seg, head []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, segmentName(1)), seg, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, headName(segmentName(1))), head, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := Verify(dir)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for e, err := range Read(ctx, dir, Filter{}) {
			if err == nil {
				n++
				if e.Kind() == "" || len(e.Hash) != 64 {
					t.Fatalf("%+v", e)
				}
			}
		}
		if n > before.Records {
			t.Fatalf("%d events of %d records", n, before.Records)
		}
		_, _ = LoadRecording(dir, "r")
		again, err := Open(dir, Options{Sync: SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		record(t, again, decision("r", 99))
		again.Close()
		after, err := Verify(dir)
		if err != nil || (before.OK() && !after.OK()) {
			t.Fatalf("a whole chain was broken by going on: %v %v", after.Problems, err)
		}
	})
}
