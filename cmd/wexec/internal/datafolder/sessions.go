package datafolder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
	"github.com/wexec/wexec/internal/seal"
)

// User is the tenant of the sessions and runs of a data folder. It is that of the runs
// that commands keep in a store.
const User = "default"

// maxImage bounds an image.
const maxImage = 600 << 20

// Sessions keeps the sessions of a data folder. It implements [engine.Images]. The
// process in which a session is awake holds a lock. If it ends without putting the
// session to sleep, the session is lost, and the next command that uses it fails with that reason.
type Sessions struct {
	folder *Folder

	mu    sync.Mutex
	awake map[engine.SessionID]*os.File // locks of the sessions that are awake in this process
}

// Sessions returns the sessions of the folder.
func (f *Folder) Sessions() *Sessions {
	return &Sessions{folder: f, awake: map[engine.SessionID]*os.File{}}
}

// SessionID returns the id of a session of the user. It is usage.flag if a session
// cannot have the name.
func SessionID(name string) (engine.SessionID, error) {
	const longest = 200
	if name == "" || len(name) > longest || !utf8.ValidString(name) || strings.ContainsRune(name, '/') || strings.ContainsFunc(name, unicode.IsControl) {
		return engine.SessionID{}, fault.New(fault.UsageFlag, "the name of a session has 1 to %d bytes, without / and control characters", longest)
	}
	return engine.SessionID{Tenant: User, Name: name}, nil
}

// sessionRecord describes a session. An image cannot be read without it, since it has
// the wrapped key.
type sessionRecord struct {
	engine.SessionID
	Language   string    `json:"language"`
	Generation int64     `json:"generation"` // of the image, or of the one that the session woke from
	Awake      bool      `json:"awake,omitempty"`
	Bytes      int64     `json:"bytes,omitempty"`
	Seal       []byte    `json:"seal,omitempty"`
	Created    time.Time `json:"created"`
	Used       time.Time `json:"used"`
}

// purposeOf is the purpose of the seal of an image: it can be opened for this session
// and this generation only.
func purposeOf(id engine.SessionID, generation int64) string {
	return fmt.Sprintf("session %q of actor %q of tenant %q, generation %d", id.Name, id.Actor, id.Tenant, generation)
}

// sessionFiles are the paths of the files of a session.
type sessionFiles struct{ record, image, lock string }

func filesOf(dir string, id engine.SessionID) sessionFiles {
	at := filepath.Join(dir, fileName(purposeOf(id, 0)))
	return sessionFiles{at + ".json", at + ".image", at + ".lock"}
}

// remove deletes the files of a session. The lock must be closed.
func (f sessionFiles) remove() error {
	for _, path := range []string{f.record, f.image, f.lock} { // without its record a session does not exist
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refused(err)
		}
	}
	return nil
}

// save writes the record of a session.
func (f sessionFiles) save(r sessionRecord) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fault.New(fault.Internal, "encode the record of a session: %w", err)
	}
	return save(f.record, data)
}

// save replaces a file. It is on disk afterwards.
func save(path string, data []byte) error {
	err := atomicfile.WriteFunc(path, 0o600, func(f *os.File) error {
		if _, err := f.Write(data); err != nil {
			return err
		}
		return f.Sync()
	})
	if err == nil {
		err = atomicfile.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return refused(err)
	}
	return nil
}

// elsewhere is the error of a session that another process uses.
func elsewhere(name string) error {
	return fault.New(fault.UsageSession, "the session %q is used by another command", name).
		WithHint("wait until that command has ended, or use another session")
}

// lost is the error of a session that was awake in a process that ended.
func lost(name string) error {
	return fault.New(fault.UsageSession, "the session %q was lost: the command in which it was awake ended without putting it to sleep", name).
		WithHint("run again to start a new one, without the earlier definitions")
}

// with calls a function with the files of a session, while no other process uses them.
// Without the folder it is not called, unless create is set.
func (s *Sessions) with(ctx context.Context, id engine.SessionID, create bool, do func(at sessionFiles, r *sessionRecord) error) error {
	dir, exists, err := s.folder.sub(sessionsName, create)
	if err != nil || !exists {
		return err
	}
	return locked(ctx, dir, func() error {
		at := filesOf(dir, id)
		var r sessionRecord
		found, err := readJSON(at.record, &r)
		if err != nil {
			return err
		}
		if !found {
			return do(at, nil)
		}
		if r.SessionID != id {
			return fault.New(fault.UsageSession, "use the session %q: the file %s is of another session", id.Name, at.record).WithHint("remove the file")
		}
		return do(at, &r)
	})
}

// take locks a session for this process. If the session sleeps, its generation must be
// newer than the one that woke last, which the lock has.
func (s *Sessions) take(at sessionFiles, r *sessionRecord) (*os.File, error) {
	lock, free, err := tryLock(at.lock)
	if err == nil && !free {
		return nil, elsewhere(r.Name)
	}
	if err != nil || r.Awake || r.Generation == 0 {
		return lock, err
	}
	text, err := io.ReadAll(io.LimitReader(lock, 32))
	woken, _ := strconv.ParseInt(string(text), 10, 64) // 0: none
	if err == nil && woken < r.Generation {
		return lock, nil
	}
	_ = lock.Close()
	if err != nil {
		return nil, refused(err)
	}
	return nil, fault.New(fault.UsageSession, "wake the session %q: its image is of an older generation", r.Name).WithHint(endIt)
}

// endIt is what to do with a session that cannot be woken.
const endIt = "end the session with wexec session end"

