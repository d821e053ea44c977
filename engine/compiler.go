package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
)

// compiler runs the guests that compile programs, such as the TypeScript
// compiler, in sandboxes with their own limits, because their input is hostile.
// Equal input has equal output, which is cached.
type compiler struct {
	e       *Engine
	outputs *lru[string, []byte]
	disk    *guestcache.DiskCache
}

// compileLimits returns the limits of one compile, far above what programs need
// that people and models write.
func compileLimits() Limits {
	return Limits{Fuel: 20_000_000_000, Memory: 512 << 20, Time: 15 * time.Second, Output: 32 << 20}
}

// maxOutputs bounds the outputs in memory.
const maxOutputs = 16 << 20

func newCompiler(e *Engine) *compiler {
	return &compiler{e: e, outputs: newLRU[string, []byte](maxOutputs),
		disk: e.cache.disk("outputs", "wexec output 1\n", 4*maxOutputs, compileLimits().Output)}
}

// Compile implements guests.Compiler for one job.
func (j *job) Compile(ctx context.Context, r guests.CompileRequest) (guests.CompileResult, error) {
	data, err := j.e.compiler.compile(ctx, r, j.compiling)
	return guests.CompileResult{Output: data}, err
}

func (c *compiler) compile(ctx context.Context, r guests.CompileRequest, compiling func(string)) ([]byte, error) {
	m, err := c.e.guests.Open(r.Module)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	h.Write([]byte(m.Digest))
	h.Write(r.Input)
	key := hex.EncodeToString(h.Sum(nil))
	if data, ok := c.outputs.get(key); ok {
		return data, nil
	}
	if data, ok := c.disk.Get(key); ok {
		c.outputs.put(key, data, int64(len(data)))
		return data, nil
	}
	data, again, err := c.run(ctx, r, compiling)
	if again {
		data, _, err = c.run(ctx, r, compiling)
	}
	if err != nil {
		return nil, err
	}
	c.outputs.put(key, data, int64(len(data)))
	if err := c.disk.Put(key, data); err != nil {
		c.e.log.Debug("an output of the compiler was not written to the cache folder", "error", err)
	}
	return data, nil
}

// run runs the guest once, on the core of the job. Again is true if the guest
// has lost its code.
func (c *compiler) run(ctx context.Context, r guests.CompileRequest, compiling func(string)) (data []byte, again bool, err error) {
	g, err := c.e.guests.Load(ctx, r.Module, compiling)
	if err != nil {
		return nil, false, err
	}
	limits := compileLimits()
	i, err := g.Take(ctx, limits.Memory)
	if err != nil {
		return nil, false, err
	}
	defer g.Discard(i)
	end, started := g.Isolated(ctx, i, world.NewLive(world.Options{Deterministic: true}), limits, r.Input)
	switch {
	case end.Fault != nil && g.Stub && !started:
		c.e.guests.LostCode(g)
		return nil, true, end.Fault
	case end.Fault != nil:
		return nil, false, compileFault(end.Fault)
	case !end.Outcome.Given || end.Outcome.Kind != sandbox.OutcomeValue:
		return nil, false, fault.New(fault.Internal, "the compiler ended without an outcome")
	}
	return end.Outcome.Data, false, nil
}

// compileFault returns the fault of a program that the compiler failed on. A
// limit is a limit, but a trap of the compiler is the program's doing.
func compileFault(f *fault.Error) error {
	switch f.Code.Class() {
	case fault.ClassLimit:
		if f.Code != fault.LimitRecursion {
			return fault.New(f.Code, "compile the program: the TypeScript compiler exceeded a limit: %s", f.Message).
				WithHint("make the program smaller, or write it in JavaScript")
		}
	case fault.ClassCancelled:
		return f
	}
	return &guests.SyntaxError{Message: "the program is too deeply nested for the TypeScript compiler", Hint: "split its expressions"}
}

// prepare makes the request's code what its guest takes.
func (j *job) prepare(ctx context.Context) error {
	p, err := guests.Prepare(ctx, guests.Source{Language: j.req.Language, Code: j.req.Code, File: j.req.File}, j)
	var s *guests.SyntaxError
	if errors.As(err, &s) {
		j.guestErr = &guestError{Code: fault.GuestSyntax, Name: "SyntaxError", Message: s.Message, Hint: s.Hint,
			File: s.File, Line: s.Line, Column: s.Column, Text: s.Text, located: true}
	}
	j.sources.program = p
	return err
}

// compileModule compiles a file that the program imports. It is called beside
// the program, which waits for it without a core.
func (j *job) compileModule(ctx context.Context, file, code string) (string, error) {
	leave, err := j.e.cores.Borrow(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	p, err := guests.Prepare(ctx, guests.Source{Language: TypeScript, Code: code, File: file}, j)
	s := &j.sources
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		errors.As(err, &s.refused)
		return "", err
	}
	if s.modules == nil {
		s.modules = map[string]guests.Program{}
	}
	s.modules[p.File] = p
	return p.Code, nil
}
