package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

func TestDigestsOnPostgreSQL(t *testing.T) { testpg.Again(t, "PolicyKeepsNoText") }

// stored is everything that a store and a data folder have, as one text.
func (l lasting) stored(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	dump := filepath.Join(t.TempDir(), "dump.db") // of PostgreSQL as well
	if err := l.store.Backup(t.Context(), dump); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Dir(strings.TrimPrefix(l.address, "sqlite:")) + "/*") // the log too
	for _, file := range append(files, dump) {
		data, err := os.ReadFile(file)
		if info, statErr := os.Stat(file); statErr == nil && info.IsDir() {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return append(all.Bytes(), filesOf(t, l.o.Data)...)
}

// filesOf is the content of all files below a folder, apart from compiled guests.
func filesOf(t *testing.T, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "policy.yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAPolicyKeepsNoTextOfRuns(t *testing.T) {
	l := newLasting(t, 2)
	write(t, l.o.Data, "tenants/default/policy.yaml", "version: 1\nkeep: false\n")
	if err := l.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	const secret = "zanzibar"
	code := fmt.Sprintf(`console.log("%[1]s out"); console.error("%[1]s err"); return args.word + " %[1]s"`, secret)
	program := Program{Language: "js", Code: code, Args: json.RawMessage(`{"word":"zanzibar"}`), Intent: "find zanzibar"}
	run, err := l.Submit(t.Context(), l.bot, Submission{Program: program, Trigger: "api"}, time.Minute)
	if err != nil || string(run.Value) != `"zanzibar zanzibar"` || run.Stdout != "zanzibar out\n" {
		t.Fatalf("the caller who waited has %+v %v", run, err)
	}
	failed, err := l.Submit(t.Context(), l.bot, Submission{Program: Program{Language: "js", Code: `throw new Error("zanzibar")`}, Trigger: "api"}, time.Minute)
	if err != nil || failed.Error == nil || failed.Error.Message != "zanzibar" {
		t.Fatalf("%+v %v", failed, err)
	}
	// While it runs, the store has the program sealed.
	slow := l.begin(t, `console.log("zanzibar"); for (;;) {} // zanzibar`)
	until(t, func() bool {
		events, _, err := KeptEvents(t.Context(), l.store, DefaultTenant, slow, 0)
		return err == nil && len(events) > 0
	})
	if bytes.Contains(l.stored(t), []byte(secret)) {
		t.Error("the store has text of a run in flight")
	}
	if _, err := l.Cancel(t.Context(), l.bot, slow); err != nil {
		t.Fatal(err)
	}
	l.end(t, slow)

	kept, err := l.Get(t.Context(), l.bot, run.RunID)
	if err != nil || kept.Code != "" || string(kept.Value) != "null" || kept.Stdout != "" || kept.Intent != "" || kept.Status != engine.StatusOK {
		t.Errorf("%+v %v", kept, err)
	}
	if p := kept.Provenance; p.Code != run.Provenance.Code || p.Code != textDigest(code) || p.Args == "" || p.Value != textDigest(`"zanzibar zanzibar"`) ||
		kept.Digests == nil || *kept.Digests != (Digests{textDigest("zanzibar out\n"), textDigest("zanzibar err\n")}) || *run.Digests != *kept.Digests {
		t.Errorf("the digests are %+v %+v", p, kept.Digests)
	}
	if failed, err = l.Get(t.Context(), l.bot, failed.RunID); err != nil || codeOf(failed) != fault.GuestException || failed.Error.Message != "" {
		t.Errorf("%+v %v", failed, err)
	}
	events, _, err := KeptEvents(t.Context(), l.store, DefaultTenant, run.RunID, 0)
	if err != nil || !slices.ContainsFunc(events, func(e store.Event) bool { return e.Type == "output" && bytes.Contains(e.Data, []byte(`{"sha256":"`)) }) {
		t.Errorf("%+v %v", events, err)
	}
	if all := l.stored(t); bytes.Contains(all, []byte(secret)) {
		i := bytes.Index(all, []byte(secret))
		t.Errorf("the data folder has …%q", all[max(0, i-80):i+20])
	}
	// Retention and deletion work as ever.
	if n, err := l.store.Prune(t.Context(), DefaultTenant, time.Now().Add(time.Hour)); err != nil || n != 3 {
		t.Errorf("%d %v", n, err)
	}
	l.empty(t)
}

func TestARunWithoutTextDoesNotWaitInTheStore(t *testing.T) {
	l := newLasting(t, 1)
	write(t, l.o.Data, "tenants/default/policy.yaml", "version: 1\nkeep: false\n")
	if err := l.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	slow := l.begin(t, `for (;;) {}`)
	if _, err := l.submit(t.Context(), "1", 0); !errors.Is(err, fault.LimitBusy) {
		t.Errorf("the second run: %v", err)
	}
	if _, err := l.Cancel(t.Context(), l.bot, slow); err != nil {
		t.Fatal(err)
	}
	l.end(t, slow)
	l.empty(t)
}

func until(t *testing.T, state func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !state(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the state is not reached")
		}
	}
}
