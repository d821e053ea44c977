// Package datafolder keeps what lasts between the commands of one user, in the data
// folder: sessions that sleep, and runs that go on later. Both are sealed with the key
// in seal.key, which is made when the first of them is kept. Only folders and files are
// used that no other user can change.
package datafolder

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/filelock"
	"github.com/wexec/wexec/internal/ownfile"
	"github.com/wexec/wexec/internal/seal"
)

// Folder is a data folder. Its methods may be called concurrently, also by several
// processes.
type Folder struct {
	dir string
	key string // as the environment has it; may be empty

	mu   sync.Mutex
	keys *seal.Keys // nil until it is used
}

// New returns a data folder. Key is the value of [seal.Variable]; if it is empty, the
// key is in a file of the folder. Nothing is opened yet.
func New(dir, key string) *Folder { return &Folder{dir: dir, key: key} }

// The folders in a data folder.
const (
	sessionsName = "sessions"
	runsName     = "runs"
)

// sealer returns the key. It is created if nothing is kept yet.
func (f *Folder) sealer() (*seal.Keys, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys != nil {
		return f.keys, nil
	}
	load := seal.LoadOrCreate
	for _, name := range []string{sessionsName, runsName} {
		entries, err := os.ReadDir(filepath.Join(f.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, refused(err)
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() || filepath.Ext(e.Name()) == ".image" }) {
			load = seal.Load
		}
	}
	keys, err := load(filepath.Join(f.dir, "seal.key"), f.key)
	f.keys = keys
	return keys, err
}

// sub returns a folder in the data folder. It exists afterwards if create is set.
func (f *Folder) sub(name string, create bool) (dir string, exists bool, err error) {
	dir = filepath.Join(f.dir, name)
	if _, err := os.Lstat(dir); err != nil && !create {
		if errors.Is(err, fs.ErrNotExist) {
			return dir, false, nil
		}
		return dir, false, refused(err)
	}
	if err := ownfile.Dir(dir); err != nil {
		return dir, false, refused(err)
	}
	return dir, true, nil
}

// refused is the error of a file or folder that cannot be used.
func refused(err error) error {
	if own, ok := errors.AsType[*ownfile.Error](err); ok {
		return fault.New(fault.UsageStore, "open the data folder: %w", err).WithHint("%s", own.Do)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.New(fault.UsageStore, "use the data folder: %w", err).WithHint("check that this user can write to it and that the disk has room")
}

// pollEvery is how often a lock is tried that another process has for a moment.
const pollEvery = 5 * time.Millisecond

// locked calls a function while no other process is in a function for the same folder.
func locked(ctx context.Context, dir string, do func() error) error {
	for {
		lock, ok, err := tryLock(filepath.Join(dir, "lock"))
		if err != nil {
			return err
		}
		if ok {
			defer lock.Close()
			return do()
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryLock locks a file, which it creates, until the result is closed or this process
// ends. It reports whether the lock was free.
func tryLock(path string) (lock *os.File, ok bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, refused(err)
	}
	if ok, err = filelock.Lock(f, false); err != nil || !ok {
		_ = f.Close()
		if err != nil {
			err = refused(err)
		}
		return nil, false, err
	}
	return f, true, nil
}

// fileName returns the name of the files for something with a purpose, which can have
// any characters.
func fileName(purpose string) string {
	sum := sha256.Sum256([]byte(purpose))
	return hex.EncodeToString(sum[:16])
}

// maxRecord bounds a file that describes something kept.
const maxRecord = 1 << 20

// readJSON reads a file that describes something kept. It reports whether there is one.
func readJSON(path string, into any) (bool, error) {
	data, err := ownfile.ReadPrivate(path, maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, refused(err)
	}
	return true, nil
}

// sealed encrypts content for a purpose.
func (f *Folder) sealed(ctx context.Context, content []byte, purpose string) (data, key []byte, err error) {
	keys, err := f.sealer()
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	out.Grow(int(seal.Size(int64(len(content)))))
	w, err := seal.NewWriter(ctx, &out, keys, purpose)
	if err != nil {
		return nil, nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, nil, err
	}
	if err := w.Close(); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), w.Key(), nil
}

// opened decrypts content that was sealed for a purpose.
func (f *Folder) opened(ctx context.Context, data, key []byte, purpose string) ([]byte, error) {
	keys, err := f.sealer()
	if err != nil {
		return nil, err
	}
	r, err := seal.NewReader(ctx, bytes.NewReader(data), int64(len(data)), keys, key, purpose)
	if err != nil {
		return nil, err
	}
	content := make([]byte, r.Size())
	if _, err := r.ReadAt(content, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return content, nil
}
