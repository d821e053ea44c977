package config

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
)

// Anchor says where heads of the audit log are kept outside its folder: in a file,
// by a command, or by a tool of a server. The zero value keeps none.
type Anchor struct {
	File     string
	Command  []string
	Tool     string // such as notary.keep
	Every    time.Duration
	Records  int
	Required bool // nothing runs while the anchor fails
}

// String returns the kind of the anchor and where it is, or "".
func (a Anchor) String() string {
	switch {
	case a.File != "":
		return "file " + a.File
	case len(a.Command) > 0:
		return "command " + strings.Join(a.Command, " ")
	case a.Tool != "":
		return "tool " + a.Tool
	}
	return ""
}

// anchoring returns what keeps the heads of the log in a folder. It keeps none if
// there is no anchor.
func (a Anchor) anchoring(dir string, servers *upstream.Provider, logger *slog.Logger) (audit.Anchoring, error) {
	anchor, err := a.open(dir, servers)
	out := audit.Anchoring{Anchor: anchor, Every: a.Every, Records: a.Records, Required: a.Required}
	if logger != nil {
		out.Failed = func(err error) {
			logger.Warn("the head of the audit log is not kept: a rollback of its folder would not be noticed", "error", err, "anchor", a.String())
		}
	}
	return out, err
}

// open returns what keeps heads, or nil.
func (a Anchor) open(dir string, servers *upstream.Provider) (audit.Anchor, error) {
	n := 0
	for _, set := range []bool{a.File != "", len(a.Command) > 0, a.Tool != ""} {
		if set {
			n++
		}
	}
	switch {
	case n > 1:
		return nil, fault.New(fault.UsageConfig, "audit.anchor has more than one of file, command and tool")
	case a.File != "":
		if rel, err := filepath.Rel(dir, a.File); err == nil && filepath.IsLocal(rel) {
			return nil, fault.New(fault.UsageConfig, "audit.anchor: %s is in the folder that it guards", a.File).
				WithHint("set a file on another disk")
		}
		return audit.FileAnchor(a.File), nil
	case len(a.Command) > 0:
		return audit.CommandAnchor(a.Command), nil
	case a.Tool != "":
		t, ok := toolAnchor{servers: servers}, false
		for _, server := range servers.Servers() { // the longest name wins, since a name can have dots
			if tool, found := strings.CutPrefix(a.Tool, server+"."); found && len(server) > len(t.server) {
				t.server, t.tool, ok = server, tool, true
			}
		}
		if !ok {
			return nil, fault.New(fault.UsageConfig, "audit.anchor: no server has the tool %s", a.Tool).WithHint("write server.tool with a configured server")
		}
		return t, nil
	}
	return nil, nil
}

// toolAnchor keeps heads by a tool of a server. It calls the tool with {"head": …}
// to keep a head, and with {} to get those that it has.
type toolAnchor struct {
	servers      *upstream.Provider
	server, tool string
}

// Keep implements audit.Anchor.
func (t toolAnchor) Keep(ctx context.Context, head []byte) error {
	args, err := json.Marshal(map[string]json.RawMessage{"head": head})
	if err != nil {
		return err
	}
	_, err = t.call(ctx, args)
	return err
}

// Heads implements audit.Anchor.
func (t toolAnchor) Heads(ctx context.Context) ([]byte, error) {
	a, err := t.call(ctx, []byte("{}"))
	if err != nil {
		return nil, err
	}
	if a.Kind != hostfns.JSON && a.Kind != hostfns.Text {
		return nil, fmt.Errorf("the tool %s.%s answers neither text nor JSON", t.server, t.tool)
	}
	if bytes.Equal(a.Data, []byte("null")) {
		return nil, nil
	}
	return a.Data, nil
}

func (t toolAnchor) call(ctx context.Context, args []byte) (hostfns.Answer, error) {
	return t.servers.Call(ctx, hostfns.Call{Server: t.server, Tool: t.tool, Args: args, Progress: func(float64, float64, string) {}})
}
