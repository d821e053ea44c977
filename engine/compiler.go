package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/review"
	"log/slog"
	"time"

	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/engine/internal/lru"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/review/syntax"
)

// compiler runs the guests that compile programs, such as the TypeScript
// compiler, in sandboxes with their own limits, because their input is hostile.
// Equal input has equal output, which is cached.
type compiler struct {
	guests  *guestcache.Set
	log     *slog.Logger
	outputs *lru.Map[string, []byte]
	disk    *guestcache.DiskCache
}

// Guests that compile. They are in package wasmmodules.
const (
	esbuild    = "esbuild"
	treesitter = "treesitter"
)

// compileLimits returns the limits of one run of a guest that compiles, far above what
// programs need that people and models write.
func compileLimits(module string) Limits {
	if module == treesitter {
		return Limits{Fuel: 2_000_000_000, Memory: 256 << 20, Time: 5 * time.Second, Output: 16 << 20}
	}
	return Limits{Fuel: 20_000_000_000, Memory: 512 << 20, Time: 15 * time.Second, Output: 32 << 20}
}

// maxOutputs bounds the outputs in memory.
const maxOutputs = 16 << 20

func newCompiler(g *guestcache.Set, c *Cache, log *slog.Logger) *compiler {
	return &compiler{guests: g, log: log, outputs: lru.New[string, []byte](maxOutputs),
		disk: c.disk("outputs", "wexec output 1\n", 4*maxOutputs, compileLimits(esbuild).Output)}
}

func (c *compiler) compile(ctx context.Context, r guests.CompileRequest, compiling func(string)) ([]byte, error) {
	m, err := c.guests.Open(r.Module)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	h.Write([]byte(m.Digest))
	h.Write(r.Input)
	key := hex.EncodeToString(h.Sum(nil))
	if data, ok := c.outputs.Get(key); ok {
		return data, nil
	}
	if data, ok := c.disk.Get(key); ok {
		c.outputs.Put(key, data, int64(len(data)))
		return data, nil
	}
	data, err := c.fresh(ctx, r, compiling)
	if err != nil {
		return nil, err
	}
	c.outputs.Put(key, data, int64(len(data)))
	if err := c.disk.Put(key, data); err != nil {
		c.log.Debug("an output of the compiler was not written to the cache folder", "error", err)
	}
	return data, nil
}

// fresh is compile without the caches.
func (c *compiler) fresh(ctx context.Context, r guests.CompileRequest, compiling func(string)) ([]byte, error) {
	data, again, err := c.run(ctx, r, compiling)
	if again {
		data, _, err = c.run(ctx, r, compiling)
	}
	return data, err
}

// run runs the guest once, on the core of the job. Again is true if the guest
// has lost its code.
func (c *compiler) run(ctx context.Context, r guests.CompileRequest, compiling func(string)) (data []byte, again bool, err error) {
	g, err := c.guests.Load(ctx, r.Module, compiling)
	if err != nil {
		return nil, false, err
	}
	limits := compileLimits(r.Module)
	i, err := g.Take(ctx, limits.Memory)
	if err != nil {
		return nil, false, err
	}
	defer g.Discard(i)
	end, started := g.Isolated(ctx, i, world.NewLive(world.Options{Deterministic: true}), limits, r.Input)
	switch {
	case end.Fault != nil && g.Stub && !started:
		c.guests.LostCode(g)
		return nil, true, end.Fault
	case end.Fault != nil:
		return nil, false, compileFault(r.Module, end.Fault)
	case !end.Outcome.Given || end.Outcome.Kind != sandbox.OutcomeValue:
		return nil, false, fault.New(fault.Internal, "the compiler ended without an outcome")
	}
	return end.Outcome.Data, false, nil
}

// compileFault returns the fault of a program that a guest failed on. A
// limit is a limit, but a trap of the guest is the program's doing.
func compileFault(module string, f *fault.Error) error {
	what, hint := "TypeScript compiler", "make the program smaller, or write it in JavaScript"
	if module == treesitter {
		what, hint = "parser", "make the program smaller"
	}
	switch f.Code.Class() {
	case fault.ClassLimit:
		if f.Code != fault.LimitRecursion {
			return fault.New(f.Code, "compile the program: the %s exceeded a limit: %s", what, f.Message).WithHint("%s", hint)
		}
	case fault.ClassCancelled:
		return f
	}
	return &guests.SyntaxError{Message: "the program is too deeply nested for the " + what, Hint: "split its expressions"}
}

