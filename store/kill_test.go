package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// kills is how often the test kills a process; a variable of the environment
// replaces it for the long proof.
func kills(t testing.TB) int {
	text := os.Getenv("WEXEC_STORE_KILLS")
	if text == "" {
		return 6
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A process that is killed at any moment loses nothing that it acknowledged, and
// requests that are sent again after it are no second run.
func TestAKilledProcessLosesAndDoublesNothing(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			accepted, ended := map[string]bool{}, map[string]bool{}
			for left := kills(t); left > 0; left-- {
				cmd := exec.CommandContext(t.Context(), os.Args[0])
				cmd.Env = append(os.Environ(), workerEnv+"="+address, serverEnv+"="+strconv.Itoa(len(accepted)))
				out, err := cmd.StdoutPipe()
				check(t, err, cmd.Start())
				lines := bufio.NewScanner(out)
				if !lines.Scan() || lines.Text() != "ready" {
					t.Fatalf("the process says %q", lines.Text())
				}
				kill := sync.OnceFunc(func() {
					time.AfterFunc(time.Duration(rand.IntN(150))*time.Millisecond, func() { _ = cmd.Process.Kill() })
				})
				if left > 1 || len(ended) > 0 { // the last process ends at least one run
					kill()
				}
				for lines.Scan() {
					what, id, whole := strings.Cut(lines.Text(), " ")
					switch {
					case whole && what == "accepted":
						accepted[id] = true
					case whole && what == "ended":
						ended[id] = true
						kill()
					default:
						t.Errorf("the process says %q", lines.Text())
					}
				}
				_ = cmd.Wait()
			}
			s := open(t, address, Options{})
			r := must(s.Check(t.Context()))(t)
			if len(r.Faults) != 0 {
				t.Errorf("%q", r.Faults)
			}
			for id := range accepted {
				run, err := s.Run(t.Context(), "a", id)
				if err != nil || ended[id] && (run.State != StateDone || string(run.Result) != id) {
					t.Errorf("%s: %+v %v", id, run, err)
				}
			}
			if len(accepted) == 0 || len(ended) == 0 {
				t.Errorf("%d runs were accepted, %d ended", len(accepted), len(ended))
			}
			t.Logf("%d runs accepted, %d ended, %d in the store", len(accepted), len(ended), r.Rows["runs"])
			var keys, runs int64 // PostgreSQL may still commit what a killed process sent
			check(t, s.view(t.Context(), func(tx *Tx) error {
				_, err := tx.row([]any{&keys, &runs}, "SELECT (SELECT COUNT(DISTINCT name) FROM idempotency), (SELECT COUNT(*) FROM runs)")
				return err
			}))
			if keys != runs {
				t.Errorf("%d requests made %d runs", keys, runs)
			}
		})
	}
}

// serverEnv makes the worker a busy server. Its value numbers the first request.
const serverEnv = "WEXEC_TEST_STORE_SERVER"

// serve accepts and ends runs in several goroutines until it is killed. It sends
// each request twice, as clients do that were cut off.
func serve(s *Store) int {
	first, err := strconv.Atoi(os.Getenv(serverEnv))
	if err != nil {
		return 1
	}
	ctx := context.Background()
	var next atomic.Int64
	next.Store(int64(max(0, first-10))) // some of them were accepted before
	var out sync.Mutex
	say := func(what, id string) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(what, id)
	}
	out.Lock()
	fmt.Println("ready")
	out.Unlock()
	for range 4 {
		go func() {
			for {
				n := next.Add(1)
				key := Idempotency{Key: strconv.FormatInt(n, 10), Digest: "d", Keep: time.Hour}
				for range 2 {
					a, err := s.Accept(ctx, Run{Tenant: "a", ID: fmt.Sprintf("%d-%d", n, os.Getpid())}, "me", key)
					if err != nil {
						fmt.Println(err)
						return
					}
					say("accepted", a.ID)
					if a.Again {
						continue
					}
					if err := s.End(ctx, a.Lease, Outcome{Status: "ok", Result: []byte(a.ID)}, Event{Type: "end"}); err != nil {
						fmt.Println(err)
						return
					}
					say("ended", a.ID)
				}
			}
		}()
	}
	time.Sleep(time.Minute)
	return 1
}

// A database that drops its connections costs time, and no write is lost or made
// twice without a word.
func TestLostConnectionsAreMadeAgain(t *testing.T) {
	address := addresses(t)["postgres"](t)
	s := open(t, address, slow())
	l := started(t, s, Run{Tenant: "a", ID: "1"})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var written, uncertain atomic.Int64
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil && written.Load() < maxEvents/2 {
				switch err := s.Append(t.Context(), l, Event{Type: "output"}); {
				case err == nil:
					written.Add(1)
				case errors.Is(err, fault.StoreUnavailable):
					uncertain.Add(1)
				default:
					t.Error(err)
					return
				}
			}
		})
	}
	other := open(t, address, Options{})
	for range 5 {
		time.Sleep(30 * time.Millisecond)
		if _, err := other.write.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%events%' AND pid <> pg_backend_pid()`); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	all.Wait()
	events := must(other.Events(t.Context(), "a", "1", 0, maxEvents))(t)
	if n := int64(len(events)); n < written.Load() || n > written.Load()+uncertain.Load() || written.Load() == 0 {
		t.Errorf("%d events, %d acknowledged, %d uncertain", n, written.Load(), uncertain.Load())
	}
}
