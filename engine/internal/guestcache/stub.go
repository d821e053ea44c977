package guestcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// A process that loads compiled code from wazero's cache spends most of the time
// on decoding and validating the module again, although only its shape is
// needed. So the folder holds the native code of the whole module under the
// name that wazero computes for its stub, a module in which every function body
// is one instruction, and later processes load the stub.
//
// The native code lies on whole pages of its file, so that it is mapped instead
// of read (see [snapshot.AlignCode]).
//
// wazero does not document that this works. Three things guard it: the file is
// checked before and after the load; a guest that traps before it has asked for
// fuel is taken for a stub without its code, and loaded whole (nothing of the
// program has happened by then); and tests pin the behavior.

func (s *Store) notePath(m *wasmmodules.Module) string {
	return filepath.Join(s.dir, "code", m.Name+"-"+hex.EncodeToString(m.CodeSHA256[:8])+"-"+runtime.GOARCH+".json")
}

// hasCode reports whether the native code of a guest lies where its note says.
func (s *Store) hasCode(m *wasmmodules.Module) bool {
	n, err := readNote(s.notePath(m))
	if err != nil {
		return false
	}
	file := filepath.Join(s.dir, "code", n.File)
	f, err := ownfile.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() != n.Size || n.Size <= 0 {
		return false
	}
	touch(file)
	return true
}

// compileToFolder compiles a guest and puts its native code where that of its
// stub is looked for.
func (s *Store) compileToFolder(ctx context.Context, m *wasmmodules.Module, stub []byte) error {
	whole, err := m.Code()
	if err != nil {
		return err
	}
	code := filepath.Join(s.dir, "code")
	work, err := os.MkdirTemp(code, ".compile-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	from, err := compileInto(ctx, filepath.Join(work, "whole"), whole)
	if err != nil {
		return err
	}
	if s.mappedCode {
		if err := snapshot.AlignCode(from); err != nil {
			return err
		}
	}
	name, err := compileInto(ctx, filepath.Join(work, "stub"), stub)
	if err != nil {
		return err
	}
	file := filepath.Join(filepath.Base(filepath.Dir(name)), filepath.Base(name))
	if err := os.MkdirAll(filepath.Join(code, filepath.Dir(file)), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Chmod(from, 0o600); err != nil {
		return err
	}
	if err := os.Rename(from, filepath.Join(code, file)); err != nil {
		return err
	}
	note, err := json.Marshal(codeNote{File: file, Size: info.Size()})
	if err != nil {
		return err
	}
	s.removeUnused()
	return atomicfile.Write(s.notePath(m), note, 0o600)
}

// compileInto compiles a module with an empty folder as its cache, and returns
// the one file that appeared.
func compileInto(ctx context.Context, dir string, wasm []byte) (string, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, sandbox.RuntimeConfig(false).WithCompilationCache(cache))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(sandbox.WithWorkers(ctx), wasm); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", errors.New("the compilation cache does not have one file for one module")
	}
	return files[0], nil
}

// stub returns the stub module under whose name the native code of a guest
// lies.
func (s *Store) stub(m *wasmmodules.Module) ([]byte, error) {
	stub, err := s.part(m.Name+".stub", m.StubSHA256, m.StubSize, m.Stub)
	if err != nil {
		return nil, err
	}
	return named(stub, m.CodeSHA256), nil
}

// named adds a section to a stub that names the module it belongs to. Two builds
// of a guest may have one shape, and wazero would look for the code of both in
// one place.
func named(stub []byte, code [sha256.Size]byte) []byte {
	const section = "wexec"
	head := append([]byte{0, byte(1 + len(section) + len(code)), byte(len(section))}, section...)
	return slices.Concat(stub, head, code[:])
}

