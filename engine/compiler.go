package engine

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/meter"
)

// compiler runs the guests that compile programs, the TypeScript compiler above
// all: in a sandbox of their own, with limits of their own, because what they
// parse is hostile. Equal input has equal output, so that outputs are kept in
// memory and in the cache folder.
type compiler struct {
	e    *Engine
	disk *shelf // nil: none

	mu    sync.Mutex
	kept  map[string]*list.Element // of *output, by key
	used  *list.List               // latest first
	bytes int
}

// output is what a compile gave.
type output struct {
	key  string
	data []byte
}

// The limits of one compile. They are far above what people and models write.
func compileLimits() Limits {
	return Limits{Fuel: 20_000_000_000, Memory: 512 << 20, Time: 15 * time.Second, Output: 32 << 20}
}

// maxOutputs bounds the outputs in memory, in bytes.
const maxOutputs = 16 << 20

func newCompiler(e *Engine) *compiler {
	c := &compiler{e: e, kept: map[string]*list.Element{}, used: list.New()}
	if dir := e.cache.dir; dir != "" {
		c.disk = &shelf{dir: filepath.Join(dir, "outputs"), magic: "wexec output 1\n", most: 4 * maxOutputs, each: compileLimits().Output}
	}
	return c
}

// compilerOf is the compiler as one job uses it.
type compilerOf struct {
	*compiler
	job *job
	run *run
}

// Compile runs a compiler guest over a document, or gives what the same
// document gave before.
func (c compilerOf) Compile(ctx context.Context, r guests.CompileRequest) (guests.CompileResult, error) {
	m, err := c.e.guests.open(r.Module)
	if err != nil {
		return guests.CompileResult{}, err
	}
	h := sha256.New()
	h.Write([]byte(m.Digest))
	h.Write(r.Input)
	key := hex.EncodeToString(h.Sum(nil))
	if data, ok := c.find(key); ok {
		return guests.CompileResult{Output: data}, nil
	}
	g, err := c.e.guests.load(ctx, r.Module, entryPoint, c.job.compiling)
	if err != nil {
		return guests.CompileResult{}, err
	}
	data, err := c.compile(ctx, g, r.Input)
	if errors.Is(err, errNoBones) {
		if g, err = c.e.guests.load(ctx, r.Module, entryPoint, c.job.compiling); err == nil {
			data, err = c.compile(ctx, g, r.Input)
		}
	}
	if err != nil {
		return guests.CompileResult{}, err
	}
	c.keep(key, data)
	return guests.CompileResult{Output: data}, nil
}

// compile runs the guest once, on the core that the job has.
func (c compilerOf) compile(ctx context.Context, g *guest, input []byte) ([]byte, error) {
	limits := compileLimits()
	i, err := g.take(ctx, limits.Memory)
	if err != nil {
		return nil, err
	}
	defer g.discard(i)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{ctx: ctx, limits: limits, tank: meter.Tank{Budget: limits.Fuel}, input: input, cores: c.run.cores, core: true,
		clock: newClock(true), entropy: entropy(true, 0), files: noFiles, memory: i.main.Memory()}
	err = i.alone(r, cancel)
	switch {
	case err != nil && g.compiled.skeleton && !r.asked:
		c.e.guests.lose(g)
		return nil, errNoBones
	case err != nil:
		return nil, uncompiled(trapped(err))
	case !r.outcome.given || r.outcome.kind != outcomeValue:
		return nil, fault.New(fault.Internal, "the compiler ended without an outcome")
	}
	return r.outcome.data, nil
}

// uncompiled is the fault of a program that the compiler could not deal with.
// A limit is a limit, but what makes a compiler trap is the program.
func uncompiled(f *fault.Error) error {
	switch f.Code.Class() {
	case fault.ClassLimit:
		if f.Code != fault.LimitRecursion {
			return fault.New(f.Code, "the program takes the TypeScript compiler more than it may use: %s", f.Message).
				WithHint("make the program smaller, or write it in JavaScript")
		}
	case fault.ClassCancelled:
		return f
	}
	return &guests.SyntaxError{Message: "the program is too deeply nested for the TypeScript compiler",
		Hint: "split its expressions"}
}

// find looks an output up, in memory and then in the cache folder.
func (c *compiler) find(key string) ([]byte, bool) {
	c.mu.Lock()
	if el := c.kept[key]; el != nil {
		c.used.MoveToFront(el)
		c.mu.Unlock()
		return el.Value.(*output).data, true
	}
	c.mu.Unlock()
	if c.disk == nil {
		return nil, false
	}
	data, ok := c.disk.read(key)
	if ok {
		c.remember(key, data)
	}
	return data, ok
}

func (c *compiler) keep(key string, data []byte) {
	c.remember(key, data)
	if c.disk == nil {
		return
	}
	if err := c.disk.write(key, data); err != nil {
		c.e.log.Debug("an output of the compiler is not kept on disk", "error", err)
	}
}

func (c *compiler) remember(key string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[key] != nil || len(data) > maxOutputs/2 {
		return
	}
	c.kept[key] = c.used.PushFront(&output{key, data})
	c.bytes += len(data)
	for c.bytes > maxOutputs {
		o := c.used.Remove(c.used.Back()).(*output)
		delete(c.kept, o.key)
		c.bytes -= len(o.data)
	}
}

// program prepares the request's code for its guest.
func (j *job) program(r *run) (guests.Program, error) {
	p, err := guests.Prepare(r.ctx, guests.Source{Language: j.req.Language, Code: j.req.Code, File: j.req.File},
		compilerOf{j.e.outputs, j, r})
	var s *guests.SyntaxError
	if errors.As(err, &s) {
		j.guestErr = &guestError{Code: fault.GuestSyntax, Name: "SyntaxError", Message: s.Message, Hint: s.Hint,
			File: s.File, Line: s.Line, Column: s.Column, Text: s.Text, placed: true}
	}
	return p, err
}

// module compiles a file that the program imports. It is called beside the
// program, which waits for it and has given its core away.
func (j *job) module(ctx context.Context, r *run, file, code string) (string, error) {
	if err := r.cores.comeBack(ctx); err != nil {
		return "", err
	}
	defer r.cores.leave()
	p, err := guests.Prepare(ctx, guests.Source{Language: TypeScript, Code: code, File: file}, compilerOf{j.e.outputs, j, r})
	j.modulesMu.Lock()
	defer j.modulesMu.Unlock()
	if err != nil {
		errors.As(err, &j.refused)
		return "", err
	}
	if j.modules == nil {
		j.modules = map[string]guests.Program{}
	}
	j.modules[p.File] = p
	return p.Code, nil
}

// place puts an error where the author wrote the code: what the guest ran may
// be what a compiler made of it.
func (g *guestError) place(p guests.Program) {
	if g.placed || g.Line == 0 || p.File == "" || g.File != p.File {
		return
	}
	g.placed = true
	at, ok := p.Origin(g.Line, g.Column)
	if !ok {
		if p.Map != nil {
			g.Line, g.Column, g.Text = 0, 0, ""
		}
		return
	}
	g.Line, g.Column, g.Text = at.Line, at.Column, at.Text
}