// Bundle bundles a package of npm, which may be hostile, into one CommonJS module
// in the compiler's sandbox. The files are by path, such as
// node_modules/left/index.js.
func (e *Engine) Bundle(ctx context.Context, name string, files map[string]string) (string, error) {
	leave, err := e.Core(ctx, "")
	if err != nil {
		return "", err
	}
	defer leave()
	return guests.Bundle(ctx, name, files, bundling{e.compiler})
}

// Syntax returns the syntax tree of a program, which may be hostile. The parser has its
// own limits and runs in a sandbox.
func (e *Engine) Syntax(ctx context.Context, language, source string) (*syntax.Tree, error) {
	leave, err := e.Core(ctx, "")
	if err != nil {
		return nil, err
	}
	defer leave()
	return e.compiler.syntax(ctx, language, source)
}

func (c *compiler) syntax(ctx context.Context, language, source string) (*syntax.Tree, error) {
	switch language {
	case syntax.JavaScript, syntax.TypeScript, syntax.Python:
	default:
		return nil, fault.New(fault.UsageLanguage, "no parser for the language %.20q", language)
	}
	data, err := c.fresh(ctx, guests.CompileRequest{Module: treesitter, Input: []byte(language + "\n" + source)}, func(string) {})
	if err != nil {
		return nil, err
	}
	return syntax.Decode(source, language, data)
}

// bundling is the compiler without a job.
type bundling struct{ *compiler }

// Compile implements guests.Compiler.
func (b bundling) Compile(ctx context.Context, r guests.CompileRequest) (guests.CompileResult, error) {
	data, err := b.compile(ctx, r, func(string) {})
	return guests.CompileResult{Output: data}, err
}

// Reviewing is a program to review, and what is known about its run. Only Language and
// Code are required.
type Reviewing struct {
	Language, Code string
	Intent         string
	Actor          Actor
	Profile        string               // empty, or review.Cars
	Tools          *catalogue.Catalogue // that the program may call
	Seen           map[string]time.Time // since when they are defined as they are; old ones may be missing
}

const (
	maxReviews = 4 << 20 // bytes of reviews that are kept
	reviewTime = 10 * time.Second
)

// Review tells what a program is going to do and how risky that is. A program that
// cannot be reviewed within its limits gets a review with that reason. Equal programs are
// reviewed once.
func (e *Engine) Review(ctx context.Context, r Reviewing) (*review.Assessment, error) {
	language, err := Language(r.Language)
	if err != nil {
		return nil, err
	}
	tools := ""
	if r.Tools != nil {
		tools = r.Tools.Digest()
	}
	h := sha256.New()
	now := time.Now()
	for _, part := range append([]string{language, r.Profile, tools, r.Intent, r.Code}, review.New(r.Seen, now)...) {
		fmt.Fprintf(h, "%d %s", len(part), part)
	}
	key := hex.EncodeToString(h.Sum(nil))
	if data, ok := e.reviews.Get(key); ok {
		var a review.Assessment
		err := json.Unmarshal(data, &a)
		return &a, err
	}
	leave, err := e.Core(ctx, r.Actor.ID)
	if err != nil {
		return nil, err
	}
	defer leave()
	a, err := e.review(ctx, language, r, now)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fault.New(fault.Internal, "keep a review: %w", err)
	}
	e.reviews.Put(key, data, int64(len(data)))
	return &a, nil
}

// review reviews a program on the core of the caller.
func (e *Engine) review(ctx context.Context, language string, r Reviewing, now time.Time) (review.Assessment, error) {
	if len(r.Code) > review.MaxSource {
		return review.Unparsed("it is longer than 1 MiB"), nil
	}
	limited, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	tree, err := e.compiler.syntax(limited, language, r.Code)
	if err == nil {
		a := review.Assess(limited, []*syntax.Tree{tree}, review.Context{Profile: r.Profile, Intent: r.Intent, Tools: r.Tools, Changed: r.Seen, Now: now, Parser: parser{e.compiler}})
		if err = limited.Err(); err == nil {
			return a, nil
		}
	}
	var s *guests.SyntaxError
	switch {
	case ctx.Err() != nil:
		return review.Assessment{}, fault.New(fault.Cancelled, "review the program: %w", context.Cause(ctx))
	case limited.Err() != nil:
		return review.Unparsed("it takes too long"), nil
	case errors.As(err, &s), fault.CodeOf(err).Class() == fault.ClassLimit:
		return review.Unparsed(err.Error()), nil
	}
	return review.Assessment{}, err
}

// parser parses code in strings, on the core of the review.
type parser struct{ *compiler }

// Parse implements review.Parser.
func (p parser) Parse(ctx context.Context, language, source string) (*syntax.Tree, error) {
	return p.syntax(ctx, language, source)
}
