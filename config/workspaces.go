package config

import (
	"cmp"
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/workspace"
)

// Workspaces are the workspaces of a user, or of a tenant of a server.
type Workspaces struct {
	dir     string
	protect []string
}

// Workspaces returns the workspaces of the user.
func (s *Settings) Workspaces(env *Environment) (*Workspaces, error) {
	dir := below(env.stateDir(), "workspaces")
	if dir == "" {
		return nil, fault.New(fault.UsageWorkspace, "there is no home folder for workspaces").WithHint("set XDG_STATE_HOME")
	}
	return s.WorkspacesIn(dir, env), nil
}

// WorkspacesIn returns those in a folder. The files of the settings are out of reach in
// each of them.
func (s *Settings) WorkspacesIn(dir string, env *Environment) *Workspaces {
	return &Workspaces{dir, s.protected(env)}
}

func (w *Workspaces) options(base string) (workspace.Options, error) {
	never, err := files.Never(base, append(slices.Clone(w.protect), projectFiles(base)...)...)
	return workspace.Options{Never: never}, err
}

// Create makes a workspace over a folder. It gets an id unless it has one.
func (w *Workspaces) Create(info workspace.Info) (*workspace.Workspace, error) {
	o, err := w.options(info.Base)
	if err != nil {
		return nil, err
	}
	if info.ID == "" {
		info.ID = strings.ToLower(rand.Text()[:WorkspaceID])
	}
	return workspace.Create(filepath.Join(w.dir, info.ID), info, o)
}

// WorkspaceID is the length of an id.
const WorkspaceID = 10

// IsWorkspaceID reports whether a text is the whole id of a workspace.
func IsWorkspaceID(id string) bool {
	return len(id) == WorkspaceID && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Delete deletes a workspace. It reports whether it did: one that is in use, or that is
// being accepted, stays.
func (w *Workspaces) Delete(id string) (bool, error) {
	return workspace.Delete(filepath.Join(w.dir, id))
}

// Open opens a workspace by its id, or by the beginning of it.
func (w *Workspaces) Open(id string) (*workspace.Workspace, error) {
	info, err := w.Find(id)
	if err != nil {
		return nil, err
	}
	o, err := w.options(info.Base)
	if err != nil {
		return nil, err
	}
	return workspace.Open(filepath.Join(w.dir, info.ID), o)
}

// Find returns the workspace with an id, or with the beginning of one.
func (w *Workspaces) Find(id string) (workspace.Info, error) {
	all, err := w.List()
	if err != nil {
		return workspace.Info{}, err
	}
	found := slices.DeleteFunc(all, func(i workspace.Info) bool { return !strings.HasPrefix(i.ID, strings.ToLower(id)) || id == "" })
	switch {
	case len(found) == 0:
		return workspace.Info{}, fault.New(fault.UsageWorkspace, "there is no workspace %.60q", id).WithHint("list them with wexec workspace list")
	case len(found) > 1:
		return workspace.Info{}, fault.New(fault.UsageWorkspace, "%d workspaces begin with %.60q", len(found), id).WithHint("write more of the id")
	}
	return found[0], nil
}

// List returns the workspaces, the newest first.
func (w *Workspaces) List() ([]workspace.Info, error) {
	entries, err := os.ReadDir(w.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fault.New(fault.UsageWorkspace, "list the workspaces: %w", err)
	}
	var out []workspace.Info
	for _, e := range entries {
		info, err := workspace.Read(filepath.Join(w.dir, e.Name()))
		if err != nil || info.ID != e.Name() {
			info = workspace.Info{ID: e.Name(), State: workspace.Damaged, Created: modified(e)}
		}
		out = append(out, info)
	}
	slices.SortFunc(out, func(a, b workspace.Info) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

func modified(e fs.DirEntry) time.Time {
	if info, err := e.Info(); err == nil {
		return info.ModTime().UTC()
	}
	return time.Time{}
}

// Reject drops the changes of a workspace, even of one that is damaged.
func (w *Workspaces) Reject(id string) error { return workspace.Discard(filepath.Join(w.dir, id)) }

// Collect deletes workspaces that were made before a time: those that were accepted or
// rejected, and those that changed nothing. Those in use stay.
func (w *Workspaces) Collect(before time.Time) ([]workspace.Info, error) {
	all, err := w.List()
	if err != nil {
		return nil, err
	}
	var out []workspace.Info
	for _, info := range all {
		if info.State == workspace.Active && info.Changed > 0 || !info.Created.Before(before) {
			continue
		}
		deleted, err := w.Delete(info.ID)
		if err != nil {
			return out, err
		}
		if deleted {
			out = append(out, info)
		}
	}
	return out, nil
}
