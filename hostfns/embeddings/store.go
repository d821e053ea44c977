package embeddings

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// store holds vectors by the digest of their text, in one file for an endpoint
// and model: a header, then pairs of digest and vector. A truncated file
// is used as far as it goes, and a file of another format is replaced.
type store struct {
	path string // "": in memory only

	mu      sync.Mutex
	read    bool
	size    int // dimension of the vectors; 0: unknown
	vectors map[[sha256.Size]byte][]float32
	fresh   [][sha256.Size]byte // not on disk yet
	onDisk  bool                // the file is valid and can be appended to
}

const (
	storeHead = "wexec vectors 1\n"
	maxStore  = 256 << 20
)

func newStore(dir, endpoint, model string) *store {
	s := &store{vectors: map[[sha256.Size]byte][]float32{}}
	if dir != "" {
		sum := sha256.Sum256([]byte(endpoint + "\x00" + model))
		s.path = filepath.Join(dir, hex.EncodeToString(sum[:8])+".vectors")
	}
	return s
}

// get returns a vector, or nil.
func (s *store) get(d [sha256.Size]byte) []float32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	return s.vectors[d]
}

func (s *store) put(d [sha256.Size]byte, v []float32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load()
	if s.size != len(v) {
		// The endpoint's dimension changed: the old vectors are useless.
		clear(s.vectors)
		s.fresh, s.size, s.onDisk = nil, len(v), false
	}
	if s.vectors[d] == nil && (len(s.vectors)+1)*(sha256.Size+4*s.size) < maxStore {
		s.vectors[d] = v
		s.fresh = append(s.fresh, d)
	}
}

// load reads the file once. The caller holds the lock.
func (s *store) load() {
	if s.read || s.path == "" {
		return
	}
	s.read = true
	if err := ownfile.Dir(filepath.Dir(s.path)); err != nil {
		s.path = "" // other users could write what is read back
		return
	}
	data, err := ownfile.Read(s.path, maxStore)
	if err != nil || len(data) < len(storeHead)+4 || string(data[:len(storeHead)]) != storeHead {
		return
	}
	size := binary.LittleEndian.Uint32(data[len(storeHead):])
	if size == 0 || size > maxDimension {
		return
	}
	s.size, s.onDisk = int(size), true
	record := sha256.Size + 4*s.size
	rest := data[len(storeHead)+4:]
	for ; len(rest) >= record; rest = rest[record:] {
		v := make([]float32, s.size)
		for i := range v {
			v[i] = math.Float32frombits(binary.LittleEndian.Uint32(rest[sha256.Size+4*i:]))
			if f := float64(v[i]); math.IsNaN(f) || math.IsInf(f, 0) {
				v = nil
				break
			}
		}
		if v != nil {
			s.vectors[[sha256.Size]byte(rest[:sha256.Size])] = v
		}
	}
	if len(rest) > 0 {
		s.onDisk = false // appended records would be misaligned
		for d := range s.vectors {
			s.fresh = append(s.fresh, d)
		}
	}
}

// save writes new vectors.
func (s *store) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.path == "" || len(s.fresh) == 0 {
		return nil
	}
	var b []byte
	if !s.onDisk {
		b = binary.LittleEndian.AppendUint32(append(b, storeHead...), uint32(s.size))
	}
	for _, d := range s.fresh {
		b = append(b, d[:]...)
		for _, f := range s.vectors[d] {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
		}
	}
	if err := s.write(b); err != nil {
		return err
	}
	s.fresh, s.onDisk = nil, true
	return nil
}

// write appends to a valid file, and otherwise replaces
// it.
func (s *store) write(b []byte) error {
	if s.onDisk {
		f, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = f.Write(b)
		return errors.Join(err, f.Close())
	}
	return atomicfile.Write(s.path, b, 0o600)
}
