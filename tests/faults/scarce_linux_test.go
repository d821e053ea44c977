package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// outcome is the result of a run with exhausted resources.
type outcome struct {
	What string     `json:"what"` // during or after the shortage
	Code fault.Code `json:"code"`
	Text string     `json:"text"`
}

// scarceHost exhausts a resource of its process, opens an engine and runs programs,
// then releases the resource and does it again.
func scarceHost(what string) {
	dir, err := os.MkdirTemp("", "wexec-scarce-")
	must(err)
	defer os.RemoveAll(dir)
	p, err := upstream.New([]upstream.Server{{Name: "broken", Command: os.Args[0], Env: map[string]string{childServer: "slow"}}},
		upstream.Options{Environ: os.Environ(), Version: "test"})
	must(err)
	log, err := audit.Open(dir, audit.Options{Rotate: 20_000})
	must(err)
	table, err := open(log, p)
	must(err)
	var made *engine.Engine
	what, later := strings.CutPrefix(what, "later ")
	if later || what == "descriptors" { // exhausted later
		made, err = newScarce(table)
		must(err)
		must(made.Warm(context.Background(), nil, "javascript"))
	}
	lift := take(what)
	programs(made, table, "need")
	lift()
	programs(made, table, "after")
	if made != nil {
		must(made.Close())
	}
	must(errors.Join(table.Close(), log.Close()))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newScarce(table *hostfns.Table) (*engine.Engine, error) {
	return engine.New(context.Background(), engine.Config{Cache: testenv.Cache(), Table: table, Ready: -1, Running: 64})
}

// programs runs forty programs concurrently and reports each outcome. Without an
// engine it opens one first and reports a failure to do so.
func programs(e *engine.Engine, table *hostfns.Table, when string) {
	say := json.NewEncoder(os.Stdout)
	if e == nil {
		var err error
		if e, err = newScarce(table); err != nil {
			must(say.Encode(outcome{when, fault.CodeOf(err), err.Error()}))
			return
		}
		defer func() { must(e.Close()) }()
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := range 40 {
		all.Go(func() {
			req := engine.Request{Language: "javascript", Code: "await new Promise((r) => setTimeout(r, 300)); return 2", Limits: engine.Limits{Time: 20 * time.Second}}
			if i%8 == 0 {
				// A server that failed to start is not restarted immediately.
				req.Code = "for (let n = 0; ; n++) try { return (await tools.broken.go({})) && 2 } catch (e) { if (n >= tries) throw e; await new Promise((r) => setTimeout(r, 250)) }"
				req.Code = "const tries = " + map[string]string{"need": "0", "after": "60"}[when] + ";\n" + req.Code
			}
			res, err := e.Run(context.Background(), req)
			o := outcome{What: when, Code: fault.CodeOf(err), Text: string(res.Value)}
			if err != nil {
				o.Text = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			must(say.Encode(o))
		})
	}
	all.Wait()
}

// take exhausts a resource of this process until lift is called.
func take(what string) (lift func()) {
	limit := func(which int, n uint64) func() {
		var was unix.Rlimit
		if err := unix.Getrlimit(which, &was); err != nil {
			panic(err)
		}
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: n, Max: was.Max}); err != nil {
			panic(err)
		}
		return func() { _ = unix.Setrlimit(which, &was) }
	}
	switch what {
	case "descriptors":
		held, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			panic(err)
		}
		return limit(unix.RLIMIT_NOFILE, uint64(len(held)))
	case "memory":
		// Each instance reserves address space for its maximum size.
		return limit(unix.RLIMIT_AS, sizeNow()+1200<<20)
	case "mappings":
		return fewMappings(200)
	}
	panic("nothing is called " + what)
}

// sizeNow returns the address space of this process in bytes.
func sizeNow() uint64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		panic(err)
	}
	var pages uint64
	if _, err := fmt.Sscan(string(data), &pages); err != nil {
		panic(err)
	}
	return pages * uint64(os.Getpagesize())
}

// fewMappings uses almost all mappings of this process. Pages with alternating
// protection are separate mappings.
func fewMappings(but int) func() {
	data, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		panic(err)
	}
	var most int
	if _, err := fmt.Sscan(string(data), &most); err != nil {
		panic(err)
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		panic(err)
	}
	n := most - strings.Count(string(maps), "\n") - but
	page := os.Getpagesize()
	area, err := unix.Mmap(-1, 0, (n+1)*page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		panic(err)
	}
	for i := 1; i < n; i += 2 {
		if err := unix.Mprotect(area[i*page:(i+1)*page], unix.PROT_READ); err != nil {
			break // used up
		}
	}
	return func() { _ = unix.Munmap(area) }
}

// TestAHostInNeedSaysSoAndRecovers exhausts descriptors, memory and mappings. Each run
// returns, with a code if resources are missing. Opening an engine without enough
// resources fails and names the limit. Afterwards everything works again.
func TestAHostInNeedSaysSoAndRecovers(t *testing.T) {
	for what, want := range map[string]struct {
		code fault.Code
		says string
	}{
		"descriptors":  {fault.UpstreamUnavailable, "too many open files"},
		"memory":       {fault.UsageConfig, "address space"},
		"mappings":     {fault.UsageConfig, "vm.max_map_count"},
		"later memory": {fault.LimitBusy, "address space"},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0])
			cmd.Env = append(os.Environ(), childScarce+"="+what)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("the host died: %v\n%.4000s", err, stderr.String())
			}
			count, codes := map[string]int{}, map[fault.Code]string{}
			for line := range strings.Lines(string(out)) {
				var o outcome
				if err := json.Unmarshal([]byte(line), &o); err != nil {
					t.Fatal(err)
				}
				count[o.What]++
				switch {
				case o.Code == "" && o.Text == "2":
				case o.What == "after":
					t.Errorf("afterwards, a run fails: %s", o.Text)
				case o.Code == "" || strings.Contains(o.Text, "panic"):
					t.Errorf("during the shortage, a run returns %q %q", o.Code, o.Text)
				default:
					codes[o.Code] = o.Text
				}
			}
			if count["after"] != 40 {
				t.Errorf("answered: %v", count)
			}
			if text, ok := codes[want.code]; !ok || len(codes) != 1 || !strings.Contains(text, want.says) {
				t.Errorf("during the shortage: %v, want %s with %q", codes, want.code, want.says)
			}
		})
	}
}
