//go:build linux

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/unix"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/internal/tools/timing"
)

// The bounds of what the host does for a run.
const (
	workMemory = 32 << 20               // may be used in addition to workFactor times what was charged
	workFactor = 3                      //
	workLate   = 100 * time.Millisecond // after the deadline, or after the run was cancelled
	workTime   = 300 * time.Millisecond // the time limit of the runs
	workAsleep = time.Second            // later than this is too late, whatever else the machine does
	workTries  = 10                     //

	workPatience = 60 * time.Second // after which a row is killed
)

// workLimits are the limits of the runs.
func workLimits() Limits {
	return Limits{Time: workTime, Fuel: math.MaxInt64, Memory: 64 << 20, HostBytes: 64 << 20, ToolCalls: 1 << 30}
}

// work is the worst that can be asked of a function of the host, or of what
// connects it to the outside.
type work struct {
	of  string // a host function, a call of the prelude, or a method of an interface of hostfns
	how string
	// run prepares a run. It is called in a process that does nothing else.
	run func(*workplace) Request
	// quick rows are tested with -short too.
	quick bool
}

func (w work) name() string {
	return strings.NewReplacer(wasi, "wasi", kernel, "extism", " ", "_").Replace(w.of + ": " + w.how)
}

// workServer is the variable that makes the test binary a server, see serveWorst,
// workRow the one that makes it measure a row, and workURL has the address of the
// web server of the tests.
const (
	workServer = "WEXEC_TEST_WORK_SERVER"
	workRow    = "WEXEC_TEST_WORK"
	workURL    = "WEXEC_TEST_WORK_URL"
)

// TestTheHostsWorkIsBounded runs each row in a separate process. The process
// takes no more memory than the run was charged for, a run ends at its deadline and
// when it is cancelled, whatever the host does for it.
func TestTheHostsWorkIsBounded(t *testing.T) {
	if onInterpreter() || timing.Race() {
		t.Skip("needs native code: the interpreter is too slow for deadlines")
	}
	known := registered(t)
	rows := workRows(known)
	if row := os.Getenv(workRow); row != "" {
		i := slices.IndexFunc(rows, func(w work) bool { return w.name() == row })
		if i < 0 {
			t.Fatalf("there is no row %q", row)
		}
		measure(t, rows[i], known)
		return
	}
	web := httptest.NewServer(worstWeb())
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	for _, row := range rows {
		if testing.Short() && !row.quick {
			continue
		}
		t.Run(row.name(), func(t *testing.T) {
			t.Parallel()
			atOnce <- struct{}{}
			defer func() { <-atOnce }()
			ctx, cancel := context.WithTimeout(t.Context(), workPatience)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestTheHostsWorkIsBounded$", "-test.v")
			cmd.Env = append(os.Environ(), workRow+"="+row.name(), workURL+"="+web.URL)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
				return
			}
			t.Logf("%s", regexp.MustCompile(`(?m)^ .*work_test.go:\d+: (.*)$`).FindSubmatch(out)[1])
		})
	}
}

// atOnce bounds the processes that measure at the same time.
var atOnce = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))

