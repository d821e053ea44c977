package engine

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
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// A new process that loads compiled code from wazero's cache spends most of its
// time on decoding and validating the module again, which needs no more than
// the module's shape. So the cache holds the native code of the whole module
// under the name that wazero gives to its skeleton, in which every function
// body is left out, and later processes load the skeleton.
//
// The native code lies on whole pages of its file, so that it is mapped and not
// read (see [snapshot.AlignCode]).
//
// wazero does not document that this works. Three things guard it: the file is
// looked at before and after the load; a guest that traps before it has asked
// for fuel even once is taken for a skeleton without its code, and loaded whole
// (nothing of the program has happened by then); and tests pin the behaviour.

// bones notes where the native code of a guest lies.
type bones struct {
	File string `json:"file"` // below the code folder
	Size int64  `json:"size"`
}

func (c *Cache) bonesPath(m *wasmmodules.Module) string {
	return filepath.Join(c.dir, "code", m.Name+"-"+hex.EncodeToString(m.CodeSHA256[:8])+"-"+runtime.GOARCH+".json")
}

// bonesOf reads the note on a guest and reports whether the native code is
// where it says.
func (c *Cache) bonesOf(m *wasmmodules.Module) bool {
	data, err := readBounded(c.bonesPath(m), 4096)
	if err != nil {
		return false
	}
	var b bones
	if json.Unmarshal(data, &b) != nil || !filepath.IsLocal(b.File) {
		return false
	}
	file := filepath.Join(c.dir, "code", b.File)
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() != b.Size || b.Size <= 0 {
		return false
	}
	markUsed(file)
	return true
}

// lay compiles a guest and puts its native code where its skeleton is looked
// for.
func (c *Cache) lay(ctx context.Context, m *wasmmodules.Module, skeleton []byte) error {
	whole, err := m.Code()
	if err != nil {
		return err
	}
	code := filepath.Join(c.dir, "code")
	work, err := os.MkdirTemp(code, ".lay-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	from, err := compileInto(ctx, filepath.Join(work, "whole"), whole)
	if err != nil {
		return err
	}
	if c.maps {
		if err := snapshot.AlignCode(from); err != nil {
			return err
		}
	}
	name, err := compileInto(ctx, filepath.Join(work, "skeleton"), skeleton)
	if err != nil {
		return err
	}
	folder, file := filepath.Base(filepath.Dir(name)), filepath.Base(name)
	if err := os.MkdirAll(filepath.Join(code, folder), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.Chmod(from, 0o600); err != nil {
		return err
	}
	if err := os.Rename(from, filepath.Join(code, folder, file)); err != nil {
		return err
	}
	note, err := json.Marshal(bones{File: filepath.Join(folder, file), Size: info.Size()})
	if err != nil {
		return err
	}
	c.dropUnused()
	return writeFile(c.bonesPath(m), note)
}

// compileInto compiles a module with an empty folder as its cache, and gives
// the one file that appeared.
func compileInto(ctx context.Context, dir string, wasm []byte) (string, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return "", err
	}
	defer cache.Close(ctx)
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(false).WithCompilationCache(cache))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(withWorkers(ctx), wasm); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", errors.New("the compilation cache does not hold one file for one module")
	}
	return files[0], nil
}

// skeletonOf is the skeleton that the native code of a module lies under.
func (c *Cache) skeletonOf(m *wasmmodules.Module) ([]byte, error) {
	skeleton, err := c.unpacked(m.Name+".skeleton", m.StubSHA256, m.StubSize, m.Stub)
	if err != nil {
		return nil, err
	}
	return titled(skeleton, m.CodeSHA256), nil
}

// titled gives a skeleton a section that names the module it is of. Two builds
// of a guest may have one shape, and wazero would look for the code of both in
// one place.
func titled(skeleton []byte, code [sha256.Size]byte) []byte {
	const title = "wexec"
	head := append([]byte{0, byte(1 + len(title) + len(code)), byte(len(title))}, title...)
	return slices.Concat(skeleton, head, code[:])
}

// withWorkers has wazero compile on every processor.
func withWorkers(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0))
}

// code gives a guest ready to be instantiated: by its skeleton where its native
// code lies in the cache folder, compiled otherwise.
func (c *Cache) code(ctx context.Context, m *wasmmodules.Module, entry string, interpreter, whole bool, compiling func(string)) (*compiled, error) {
	if c.dir != "" && !interpreter && !whole {
		if got := c.early(m); got != nil {
			return got, nil
		}
		skeleton, err := c.skeletonOf(m)
		if err == nil {
			if got, err := c.load(ctx, m, skeleton, entry); err == nil {
				return got, nil
			}
			if compiling != nil {
				compiling(m.Name)
				compiling = nil
			}
			if c.lay(ctx, m, skeleton) == nil {
				if got, err := c.load(ctx, m, skeleton, entry); err == nil {
					return got, nil
				}
			}
		}
	}
	if compiling != nil {
		compiling(m.Name)
	}
	wasm, err := m.Code()
	if err != nil {
		return nil, fault.New(fault.Internal, "load the guest %s: %w", m.Name, err)
	}
	return c.compile(withWorkers(ctx), wasm, entry, interpreter)
}

// compile compiles a whole module. A folder that takes no more files stops
// nobody: the code is in memory then.
func (c *Cache) compile(ctx context.Context, wasm []byte, entry string, interpreter bool) (*compiled, error) {
	got, err := compile(ctx, wasm, entry, c.wasm, interpreter)
	if err == nil || c.dir == "" || ctx.Err() != nil {
		return got, err
	}
	c.mu.Lock()
	if c.spare == nil {
		c.spare = wazero.NewCompilationCache()
	}
	spare := c.spare
	c.mu.Unlock()
	return compile(ctx, wasm, entry, spare, interpreter)
}

var errNoBones = errors.New("the native code is not where it should be")

// load loads a guest by its skeleton. Where the code was lost while it was
// loaded, wazero has stored the skeleton's own in its place: that is taken out
// again.
func (c *Cache) load(ctx context.Context, m *wasmmodules.Module, skeleton []byte, entry string) (*compiled, error) {
	if !c.bonesOf(m) {
		return nil, errNoBones
	}
	got, err := compile(ctx, skeleton, entry, c.wasm, false)
	if err != nil {
		c.lose(m)
		return nil, err
	}
	if !c.bonesOf(m) {
		c.lose(m)
		_ = got.Close(ctx)
		return nil, errNoBones
	}
	got.skeleton = true
	return got, nil
}

// lose forgets where a guest's native code lies, and removes what lies there.
func (c *Cache) lose(m *wasmmodules.Module) {
	if c.dir == "" {
		return
	}
	if data, err := readBounded(c.bonesPath(m), 4096); err == nil {
		var b bones
		if json.Unmarshal(data, &b) == nil && filepath.IsLocal(b.File) {
			_ = os.Remove(filepath.Join(c.dir, "code", b.File))
		}
	}
	_ = os.Remove(c.bonesPath(m))
}
