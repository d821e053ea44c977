package guestcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Set holds the guests that one engine has loaded, each once.
type Set struct {
	SetOptions
	// Open returns a module by its name.
	Open func(name string) (*wasmmodules.Module, error)

	mu      sync.Mutex
	byID    map[string]*loading
	whole   map[string]bool  // modules whose stub had lost its code
	retired []*sandbox.Guest // of those; closed at the end
}

// SetOptions describe a set.
type SetOptions struct {
	Context     context.Context // ends with the engine
	Store       *Store
	Ledger      *sandbox.Ledger
	Log         *slog.Logger
	Interpreter bool
	Ready       int // instances of each guest to keep ready at most
}

// loading is a guest that is loaded, or is being loaded by the first caller.
type loading struct {
	done      chan struct{}
	guest     *sandbox.Guest
	module    *wasmmodules.Module // nil: a foreign plugin
	functions sandbox.Functions   // of a foreign plugin
	err       error
}

// NewSet returns an empty set.
func NewSet(o SetOptions) *Set {
	return &Set{SetOptions: o, Open: wasmmodules.Open, byID: map[string]*loading{}, whole: map[string]bool{}}
}

// Digest returns the digest of the guest that runs a language, or "".
func (s *Set) Digest(language string) string {
	g, _ := guests.Lookup(language)
	return s.moduleDigest(g.Module)
}

// CompilerDigest returns the digest of the guest that compiles a language
// first, or "".
func (s *Set) CompilerDigest(language string) string {
	g, _ := guests.Lookup(language)
	return s.moduleDigest(g.Compiler)
}

func (s *Set) moduleDigest(name string) string {
	if name == "" {
		return ""
	}
	if m, err := s.Open(name); err == nil {
		return m.Digest
	}
	return ""
}

// Get returns the guest that runs a language.
func (s *Set) Get(ctx context.Context, language string, compiling func(name string)) (*sandbox.Guest, error) {
	g, err := guests.Lookup(language)
	if err != nil {
		return nil, err
	}
	return s.Load(ctx, g.Module, compiling)
}

// Load returns the guest of a module. Compiling is called if it has to be
// compiled.
func (s *Set) Load(ctx context.Context, module string, compiling func(name string)) (*sandbox.Guest, error) {
	l, err := s.once(ctx, module, func(l *loading) { s.load(l, module, compiling) })
	if err != nil {
		return nil, err
	}
	return l.guest, nil
}

// Plugin returns a foreign plugin and the functions that can be called.
func (s *Set) Plugin(ctx context.Context, wasm []byte) (*sandbox.Guest, sandbox.Functions, error) {
	sum := sha256.Sum256(wasm)
	digest := hex.EncodeToString(sum[:])
	l, err := s.once(ctx, "plugin:"+digest, func(l *loading) { s.loadPlugin(l, wasm, digest) })
	if err != nil {
		return nil, nil, err
	}
	return l.guest, l.functions, nil
}

// once loads a guest on the first call; the others wait. The load does not end
// with the context of the caller who began it. After an error the next caller
// tries again.
func (s *Set) once(ctx context.Context, id string, load func(*loading)) (*loading, error) {
	s.mu.Lock()
	l := s.byID[id]
	if l == nil {
		l = &loading{done: make(chan struct{})}
		s.byID[id] = l
		go func() {
			if load(l); l.err != nil {
				s.mu.Lock()
				delete(s.byID, id)
				s.mu.Unlock()
			}
			close(l.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Set) load(l *loading, module string, compiling func(name string)) {
	if compiling == nil {
		compiling = func(string) {}
	}
	m, err := s.Open(module)
	if err != nil {
		l.err = fault.New(fault.Internal, "load the guest %s: %w", module, err)
		return
	}
	s.mu.Lock()
	whole := s.whole[module]
	s.mu.Unlock()
	c, stub, err := s.Store.module(s.Context, m, s.Interpreter, whole, compiling)
	if err != nil {
		l.err = err
		return
	}
	image, err := s.Store.image(m)
	if err != nil {
		l.err = errors.Join(err, c.Close(s.Context))
		return
	}
	o := sandbox.GuestOptions{Name: m.Name, Digest: m.Digest, Module: c, Stub: stub, Image: image, Ledger: s.Ledger, Ready: s.Ready}
	if m.LibraryName != "" {
		o.Library = newLibrary(m, func() ([]byte, error) { return s.Store.library(m) })
	} else if js, err := guests.Lookup(guests.JavaScript); err == nil && js.Module == m.Name {
		o.Library = newZones(s.pythonLibrary)
	}
	l.module, l.guest = m, sandbox.NewGuest(o)
}

// pythonLibrary returns the archive of Python's standard library.
func (s *Set) pythonLibrary() ([]byte, error) {
	python, _ := guests.Lookup(guests.Python)
	m, err := s.Open(python.Module)
	if err != nil {
		return nil, err
	}
	return s.Store.library(m)
}

func (s *Set) loadPlugin(l *loading, wasm []byte, digest string) {
	p, err := s.Store.plugin(digest, func() (*sandbox.Plugin, error) { return sandbox.CheckPlugin(s.Context, wasm) })
	if err != nil {
		l.err = err
		return
	}
	c, err := s.Store.compile(sandbox.WithWorkers(s.Context), p.Wasm, "", s.Interpreter)
	if err != nil {
		l.err = err
		return
	}
	l.functions = p.Functions
	l.guest = sandbox.NewGuest(sandbox.GuestOptions{Name: "the plugin", Digest: digest, Module: c,
		Image: snapshot.Empty(s.Store.Memories), Ledger: s.Ledger, Minimum: p.Minimum})
}

// LostCode notes that a guest has lost its native code. The next caller gets it
// compiled whole.
func (s *Set) LostCode(g *sandbox.Guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.byID {
		select {
		case <-l.done:
		default:
			continue // still loading, so not g
		}
		if l.guest != g {
			continue // another run has noticed before
		}
		s.Log.Warn("the compiled code of a guest is missing and will be compiled again", "guest", g.Name)
		s.Store.removeCode(l.module)
		s.whole[id] = true
		delete(s.byID, id)
		s.retired = append(s.retired, g)
		return
	}
}

// Close frees all guests. Nothing may run.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	all, loaded := s.retired, s.byID
	s.byID = map[string]*loading{}
	s.mu.Unlock()
	var errs []error
	for _, l := range loaded {
		if <-l.done; l.guest != nil {
			all = append(all, l.guest)
		}
	}
	for _, g := range all {
		errs = append(errs, g.Close(ctx))
	}
	return errors.Join(errs...)
}
