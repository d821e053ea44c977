package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// A Cache holds what is costly to make: compiled guests, their memory images,
// outputs of the TypeScript compiler, results. Several engines of one process
// may share one, and several processes one folder. It is closed by whoever
// opened it, after its engines.
//
// The folder:
//
//	code/      native code of the guests, mapped by every process
//	images/    memory images, mapped by every instance, and what else of a guest is kept unpacked
//	outputs/   what the TypeScript compiler made of a program
//	results/   values of programs that certainly give them again
//	catalogue/ digests of what each server of a table listed, as last known
//
// Files are written whole and renamed into place, readable for their owner
// alone. A damaged one is made again.
type Cache struct {
	dir      string
	wasm     wazero.CompilationCache
	maps     bool          // native code is mapped from its file
	memories snapshot.Mode // how instances get theirs

	mu     sync.Mutex
	images map[[32]byte]*snapshot.Image
	noted  map[*hostfns.Table]map[string]string // digests that are in the folder
	spare  wazero.CompilationCache              // used while nothing can be written to the folder
	begun  *early                               // nil: none, or taken by the guest that asked for it
	closed bool
}

// OpenCache opens a cache in a folder, which it makes where it is missing. An
// empty name keeps everything in memory. A folder that cannot be written to is
// a fault; an engine goes on without one.
func OpenCache(dir string) (*Cache, error) {
	c := &Cache{images: map[[32]byte]*snapshot.Image{}, noted: map[*hostfns.Table]map[string]string{}}
	if dir == "" {
		c.wasm = wazero.NewCompilationCache()
		return c, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "the cache folder %q: %w", dir, err)
	}
	for _, sub := range []string{"", "code", "images", "outputs", "results", "catalogue"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fault.New(fault.UsageConfig, "the cache folder cannot be made: %w", err)
		}
	}
	c.wasm, err = wazero.NewCompilationCacheWithDir(filepath.Join(dir, "code"))
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "the cache folder cannot be used: %w", err)
	}
	c.maps = snapshot.MapCode(c.wasm)
	c.dir = dir
	c.dropDamaged()
	for _, sub := range []string{"code", "images"} {
		dropUnfinished(filepath.Join(dir, sub))
	}
	return c, nil
}

// Dir is the cache's folder, or "" where there is none.
func (c *Cache) Dir() string { return c.dir }

// Close gives back what the cache holds in memory. No engine may use it.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	if c.dir != "" {
		c.noteSmall()
	}
	errs := []error{c.dropEarly()}
	for _, im := range c.images {
		errs = append(errs, im.Close())
	}
	if c.spare != nil {
		errs = append(errs, c.spare.Close(context.Background()))
	}
	return errors.Join(append(errs, c.wasm.Close(context.Background()))...)
}

// image opens the memory image of a guest, and lays it first where it is
// missing or not what it should be.
func (c *Cache) image(m *wasmmodules.Module) (*snapshot.Image, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if im := c.images[m.ImageSHA256]; im != nil {
		return im, nil
	}
	im, err := c.openImage(m)
	if err != nil {
		return nil, fault.New(fault.Internal, "load the memory of %s: %w", m.Name, err)
	}
	c.images[m.ImageSHA256] = im
	return im, nil
}

func (c *Cache) openImage(m *wasmmodules.Module) (*snapshot.Image, error) {
	path := ""
	if c.dir != "" {
		path = filepath.Join(c.dir, "images", m.Name+"-"+hex.EncodeToString(m.ImageSHA256[:8]))
		if im, err := snapshot.OpenFile(path, m.ImageSHA256, c.memories); err == nil {
			markUsed(path)
			return im, nil
		}
	}
	bytes, err := m.Image()
	if err != nil {
		return nil, err
	}
	if path != "" && snapshot.WriteFile(path, bytes) == nil {
		c.dropUnused()
		if im, err := snapshot.OpenFile(path, m.ImageSHA256, c.memories); err == nil {
			return im, nil
		}
	}
	return snapshot.New(bytes, c.memories) // a folder that is full or read-only stops nobody
}

// library reads the archive of a guest's standard library.
func (c *Cache) library(m *wasmmodules.Module) ([]byte, error) {
	return c.unpacked(m.LibraryName, m.LibrarySHA256, m.LibrarySize, m.Library)
}

// unpacked reads a part of a guest from beside the images, and lays it there
// first where it is missing: to unpack it takes longer.
func (c *Cache) unpacked(name string, sum [32]byte, size uint64, unpack func() ([]byte, error)) ([]byte, error) {
	if c.dir == "" {
		return unpack()
	}
	path := filepath.Join(c.dir, "images", name+"-"+hex.EncodeToString(sum[:8]))
	if data, err := readBounded(path, int64(size)); err == nil && sha256.Sum256(data) == sum {
		markUsed(path)
		return data, nil
	}
	data, err := unpack()
	if err == nil {
		_ = writeFile(path, data)
	}
	return data, err
}

// maxCatalogue bounds what is kept of one table's catalogue, in bytes.
const maxCatalogue = 1 << 20

// catalogue gives the digests of what the servers of a table listed, as they
// were last known on this machine.
func (c *Cache) catalogue(t *hostfns.Table) map[string]string {
	if c.dir == "" || len(t.Servers()) == 0 {
		return nil
	}
	data, err := readBounded(c.cataloguePath(t), maxCatalogue)
	if err != nil {
		return nil
	}
	var known map[string]string
	if json.Unmarshal(data, &known) != nil {
		return nil
	}
	maps.DeleteFunc(known, func(_, digest string) bool { return len(digest) != 64 })
	return known
}

// knowCatalogue notes the digests of the servers that have listed their tools.
func (c *Cache) knowCatalogue(t *hostfns.Table) {
	if c.dir == "" || len(t.Servers()) == 0 {
		return
	}
	listed, _ := t.Digests()
	c.mu.Lock()
	same := maps.Equal(c.noted[t], listed)
	c.noted[t] = listed
	c.mu.Unlock()
	if same {
		return
	}
	known, changed := c.catalogue(t), false
	for server, digest := range listed {
		if known[server] != digest {
			if known == nil {
				known = map[string]string{}
			}
			known[server], changed = digest, true
		}
	}
	if changed {
		if data, err := json.Marshal(known); err == nil {
			_ = writeFile(c.cataloguePath(t), data)
		}
	}
}

func (c *Cache) cataloguePath(t *hostfns.Table) string {
	key := digest([]byte(strings.Join(t.Servers(), "\x00") + "\x00\x00" + t.Policy().Digest()))
	return filepath.Join(c.dir, "catalogue", key)
}
