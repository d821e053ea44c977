// Package workspaces has the workspaces that clients of a server make over the folders that
// their tenant names. They are files of the server that made them.
package workspaces

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/workspace"
)

// Errors of workspaces, which the error of a method may wrap.
var (
	ErrUnknown = errors.New("there is no such workspace")
	ErrEnded   = errors.New("it was accepted or rejected")
	ErrTaken   = errors.New("the key was used for another folder")
)

// maxWorkspaces bounds the workspaces of a tenant, those that ended as well.
const maxWorkspaces = 1000

// maxReading bounds the requests that read changes at the same time.
const maxReading = 8

// Reading has a place for each request that reads changes.
type Reading chan struct{}

// NewReading returns the places of a server.
func NewReading() Reading { return make(Reading, maxReading) }

// Client is the workspaces of a tenant as one of its clients has them.
type Client struct {
	Settings *config.Settings
	Kept     *config.Workspaces // of the tenant
	Root     string             // folders have to be below it; empty: no bound
	Actor    string             // whose programs run
	Agent    bool               // the client is an agent
	Reveals  bool               // the client may see personal data
	Cover    func() (*hostfns.Cover, error)
	Core     hostfns.Core
	Reading  Reading
	Accepted func(ctx context.Context, w Layer) error // records it before it happens
	Logger   *slog.Logger
}

// Layer is a workspace as clients see it.
type Layer struct {
	ID      string          `json:"id"`
	Folder  string          `json:"folder" jsonschema:"the name of the folder that the programs see"`
	State   workspace.State `json:"state" jsonschema:"open, accepted, rejected, or damaged"`
	Actor   string          `json:"actor,omitempty" jsonschema:"the name of the token that made it; its programs can use it"`
	Run     string          `json:"run,omitempty" jsonschema:"the last run that used it"`
	Created time.Time       `json:"created"`
	Summary string          `json:"summary,omitempty" jsonschema:"what its program said it did; lists have the beginning of the first line"`
	Changed int             `json:"changed" jsonschema:"how many paths differ from the folder, as of the end of the last run"`
}

func shown(i workspace.Info) Layer {
	return Layer{ID: i.ID, Folder: i.Folder, State: i.State, Actor: i.Actor, Run: i.Run, Created: i.Created, Summary: i.Summary, Changed: i.Changed}
}

// hidden returns an error without what only the operator may know, such as paths of the
// machine.
func (c *Client) hidden(id string, err error) error {
	conflicts, ok := errors.AsType[*workspace.ConflictError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, workspace.ErrInUse):
		return fault.New(fault.UsageWorkspace, "the workspace %s: %w", id, workspace.ErrInUse).WithHint("wait for its run to end")
	case ok:
		return c.conflict(id, conflicts)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	c.Logger.Error("a workspace cannot be used", "workspace", id, "error", err)
	return fault.New(fault.UsageWorkspace, "the workspace %s cannot be used as asked; the log of the server has the reason", id).WithHint("reject or delete the workspace")
}

// conflict returns the error about paths that changed on both sides.
func (c *Client) conflict(id string, conflicts *workspace.ConflictError) error {
	show, err := c.show(context.Background(), id)
	if err != nil {
		return err
	}
	told := &workspace.ConflictError{}
	for _, one := range conflicts.Conflicts {
		if one.Path, err = show(one.Path); err != nil {
			return err
		}
		told.Conflicts = append(told.Conflicts, workspace.Conflict{Path: one.Path, Reason: one.Reason})
	}
	return fault.New(fault.UsageWorkspace, "%w", told).WithHint("export the workspace and join the changes by hand")
}

// show returns what replaces personal data in texts that the client reads.
func (c *Client) show(ctx context.Context, id string) (workspace.Show, error) {
	cover, err := c.Cover()
	if err != nil {
		return nil, err
	}
	if c.Reveals {
		cover.Plain()
		c.Logger.Info("values in a workspace are revealed", "workspace", id, "to", c.Actor)
	}
	if cover.Idle() {
		return func(text string) (string, error) { return text, nil }, nil
	}
	return func(text string) (string, error) { return cover.Text(ctx, strings.ToValidUTF8(text, "\ufffd")) }, nil
}