// consume notes in the lock of a session which generation woke.
func consume(lock *os.File, generation int64) error {
	if _, err := lock.WriteAt([]byte(strconv.FormatInt(generation, 10)), 0); err != nil {
		return refused(err)
	}
	if err := lock.Sync(); err != nil {
		return refused(err)
	}
	return nil
}

// Get implements [engine.Images].
func (s *Sessions) Get(ctx context.Context, id engine.SessionID) (*engine.SessionImage, error) {
	var row *sessionRecord
	var sealed []byte
	err := s.with(ctx, id, false, func(at sessionFiles, r *sessionRecord) error {
		if r == nil {
			return nil
		}
		lock, err := s.take(at, r)
		if err != nil {
			return err
		}
		_ = lock.Close()
		if r.Awake {
			return errors.Join(lost(id.Name), at.remove())
		}
		row = r
		sealed, err = ownfile.ReadPrivate(at.image, seal.Size(maxImage))
		if errors.Is(err, fs.ErrNotExist) {
			return seal.ErrDamaged
		}
		return err
	})
	if err == nil && row == nil {
		return nil, nil
	}
	var data []byte
	if err == nil {
		data, err = s.folder.opened(ctx, sealed, row.Seal, purposeOf(id, row.Generation))
	}
	if errors.Is(err, seal.ErrDamaged) {
		return nil, fault.New(fault.UsageSession, "wake the session %q: its image is missing, damaged, or that of another session or generation", id.Name).
			WithHint(endIt)
	}
	if err != nil {
		return nil, refused(err)
	}
	return &engine.SessionImage{Language: row.Language, Generation: row.Generation, Data: data}, nil
}

// Claim implements [engine.Images].
func (s *Sessions) Claim(ctx context.Context, id engine.SessionID, language string, generation int64) error {
	return s.with(ctx, id, true, func(at sessionFiles, r *sessionRecord) error {
		now := time.Now().UTC()
		switch {
		case generation == 0 && r != nil:
			return engine.SessionExists(id.Name)
		case generation == 0:
			r = &sessionRecord{SessionID: id, Language: language, Created: now}
		case r == nil || r.Awake || r.Generation != generation:
			return fault.New(fault.UsageSession, "wake the session %q: another command woke or ended it", id.Name).WithHint("try again")
		}
		lock, err := s.take(at, r)
		if err != nil {
			return err
		}
		r.Awake, r.Seal, r.Bytes, r.Used = true, nil, 0, now
		if err := errors.Join(consume(lock, generation), at.save(*r)); err != nil {
			_ = lock.Close()
			return err
		}
		s.mu.Lock()
		s.awake[id] = lock
		s.mu.Unlock()
		if err := os.Remove(at.image); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return refused(err)
		}
		return nil
	})
}

// release ends the lock of a session that is awake in this process. It reports whether
// there was one.
func (s *Sessions) release(id engine.SessionID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, ok := s.awake[id]
	if ok {
		delete(s.awake, id)
		_ = lock.Close()
	}
	return ok
}

// Put implements [engine.Images].
func (s *Sessions) Put(ctx context.Context, id engine.SessionID, image engine.SessionImage) error {
	data, key, err := s.folder.sealed(ctx, image.Data, purposeOf(id, image.Generation))
	if err != nil {
		return refused(err)
	}
	return s.with(ctx, id, true, func(at sessionFiles, r *sessionRecord) error {
		s.mu.Lock()
		_, own := s.awake[id]
		s.mu.Unlock()
		if !own || r == nil || !r.Awake || r.Generation != image.Generation-1 {
			return fault.New(fault.UsageSession, "the session %q is not awake in this command, or a later image of it exists", id.Name)
		}
		if err := save(at.image, data); err != nil {
			return err
		}
		r.Awake, r.Language, r.Generation, r.Seal, r.Bytes, r.Used = false, image.Language, image.Generation, key, int64(len(data)), time.Now().UTC()
		if err := at.save(*r); err != nil {
			return err
		}
		s.release(id)
		return nil
	})
}

// Delete implements [engine.Images]. A session that is awake in another process is not
// deleted.
func (s *Sessions) Delete(ctx context.Context, id engine.SessionID) error {
	return s.with(ctx, id, false, func(at sessionFiles, r *sessionRecord) error {
		if !s.release(id) {
			if r == nil {
				return nil
			}
			lock, free, err := tryLock(at.lock)
			if err == nil && !free {
				err = elsewhere(id.Name)
			}
			if err != nil {
				return err
			}
			_ = lock.Close()
		}
		return at.remove()
	})
}

// List implements [engine.Images]. Sessions that were lost are left out.
func (s *Sessions) List(ctx context.Context, tenant, actor string) ([]engine.SessionInfo, error) {
	dir, exists, err := s.folder.sub(sessionsName, false)
	if err != nil || !exists {
		return nil, err
	}
	var all []engine.SessionInfo
	err = locked(ctx, dir, func() error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return refused(err)
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) != ".json" {
				continue
			}
			var r sessionRecord
			found, err := readJSON(filepath.Join(dir, e.Name()), &r)
			if err != nil {
				return err
			}
			if !found || r.Tenant != tenant || actor != "" && r.Actor != actor {
				continue
			}
			info := engine.SessionInfo{Name: r.Name, Actor: r.Actor, Language: r.Language, State: engine.SessionAsleep, Bytes: r.Bytes, Created: r.Created, Used: r.Used}
			if r.Awake {
				lock, free, err := tryLock(filesOf(dir, r.SessionID).lock)
				if err != nil {
					return err
				}
				if free {
					_ = lock.Close()
					continue
				}
				info.State = engine.SessionBusy
			}
			all = append(all, info)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b engine.SessionInfo) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}
