package workspace

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
)

// Conflict is a path that changed both in the workspace and in its folder.
type Conflict struct {
	Path   string
	Reason string
	Merged []byte // both versions between marks as git writes them, if they are texts
}

// A ConflictError says that the base moved on where the workspace changed it.
type ConflictError struct{ Conflicts []Conflict }

// Error implements error.
func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d paths changed in the folder and in the workspace", len(e.Conflicts))
	for _, c := range e.Conflicts[:min(len(e.Conflicts), 20)] {
		fmt.Fprintf(&b, "\n  %s: %s", c.Path, c.Reason)
	}
	return b.String()
}

// step makes one change in the base. Done again it changes nothing.
type step struct {
	Do      string      `json:"do"` // mkdir, file, link, remove
	Path    string      `json:"path"`
	Content string      `json:"content,omitempty"` // file of the content folder
	Target  string      `json:"target,omitempty"`
	Mode    fs.FileMode `json:"mode,omitempty"`
	Before  state       `json:"before"` // what the base has
	After   state       `json:"after"`
}

// Accept makes the changes in the base. Where the base changed since, texts are merged;
// if that fails nothing is changed and the error is a [ConflictError]. A process that
// dies leaves a plan, which the next [Open] completes, or undoes if it cannot. The context
// ends the preparations only.
func (w *Workspace) Accept(ctx context.Context) ([]Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return nil, err
	}
	changes, err := w.changes(ctx)
	if err != nil {
		return nil, fault.New(fault.UsageWorkspace, "compare the workspace %s with its folder: %w", w.info.ID, err)
	}
	plan, err := w.plan(ctx, changes)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(plan)
	if err == nil {
		err = w.syncContent(plan)
	}
	if err == nil {
		err = atomicfile.WriteFunc(filepath.Join(w.dir, planName), 0o600, func(f *os.File) error {
			_, err := f.Write(data)
			return errors.Join(err, f.Sync())
		})
	}
	if err != nil {
		return nil, fault.New(fault.UsageWorkspace, "prepare to accept: %w", err)
	}
	return changes, w.carryOut(plan)
}

