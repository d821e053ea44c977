package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/keptfiles"
	"github.com/wexec/wexec/hostfns/internal/queue"
)

// Memory is the linear memory of a guest. What Read returns is valid until the
// guest runs again.
type Memory interface {
	Read(ptr, length uint32) ([]byte, bool)
	Write(ptr uint32, data []byte) bool
}

// CallsOptions configure the calls of one guest. The zero value delivers answers
// as they arrive and sleeps in real time.
type CallsOptions struct {
	// Ordered decides calls and delivers answers in the order in which the calls
	// were started, and makes timers wait for calls in flight.
	Ordered bool
	// Order lists the ids of answers in the order in which they were announced in
	// a run that is replayed, and 0 where the guest waited in vain. After its end
	// the order is as above.
	Order []uint64
	// Sleep waits while nothing is in flight. A deterministic run advances its
	// virtual clock instead. Nil sleeps in real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Park is called before the guest waits and Resume before it continues, so
	// that a waiting run can give its core to another. Resume may block. May be
	// nil.
	Park, Resume func()
	// People is called between Park and Resume: with true when the guest waits
	// for people only, and with false when that ends. May be nil.
	People func(only bool)
	// Compile compiles a TypeScript file that a program imports to JavaScript. It
	// is called concurrently. Nil: the guest has no such call.
	Compile func(ctx context.Context, file, code string) (string, error)
	// Core is for work that the host does while the guest waits without a core.
	Core Core
	// Span is the parent of the spans of calls. Nil, or one that records nothing: calls
	// have no spans.
	Span trace.Span
}

// Bounds of a call, in bytes.
const (
	maxNameSize = 1 << 10
	maxArgsSize = 64 << 20
)

// Calls is the part of a run that guest code talks to: the guest starts calls,
// waits for any of them and reads the answers. The guest is one thread, so one
// goroutine at a time calls its methods. An error of a method ends the run.
type Calls struct {
	run     *Run
	queue   *queue.Queue
	compile func(ctx context.Context, file, code string) (string, error)
	core    Core
	name    string // of the call before: many programs call one tool in a loop
}

// NewCalls returns the calls of a guest.
func NewCalls(run *Run, o CallsOptions) *Calls {
	run.mu.Lock()
	run.park = o.whileAsking
	run.mu.Unlock()
	ctx := run.ctx
	if o.Span != nil {
		ctx = trace.ContextWithSpan(ctx, o.Span)
	}
	return &Calls{run: run, compile: o.Compile, core: o.Core, queue: queue.New(queue.Options{
		Context: ctx, Err: run.Err, Fail: run.fail, Announced: run.announced, Workers: run.workers,
		Ordered: o.Ordered, Order: o.Order, Sleep: o.Sleep, Park: o.Park, Resume: o.Resume, People: o.People, Durable: run.durableQueue(),
	})}
}

// whileAsking calls f, which asks a person while the guest waits in a host
// function that is not a call.
func (o CallsOptions) whileAsking(f func()) {
	if o.Park != nil && o.Resume != nil {
		o.Park()
		defer o.Resume()
	}
	if o.People != nil {
		o.People(true)
		defer o.People(false)
	}
	f()
}

// Start starts a call and returns its id, which is positive. An error of the call
// itself arrives as its answer.
func (c *Calls) Start(mem Memory, name, nameLen, args, argsLen uint32) (int64, error) {
	if err := c.run.Err(); err != nil {
		return 0, err
	}
	if nameLen > maxNameSize || argsLen > maxArgsSize {
		return 0, fault.New(fault.GuestException, "a call has %d bytes of arguments, more than the host accepts", argsLen).
			WithHint("pass the data in parts of at most %d MiB", maxArgsSize>>20)
	}
	n, ok1 := mem.Read(name, nameLen)
	a, ok2 := mem.Read(args, argsLen)
	if !ok1 || !ok2 {
		return 0, errOutside()
	}
	if err := c.run.spend(int64(argsLen)); err != nil { // before the host has a copy
		return 0, err
	}
	if string(n) != c.name {
		c.name = string(n)
	}
	return c.start(c.name, slices.Clone(a))
}

// start is Start with arguments that were charged.
func (c *Calls) start(name string, args []byte) (int64, error) {
	call, err := c.run.newCall(name, args)
	if err != nil {
		return 0, err
	}
	call.compile, call.core = c.compile, c.core
	switch err := c.queue.Start(int64(call.number), call); {
	case errors.Is(err, queue.ErrFull):
		return 0, fault.New(fault.LimitToolCalls, "more than %d calls are in flight or have unread answers", queue.Max).
			WithHint("await calls before starting more")
	case err != nil:
		return 0, fault.New(fault.Cancelled, "the run has ended")
	}
	return int64(call.number), nil
}

// Call makes a call for a guest, waits for its end and returns the answer. The
// guest may go on after a *[Failure]. Every other error ends the run.
func (c *Calls) Call(name string, args []byte) (Answer, error) {
	if err := c.run.charge(int64(len(args))); err != nil {
		return Answer{}, err
	}
	id, err := c.start(name, args)
	if err != nil {
		return Answer{}, err
	}
	if _, err := c.Wait(id, -1); err != nil {
		return Answer{}, err
	}
	a, ok := c.queue.Answer(id, true)
	if !ok {
		return Answer{}, cmp.Or(c.run.Err(), error(fault.New(fault.Cancelled, "the call of %s has no answer", name)))
	}
	if Kind(a.Kind) != Error {
		return Answer{Kind: Kind(a.Kind), Data: a.Data}, nil
	}
	f := &Failure{}
	if err := json.Unmarshal(a.Data, f); err != nil {
		return Answer{}, fault.New(fault.Internal, "read the error of a call: %w", err)
	}
	return Answer{}, f
}

