package python_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Kinds of answers and outcomes, as wasm-modules/ABI.md numbers them.
const (
	answerJSON = iota
	answerError
	answerText
	answerContent
	answerBytes

	outcomeValue = 0
	outcomeError = 1
	outcomeNone  = 2
)

// answer is what a host call gives back, after a time.
type answer struct {
	kind  int64
	data  string
	after time.Duration
	size  int64 // where not 0: what answer_size tells instead
}

// flight is a call that was started.
type flight struct {
	answer    answer
	ready     time.Time
	announced bool
}

// host is a small host of one run: the ABI and nothing else.
type host struct {
	input  map[string]any
	raw    []byte // where not nil: the input document as it is
	stdin  string
	files  map[string]string
	top    string // the folder that is /; empty: a fresh one
	handle func(name, args string) answer
	random io.Reader

	kind        int
	document    []byte
	finished    int
	stdout      bytes.Buffer
	stderr      bytes.Buffer
	started     []string
	cancelled   []int64
	calls       map[int64]*flight
	last        int64
	maxInFlight int
	slept       time.Duration
	fuel        int64 // what is left; 0 at the start means plenty
	odd         func(name string, s []uint64) bool
}

// fault is an error outcome.
type fault struct {
	Code, Name, Message, Hint, Tool, Rule, File, Text, Stack string
	Line, Column, Exit                                       int
}

func (h *host) fault(t testing.TB) fault {
	t.Helper()
	var f fault
	if h.kind != outcomeError {
		t.Fatalf("the outcome is %d %s, not an error\nstdout: %s\nstderr: %s", h.kind, h.document, h.stdout.String(), h.stderr.String())
	}
	if err := json.Unmarshal(h.document, &f); err != nil {
		t.Fatalf("the error outcome %q: %v", h.document, err)
	}
	return f
}

// value is the outcome of a program that worked: JSON, or "" for no value.
func (h *host) value(t testing.TB) string {
	t.Helper()
	if h.kind == outcomeError || h.finished == 0 {
		t.Fatalf("the program failed: %d %s\nstdout: %s\nstderr: %s", h.kind, h.document, h.stdout.String(), h.stderr.String())
	}
	return string(h.document)
}

// machine is the guest, compiled once, with the image all instances start from.
type machine struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	image   []byte
	library string // path of the standard library's archive
}

var shared = sync.OnceValues(newMachine)

func newMachine() (*machine, error) {
	ctx := context.Background()
	guest, err := wasmmodules.Open("cpython")
	if err != nil {
		return nil, err
	}
	code, err := guest.Code()
	if err != nil {
		return nil, err
	}
	m := &machine{}
	if m.image, err = guest.Image(); err != nil {
		return nil, err
	}
	library, err := guest.Library()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "wexec-python-test")
	if err != nil {
		return nil, err
	}
	m.library = filepath.Join(dir, guest.LibraryName)
	if err := os.WriteFile(m.library, library, 0o600); err != nil {
		return nil, err
	}
	config := wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst).
		WithMemoryLimitPages(3072)
	if dir := os.Getenv("WEXEC_TEST_CACHE"); dir != "" {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			return nil, err
		}
		config = config.WithCompilationCache(cache)
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	wasi_snapshot_preview1.MustInstantiate(ctx, m.runtime)
	if err := exportHost(ctx, m.runtime); err != nil {
		return nil, err
	}
	m.code, err = m.runtime.CompileModule(experimental.WithCompilationWorkers(ctx, 2), code)
	return m, err
}

func TestMain(m *testing.M) {
	code := m.Run()
	if s, err := shared(); err == nil {
		os.RemoveAll(filepath.Dir(s.library))
	}
	os.Exit(code)
}

type hostKey struct{}

func hostOf(ctx context.Context) *host { return ctx.Value(hostKey{}).(*host) }

func exportHost(ctx context.Context, r wazero.Runtime) error {
	const i32, i64 = api.ValueTypeI32, api.ValueTypeI64
	type types = []api.ValueType
	b := r.NewHostModuleBuilder("wexec")
	def := func(name string, params, results types, f func(h *host, mem api.Memory, s []uint64)) {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, s []uint64) {
			h := hostOf(ctx)
			if h.odd != nil && h.odd(name, s) {
				return
			}
			f(h, m.Memory(), s)
		}), params, results).Export(name)
	}
	text := func(mem api.Memory, at, size uint64) string {
		b, ok := mem.Read(uint32(at), uint32(size))
		if !ok {
			panic(fmt.Sprintf("the guest passed a range outside its memory: %d+%d", at, size))
		}
		return string(b)
	}
	copied := func(mem api.Memory, s []uint64, data []byte) uint64 {
		n := min(int(uint32(s[1])), len(data))
		if !mem.Write(uint32(s[0]), data[:n]) {
			panic("the guest wants bytes outside its memory")
		}
		return uint64(n)
	}
	def("refill", types{i64}, types{i64}, func(h *host, _ api.Memory, s []uint64) {
		if h.fuel--; h.fuel == 0 {
			panic("the test's fuel is used up")
		}
		s[0] = 1e6
	})
	def("input_size", nil, types{i32}, func(h *host, _ api.Memory, s []uint64) { s[0] = uint64(len(h.raw)) })
	def("input_read", types{i32, i32}, types{i32}, func(h *host, mem api.Memory, s []uint64) { s[0] = copied(mem, s, h.raw) })
	def("call_start", types{i32, i32, i32, i32}, types{i64}, func(h *host, mem api.Memory, s []uint64) {
		s[0] = uint64(h.start(text(mem, s[0], s[1]), text(mem, s[2], s[3])))
	})
	def("call_wait", types{i64, i64}, types{i64}, func(h *host, _ api.Memory, s []uint64) {
		s[0] = uint64(h.wait(int64(s[0]), int64(s[1])))
	})
	def("answer_size", types{i64}, types{i64}, func(h *host, _ api.Memory, s []uint64) {
		f := h.calls[int64(s[0])]
		if f == nil {
			s[0] = ^uint64(0)
			return
		}
		size := int64(len(f.answer.data))
		if f.answer.size != 0 {
			size = f.answer.size
		}
		s[0] = uint64(f.answer.kind<<32 | size)
	})
	def("answer_read", types{i64, i32, i32}, types{i32}, func(h *host, mem api.Memory, s []uint64) {
		f := h.calls[int64(s[0])]
		delete(h.calls, int64(s[0]))
		if f == nil {
			s[0] = 0
			return
		}
		s[0] = copied(mem, s[1:], []byte(f.answer.data))
	})
	def("call_cancel", types{i64}, nil, func(h *host, _ api.Memory, s []uint64) {
		h.cancelled = append(h.cancelled, int64(s[0]))
		delete(h.calls, int64(s[0]))
	})
	def("finish", types{i32, i32, i32}, nil, func(h *host, mem api.Memory, s []uint64) {
		h.finished++
		h.kind, h.document = int(uint32(s[0])), []byte(text(mem, s[1], s[2]))
	})
	_, err := b.Instantiate(ctx)
	return err
}

