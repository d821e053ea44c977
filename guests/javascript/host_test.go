package javascript_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Kinds of answers and outcomes, as wasm-modules/ABI.md numbers them.
const (
	answerJSON    = 0
	answerError   = 1
	answerText    = 2
	answerContent = 3
	answerBytes   = 4

	outcomeValue   = 0
	outcomeError   = 1
	outcomeNothing = 2
)

// answer is what a host call gives back after a time.
type answer struct {
	kind  uint32
	data  []byte
	after time.Duration
	id    int64 // where not 0: announced under this id
	size  int64 // where not 0: the size answer_size tells
}

func jsonAnswer(v any) answer {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return answer{kind: answerJSON, data: data}
}

// host is a small host of one guest: it implements the ABI and nothing else.
type host struct {
	input   map[string]any
	raw     []byte // where not nil: the input document as it is
	handle  func(name string, args []byte) answer
	files   map[string]string // below "/", for this run
	stdin   string
	entropy uint64        // what the guest gets as random bytes
	memory  uint32        // most pages, 0: no limit but wazero's
	limit   time.Duration // where not 0: the run is stopped after it

	outcome     int
	document    []byte
	finished    int
	stdout      bytes.Buffer
	stderr      bytes.Buffer
	cancelled   []int64
	started     []string
	maxInFlight int

	calls    map[int64]*flight
	last     int64
	deadline time.Time
}

type flight struct {
	answer    answer
	ready     time.Time
	announced bool
}

type failure struct {
	Code, Name, Message, Hint, Tool, Rule, File, Text, Stack string
	Line, Column                                             int
}

func (h *host) fault(t testing.TB) failure {
	t.Helper()
	if h.outcome != outcomeError {
		t.Fatalf("outcome %d %s, want an error", h.outcome, h.document)
	}
	var e failure
	if err := json.Unmarshal(h.document, &e); err != nil {
		t.Fatalf("error outcome %q: %v", h.document, err)
	}
	return e
}

// slice is the fuel a guest gets at a time: often enough to stop it in time.
const slice = 1e6

// built is the committed guest, compiled once.
var built struct {
	once    sync.Once
	err     error
	runtime wazero.Runtime
	module  wazero.CompiledModule
	image   []byte
}

// committed compiles the committed module, and gives the memory of an
// interpreter that has loaded its prelude.
func committed(t testing.TB) (wazero.Runtime, wazero.CompiledModule, []byte) {
	t.Helper()
	built.once.Do(func() { built.err = compile() })
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.runtime, built.module, built.image
}

func compile() error {
	guest, err := wasmmodules.Open("quickjs")
	if err != nil {
		return err
	}
	code, err := guest.Code()
	if err != nil {
		return err
	}
	if built.image, err = guest.Image(); err != nil {
		return err
	}
	ctx := context.Background()
	built.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().
		WithCoreFeatures(api.CoreFeaturesV2|experimental.CoreFeaturesTailCall|experimental.CoreFeaturesExtendedConst))
	wasi_snapshot_preview1.MustInstantiate(ctx, built.runtime)
	if err := exportHost(ctx, built.runtime); err != nil {
		return err
	}
	built.module, err = built.runtime.CompileModule(ctx, code)
	return err
}

type hostKey struct{}

func hostOf(ctx context.Context) *host { return ctx.Value(hostKey{}).(*host) }

func read(m api.Module, ptr, size uint32) []byte {
	b, ok := m.Memory().Read(ptr, size)
	if !ok {
		panic(fmt.Sprintf("the guest passed a range outside its memory: %d+%d", ptr, size))
	}
	return bytes.Clone(b)
}

func exportHost(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder("wexec")
	export := func(name string, f any) { b.NewFunctionBuilder().WithFunc(f).Export(name) }
	export("refill", func(ctx context.Context, fuel int64) int64 {
		if h := hostOf(ctx); !h.deadline.IsZero() && time.Now().After(h.deadline) {
			panic(refusal{})
		}
		return slice
	})
	export("input_size", func(ctx context.Context) int32 { return int32(len(hostOf(ctx).inputDocument())) })
	export("input_read", func(ctx context.Context, m api.Module, ptr, size uint32) int32 {
		data := hostOf(ctx).inputDocument()
		if int(size) < len(data) {
			data = data[:size]
		}
		m.Memory().Write(ptr, data)
		return int32(len(data))
	})
	export("call_start", func(ctx context.Context, m api.Module, name, nameSize, args, argsSize uint32) int64 {
		return hostOf(ctx).start(string(read(m, name, nameSize)), read(m, args, argsSize))
	})
	export("call_wait", func(ctx context.Context, id, timeout int64) int64 { return hostOf(ctx).wait(id, timeout) })
	export("answer_size", func(ctx context.Context, id int64) int64 {
		f := hostOf(ctx).calls[id]
		if f == nil {
			return -1
		}
		size := int64(len(f.answer.data))
		if f.answer.size != 0 {
			size = f.answer.size
		}
		return int64(f.answer.kind)<<32 | size
	})
	export("answer_read", func(ctx context.Context, m api.Module, id int64, ptr, size uint32) int32 {
		h := hostOf(ctx)
		f := h.calls[id]
		if f == nil {
			return -1
		}
		delete(h.calls, id)
		data := f.answer.data
		if int(size) < len(data) {
			data = data[:size]
		}
		m.Memory().Write(ptr, data)
		return int32(len(data))
	})
	export("call_cancel", func(ctx context.Context, id int64) {
		h := hostOf(ctx)
		h.cancelled = append(h.cancelled, id)
		delete(h.calls, id)
	})
	export("finish", func(ctx context.Context, m api.Module, kind int32, ptr, size uint32) {
		h := hostOf(ctx)
		h.finished++
		h.outcome, h.document = int(kind), read(m, ptr, size)
	})
	_, err := b.Instantiate(ctx)
	return err
}