func errOutside() error {
	return fault.New(fault.GuestException, "a host call points outside the guest's memory")
}

// Launch runs a call that is held back until the guest waits for it. Call it when
// the guest will be busy for a while. A nil Calls does nothing.
func (c *Calls) Launch() {
	if c != nil {
		c.queue.Launch()
	}
}

// Idle reports whether nothing is in flight and no answer waits for the guest. Of a nil
// Calls it is false.
func (c *Calls) Idle() bool { return c != nil && c.queue.Idle() }

// Wait waits until call id (0: any call) has an answer that was not announced
// before, and returns the id. It returns 0 when the timeout has passed, which is
// negative for none, and -1 when there is nothing to wait for. With nothing in
// flight and a timeout it sleeps.
func (c *Calls) Wait(id int64, timeout time.Duration) (int64, error) {
	return c.queue.Wait(id, timeout)
}

// Size returns kind<<32 | length of an answer that has arrived, or -1.
func (c *Calls) Size(id int64) int64 {
	a, ok := c.queue.Answer(id, false)
	if !ok {
		return -1
	}
	return int64(a.Kind)<<32 | int64(len(a.Data))
}

// Read copies at most length bytes of an answer into guest memory, forgets the
// answer, and returns the number of bytes: 0 without an answer.
func (c *Calls) Read(mem Memory, id int64, ptr, length uint32) (int32, error) {
	a, ok := c.queue.Answer(id, true)
	if !ok {
		return 0, nil
	}
	data := a.Data[:min(uint64(length), uint64(len(a.Data)))]
	if !mem.Write(ptr, data) {
		return 0, errOutside()
	}
	return int32(len(data)), nil
}

// Awaited names the tools that the guest waits for now, each once, in the order of
// its calls. Every goroutine may call it. A nil Calls has none.
func (c *Calls) Awaited() []string {
	if c == nil {
		return nil
	}
	ids := c.queue.Awaited()
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	var names []string
	for _, call := range c.run.calls {
		name := strings.TrimPrefix(call.Tool, preludePrefix)
		if slices.Contains(ids, int64(call.Number)) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Cancel cancels a call. No answer arrives.
func (c *Calls) Cancel(id int64) { c.queue.Cancel(id) }

// Close cancels every call in flight and waits until they have ended.
func (c *Calls) Close() { c.queue.Close() }

// filesTool names the files in records.
const filesTool = "wexec:files"

// maxScratch is the memory of the host that /tmp of a run may take.
const maxScratch = 128 << 20

// FS returns the file system of the run, for a mount at "/": /tmp, /mcp-servers,
// /app and what the policy grants. It is nil if no provider gives files. Every
// call returns the same one.
func (r *Run) FS() (sys.FS, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	filer := r.table.filer()
	if r.fs != nil || r.closed || filer == nil {
		return r.fs, nil
	}
	g := &gate{run: r, tool: filesTool, files: &call{run: r, name: filesTool}}
	m := Mount{
		Gate: g, Root: r.info.Root, Dir: r.info.Dir, Packages: r.info.Packages, Installed: r.table.Packages(),
		Catalogue: r.toolFiles, Ask: r.canGrant(), Workspace: r.info.Workspace, Memory: min(r.limits.Memory, r.limits.HostBytes, maxScratch), Now: r.backend.fileTime(),
	}
	granted := r.table.policy.Files()
	for _, root := range granted.Read {
		m.Read = append(m.Read, root.Path)
	}
	for _, root := range granted.Write {
		m.Write = append(m.Write, root.Path)
	}
	made, closer, err := filer.Mount(m)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "open the files of the policy: %w", err)
	}
	if d := r.info.Durable; d != nil {
		made = keptfiles.New(keptfiles.Options{
			FS: made, Log: d.Log, Context: r.uncancelled, Counted: g.counted.Load, Count: r.spend, Fail: r.fail,
			Differs: func(why string) { r.fail(differsFromJournal(r.info.ID, why)) },
		})
	}
	r.fs, r.files = made, closer
	return made, nil
}

// toolFiles returns the catalogue as files. It follows changes of the tools,
// except in a deterministic run.
func (r *Run) toolFiles() fs.FS {
	changes := r.table.changes.Load()
	r.mu.Lock()
	made, of := r.tree, r.treeOf
	r.mu.Unlock()
	if made != nil && (of == changes || r.facts.Deterministic) {
		return made
	}
	made = r.offered(r.whole(r.ctx)).Tree(r.charge)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree, r.treeOf = made, changes
	return made
}

// durableQueue returns the options of the queue of a durable run, or nil.
func (r *Run) durableQueue() *queue.Durable {
	d := r.info.Durable
	if d == nil {
		return nil
	}
	return &queue.Durable{
		After: d.After, Park: r.Park, Left: d.Log.Left,
		Differs: func() { r.fail(differsFromJournal(r.info.ID, "it waits for another call")) },
	}
}
