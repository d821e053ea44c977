package httpd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/store"
)

// try sends a run with a key and returns the id of its answer, or "" if the store did
// not answer.
func (l loopback) try(t *testing.T, code, key string) (id string) {
	t.Helper()
	body := fmt.Sprintf(`{"language":"javascript","code":%q,"intent":%q}`, code, key)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.url+"/v1/runs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+l.token)
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	var got struct {
		RunID string `json:"run_id"`
		Code  string
	}
	if err != nil || json.Unmarshal(data, &got) != nil {
		t.Errorf("%d %s %v", res.StatusCode, data, err)
	}
	switch {
	case res.StatusCode == http.StatusOK || res.StatusCode == http.StatusAccepted:
		return got.RunID
	case res.StatusCode != http.StatusServiceUnavailable || got.Code != "store.unavailable" || res.Header.Get("Retry-After") == "":
		t.Errorf("%d %s", res.StatusCode, data)
	}
	return ""
}

// A client that sends a request again until it is answered gets one run for it, however
// often connections to PostgreSQL are lost and the database stops. The server recovers.
func TestADatabaseThatIsLostCostsTime(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts another PostgreSQL, and stops it")
	}
	database := testpg.Own(t)
	l := newLoopback(t, database.Address(), nil)
	warm := l.try(t, "1", "warm")
	long := make(chan string, 1)
	go func() { long <- l.try(t, "await new Promise(r => setTimeout(r, 3000)); return 'kept'", "long") }()
	stop := make(chan struct{})
	var mu sync.Mutex
	answered := map[string]string{}
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("%d-%d", client, n)
				id := ""
				for begun := time.Now(); id == ""; {
					if id = l.try(t, "1+1", key); id != "" {
						break
					}
					if time.Since(begun) > 2*time.Minute {
						t.Error("the server does not recover")
						return
					}
					time.Sleep(20 * time.Millisecond)
				}
				mu.Lock()
				answered[id] = key
				mu.Unlock()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 5 {
		time.Sleep(50 * time.Millisecond)
		if err := database.Drop(); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if err := database.Down(); err != nil {
			t.Fatal(err)
		}
		for down := false; !down; { // a client is refused; others may wait until it is back
			down = l.try(t, "1", "while it is down") == ""
		}
		if err := database.Up(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	clients.Wait()
	answered[warm], answered[<-long] = "warm", "long"
	kept := map[string]string{}
	for f := (store.Filter{Limit: 1000}); ; {
		runs, more, err := l.store.Runs(t.Context(), "default", f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if other := kept[r.Intent]; other != "" {
				t.Errorf("the request %s is the runs %s and %s", r.Intent, other, r.ID)
			}
			kept[r.Intent] = r.ID
		}
		if !more {
			break
		}
		f.Before = runs[len(runs)-1].ID
	}
	for id, key := range answered {
		if kept[key] != id {
			t.Errorf("the request %s was answered with the run %q, the store has %q", key, id, kept[key])
		}
	}
	if len(answered) < 10 {
		t.Errorf("%d requests were answered", len(answered))
	}
	until(t, "no run is open", func() bool {
		q, err := l.store.Queue(t.Context(), store.KindRun, "")
		return err == nil && q == store.Queued{}
	})
	if r, err := l.store.Check(t.Context()); err != nil || len(r.Faults) != 0 {
		t.Errorf("%q %v", r.Faults, err)
	}
}