// base returns the folder with a name, without links.
func (c *Client) base(folder string) (string, error) {
	at, ok := c.Settings.Folders[folder]
	if !ok {
		return "", fault.New(fault.UsageWorkspace, "the tenant has no folder %.60q for workspaces", folder).WithHint("the operator names folders under workspaces in the wexec.yaml of the tenant")
	}
	real, err := filepath.EvalSymlinks(at)
	if err == nil && c.Root != "" {
		var root, rel string
		if root, err = filepath.EvalSymlinks(c.Root); err == nil {
			if rel, err = filepath.Rel(root, real); err == nil && !filepath.IsLocal(rel) {
				err = errors.New("it is outside of the root of the tenant")
			}
		}
	}
	if err != nil {
		c.Logger.Error("the folder of a workspace cannot be used", "folder", folder, "error", err)
		return "", fault.New(fault.UsageWorkspace, "the folder %.60q cannot be used; the log of the server has the reason", folder)
	}
	return real, nil
}

// Create makes a workspace over a folder. A second request with a key gets the workspace
// of the first.
func (c *Client) Create(ctx context.Context, folder, key string) (Layer, error) {
	base, err := c.base(folder)
	if err != nil {
		return Layer{}, err
	}
	info := workspace.Info{Base: base, Folder: folder, Actor: c.Actor}
	if key != "" {
		sum := sha256.Sum256([]byte(c.Actor + "\x00" + key))
		info.ID = strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:config.WorkspaceID]
		before, err := c.info(info.ID)
		switch {
		case err == nil && before.Folder != folder:
			return Layer{}, fault.New(fault.UsageConflict, "make a workspace over %s: %w", folder, ErrTaken)
		case err == nil:
			return c.shown(ctx, before, 0)
		}
	}
	all, err := c.Kept.List()
	if err != nil {
		return Layer{}, c.hidden(folder, err)
	}
	if len(all) >= maxWorkspaces {
		return Layer{}, fault.New(fault.LimitQuota, "the tenant has %d workspaces already", len(all)).WithHint("delete some")
	}
	w, err := c.Kept.Create(info)
	if err != nil {
		return Layer{}, c.hidden(folder, err)
	}
	return shown(w.Info()), w.Close()
}

// info reads what is known of a workspace.
func (c *Client) info(id string) (workspace.Info, error) {
	if config.IsWorkspaceID(id) {
		all, err := c.Kept.List()
		if err != nil {
			return workspace.Info{}, c.hidden(id, err)
		}
		if i := slices.IndexFunc(all, func(i workspace.Info) bool { return i.ID == id }); i >= 0 {
			return all[i], nil
		}
	}
	return workspace.Info{}, fault.New(fault.UsageWorkspace, "the workspace %.60q: %w", id, ErrUnknown)
}

// maxLine bounds the summary of a workspace in a list.
const maxLine = 200

// shown returns a workspace with tokens instead of personal data, and with at most some
// bytes of the first line of its summary, or all of it.
func (c *Client) shown(ctx context.Context, info workspace.Info, most int) (Layer, error) {
	w := shown(info)
	if w.Summary == "" {
		return w, nil
	}
	if most > 0 {
		line, _, _ := strings.Cut(w.Summary, "\n")
		w.Summary = text.Clip(line, most)
	}
	show, err := c.show(ctx, info.ID)
	if err != nil {
		return w, err
	}
	leave, err := c.Core(ctx)
	if err != nil {
		return w, err
	}
	defer leave()
	w.Summary, err = show(w.Summary)
	return w, err
}

// List returns the workspaces after a cursor, the newest first, and the next cursor.
func (c *Client) List(ctx context.Context, cursor string, limit int) (page []Layer, next string, err error) {
	all, err := c.Kept.List()
	if err != nil {
		return nil, "", c.hidden("list", err)
	}
	if cursor != "" {
		all = all[slices.IndexFunc(all, func(i workspace.Info) bool { return i.ID == cursor })+1:]
	}
	if len(all) > limit {
		all, next = all[:limit], all[limit-1].ID
	}
	page = []Layer{}
	for _, info := range all {
		w, err := c.shown(ctx, info, maxLine)
		if err != nil {
			return nil, "", err
		}
		page = append(page, w)
	}
	return page, next, nil
}