// syncContent forces what a plan needs to disk before the plan.
func (w *Workspace) syncContent(plan []step) error {
	for _, s := range plan {
		if s.Content == "" {
			continue
		}
		f, err := w.files.OpenFile(contentPath(s.Content), os.O_RDWR, 0)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plan returns the steps that make the changes in the base.
func (w *Workspace) plan(ctx context.Context, changes []Change) ([]step, error) {
	moved := map[string]bool{} // paths of the base that show elsewhere
	for _, c := range changes {
		if c.From != "" && c.n.content == "" {
			moved[c.From] = true
		}
	}
	var remove, make []step
	var conflicts []Conflict
	removed := map[string]bool{}
	for _, c := range changes {
		if w.isProtected(c.Path) {
			return nil, fault.New(fault.UsageWorkspace, "the workspace changes %s, which must not change", c.Path).WithHint("reject the workspace, or export it")
		}
		s, conflict, err := w.planned(c, moved[c.Path])
		if err := cmp.Or(context.Cause(ctx), err); err != nil {
			return nil, fault.New(fault.UsageWorkspace, "prepare to accept %s: %w", c.Path, err)
		}
		switch {
		case conflict != nil:
			conflicts = append(conflicts, *conflict)
		case s.Do == "remove":
			removed[s.Path] = true
			remove = append(remove, s)
		default:
			if removed[s.Path] { // a name that changes its kind
				s.Before = nothing
			}
			make = append(make, s)
		}
	}
	if len(conflicts) > 0 {
		return nil, fault.New(fault.UsageWorkspace, "%w", &ConflictError{conflicts}).WithHint("export the workspace and join the changes by hand")
	}
	return append(remove, make...), nil
}

// planned returns the step that makes a change, or a conflict. moved says that the file
// that the base has at the path shows elsewhere in the workspace.
func (w *Workspace) planned(c Change, moved bool) (step, *Conflict, error) {
	now, err := w.look(c.Path)
	s := step{Path: c.Path, Mode: c.Mode, Before: now}
	if err != nil {
		return s, nil, err
	}
	conflict := func(reason string) (step, *Conflict, error) { return s, &Conflict{Path: c.Path, Reason: reason}, nil }
	was, known := w.was[c.Path]
	expected := moved || known && was.state == now
	switch {
	case c.Kind == Deleted:
		s.Do, s.Mode, s.After = "remove", c.OldMode, nothing
		switch {
		case c.Folder || expected:
			return s, nil, nil
		case known:
			return conflict("deleted in the workspace, changed in the folder")
		}
		return conflict("made in the folder, where the workspace has something else")
	case c.Folder:
		s.Do, s.Mode, s.After = "mkdir", c.Mode|0o700, "folder"
		return s, nil, nil
	case now == nothing && known:
		return conflict("changed in the workspace, deleted in the folder")
	case c.n.kind == link:
		s.Do, s.Target, s.After = "link", c.n.target, linkState(c.n.target)
		if c.below != nil && !expected && now != s.After {
			return conflict("both changed where the link leads")
		}
		return s, nil, nil
	}
	ours, err := readAll(w.read(c.n))
	if err != nil {
		return s, nil, err
	}
	s.Do, s.Content, s.After = "file", c.n.content, fileState(ours, c.Mode)
	if c.below != nil && !expected && now != s.After {
		if !known {
			return conflict("both made it")
		}
		merged, reason, err := w.merged(c, was, now, ours)
		if err != nil {
			return s, nil, err
		}
		if reason != "" {
			return s, &Conflict{Path: c.Path, Reason: reason, Merged: merged}, nil
		}
		if s.Mode == was.state.mode() {
			s.Mode = now.mode()
		}
		if string(merged) != string(ours) {
			ours, s.Content = merged, ""
		}
		s.After = fileState(ours, s.Mode)
	}
	if s.Content == "" { // a merge, or a file of the base that was moved
		s.Content = w.newContent()
		if err := w.write(s.Content, ours); err != nil {
			return s, nil, err
		}
	}
	return s, nil, nil
}

// merged joins a file of the workspace with one that changed in the base. If that fails
// it returns the reason.
func (w *Workspace) merged(c Change, was seen, now state, ours []byte) (merged []byte, reason string, err error) {
	theirs, err := w.below(c)
	if err != nil {
		return nil, "", err
	}
	switch {
	case was.state.content() == now.content():
		return ours, "", nil // the permissions changed
	case fileState(ours, 0).content() == was.state.content():
		return theirs, "", nil
	case was.content == "" || !isText(ours) || !isText(theirs):
		return nil, "both changed it, and it is not a text", nil
	}
	before, err := readAll(w.files.Open(contentPath(was.content)))
	if err != nil {
		return nil, "", err
	}
	merged, failed := merge(before, ours, theirs)
	if failed {
		return merged, "both changed the same lines", nil
	}
	return merged, "", nil
}

// recover completes an accept that a process began, or undoes it.
func (w *Workspace) recover() error {
	data, err := os.ReadFile(filepath.Join(w.dir, planName))
	if errors.Is(err, fs.ErrNotExist) || w.info.State != Active {
		return nil
	}
	var plan []step
	if err == nil {
		err = json.Unmarshal(data, &plan)
	}
	for _, s := range plan {
		if !fs.ValidPath(s.Path) || w.isProtected(s.Path) {
			err = cmp.Or(err, fmt.Errorf("it changes %.100q, which must not change", s.Path))
		}
	}
	if err != nil {
		return fault.New(fault.UsageWorkspace, "read the plan of the workspace %s: %w", w.info.ID, err)
	}
	return w.carryOut(plan)
}

// carryOut makes the steps of a plan. If one of them cannot be made, those before it are
// undone.
func (w *Workspace) carryOut(plan []step) error {
	undo := filepath.Join(w.dir, undoName)
	if err := os.MkdirAll(undo, 0o700); err != nil {
		return fault.New(fault.UsageWorkspace, "accept: %w", err)
	}
	last := map[string]state{} // a step may be made again before what followed it
	for _, s := range plan {
		last[s.Path] = s.After
	}
	for i, s := range plan {
		if err := w.step(s, last[s.Path], filepath.Join(undo, strconv.Itoa(i))); err != nil {
			if back := w.undo(plan[:i+1]); back != nil {
				return fault.New(fault.UsageWorkspace, "accept %s: %w; %w", s.Path, err, back).WithHint("fix the cause; the next command with the workspace tries again")
			}
			return fault.New(fault.UsageWorkspace, "accept %s: %w", s.Path, err).WithHint("nothing was changed; fix the cause and accept again")
		}
		if stopAfter != nil && stopAfter(i) {
			return errStopped
		}
	}
	return w.end(Accepted)
}

// Tests stop an accept after a step, as a process that dies would.
var (
	stopAfter  func(step int) bool
	errStopped = errors.New("stopped by a test")
)

// step makes a step, unless it was made, or the path is as the last step leaves it. The
// file that it replaces is kept at keep.
func (w *Workspace) step(s step, last state, keep string) error {
	now, err := w.look(s.Path)
	if err != nil || now == s.After || now == last {
		return err
	}
	if now != s.Before {
		return errors.New("it changed in the folder meanwhile")
	}
	p, err := w.at(s.Path)
	if err != nil {
		return err
	}
	defer p.done()
	if s.Before != nothing && s.Before != "folder" {
		if err := w.keep(s, keep); err != nil {
			return err
		}
	}
	switch s.Do {
	case "mkdir":
		return p.folder.Mkdir(p.name, s.Mode.Perm())
	case "link":
		return p.link(s.Target)
	case "file":
		return w.replace(p, contentPath(s.Content), s.Mode)
	case "remove":
		return p.folder.Remove(p.name)
	}
	return fs.ErrInvalid
}

// link makes a link, and replaces one that is there.
func (p place) link(target string) error {
	if err := p.folder.Remove(p.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.folder.Symlink(filepath.FromSlash(target), p.name)
}

// keep saves what a step replaces, so that it can be undone.
func (w *Workspace) keep(s step, keep string) error {
	if s.Before.kind() == "link" {
		return atomicfile.Write(keep, []byte(s.Before.target()), 0o600)
	}
	f, err := w.openBase(s.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.WriteFunc(keep, 0o600, func(to *os.File) error {
		_, err := to.ReadFrom(f)
		return errors.Join(err, to.Sync())
	})
}

// replace puts a file into the base at once. Another name of the old file, a hard link,
// keeps it.
func (w *Workspace) replace(p place, from string, mode fs.FileMode) error {
	source, err := w.files.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	next := tempPrefix + w.info.ID + "-new"
	if err := p.folder.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // of a process that died
	}
	f, err := p.folder.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.ReadFrom(source)
	if err := errors.Join(err, f.Chmod(mode.Perm()), f.Sync(), f.Close()); err != nil {
		_ = p.folder.Remove(next)
		return err
	}
	return p.folder.Rename(next, p.name)
}

// undo makes the base what it was before the steps.
func (w *Workspace) undo(plan []step) error {
	var errs []error
	for i, s := range slices.Backward(plan) {
		now, err := w.look(s.Path)
		if err != nil || now != s.After || now == s.Before {
			errs = append(errs, err)
			continue // it was not made
		}
		errs = append(errs, w.back(s, path.Join(undoName, strconv.Itoa(i))))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("undo what was accepted: %w", err)
	}
	return errors.Join(os.RemoveAll(filepath.Join(w.dir, planName)), os.RemoveAll(filepath.Join(w.dir, undoName)))
}

// back undoes a step.
func (w *Workspace) back(s step, kept string) error {
	p, err := w.at(s.Path)
	if err != nil {
		return err
	}
	defer p.done()
	switch s.Before.kind() {
	case string(nothing):
		return p.folder.Remove(p.name)
	case "folder":
		return p.folder.Mkdir(p.name, s.Mode.Perm()|0o700)
	case "link":
		return p.link(s.Before.target())
	}
	return w.replace(p, kept, s.Before.mode())
}

// end records how the workspace ended and frees its content.
func (w *Workspace) end(state State) error {
	w.info.State = state
	if err := writeInfo(w.dir, w.info); err != nil {
		return err
	}
	w.root, w.names, w.bytes, w.was = newRoot(), 0, 0, nil
	var errs []error
	if w.files != nil {
		errs = append(errs, w.files.Close())
		w.files = nil
	}
	for _, name := range []string{logName, contentName, undoName, planName} {
		errs = append(errs, os.RemoveAll(filepath.Join(w.dir, name)))
	}
	return errors.Join(errs...)
}

// Export writes the files that the workspace added or changed into a folder, which must
// be empty or absent.
func (w *Workspace) Export(dir string) error {
	w.mu.Lock()
	err := w.active()
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.New(fault.UsageWorkspace, "export: %w", err)
	}
	if inside, err := os.ReadDir(dir); err != nil || len(inside) > 0 {
		return fault.New(fault.UsageWorkspace, "export: the folder %s is not empty", dir).WithHint("name a new folder")
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return fault.New(fault.UsageWorkspace, "export: %w", err)
	}
	defer to.Close()
	return w.Each(context.Background(), func(e Entry) error {
		if err := e.export(to); err != nil {
			return fault.New(fault.UsageWorkspace, "export %s: %w", e.Path, err)
		}
		return nil
	})
}

func (e Entry) export(to *os.Root) error {
	if e.Kind == Deleted {
		return nil
	}
	at := filepath.FromSlash(e.Path)
	if parent := path.Dir(e.Path); parent != "." {
		if err := to.MkdirAll(filepath.FromSlash(parent), 0o755); err != nil {
			return err
		}
	}
	switch e.n.kind {
	case folder:
		return to.MkdirAll(at, e.Mode|0o700)
	case link:
		return to.Symlink(filepath.FromSlash(e.n.target), at)
	}
	from, err := e.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := to.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, e.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.ReadFrom(from)
	return errors.Join(err, f.Close())
}
