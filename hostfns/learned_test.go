package hostfns

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
)

func issuesTool() catalogue.Tool {
	return catalogue.Tool{Server: "jira", Name: "search", Version: "1.2.0", Description: "Finds issues."}
}

func answered(doc string) Answer {
	return Answer{Kind: JSON, Data: []byte(doc)}
}

func TestLearnedTypesOutliveTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "types")
	first := NewLearned(dir)
	if first.Of(issuesTool()) != nil {
		t.Error("a type before any answer")
	}
	first.Observe(issuesTool(), answered(`{"total":1,"issues":[{"key":"A-1","assignee":"Jane Miller"}]}`))
	want := string(first.Of(issuesTool()))
	if !strings.Contains(want, `"total"`) {
		t.Fatalf("learned %s", want)
	}
	if err := first.Save(); err != nil {
		t.Fatal(err)
	}
	if got := string(NewLearned(dir).Of(issuesTool())); got != want {
		t.Errorf("another process has %s, not %s", got, want)
	}
	other := issuesTool()
	other.Version = "2.0.0"
	if got := NewLearned(dir).Of(other); got != nil {
		t.Errorf("another version has %s", got)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Contains(string(data), "Jane") || strings.Contains(string(data), "A-1") {
		t.Errorf("a value is on disk: %s, %v", data, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestTwoProcessesLearnTogether(t *testing.T) {
	dir := t.TempDir()
	a, b := NewLearned(dir), NewLearned(dir)
	a.Observe(issuesTool(), answered(`{"total":1}`))
	b.Observe(issuesTool(), answered(`{"total":1,"next":"x"}`))
	if err := a.Save(); err != nil {
		t.Fatal(err)
	}
	if err := b.Save(); err != nil {
		t.Fatal(err)
	}
	if got := string(NewLearned(dir).Of(issuesTool())); !strings.Contains(got, `"next"`) || !strings.Contains(got, `"required":["total"]`) {
		t.Errorf("together they know %s", got)
	}
}

func TestABrokenFileOfTypesCostsNothing(t *testing.T) {
	dir := t.TempDir()
	l := NewLearned(dir)
	l.Observe(issuesTool(), answered(`{"total":1}`))
	if err := l.Save(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, text := range []string{"", "{", `{"server":"other","tools":{}}`, `{"server":"jira","version":"1.2.0","tools":{"search":null}}`, `{"server":"jira","version":"1.2.0","tools":{"search":{"t":64,"f":[{"n":"a","s":null},{"n":"2026-01-01","s":{"t":16}}]}}}`} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		again := NewLearned(dir)
		if got := string(again.Of(issuesTool())); strings.Contains(got, "2026") {
			t.Errorf("%q gave %s", text, got)
		}
		again.Observe(issuesTool(), answered(`{"total":1}`))
		if err := again.Save(); err != nil {
			t.Error(err)
		}
	}
	if err := NewLearned(filepath.Join(files[0], "below a file")).Save(); err != nil {
		t.Errorf("nothing to write, and %v", err)
	}
}

func TestLearnedIsSafeForManyAtOnce(t *testing.T) {
	l := NewLearned("")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for k := range 50 {
				tool := catalogue.Tool{Server: fmt.Sprint("s", k%5), Name: "t"}
				l.Observe(tool, answered(fmt.Sprintf(`{"f%c":%d}`, 'a'+i, k)))
				l.Of(tool)
			}
		})
	}
	all.Wait()
	if err := l.Save(); err != nil {
		t.Error(err)
	}
	if got := string(l.Of(catalogue.Tool{Server: "s1", Name: "t"})); !strings.Contains(got, `"fp"`) {
		t.Errorf("%s", got)
	}
	var none *Learned
	none.Observe(issuesTool(), answered(`1`))
	if none.Of(issuesTool()) != nil || none.Save() != nil {
		t.Error("the nil one knows something")
	}
}

// TestAProgramSeesWhatItsCallsTaught holds the whole way: a call teaches, the
// next description shows, tokens stand for data, and the digest stays.
func TestAProgramSeesWhatItsCallsTaught(t *testing.T) {
	learned := NewLearned("")
	people := &fakeProvider{tools: []catalogue.Tool{tool("crm.list", "")}, call: func(context.Context, Call) (Answer, error) {
		return answered(`{"by_mail":{"jane.miller@example.org":{"orders":3}},"total":1}`), nil
	}}
	table, err := NewTable(mustPolicy(t, "version: 1\ntools:\n  allow: ['*']\npii: {mode: tokenize}\n"), audit.None(), people)
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Learned: learned})
	run := openRun(t, table, RunInfo{})
	describe := func(run *Run) string {
		t.Helper()
		a, err := run.Call(context.Background(), "wexec:describe", []byte(`{"name":"crm.list"}`))
		if err != nil {
			t.Fatal(err)
		}
		return string(a.Data)
	}
	before := describe(run)
	digest := table.Digest()
	if strings.Contains(before, "observed") {
		t.Fatalf("before any call: %s", before)
	}
	if _, err := run.Call(context.Background(), "crm.list", []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	after := describe(run)
	if !strings.Contains(after, "observed, not declared") || !strings.Contains(after, "total: number") || !strings.Contains(after, "orders: number") || strings.Contains(after, "jane") || strings.Contains(after, "EMAIL") {
		t.Errorf("after a call: %s", after)
	}
	if table.Digest() != digest {
		t.Error("the digest of the catalogue follows what was learned")
	}
	if fixed := describe(openRun(t, table, RunInfo{Start: audit.Start{Deterministic: true}})); strings.Contains(fixed, "observed") {
		t.Errorf("a deterministic run sees it: %s", fixed)
	}
}
