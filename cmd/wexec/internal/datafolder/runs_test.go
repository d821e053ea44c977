package datafolder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/seal"
)

type asked struct{ Code string }

const secret = "ada.byron@mail.example.org"

// begun is a run with some records that this process executes.
func begun(t *testing.T, dir string, records int) *Run {
	t.Helper()
	run, err := New(dir, "").Runs().Create(t.Context(), engine.NewID(), asked{"write to " + secret})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if err := run.Append(t.Context(), recordOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

func recordOf(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d %s ", i, secret), i*100) }

func refusesRun(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, fault.UsageRun) || !strings.Contains(err.Error(), text) || fault.HintOf(err) == "" {
		t.Errorf("error %v with hint %q, want usage.run with %q", err, fault.HintOf(err), text)
	}
}

// resumed closes a run, goes on with it as another process does, and compares what is found.
func resumed(t *testing.T, dir string, run *Run, records int) *Run {
	t.Helper()
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	var request asked
	again, got, err := New(dir, "").Runs().Resume(t.Context(), run.ID, &request)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != records || request.Code != "write to "+secret {
		t.Errorf("%d records, want %d; request %+v", len(got), records, request)
	}
	for i, record := range got {
		if !bytes.Equal(record, recordOf(i)) {
			t.Errorf("record %d has %d bytes", i, len(record))
		}
	}
	return again
}

func TestAJournalGoesOnInAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	runs := New(dir, "").Runs()
	if all, err := runs.List(t.Context()); len(all) > 0 || err != nil {
		t.Errorf("%v, %v", all, err)
	}
	run := begun(t, dir, 3)
	_, _, err := New(dir, "").Runs().Resume(t.Context(), run.ID, &asked{})
	refusesRun(t, err, "executed by another command")
	refusesRun(t, runs.Drop(run.ID), "executed by another command")
	run = resumed(t, dir, run, 3)
	if err := run.Append(t.Context(), recordOf(3)); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(time.Hour).UTC()
	if err := run.Park(t.Context(), ParkedRun{Language: engine.Python, Until: until, Signals: []string{"go"}}); err != nil {
		t.Fatal(err)
	}
	run = resumed(t, dir, run, 4)
	all, err := runs.List(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != run.ID || all[0].Records != 4 || !all[0].Until.Equal(until) {
		t.Errorf("%+v, %v", all, err)
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && bytes.Contains(contentOf(t, path), []byte("byron")) {
			t.Errorf("%s has a value", path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := run.Remove(); err != nil {
		t.Fatal(err)
	}
	_, _, err = runs.Resume(t.Context(), run.ID, &asked{})
	refusesRun(t, err, "there is no parked run")
	for _, id := range []string{"", "..", "../sessions", "a/b", "01m"} {
		refusesRun(t, runs.Drop(id), "there is no parked run")
	}
}

// A record that was cut when the process ended was not kept: nobody has relied on it.
func TestAJournalThatEndsWithinARecordGoesOnBeforeIt(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, 2)
	path := filepath.Join(run.dir, journalName)
	whole := len(contentOf(t, path))
	if err := run.Append(t.Context(), recordOf(2)); err != nil {
		t.Fatal(err)
	}
	data := contentOf(t, path)
	for _, size := range []int{len(data) - 1, len(data) - 300, whole + 100, whole + 3} {
		write(t, path, data[:size])
		run = resumed(t, dir, run, 2)
		if got := len(contentOf(t, path)); got != whole {
			t.Errorf("cut to %d: %d bytes are left, want %d", size, got, whole)
		}
	}
	if err := run.Append(t.Context(), recordOf(2)); err != nil {
		t.Fatal(err)
	}
	run = resumed(t, dir, run, 3)
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedJournalIsRefused(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, 4)
	if err := errors.Join(run.Park(t.Context(), ParkedRun{}), run.Close()); err != nil {
		t.Fatal(err)
	}
	runs := New(dir, "").Runs()
	tries := func(what string) error {
		t.Helper()
		again, _, err := runs.Resume(t.Context(), run.ID, &asked{})
		if err == nil {
			t.Errorf("%s: nothing is refused", what)
			return again.Close()
		}
		return err
	}
	for _, name := range []string{journalName, requestName, parkedName} {
		path := filepath.Join(run.dir, name)
		data := contentOf(t, path)
		for i := 8; i < len(data); i += 1 + len(data)/20 {
			changed := bytes.Clone(data)
			changed[i] ^= 4
			write(t, path, changed)
			if err := tries(fmt.Sprintf("byte %d of %s", i, name)); !errors.Is(err, seal.ErrNoKey) { // the id of the key was changed
				refusesRun(t, err, "missing, damaged")
			}
		}
		write(t, path, data)
	}
	path := filepath.Join(run.dir, journalName)
	data := contentOf(t, path)
	var frames [][]byte // of the records
	for rest := data; len(rest) > 0; {
		_, next, err := run.nextFrame(t.Context(), rest, run.recordPurpose(len(frames)))
		if err != nil {
			t.Fatal(err)
		}
		frames, rest = append(frames, rest[:len(rest)-len(next)]), next
	}
	other := begun(t, dir, 4)
	for what, changed := range map[string][]byte{
		"without its last record": bytes.Join(frames[:3], nil),
		"without its first one":   bytes.Join(frames[1:], nil),
		"in another order":        bytes.Join([][]byte{frames[0], frames[2], frames[1], frames[3]}, nil),
		"a record twice":          bytes.Join([][]byte{frames[0], frames[1], frames[1], frames[2], frames[3]}, nil),
		"of another run":          contentOf(t, filepath.Join(other.dir, journalName)),
		"a length that lies":      append(bytes.Clone(data[:len(data)-len(frames[3])]), 0xff, 0xff, 0xff, 0xff),
		"empty":                   nil,
	} {
		write(t, path, changed)
		refusesRun(t, tries(what), "missing, damaged")
	}
	write(t, path, data)
	if err := other.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := runs.Drop(run.ID); err != nil {
		t.Fatal(err)
	}
}

func TestAnAnswerWaitsForTheRun(t *testing.T) {
	dir := t.TempDir()
	run := begun(t, dir, 1)
	open := hostfns.Question{ID: "q_open", Run: run.ID, Tool: "mail.send", Message: "write to " + secret, Expires: time.Now().Add(time.Hour)}
	late := hostfns.Question{ID: "q_late", Run: run.ID, Expires: time.Now().Add(-time.Hour)}
	if err := run.Park(t.Context(), ParkedRun{Questions: []hostfns.Question{open, late}}); err != nil {
		t.Fatal(err)
	}
	runs := New(dir, "").Runs()
	refusesRun(t, runs.Answer(t.Context(), open, hostfns.Reply{Approved: true}), "executed by another command")
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := runs.Questions(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != open.ID || all[0].Message != open.Message {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := runs.Answer(t.Context(), open, hostfns.Reply{Approved: true, By: "socket"}); err != nil {
		t.Fatal(err)
	}
	if err := runs.Answer(t.Context(), open, hostfns.Reply{}); fault.CodeOf(err) != fault.UsageFlag {
		t.Errorf("a second answer: %v", err)
	}
	if all, err := runs.Questions(t.Context()); len(all) > 0 || err != nil {
		t.Errorf("%+v, %v", all, err)
	}
	asker, err := runs.Asker(t.Context(), run.ID, nobody{})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := asker.Ask(t.Context(), open); err != nil || !reply.Approved || reply.By != "socket" {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := asker.Ask(t.Context(), late); !errors.Is(err, hostfns.ErrNobody) {
		t.Errorf("a question without an answer: %v", err)
	}
	if _, err := os.Stat(run.dir); err != nil {
		t.Error(err)
	}
}

// nobody is there to ask.
type nobody struct{}

func (nobody) Ask(context.Context, hostfns.Question) (hostfns.Reply, error) {
	return hostfns.Reply{}, hostfns.ErrNobody
}
