package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// entryPoint is the export of every guest that runs one program.
const entryPoint = "guest_run"

// guestSet holds the guests that this engine has loaded, each once.
type guestSet struct {
	e    *Engine
	open func(name string) (*wasmmodules.Module, error)

	mu    sync.Mutex
	byID  map[string]*loading
	lost  map[string]bool // modules whose skeleton came without its code
	spent []*guest        // what those were before; closed at the end
}

// loading is a guest that is loaded, or being loaded by whoever came first.
type loading struct {
	done  chan struct{}
	guest *guest
	err   error

	functions map[string]bool // of a foreign plugin: what can be called
}

func newGuestSet(e *Engine) *guestSet {
	return &guestSet{e: e, open: wasmmodules.Open, byID: map[string]*loading{}, lost: map[string]bool{}}
}

// digest is the digest of the guest that runs a language, or "".
func (s *guestSet) digest(language string) string {
	g, err := guests.Lookup(language)
	if err != nil {
		return ""
	}
	m, err := s.open(g.Module)
	if err != nil {
		return ""
	}
	return m.Digest
}

// compilerDigest is the digest of the guest that compiles a language first, or
// "".
func (s *guestSet) compilerDigest(language string) string {
	g, err := guests.Lookup(language)
	if err != nil || g.Compiler == "" {
		return ""
	}
	m, err := s.open(g.Compiler)
	if err != nil {
		return ""
	}
	return m.Digest
}

// get gives the guest that runs a language. Who asks first loads it; the
// others wait. The loading itself belongs to no single run: where the one that
// began it gives up, it goes on for the rest.
func (s *guestSet) get(ctx context.Context, language string, compiling func(name string)) (*guest, error) {
	lang, err := guests.Lookup(language)
	if err != nil {
		return nil, err
	}
	return s.load(ctx, lang.Module, entryPoint, compiling)
}

func (s *guestSet) load(ctx context.Context, module, entry string, compiling func(name string)) (*guest, error) {
	s.mu.Lock()
	l := s.byID[module]
	if l == nil {
		l = &loading{done: make(chan struct{})}
		s.byID[module] = l
		go func() {
			l.guest, l.err = s.loadNow(module, entry, s.whole(module), compiling)
			if l.err != nil {
				s.mu.Lock()
				delete(s.byID, module) // the next one tries again
				s.mu.Unlock()
			}
			close(l.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.guest, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// loadNow compiles a guest, or loads its code from the cache, and maps its
// memory image.
func (s *guestSet) loadNow(module, entry string, whole bool, compiling func(name string)) (*guest, error) {
	ctx := s.e.ctx
	m, err := s.open(module)
	if err != nil {
		return nil, fault.New(fault.Internal, "load the guest %s: %w", module, err)
	}
	c, err := s.e.cache.code(ctx, m, entry, s.e.config.Interpreter, whole, compiling)
	if err != nil {
		return nil, err
	}
	image, err := s.e.cache.image(m)
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	g := &guest{
		name: m.Name, module: m, digest: m.Digest, compiled: c, minimum: int64(image.Size()), ledger: &s.e.ledger,
		image: image,
	}
	if m.LibraryName != "" {
		g.library = newLibrary(m, func() ([]byte, error) { return s.e.cache.library(m) })
	} else if js, err := guests.Lookup(guests.JavaScript); err == nil && js.Module == m.Name {
		g.library = newZones(s.pythonLibrary)
	}
	g.pool = pool{most: s.e.config.Ready, trim: image.Trim,
		make: func(ctx context.Context) (*instance, error) { return g.fresh(ctx, readyMemory, true) }}
	return g, nil
}

// pythonLibrary is the archive of Python's standard library.
func (s *guestSet) pythonLibrary() ([]byte, error) {
	python, err := guests.Lookup(guests.Python)
	if err != nil {
		return nil, err
	}
	m, err := s.open(python.Module)
	if err != nil {
		return nil, err
	}
	return s.e.cache.library(m)
}

// whole reports whether a module must not be loaded by its skeleton.
func (s *guestSet) whole(module string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost[module]
}

// lose notes that the native code of a guest was lost: the next one who asks
// for it gets it whole.
func (s *guestSet) lose(g *guest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, l := range s.byID {
		select {
		case <-l.done:
		default:
			continue // still being loaded, so not g
		}
		if l.guest != g {
			continue // where none is left, somebody else has noticed
		}
		s.e.log.Warn("the compiled code of a guest was lost and is made again", "guest", g.name)
		s.e.cache.lose(g.module)
		s.lost[id] = true
		delete(s.byID, id)
		s.spent = append(s.spent, g)
		return
	}
}

// close gives everything back. Nothing may run.
func (s *guestSet) close(ctx context.Context) error {
	s.mu.Lock()
	all := s.byID
	s.byID = map[string]*loading{}
	spent := s.spent
	s.mu.Unlock()
	var errs []error
	for _, l := range all {
		<-l.done
		if l.guest == nil {
			continue
		}
		spent = append(spent, l.guest)
	}
	for _, g := range spent {
		g.pool.close()
		errs = append(errs, g.compiled.Close(ctx))
	}
	return errors.Join(errs...)
}
