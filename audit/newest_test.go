package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// newest returns at most limit events from the end of a directory.
func newest(t *testing.T, dir string, f Filter, limit int) []Event {
	t.Helper()
	var out []Event
	for e, err := range Newest(ctx, dir, f) {
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, e); len(out) == limit {
			break
		}
	}
	return out
}

// TestNewestIsReadBackwards has two processes write segments in parallel, with
// records of very different lengths.
func TestNewestIsReadBackwards(t *testing.T) {
	dir := t.TempDir()
	logs := []*Log{open(t, dir, Options{Rotate: 40 << 10}), open(t, dir, Options{Rotate: 40 << 10})}
	for n := range 120 {
		e := decision(fmt.Sprint("run ", n%3), uint64(n+1))
		e.Time = time.Unix(int64(n), 0).UTC()
		e.Decision.Message = strings.Repeat("x", n*n*n%20_000)
		record(t, logs[n%2], e)
	}
	for _, f := range []Filter{{}, {Run: "run 1"}, {Since: time.Unix(50, 0)}, {Run: "none"}} {
		var want, got []uint64
		for _, e := range events(t, dir, f) {
			want = append(want, e.Decision.Call)
		}
		for _, e := range newest(t, dir, f, -1) {
			got = append(got, e.Decision.Call)
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}
	if names, _, err := segments(dir); err != nil || len(names) < 4 {
		t.Errorf("%d segments: %v", len(names), err)
	}
}

// TestNewestReadsOnlyTheEnd damages the beginning of a long trail and cuts its
// last line.
func TestNewestReadsOnlyTheEnd(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{})
	for n := range 500 {
		record(t, l, decision("r", uint64(n+1)))
	}
	l.Close()
	name := filepath.Join(dir, segmentName(1))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	copy(data, strings.Repeat("damaged ", 1000))
	if err := os.WriteFile(name, data[:len(data)-5], 0o600); err != nil {
		t.Fatal(err)
	}
	got := newest(t, dir, Filter{}, 3)
	if len(got) != 3 || got[0].Decision.Call != 499 || got[2].Decision.Call != 497 {
		t.Errorf("%+v", got)
	}
	damaged := 0
	for _, err := range Newest(ctx, dir, Filter{}) {
		if err != nil {
			damaged++
		}
	}
	if damaged == 0 {
		t.Error("damage is not reported")
	}
}
