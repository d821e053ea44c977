//go:build unix

package audit

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

const childDir = "WEXEC_TEST_AUDIT_DIR"

// TestChildRecords is not a test by itself: it is the process that
// [TestKilledProcessesLoseNothingThatWasAcknowledged] kills. It records as fast
// as it can and says which records were acknowledged.
func TestChildRecords(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("needs a parent: it runs as a child process of another test")
	}
	l, err := Open(dir, Options{Sync: SyncNever, Rotate: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	run := strconv.Itoa(os.Getpid())
	for n := uint64(1); ; n++ {
		if _, err := l.Record(ctx, decision(run, n)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("ack %d\n", n)
	}
}

func TestKilledProcessesLoseNothingThatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(5, 6))
	acknowledged := map[string]uint64{}
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		child := exec.Command(os.Args[0], "-test.run", "^TestChildRecords$")
		child.Env = append(os.Environ(), childDir+"="+dir)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		stop := time.AfterFunc(10*time.Second, func() { child.Process.Kill() })
		kill := 1 + r.Uint64N(400)
		run := strconv.Itoa(child.Process.Pid)
		for lines.Scan() {
			var n uint64
			if _, err := fmt.Sscanf(lines.Text(), "ack %d", &n); err != nil {
				continue
			}
			acknowledged[run] = n
			if n == kill {
				child.Process.Kill()
			}
		}
		stop.Stop()
		child.Wait() // it was killed
		if acknowledged[run] < kill {
			t.Fatalf("the child ended by itself after %d records", acknowledged[run])
		}
	}
	whole(t, dir)
	for run, n := range acknowledged {
		got := events(t, dir, Filter{Run: run})
		if uint64(len(got)) < n {
			t.Errorf("process %s: %d records of %d that were acknowledged", run, len(got), n)
		}
		for i, e := range got {
			if e.Decision.Call != uint64(i+1) {
				t.Fatalf("process %s: record %d is of call %d", run, i+1, e.Decision.Call)
			}
		}
	}
	// What a killed process left is taken up: no new segment is begun.
	before := len(whole(t, dir).Segments)
	l := open(t, dir, Options{})
	record(t, l, decision("r", 1))
	if rep := whole(t, dir); len(rep.Segments) != before {
		t.Errorf("%d segments became %d", before, len(rep.Segments))
	}
}
