package httpd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// loopback is a server with the listener that wexec serve has.
type loopback struct {
	server *Server
	store  *store.Store
	url    string
	token  string
	key    string // seals what is in the store
}

// newLoopback serves a store until the test ends, with files in its data folder.
func newLoopback(t testing.TB, address string, more files) loopback {
	t.Helper()
	s, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	more.write(t, data)
	served, err := service.Open(t.Context(), service.Options{Store: s, Data: data, Env: testenv.Isolated(data), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Options{Service: served, Proxied: true}) // all clients have one address
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, l, nil, 10*time.Second) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := served.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	token, _, err := served.CreateToken(t.Context(), store.Token{Tenant: "default", Name: "bench", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(data, "seal.key"))
	if err != nil {
		t.Fatal(err)
	}
	return loopback{server, s, "http://" + l.Addr().String(), token, string(key)}
}

// run runs 1+1.
func (l loopback) run(client *http.Client) error {
	req, err := http.NewRequest(http.MethodPost, l.url+"/v1/runs?wait=5m", strings.NewReader(`{"language":"javascript","code":"1+1"}`))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%d %s %w", res.StatusCode, body, err)
	}
	return nil
}

// A run is accepted in one commit and ends in another, with few statements: those
// decide how many runs a server can keep.
func TestARunNeedsFewCommits(t *testing.T) {
	const runs = 50
	for _, address := range []func(testing.TB) string{testpg.Store, testpg.Address} {
		l := newLoopback(t, address(t), nil)
		if err := l.run(http.DefaultClient); err != nil {
			t.Fatal(err)
		}
		statements, commits, syncs := l.store.Work()
		for range runs {
			if err := l.run(http.DefaultClient); err != nil {
				t.Fatal(err)
			}
		}
		moreStatements, moreCommits, moreSyncs := l.store.Work()
		if n := moreCommits - commits; n > 2*runs+5 {
			t.Errorf("%d runs needed %d commits", runs, n)
		}
		if n := moreSyncs - syncs; n > runs+5 {
			t.Errorf("%d runs waited for the disk %d times", runs, n)
		}
		if n := moreStatements - statements; n > 10*runs {
			t.Errorf("%d runs needed %d statements", runs, n)
		}
	}
}

// BenchmarkRun runs 1+1 over a loopback connection of each client.
func BenchmarkRun(b *testing.B) {
	for _, kind := range []struct {
		name    string
		address func(testing.TB) string
		servers int
	}{{"sqlite", testpg.Store, 1}, {"postgres", testpg.Address, 2}} {
		for _, clients := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/%d", kind.name, clients), func(b *testing.B) {
				address := kind.address(b)
				servers := []loopback{newLoopback(b, address, nil)}
				for range kind.servers - 1 {
					servers = append(servers, newLoopback(b, address, files{"seal.key": servers[0].key}))
				}
				measure(b, servers, clients)
			})
		}
	}
}

// measure runs the benchmark with a number of clients.
func measure(b *testing.B, servers []loopback, clients int) {
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, s := range servers {
		if err := s.run(client); err != nil {
			b.Fatal(err)
		}
	}
	work := func() (statements, commits int64) {
		for _, l := range servers {
			s, c, _ := l.store.Work()
			statements, commits = statements+s, commits+c
		}
		return statements, commits
	}
	statements, commits := work()
	times := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range clients {
		all.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				begun := time.Now()
				if err := servers[i%len(servers)].run(client); err != nil {
					b.Error(err)
					return
				}
				times[n-1] = time.Since(begun)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(times)
	moreStatements, moreCommits := work()
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(moreCommits-commits)/float64(b.N), "commits/run")
	b.ReportMetric(float64(moreStatements-statements)/float64(b.N), "statements/run")
}