func (h *host) start(name, args string) int64 {
	h.last++
	a := answer{kind: answerJSON, data: args}
	if h.handle != nil {
		a = h.handle(name, args)
	}
	h.started = append(h.started, name+" "+args)
	h.calls[h.last] = &flight{answer: a, ready: time.Now().Add(a.after)}
	inFlight := 0
	for _, f := range h.calls {
		if !f.announced {
			inFlight++
		}
	}
	h.maxInFlight = max(h.maxInFlight, inFlight)
	return h.last
}

func (h *host) wait(id, timeout int64) int64 {
	deadline := time.Now().Add(time.Duration(timeout))
	for {
		var soon time.Time
		for _, call := range slices.Sorted(maps.Keys(h.calls)) {
			f := h.calls[call]
			if f.announced || id != 0 && call != id {
				continue
			}
			if !time.Now().Before(f.ready) {
				f.announced = true
				return call
			}
			if soon.IsZero() || f.ready.Before(soon) {
				soon = f.ready
			}
		}
		switch {
		case soon.IsZero() && timeout < 0:
			return -1
		case timeout >= 0 && (soon.IsZero() || deadline.Before(soon)):
			time.Sleep(time.Until(deadline))
			return 0
		}
		time.Sleep(time.Until(soon))
	}
}

// guest is one instance; it may be run more than once, as a session is.
type guest struct {
	module api.Module
	host   *host
}

func newGuest(t testing.TB, h *host) *guest {
	t.Helper()
	m, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	top := h.top
	if top == "" {
		top = t.TempDir()
	}
	for _, dir := range []string{"lib", "tmp", "mcp-servers"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(m.library, filepath.Join(top, "lib", filepath.Base(m.library))); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	for name, data := range h.files {
		name = filepath.Join(top, name)
		os.MkdirAll(filepath.Dir(name), 0o700)
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if h.random == nil {
		h.random = rand.Reader
	}
	h.calls = map[int64]*flight{}
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdin(strings.NewReader(h.stdin)).WithStdout(&h.stdout).WithStderr(&h.stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(top, "/")).
		WithSysWalltime().WithSysNanotime().WithRandSource(h.random).
		WithNanosleep(func(ns int64) { h.slept += time.Duration(ns); time.Sleep(time.Duration(ns)) })
	module, err := m.runtime.InstantiateModule(ctx, m.code, config)
	if err != nil {
		t.Fatal(err)
	}
	opened := module
	t.Cleanup(func() {
		opened.Close(ctx)
		opened = nil // a parallel test keeps its cleanups until its parent ends, and so the guest's memory
	})
	if grow := (len(m.image) - int(module.Memory().Size())) >> 16; grow > 0 {
		module.Memory().Grow(uint32(grow))
	}
	module.Memory().Write(0, m.image)
	return &guest{module, h}
}

// run runs what the host's input says.
func (g *guest) run() error {
	h := g.host
	if h.input != nil {
		h.raw, _ = json.Marshal(h.input)
	}
	h.kind, h.document, h.finished = -1, nil, 0
	ctx := context.WithValue(context.Background(), hostKey{}, h)
	result, err := g.module.ExportedFunction("guest_run").Call(ctx)
	if err != nil {
		return err
	}
	if result[0] != 0 || h.finished != 1 {
		return fmt.Errorf("guest_run gave %d and finished %d times", result[0], h.finished)
	}
	return nil
}

// input is an input document around a program.
func input(code string) map[string]any {
	return map[string]any{"code": code, "file": "main.py", "args": map[string]any{}, "argv": []string{},
		"env": map[string]string{}, "servers": []string{"github", "jira", "slack"}}
}

// run runs a program in a fresh instance; change prepares the host.
func run(t testing.TB, code string, change ...func(*host)) *host {
	t.Helper()
	h := &host{input: input(code)}
	for _, c := range change {
		c(h)
	}
	if err := newGuest(t, h).run(); err != nil {
		t.Fatalf("the guest failed: %v\nstderr: %s\nprogram:\n%s", err, h.stderr.String(), code)
	}
	return h
}
