package hostfns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

const recordAll = "version: 1\naudit: {code: full, inputs: full, outputs: full}\ntools:\n  deny: [a.no]\n  allow: ['a.*']\n"

// recorded makes a run whose calls end in another order than they begin, and
// gives its record and what the guest saw.
func recorded(t *testing.T) (audit.Recording, []string) {
	t.Helper()
	p := &fakeProvider{tools: []catalogue.Tool{tool("a.slow", `{"properties":{"ms":{"type":"integer"},"n":{"default":1}}}`), tool("a.no", `{}`), tool("a.bad", `{}`)},
		call: func(_ context.Context, c Call) (Answer, error) {
			if c.Tool == "bad" {
				return Answer{}, errors.New("mail bob@example.org failed")
			}
			var ms int
			_, _ = fmt.Sscanf(string(c.Args), `{"ms":%d`, &ms)
			time.Sleep(time.Duration(ms) * time.Millisecond)
			return Answer{Data: fmt.Appendf(nil, `{"ms": %d, "mail": "ann%d@example.org"}`, ms, ms)}, nil
		}}
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(mustPolicy(t, recordAll), log, p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(t.Context(), RunInfo{ID: "r1", Start: audit.Start{Code: []byte("code")}})
	if err != nil {
		t.Fatal(err)
	}
	saw := program(t, r, CallsOptions{})
	if _, err := r.Close(t.Context(), audit.End{Status: "ok", Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	log.Close()
	rec, err := audit.LoadRecording(dir, "r1")
	if err != nil {
		t.Fatal(err)
	}
	return rec, saw
}

// program is what the guest does: calls in flight together, and what it saw in
// the order in which it saw it.
func program(t *testing.T, r *Run, o CallsOptions) []string {
	t.Helper()
	c := NewCalls(r, o)
	defer c.Close()
	start(t, c, "a.slow", `{"ms":40}`)
	start(t, c, "a.slow", `{"ms":1}`)
	start(t, c, "a.no", `{}`)
	start(t, c, "a.bad", `{}`)
	start(t, c, "a.slow", `[20]`)
	start(t, c, "wexec:names", `{"server":"a"}`)
	var saw []string
	for range 6 {
		id, err := c.Wait(0, -1)
		if err != nil || id < 1 {
			t.Fatal(id, err)
		}
		kind, data := read(t, c, id)
		saw = append(saw, fmt.Sprint(id, " ", kind, " ", data))
	}
	return saw
}

func TestAReplaySeesWhatTheRunSawInTheSameOrder(t *testing.T) {
	rec, saw := recorded(t)
	table, err := Recorded(rec)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r := openRun(t, table, RunInfo{ID: "again"})
		if got := program(t, r, CallsOptions{Order: rec.End.Order}); !slices.Equal(got, saw) {
			t.Fatalf("saw\n%s\nthen\n%s", strings.Join(got, "\n"), strings.Join(saw, "\n"))
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
	}
	if strings.Contains(strings.Join(saw, " "), "example.org") {
		t.Fatalf("personal data reached the guest: %v", saw)
	}
}

func TestAReplayNamesTheFirstDifference(t *testing.T) {
	rec, _ := recorded(t)
	for _, c := range []struct {
		name, args, want string
		before           int
	}{
		{"a.slow", `{"ms":41}`, "other arguments", 0},
		{"a.bad", `{}`, "the record has a.slow", 0},
		{"a.slow", `{}`, "not in the record", 6},
	} {
		table, err := Recorded(rec)
		if err != nil {
			t.Fatal(err)
		}
		r := openRun(t, table, RunInfo{ID: "again"})
		r.number.Add(uint64(c.before))
		_, err = r.Call(t.Context(), c.name, []byte(c.args))
		if fault.CodeOf(err) != fault.UsageAudit || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.args, err)
		}
		if fault.CodeOf(r.Err()) != fault.UsageAudit {
			t.Error("the replay goes on")
		}
	}
}

func TestARunThatWroteFilesIsNotRepeated(t *testing.T) {
	rec := audit.Recording{Run: "x", Decisions: []audit.Decision{{Kind: "file", Target: "write /out/x", Effect: "allow", Writes: true}}}
	if _, err := Recorded(rec); fault.CodeOf(err) != fault.UsageAudit {
		t.Fatal(err)
	}
}
