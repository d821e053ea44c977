package faults

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
)

// busyHost runs programs that call a tool and programs whose value is cached, and
// prints which have completed.
func busyHost(dir string) {
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{Rotate: 50_000})
	if err != nil {
		panic(err)
	}
	table, err := open(log, hostfns.Func("x.one", func(context.Context, struct{}) (int, error) { return 1, nil }))
	if err != nil {
		panic(err)
	}
	e, err := engine.New(context.Background(), engine.Config{Cache: filepath.Join(dir, "cache"), Table: table})
	if err != nil {
		panic(err)
	}
	for n := time.Now().UnixNano(); ; n++ {
		for _, req := range []engine.Request{
			{Language: "javascript", Code: "return await tools.x.one({});"},
			{Language: "javascript", Code: fmt.Sprintf("%d * 2", n%1_000_000), Deterministic: true},
		} {
			res, err := e.Run(context.Background(), req)
			if err != nil {
				panic(err)
			}
			fmt.Println("ended", res.RunID, res.Provenance.AuditHead)
		}
	}
}

// TestAKilledHostLosesNoRunThatEnded kills a busy host at 200 random moments, every
// tenth time with a cold cache. The audit log stays valid and has the end of every
// completed run, cached values are right, and temporary files of killed hosts are
// removed when they are old.
func TestAKilledHostLosesNoRunThatEnded(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 4
	}
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	answered := map[string]string{}
	for round := range rounds {
		cold := round%10 == 3
		if cold {
			for _, sub := range []string{"code", "images"} {
				if err := os.RemoveAll(filepath.Join(dir, "cache", sub)); err != nil {
					t.Fatal(err)
				}
			}
		}
		killOnce(t, dir, cold, r, answered)
	}
	if len(answered) < rounds {
		t.Fatalf("%d runs in %d rounds", len(answered), rounds)
	}
	recordHolds(t, filepath.Join(dir, "audit"), answered)
	nothingIsLeft(t, filepath.Join(dir, "cache"))
}

// killOnce starts a busy host and kills it at a random moment after its first answer,
// or after its start with a cold cache.
func killOnce(t *testing.T, dir string, cold bool, r *rand.Rand, answered map[string]string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childHost+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if cold {
		time.AfterFunc(time.Duration(r.IntN(900))*time.Millisecond, func() { _ = cmd.Process.Kill() })
	}
	seen := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var id, head string
		if n, _ := fmt.Sscanf(lines.Text(), "ended %s %s", &id, &head); n == 2 {
			answered[id] = head
			if seen++; seen == 1 && !cold {
				time.AfterFunc(time.Duration(r.IntN(60_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
	}
	_ = cmd.Wait() // killed
	if seen == 0 && !cold {
		t.Fatal("the host exited before its first answer")
	}
}

// recordHolds checks that the record is valid and has the end of every completed run.
func recordHolds(t *testing.T, dir string, answered map[string]string) {
	t.Helper()
	report, err := audit.Verify(dir)
	if err != nil || !report.OK() {
		t.Errorf("the record: %v %+v", err, report.Problems)
	}
	heads := map[string]string{}
	for e, err := range audit.Read(t.Context(), dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.End != nil {
			heads[e.Run] = e.Hash
		}
	}
	for id, head := range answered {
		if heads[id] != head {
			t.Errorf("run %s completed, but its end is %q, want %q", id, heads[id], head)
		}
	}
}

// nothingIsLeft opens the cache of killed hosts an hour later. Values are right, and
// there are no unfinished files.
func nothingIsLeft(t *testing.T, dir string) {
	t.Helper()
	half := func() (found []string) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasPrefix(d.Name(), ".") {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	long := time.Now().Add(-2 * time.Hour)
	left := half()
	for _, path := range left {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the killed hosts left %d unfinished files and folders", len(left))
	e := newEngine(t, dir)
	for n := range 50 {
		res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Code: fmt.Sprintf("%d * 2", n), Deterministic: true})
		if want := fmt.Sprint(n * 2); err != nil || string(res.Value) != want {
			t.Errorf("%s: %v, want %s", res.Value, err, want)
		}
	}
	if left := half(); len(left) > 0 {
		t.Errorf("not removed: %q", left)
	}
}