// TestEveryHostFunctionHasARow compares the rows with what exists: the imports of
// guests and plugins, the calls of the prelude, and the methods of the interfaces
// that connect a table to the outside.
func TestEveryHostFunctionHasARow(t *testing.T) {
	known := registered(t)
	rows := map[string]bool{}
	for _, w := range workRows(known) {
		rows[w.of] = true
	}
	want := map[string]bool{}
	for key := range known {
		want[key[0]+"."+key[1]] = true
		if key[0] == wasi {
			want["plugin "+key[0]+"."+key[1]] = true
		}
	}
	for _, what := range []reflect.Type{reflect.TypeFor[hostfns.Provider](), reflect.TypeFor[hostfns.Native](),
		reflect.TypeFor[hostfns.Filer](), reflect.TypeFor[hostfns.Asker](), reflect.TypeFor[hostfns.Signals](), reflect.TypeFor[hostfns.Ranker]()} {
		for m := range what.Methods() {
			want[what.Name()+"."+m.Name] = true
		}
	}
	for _, name := range fetch.New(fetch.Options{}).PreludeCalls() {
		want[name] = true
	}
	for _, name := range hostfns.WorkspaceCalls {
		want[name] = true
	}
	sources, err := filepath.Glob("../hostfns/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range sources {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range regexp.MustCompile(`(?m)^\t"(wexec:\w+)":`).FindAllSubmatch(source, -1) {
			want[string(entry[1])] = true
		}
	}
	if len(want) < 120 {
		t.Errorf("only %d functions were found", len(want))
	}
	for name := range want {
		if !rows[name] {
			t.Errorf("%s has no row in workRows: add the worst that can be asked of it", name)
		}
	}
	for name := range rows {
		if !want[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

const (
	wasi   = "wasi_snapshot_preview1"
	kernel = "extism:host/env"
	ours   = "wexec"
)

// registered returns the functions that guests and plugins can import.
func registered(t *testing.T) signatures {
	t.Helper()
	module, _, err := meter.Rewrite(wasmModule(section(1, []byte{1, 0x60, 0, 0})), meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := sandbox.Compile(t.Context(), module, "", nil, true)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(context.Background())
	plugin, ok := snapshot.Field[*extism.CompiledPlugin](m, "plugin")
	if !ok {
		t.Fatal("the module has no plugin")
	}
	rt, ok := snapshot.Field[wazero.Runtime](plugin, "runtime")
	if !ok {
		t.Fatal("the plugin has no runtime")
	}
	all := signatures{}
	for _, from := range []string{wasi, kernel, ours} {
		for name, def := range rt.Module(from).ExportedFunctionDefinitions() {
			if from == kernel && !slices.Contains(sandbox.KernelCalls(), name) {
				continue // plugins may not import it
			}
			all[[2]string{from, name}] = def
		}
	}
	return all
}

// workplace is where a row runs.
type workplace struct {
	t     *testing.T
	e     *Engine
	known signatures
	web   string // address of worstWeb
	dir   string // a folder that the policy grants
	usage *lastUsage
	slow  bool // the server needs time to answer
}

// closeLater closes something at the end of the test.
func (p *workplace) closeLater(f func() error) { p.t.Cleanup(func() { _ = f() }) }

// lastUsage keeps the usage of the last run. It is a sink.
type lastUsage struct {
	mu sync.Mutex
	audit.Usage
}

func (l *lastUsage) Record(_ context.Context, e audit.Event) (string, error) {
	if e.End != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Usage = e.End.Usage
	}
	return "", nil
}

// measured is what a run took.
type measured struct {
	took            time.Duration // after it started
	late            time.Duration // after it was to end; of the processor, if other processes held it up
	memory, charged int64
	code            fault.Code
	calls           string
}

// measure runs a row until a run was within the bounds, and at most workTries times:
// a busy machine is late now and then, and what the process takes once for all runs
// is not the run's.
func measure(t *testing.T, w work, known signatures) {
	e := newTiny(t, Config{Ready: -1})
	place := &workplace{t: t, e: e, known: known, web: os.Getenv(workURL), dir: t.TempDir(), usage: &lastUsage{}}
	place.closeLater(func() error { http.DefaultClient.CloseIdleConnections(); return nil })
	req := w.run(place)
	if req.Limits == (Limits{}) {
		req.Limits = workLimits()
	}
	if place.slow {
		req.Limits.Time *= 5
	}
	warm := req
	warm.Limits.Time = time.Millisecond
	place.once(warm, 0)

	late, left := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	fullOver, leftOver := int64(math.MaxInt64), int64(math.MaxInt64)
	var first measured
	for try := range workTries {
		if late > workLate || fullOver > 0 {
			got := place.once(req, 0)
			late, fullOver = min(late, got.late), min(fullOver, got.uncharged())
			if try == 0 {
				first = got
			}
		}
		if left > workLate || leftOver > 0 {
			got := place.once(req, req.Limits.Time/2)
			left, leftOver = min(left, got.late), min(leftOver, got.uncharged())
		}
	}
	if late > workLate {
		t.Errorf("it ended %s after its deadline", late)
	}
	if left > workLate {
		t.Errorf("it ended %s after it was cancelled", left)
	}
	if over := max(fullOver, leftOver); over > 0 {
		t.Errorf("it took %d MiB more than %d times what it was charged for and %d MiB", over>>20, workFactor, workMemory>>20)
	}
	t.Logf("%s after %s; %d MiB, charged %d MiB; cancelled %s late %s", first.code, first.took.Round(time.Millisecond), first.memory>>20, first.charged>>20, max(left, 0).Round(time.Millisecond), first.calls)
}

// uncharged returns by how much the memory exceeds what the charge allows.
func (m measured) uncharged() int64 { return m.memory - workFactor*m.charged - workMemory }

// once makes a run and cancels it after some time, if that is not 0.
func (p *workplace) once(req Request, cancelled time.Duration) measured {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // resets VmHWM; else it is that of the process
	before := memoryOf(p.t, "VmRSS")
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	started, ends := time.Now(), cmp.Or(cancelled, req.Limits.Time)
	var used atomic.Int64 // processor time when the run was to end
	req.Progress = func(ev Event) {
		if ev.Type == EventStarted {
			started = time.Now()
			time.AfterFunc(ends, func() {
				used.Store(int64(processorTime(p.t)))
				if cancelled > 0 {
					cancel()
				}
			})
		}
	}
	res, err := p.e.Run(ctx, req)
	got := measured{took: time.Since(started), code: fault.CodeOf(err), memory: memoryOf(p.t, "VmHWM") - before}
	got.late = got.took - ends
	if at := used.Load(); at > 0 && got.late < workAsleep {
		got.late = min(got.late, processorTime(p.t)-time.Duration(at))
	}
	p.usage.mu.Lock()
	defer p.usage.mu.Unlock()
	got.charged = res.Usage.MemoryPeak + p.usage.HostBytes + res.Usage.ResultSize
	if got.code == fault.Internal {
		p.t.Errorf("the run failed: %v", err)
	}
	answered := map[fault.Code]int{}
	for _, c := range res.Calls {
		answered[c.Code]++
	}
	got.calls = fmt.Sprint(answered, res.Error.Message)
	return got
}

// processorTime is the time that the process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// memoryOf returns a line of /proc/self/status in bytes.
func memoryOf(t *testing.T, name string) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), name+":")
	kb, err := strconv.ParseInt(strings.TrimSpace(strings.Split(rest, "kB")[0]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// guest returns the request that runs a module as a guest.
func (p *workplace) guest(h hostile) Request {
	hostileGuest(p.t, p.e, h, p.known)
	return Request{Language: JavaScript, Code: "x", Table: p.table("")}
}

// plugin returns the request that runs a module as a foreign plugin.
func (p *workplace) plugin(h hostile) Request {
	req := Request{Function: "f", Table: p.table("")}
	pluginFile(p.t, h.wasm(p.t, p.known, "f"))(&req)
	return req
}

// json encodes a value.
func (p *workplace) json(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(fmt.Errorf("encode: %w", err))
	}
	return data
}
