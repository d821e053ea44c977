package workspace

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/filelock"
)

// Create makes a workspace in dir, a folder that does not exist.
func Create(dir string, info Info, o Options) (*Workspace, error) {
	base, err := filepath.Abs(info.Base)
	if err == nil {
		base, err = filepath.EvalSymlinks(base) // rules of the policy are about paths without links
	}
	if err == nil {
		info.Base = base
	}
	if st, statErr := os.Stat(info.Base); err != nil || statErr != nil || !st.IsDir() {
		return nil, fault.New(fault.UsageWorkspace, "%s is not a folder that can be opened", info.Base).WithHint("name an existing folder")
	}
	info.State, info.Created = Active, time.Now().UTC().Truncate(time.Millisecond)
	if err := errors.Join(os.MkdirAll(filepath.Dir(dir), 0o700), os.Mkdir(dir, 0o700), os.Mkdir(filepath.Join(dir, contentName), 0o700)); err != nil {
		return nil, fault.New(fault.UsageWorkspace, "make a workspace: %w", err)
	}
	if err := writeInfo(dir, info); err != nil {
		return nil, err
	}
	return Open(dir, o)
}

// ErrInUse is wrapped by the error of [Open] if another process uses the workspace.
var ErrInUse = errors.New("another process uses it")

// Open opens a workspace. What an accept left unfinished is completed or undone first.
func Open(dir string, o Options) (_ *Workspace, err error) {
	if _, err := Read(dir); err != nil {
		return nil, err
	}
	w := &Workspace{o: o, dir: dir, root: newRoot(), was: map[string]seen{}}
	defer func() {
		if err != nil {
			_ = w.Close()
		}
	}()
	if w.lock, err = lockOf(dir); err != nil {
		return nil, err
	}
	if w.info, err = Read(dir); err != nil { // another process may have ended it before the lock
		return nil, err
	}
	if w.info.State != Active {
		return w, nil
	}
	if w.base, err = os.OpenRoot(w.info.Base); err != nil {
		return nil, fault.New(fault.UsageWorkspace, "open the folder of workspace %s: %w", w.info.ID, err)
	}
	if w.files, err = os.OpenRoot(dir); err != nil {
		return nil, fault.New(fault.UsageWorkspace, "open the workspace %s: %w", w.info.ID, err)
	}
	if err := w.replay(); err != nil {
		return nil, err
	}
	return w, w.recover()
}

// Size returns the bytes of the files of the layer.
func (w *Workspace) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// Submit notes what the program said it did.
func (w *Workspace) Submit(summary string) error {
	if len(summary) > maxWords {
		return fault.New(fault.UsageWorkspace, "the summary has more than %d bytes", maxWords)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return err
	}
	w.info.Summary = summary
	return writeInfo(w.dir, w.info)
}

// Used notes the run that used the workspace, and returns the number of paths that
// differ from the base.
func (w *Workspace) Used(run string) (changed int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return 0, err
	}
	changes, err := w.changes(context.Background())
	if err != nil {
		return 0, fault.New(fault.UsageWorkspace, "compare the workspace %s with its folder: %w", w.info.ID, err)
	}
	w.info.Run, w.info.Changed = run, len(changes)
	return len(changes), writeInfo(w.dir, w.info)
}

// Close syncs the log and closes the workspace. Open files stay usable.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	if w.log != nil {
		errs = append(errs, w.log.Sync(), w.log.Close())
		w.log = nil
	}
	if w.base != nil {
		errs = append(errs, w.base.Close())
	}
	if w.files != nil {
		errs = append(errs, w.files.Close())
	}
	if w.lock != nil {
		errs = append(errs, w.lock.Close())
	}
	w.base, w.files, w.lock = nil, nil, nil
	return errors.Join(errs...)
}

// Reject drops the layer. The base does not change.
func (w *Workspace) Reject() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return err
	}
	return w.end(Rejected)
}

// Discard rejects the workspace in dir without reading its layer, which may be damaged or
// have lost its folder. One whose accept was begun must be opened first.
func Discard(dir string) error {
	info, err := Read(dir)
	if err != nil {
		return err
	}
	lock, err := lockOf(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if _, err := os.Stat(filepath.Join(dir, planName)); err == nil && info.State == Active {
		return fault.New(fault.UsageWorkspace, "drop the workspace %s: it is being accepted", info.ID).WithHint("run wexec workspace diff %s first, which completes or undoes that", info.ID)
	}
	if info.State != Active {
		return fault.New(fault.UsageWorkspace, "the workspace %s is %s already", info.ID, info.State)
	}
	w := &Workspace{dir: dir, info: info}
	return w.end(Rejected)
}

// Delete deletes the folder of a workspace, unless it is in use or being accepted.
func Delete(dir string) (bool, error) {
	lock, err := lockOf(dir)
	if errors.Is(err, ErrInUse) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if info, err := Read(dir); err == nil && info.State == Active {
		if _, err := os.Stat(filepath.Join(dir, planName)); err == nil {
			return false, nil
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return false, fault.New(fault.UsageWorkspace, "delete the workspace %s: %w", filepath.Base(dir), err)
	}
	return true, nil
}

// lockOf locks the workspace in dir until the file is closed.
func lockOf(dir string) (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fault.New(fault.UsageWorkspace, "lock the workspace: %w", err)
	}
	if got, err := filelock.Lock(lock, false); err != nil || !got {
		_ = lock.Close()
		return nil, fault.New(fault.UsageWorkspace, "open the workspace %s: %w", filepath.Base(dir), cmp.Or(err, ErrInUse)).WithHint("wait for its run to end")
	}
	return lock, nil
}