func (h *host) inputDocument() []byte {
	if h.raw == nil {
		h.raw, _ = json.Marshal(h.input)
	}
	return h.raw
}

func (h *host) start(name string, args []byte) int64 {
	h.last++
	a := answer{kind: answerError, data: []byte(`{"code":"tool.unknown","message":"no such tool"}`)}
	if h.handle != nil {
		a = h.handle(name, args)
	}
	h.started = append(h.started, name+string(args))
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
		best, next := int64(0), time.Time{}
		for i, f := range h.calls {
			if f.announced || (id != 0 && i != id) {
				continue
			}
			if !time.Now().Before(f.ready) && (best == 0 || f.ready.Before(h.calls[best].ready)) {
				best = i
			}
			if next.IsZero() || f.ready.Before(next) {
				next = f.ready
			}
		}
		if best != 0 {
			h.calls[best].announced = true
			if odd := h.calls[best].answer.id; odd != 0 {
				return odd
			}
			return best
		}
		if timeout >= 0 && !time.Now().Before(deadline) {
			return 0
		}
		if next.IsZero() && timeout < 0 {
			return -1
		}
		if next.IsZero() || (timeout >= 0 && deadline.Before(next)) {
			next = deadline
		}
		time.Sleep(time.Until(next))
	}
}

// seeded gives equal bytes for equal seeds.
func seeded(seed uint64) io.Reader {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return rand.NewChaCha8(key)
}

// guest is one instance of the interpreter with its prelude loaded.
type guest struct {
	module api.Module
	h      *host
}

func withHost(h *host) context.Context { return context.WithValue(context.Background(), hostKey{}, h) }

func instantiate(t testing.TB, h *host, dir string) api.Module {
	t.Helper()
	r, compiled, _ := committed(t)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithStdin(strings.NewReader(h.stdin)).WithStdout(&h.stdout).WithStderr(&h.stderr).
		WithFSConfig(wazero.NewFSConfig().WithDirMount(dir, "/")).
		WithSysWalltime().WithSysNanotime().WithSysNanosleep().WithRandSource(seeded(h.entropy))
	ctx := withHost(h)
	if h.memory > 0 {
		ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(func(_, most uint64) experimental.LinearMemory {
			return &bounded{most: min(most, uint64(h.memory)*65536)}
		}))
	}
	module, err := r.InstantiateModule(ctx, compiled, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { module.Close(withHost(h)) })
	return module
}

// bounded is a memory that ends the run where it may not grow, as the engine's
// does.
type bounded struct {
	data []byte
	most uint64
}

type refusal struct{}

func (refusal) Error() string { return "the run is over its limits" }

func (b *bounded) Reallocate(size uint64) []byte {
	if size > b.most {
		panic(refusal{})
	}
	if size > uint64(cap(b.data)) {
		grown := make([]byte, size, min(size*2, b.most))
		copy(grown, b.data)
		b.data = grown
	}
	b.data = b.data[:size]
	return b.data
}

func (b *bounded) Free() {}

// limited tells whether a run was ended by its memory or its time, which an
// engine would name as a limit.
func limited(err error) bool { return errors.As(err, new(refusal)) }

// newGuest restores an interpreter from the image.
func newGuest(t testing.TB, h *host) *guest {
	t.Helper()
	_, _, data := committed(t)
	h.calls = map[int64]*flight{}
	dir := t.TempDir()
	for name, text := range h.files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	module := instantiate(t, h, dir)
	memory := module.Memory()
	memory.Write(0, data)
	return &guest{module, h}
}

// run runs what h.input says once; a second run is the next of a session.
func (g *guest) run(t testing.TB) error {
	t.Helper()
	g.h.raw = nil
	return g.again(t)
}

// again runs with the input document as it is in h.raw.
func (g *guest) again(t testing.TB) error {
	t.Helper()
	h := g.h
	h.finished, h.outcome, h.document = 0, -1, nil
	ctx := withHost(h)
	h.deadline = time.Time{}
	if h.limit > 0 {
		h.deadline = time.Now().Add(h.limit)
	}
	result, err := g.module.ExportedFunction("guest_run").Call(ctx)
	if err != nil {
		if exit, ok := err.(*sys.ExitError); ok && exit.ExitCode() == 0 {
			return nil
		}
		return err
	}
	if result[0] != 0 || h.finished != 1 {
		t.Errorf("guest_run gave %d and finished %d times", result[0], h.finished)
	}
	return nil
}

// run runs code in a fresh guest and returns the host that saw it.
func run(t testing.TB, code string, change ...func(*host)) *host {
	t.Helper()
	h := &host{input: map[string]any{"code": code, "file": "main.js", "args": map[string]any{}}}
	for _, c := range change {
		c(h)
	}
	if err := newGuest(t, h).run(t); err != nil {
		t.Fatalf("the guest trapped: %v", err)
	}
	return h
}
