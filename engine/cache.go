package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"sync"

	"github.com/wexec/wexec/engine/internal/guestcache"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// A Cache stores what is expensive to make: compiled guests, their memory images,
// outputs of the TypeScript compiler, results. Several engines of one process
// may share one, and several processes one folder. The caller that opened it closes it,
// after its engines.
//
// The folder:
//
//	code/      native code of the guests, mapped by every process
//	images/    memory images, mapped by every instance, and other unpacked parts of guests
//	outputs/   outputs of the TypeScript compiler
//	results/   values of programs that certainly give them again
//	catalogue/ digests of what the servers of each table listed, as last known
//
// Files are replaced atomically and readable only by their owner. One that is
// damaged, or that another user except root can have written, is made again.
type Cache struct {
	store *guestcache.Store

	mu    sync.Mutex
	noted map[*hostfns.Table]map[string]string // digests that are in the folder
}

// OpenCache opens a cache in a folder, which it creates if it is missing. An
// empty name keeps everything in memory. It fails if the folder cannot be used,
// or if a user other than this one and root can change it or a folder above it:
// what it has is executed. An engine goes on without one.
func OpenCache(dir string) (*Cache, error) {
	s, err := guestcache.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Cache{store: s, noted: map[*hostfns.Table]map[string]string{}}, nil
}

// Dir returns the cache's folder, or "" if it has none.
func (c *Cache) Dir() string { return c.store.Dir() }

// Close frees what the cache holds in memory. No engine may use it.
func (c *Cache) Close() error { return c.store.Close() }

// Prefetch starts to load the guest of a language in the background, for a
// command that has other things to prepare. It compiles nothing: if the folder
// does not have the guest's code, nothing is loaded.
func (c *Cache) Prefetch(language string) { c.store.Prefetch(language) }

// disk returns the disk cache in a folder of the cache, or nil.
func (c *Cache) disk(folder, magic string, most, mostEntry int64) *guestcache.DiskCache {
	if c.Dir() == "" {
		return nil
	}
	return &guestcache.DiskCache{Dir: filepath.Join(c.Dir(), folder), Magic: magic, Max: most, MaxEntry: mostEntry}
}

// maxCatalogue bounds the file of one table's digests.
const maxCatalogue = 1 << 20

// catalogue returns the digests of what the servers of a table listed, as last
// known on this machine.
func (c *Cache) catalogue(t *hostfns.Table) map[string]string {
	if c.Dir() == "" || len(t.Servers()) == 0 {
		return nil
	}
	data, err := ownfile.Read(c.cataloguePath(t), maxCatalogue)
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

// noteCatalogue stores the digests of the servers that have listed their tools.
func (c *Cache) noteCatalogue(t *hostfns.Table) {
	if c.Dir() == "" || len(t.Servers()) == 0 {
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
	known, merged := c.catalogue(t), map[string]string{}
	maps.Copy(merged, known)
	maps.Copy(merged, listed)
	if maps.Equal(known, merged) {
		return
	}
	if data, err := json.Marshal(merged); err == nil {
		_ = atomicfile.Write(c.cataloguePath(t), data, 0o600)
	}
}

func (c *Cache) cataloguePath(t *hostfns.Table) string {
	key := digest([]byte(strings.Join(t.Servers(), "\x00") + "\x00\x00" + t.Policy().Digest()))
	return filepath.Join(c.Dir(), "catalogue", key)
}

// digest returns the SHA-256 of b in hex.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