// Get returns a workspace.
func (c *Client) Get(ctx context.Context, id string) (Layer, error) {
	info, err := c.info(id)
	if err != nil {
		return Layer{}, err
	}
	return c.shown(ctx, info, 0)
}

// open opens a workspace that has not ended. Its folder must be the one that the tenant
// names now.
func (c *Client) open(id string) (*workspace.Workspace, error) {
	info, err := c.info(id)
	if err != nil {
		return nil, err
	}
	if info.State == workspace.Active {
		base, err := c.base(info.Folder)
		if err != nil {
			return nil, err
		}
		if base != info.Base {
			return nil, fault.New(fault.UsageWorkspace, "the folder %s of the tenant is another one than when the workspace %s was made", info.Folder, id).WithHint("reject or delete the workspace")
		}
		w, err := c.Kept.Open(id)
		if err != nil {
			return nil, c.hidden(id, err)
		}
		if info = w.Info(); info.State == workspace.Active {
			return w, nil
		}
		_ = w.Close() // what another process began is complete now
	}
	return nil, c.ended(info)
}

func (c *Client) ended(info workspace.Info) error {
	return fault.New(fault.UsageWorkspace, "the workspace %s is %s: %w", info.ID, info.State, ErrEnded)
}

// Lend opens a workspace for a run of the client's actor. The caller closes it.
func (c *Client) Lend(id string) (*workspace.Workspace, error) {
	if err := c.Check(id); err != nil {
		return nil, err
	}
	return c.open(id)
}

// Check returns why a run of the client's actor cannot use a workspace.
func (c *Client) Check(id string) error {
	info, err := c.info(id)
	switch {
	case err != nil:
		return err
	case info.Actor != c.Actor:
		return fault.New(fault.DeniedScope, "the workspace %s belongs to another actor", id).WithHint("make a workspace with the token that runs the program")
	case info.State != workspace.Active:
		return c.ended(info)
	}
	return nil
}

// mayDecide refuses an agent that accepts what its own programs did.
func (c *Client) mayDecide(info workspace.Info) error {
	if c.Agent && info.Actor == c.Actor {
		return fault.New(fault.DeniedScope, "an agent's token cannot accept its own workspace").WithHint("accept it with the token of a person")
	}
	return nil
}

// Accept makes the changes in the folder. Again it changes nothing.
func (c *Client) Accept(ctx context.Context, id string) (Layer, error) {
	info, err := c.info(id)
	if err == nil {
		err = c.mayDecide(info)
	}
	if err != nil || info.State == workspace.Accepted {
		return shown(info), err
	}
	w, err := c.open(id)
	if err != nil {
		return Layer{}, err
	}
	defer w.Close()
	if err := c.Accepted(ctx, shown(w.Info())); err != nil {
		return Layer{}, err
	}
	leave, err := c.Core(ctx)
	if err != nil {
		return Layer{}, err
	}
	defer leave()
	if _, err := w.Accept(ctx); err != nil {
		return Layer{}, c.hidden(id, err)
	}
	return c.shown(ctx, w.Info(), 0)
}

// Reject drops the changes. Again it changes nothing.
func (c *Client) Reject(ctx context.Context, id string) (Layer, error) {
	info, err := c.info(id)
	switch {
	case err != nil:
		return Layer{}, err
	case info.State == workspace.Accepted:
		return Layer{}, c.ended(info)
	case info.State == workspace.Active:
		if err := c.Kept.Reject(id); err != nil {
			return Layer{}, c.hidden(id, err)
		}
		info.State = workspace.Rejected
	}
	return c.shown(ctx, info, 0)
}

// Delete deletes a workspace with its changes.
func (c *Client) Delete(id string) error {
	if _, err := c.info(id); err != nil {
		return err
	}
	deleted, err := c.Kept.Delete(id)
	if err == nil && !deleted {
		err = workspace.ErrInUse
	}
	return c.hidden(id, err)
}
