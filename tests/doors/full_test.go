//go:build linux

package doors

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestAFullDiskStopsAServerAndSpaceStartsIt fills the disk of a server. It refuses runs
// and calls no tool then, keeps what it acknowledged, and goes on when there is space.
func TestAFullDiskStopsAServerAndSpaceStartsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("short: fills a disk several times")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root to mount a small disk")
	}
	data := t.TempDir()
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=16m,mode=0700"); err != nil {
		t.Skipf("needs a mount of a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(data, syscall.MNT_DETACH) })
	tools := &noter{calls: map[string]int{}}
	writeTenant(t, data, "version: 1\ntools: {allow: [p.*]}\n", tools.serve(t))
	s := startServer(t, data, "--log", "error")
	token := s.token()
	answered := map[string]string{} // value by id
	send := func(key string) (ok bool) {
		t.Helper()
		code := fmt.Sprintf("await tools.p.note({key: '%s'}); return %s // %s", key, key, strings.Repeat("x", 4000))
		body, _ := json.Marshal(map[string]string{"language": "js", "code": code})
		status, got, err := s.send(token, "POST", "/v1/runs", string(body), key)
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			RunID string `json:"run_id"`
			State string
			Value json.RawMessage
			Code  string
			Error struct{ Code string }
		}
		if err := json.Unmarshal(got, &run); err != nil {
			t.Fatal(err)
		}
		switch {
		case status == http.StatusOK && run.Error.Code == "":
			answered[run.RunID] = string(run.Value)
			return true
		case status == http.StatusOK && run.Error.Code == "audit.unavailable",
			status == http.StatusServiceUnavailable && run.Code == "store.unavailable":
			return false
		}
		t.Fatalf("%d %s", status, got)
		return false
	}
	if !send("1") {
		t.Fatal("the disk is full at the start")
	}
	ballast := filepath.Join(data, "ballast")
	for round := range 2 {
		fill(t, ballast)
		refused, key := 0, 100_000*(round+1)
		for ; refused < 5; key++ {
			if !send(fmt.Sprint(key)) {
				refused++
				fill(t, ballast)
			}
		}
		tools.mu.Lock()
		before := len(tools.calls)
		tools.mu.Unlock()
		for range 5 {
			if key++; send(fmt.Sprint(key)) {
				t.Errorf("round %d: a run is kept on a full disk", round)
			}
		}
		tools.mu.Lock()
		if calls := len(tools.calls); calls != before {
			t.Errorf("round %d: %d calls were made on a full disk", round, calls-before)
		}
		tools.mu.Unlock()
		for id, value := range answered { // what was kept can be read
			if run, err := s.ask(token, "GET", "/v1/runs/"+id, "", ""); err != nil || string(run.Value) != value {
				t.Errorf("%s was answered with %s: %+v %v", id, value, run, err)
			}
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		for begun := time.Now(); !send(fmt.Sprint(key + 1)); key++ {
			if time.Since(begun) > time.Minute {
				t.Fatalf("the server does not recover: %s", s.Says())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	s.settled(token)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	for key, n := range tools.calls {
		if n != 1 {
			t.Errorf("the call of the request %s was made %d times", key, n)
		}
	}
}

// fill appends to a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err != nil {
		return
	}
	defer f.Close()
	for size := 1 << 16; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}