// module returns the compiled module of a guest: through its stub if the folder
// has its native code, and compiled otherwise. Whole forbids the stub.
func (s *Store) module(ctx context.Context, m *wasmmodules.Module, interpreter, whole bool, compiling func(string)) (c *sandbox.Module, throughStub bool, err error) {
	if s.dir != "" && !interpreter && !whole {
		if c := s.prefetched(m); c != nil {
			return c, true, nil
		}
		if stub, err := s.stub(m); err == nil {
			if c, err := s.loadStub(ctx, m, stub); err == nil {
				return c, true, nil
			}
			compiling(m.Name)
			compiling = func(string) {}
			if s.compileToFolder(ctx, m, stub) == nil {
				if c, err := s.loadStub(ctx, m, stub); err == nil {
					return c, true, nil
				}
			}
		}
	}
	compiling(m.Name)
	wasm, err := m.Code()
	if err != nil {
		return nil, false, fault.New(fault.Internal, "load the guest %s: %w", m.Name, err)
	}
	c, err = s.compile(sandbox.WithWorkers(ctx), wasm, sandbox.EntryPoint, interpreter)
	return c, false, err
}

// compile compiles a whole module, in memory if the folder takes no more files.
func (s *Store) compile(ctx context.Context, wasm []byte, entry string, interpreter bool) (*sandbox.Module, error) {
	c, err := sandbox.Compile(ctx, wasm, entry, s.code, interpreter)
	if err == nil || s.dir == "" || ctx.Err() != nil {
		return c, err
	}
	s.mu.Lock()
	if s.memory == nil {
		s.memory = wazero.NewCompilationCache()
	}
	memory := s.memory
	s.mu.Unlock()
	return sandbox.Compile(ctx, wasm, entry, memory, interpreter)
}

var errNoCode = errors.New("the native code of the guest is missing")

// loadStub loads a guest through its stub. If the code disappears meanwhile,
// wazero stores that of the stub itself in its place, which is removed again.
func (s *Store) loadStub(ctx context.Context, m *wasmmodules.Module, stub []byte) (*sandbox.Module, error) {
	if !s.hasCode(m) {
		return nil, errNoCode
	}
	c, err := sandbox.Compile(ctx, stub, sandbox.EntryPoint, s.code, false)
	if err != nil {
		s.removeCode(m)
		return nil, err
	}
	if !s.hasCode(m) {
		s.removeCode(m)
		_ = c.Close(ctx)
		return nil, errNoCode
	}
	return c, nil
}

// removeCode removes the native code of a guest and its note.
func (s *Store) removeCode(m *wasmmodules.Module) {
	if s.dir == "" {
		return
	}
	if n, err := readNote(s.notePath(m)); err == nil {
		_ = os.Remove(filepath.Join(s.dir, "code", n.File))
	}
	_ = os.Remove(s.notePath(m))
}

// Prefetch starts to load the guest of a language. It compiles nothing: if the
// folder lacks the code nothing is loaded.
func (s *Store) Prefetch(language string) {
	if g, err := guests.Lookup(language); err == nil {
		s.startPrefetch(g.Module, wasmmodules.Open)
	}
}

func (s *Store) startPrefetch(module string, open func(string) (*wasmmodules.Module, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.prefetch != nil || s.dir == "" {
		return
	}
	p := &prefetch{module: module, done: make(chan struct{})}
	s.prefetch = p
	go func() {
		defer close(p.done)
		m, err := open(module)
		if err != nil {
			return
		}
		stub, err := s.stub(m)
		if err != nil {
			return
		}
		p.digest = m.Digest
		p.loaded, _ = s.loadStub(context.Background(), m, stub)
	}()
}

// prefetched returns the prefetched module of a guest to the first caller.
func (s *Store) prefetched(m *wasmmodules.Module) *sandbox.Module {
	s.mu.Lock()
	p := s.prefetch
	wanted := p != nil && p.module == m.Name
	if wanted {
		s.prefetch = nil
	}
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	if <-p.done; p.digest != m.Digest {
		_ = p.drop()
		return nil
	}
	return p.loaded
}

// drop frees what was prefetched in vain.
func (p *prefetch) drop() error {
	<-p.done
	if p.loaded == nil {
		return nil
	}
	return p.loaded.Close(context.Background())
}
