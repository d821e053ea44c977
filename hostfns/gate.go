package hostfns

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/policy"
)

// gate is the [Gate] of one call, or of the files of a run.
type gate struct {
	run  *Run
	call uint64
	tool string

	of       featurer        // the call; nil: the gate of the files
	files    featurer        // asks about files; nil: the call does
	ctx      context.Context // of the call
	asking   sync.Mutex      // one request of the server at a time
	features int             // requests so far

	counted atomic.Int64           // bytes
	once    atomic.Pointer[string] // the host that a person allowed last
}

// featurer passes requests of a server to the client, and questions to a person.
type featurer interface {
	askAbout(ctx context.Context, d policy.Decision, g *Grant, args map[string]any) error
	feature(ctx context.Context, f policy.Feature, params json.RawMessage) (json.RawMessage, error)
	permit(ctx context.Context, f policy.Feature, shown json.RawMessage) error
	shownParams(params json.RawMessage) (json.RawMessage, error)
}

func (g *gate) Feature(ctx context.Context, f policy.Feature, params json.RawMessage) (json.RawMessage, error) {
	if g.of == nil {
		return nil, ErrNobody
	}
	g.asking.Lock()
	defer g.asking.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(context.Cause(g.ctx)) })()
	if err := cmp.Or(g.run.Err(), g.ctx.Err()); err != nil {
		return nil, err
	}
	g.features++
	return g.of.feature(ctx, f, params)
}

func (g *gate) Permit(ctx context.Context, f policy.Feature, use json.RawMessage) error {
	if g.of == nil {
		return ErrNobody
	}
	if err := cmp.Or(g.run.Err(), g.ctx.Err()); err != nil {
		return err
	}
	if use != nil {
		var err error
		if use, err = g.of.shownParams(use); err != nil {
			return &Failure{Code: fault.ToolFailed, Tool: g.tool, Message: err.Error()}
		}
	}
	return g.of.permit(ctx, f, use)
}

func (g *gate) Network(ctx context.Context, req NetworkRequest) error {
	r := g.run
	if err := r.Err(); err != nil {
		return err
	}
	method, host := clean(req.Method, 20), clean(req.Host, 255)
	ask := policy.NetRequest{Host: req.Host, Method: req.Method, Port: req.Port}
	target := fmt.Sprintf("%s %s:%d", method, host, req.Port)
	if req.Address != "" {
		ip, err := netip.ParseAddr(req.Address)
		if err != nil {
			return &Failure{Code: fault.DeniedNetwork, Tool: g.tool, Message: "the address of the host is not an IP address"}
		}
		ask.IP = ip
		target += " at " + ip.String()
	}
	d := r.table.effective().DecideNetwork(ask)
	out := r.risk.Reach != policy.ReachPolicy
	if out {
		d = policy.Decision{Rule: r.risk.ReachRule, Message: "programs of the level " + r.info.Review.Level + " reach no host"}
	}
	if d.Effect != policy.Allow && !out {
		approved, err := g.approved(ctx, ask, d)
		if err != nil {
			return err
		}
		if approved {
			d = policy.Decision{Effect: policy.Allow, Rule: "a person"}
		}
	}
	if d.Effect == policy.Allow && req.Address != "" {
		return nil // the request was recorded before its name was resolved
	}
	record := &audit.Decision{Call: g.call, Kind: "network", Tool: g.tool, Target: r.shown(target, 1000), Effect: d.Effect.String(), Rule: d.Rule,
		Writes: req.Method != "GET" && req.Method != "HEAD" && req.Method != "OPTIONS"}
	if d.Effect != policy.Allow {
		record.Code, record.Message = string(fault.DeniedNetwork), r.shown(d.Message, maxMessage)
	}
	if err := r.record(audit.Event{Decision: record}); err != nil {
		return err
	}
	if d.Effect == policy.Allow {
		return nil
	}
	message := method + " " + host + " is not allowed"
	if req.From != "" {
		message = "a redirect to " + host + " is not allowed"
	}
	entry := host
	if !defaultPort(req.Port) {
		if strings.Contains(host, ":") {
			host = strconv.Quote(host)
		}
		entry = fmt.Sprintf("{host: %s, ports: [%d]}", host, req.Port)
	}
	return &Failure{Code: fault.DeniedNetwork, Tool: g.tool, Message: because(message, d.Message), Rule: d.Rule, Hint: advice(d, entry, "network.allow")}
}

// approved asks a person at the terminal about a host that no rule allows. The
// addresses of a host that was allowed are decided as those of --allow-net.
func (g *gate) approved(ctx context.Context, req policy.NetRequest, d policy.Decision) (bool, error) {
	r := g.run
	if g.of == nil || !r.canGrant() {
		return false, nil
	}
	files, ok := r.table.effective().LacksHost(req)
	if !ok {
		return false, nil
	}
	grant := &Grant{Kind: "network", Name: clean(req.Host, 255), Port: req.Port, Files: files}
	flags, err := policy.FromFlags(policy.Flags{AllowNet: []string{flagHost(grant.Name, grant.Port)}})
	if err != nil || flags.DecideNetwork(req).Effect != policy.Allow {
		return false, nil
	}
	if once := g.once.Load(); req.IP.IsValid() {
		return once != nil && *once == grant.key() || r.session.isApproved(grant.key()), nil
	}
	d.Message = req.Method + " " + flagHost(grant.Name, grant.Port) + ": no rule allows the host"
	err = g.of.askAbout(ctx, d, grant, map[string]any{"host": grant.Name, "port": grant.Port})
	if failureIn(err) != nil {
		return false, nil // the gate records the denial
	}
	if err == nil {
		key := grant.key()
		g.once.Store(&key)
	}
	return err == nil, err
}

// advice returns the hint of a denial: to add an entry to a list of the policy if
// only that is missing, or else the rule that decided. The command adds the flag
// that does the same.
func advice(d policy.Decision, entry, list string) string {
	lacks := strings.HasPrefix(d.Message, "no rule allows")
	switch {
	case d.Rule == "" || lacks && d.Rule == policy.CommandLine:
		return fmt.Sprintf("allow %s in the policy under %s", entry, list)
	case lacks:
		return fmt.Sprintf("allow %s in %s under %s", entry, d.Rule, list)
	}
	return "decided by " + d.Rule
}

// because adds a reason to a message.
func because(message, reason string) string {
	if reason == "" {
		return message
	}
	return message + ": " + reason
}

// flagHost returns a host as --allow-net takes it: with its port, unless that is
// a default.
func flagHost(host string, port int) string {
	if defaultPort(port) {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

func defaultPort(port int) bool { return port == 80 || port == 443 || port == 0 }

// key is the key of an approval for the run.
func (g *Grant) key() string {
	if g.Kind != "file" {
		return "grant\x00" + g.Kind + "\x00" + flagHost(g.Name, g.Port)
	}
	key := "grant\x00" + g.verb() + "\x00" + g.Name
	if g.Folder {
		key += string(filepath.Separator)
	}
	return key
}

// verb is what a program does with a file.
func (g *Grant) verb() string {
	if g.Write {
		return "write"
	}
	return "read"
}

func (g *gate) File(ctx context.Context, req FileRequest) error {
	r := g.run
	if err := r.Err(); err != nil {
		return err
	}
	guest := clean(req.Guest, 500)
	if req.Import {
		d := r.table.effective().DecideFile(policy.FileRequest{Path: req.Path, Import: true})
		if d.Effect == policy.Allow {
			return nil
		}
		return &Failure{Code: fault.DeniedFile, Message: because(guest+" may not be imported", d.Message), Rule: d.Rule}
	}
	r.cacheable(0) // the file may change
	d := r.table.effective().DecideFile(policy.FileRequest{Path: req.Path, Write: req.Write, Import: req.Workspace})
	if req.Workspace && d.Effect == policy.Allow {
		d.Rule = "the workspace"
	}
	if d.Effect != policy.Allow && !req.Workspace {
		approved, err := g.approvedFile(ctx, req, d)
		if err != nil {
			return err
		}
		if approved {
			d = policy.Decision{Effect: policy.Allow, Rule: "a person"}
		}
	}
	verb, done := "read ", "read"
	if req.Write {
		verb, done = "write ", "written"
	}
	if !req.Look {
		record := &audit.Decision{Call: g.call, Kind: "file", Tool: g.tool, Target: verb + r.shown(req.Path, 4096), Effect: d.Effect.String(),
			Rule: d.Rule, Writes: req.Write}
		if d.Effect != policy.Allow {
			record.Code, record.Message = string(fault.DeniedFile), r.shown(d.Message, maxMessage)
		}
		if err := r.record(audit.Event{Decision: record}); err != nil {
			return err
		}
	}
	if d.Effect == policy.Allow {
		return nil
	}
	return &Failure{Code: fault.DeniedFile, Message: because(guest+" may not be "+done, d.Message), Rule: d.Rule}
}

// approvedFile asks a person at the terminal about a file that no rule allows,
// unless the program only looks whether it exists.
func (g *gate) approvedFile(ctx context.Context, req FileRequest, d policy.Decision) (bool, error) {
	r := g.run
	if !r.canGrant() {
		return false, nil
	}
	files, ok := r.table.effective().LacksFile(policy.FileRequest{Path: req.Path, Write: req.Write})
	if !ok {
		return false, nil
	}
	grant := &Grant{Kind: "file", Name: req.Path, Write: req.Write, Folder: req.Folder, Files: files}
	for at := *grant; ; at.Name, at.Folder = filepath.Dir(at.Name), true {
		if r.session.isApproved(at.key()) {
			return true, nil
		}
		if filepath.Dir(at.Name) == at.Name {
			break
		}
	}
	if req.Look {
		return false, nil
	}
	args := map[string]any{"path": req.Path}
	if grant.Folder {
		args["folder"] = "with everything in it"
	}
	var err error
	if g.files == nil {
		err = g.of.askAbout(ctx, d, grant, args)
	} else {
		r.waitForPerson(func() { err = g.files.askAbout(ctx, d, grant, args) })
	}
	if failureIn(err) != nil {
		return false, nil // the gate records the denial
	}
	return err == nil, err
}

func (g *gate) Count(n int64) error {
	g.counted.Add(max(n, 0))
	return g.run.spend(n)
}

func (g *gate) Arriving(n int64) bool {
	return g.run.arriving.Add(n)+g.run.bytes.Load() <= g.run.limits.HostBytes
}

func (g *gate) Lifetime() context.Context { return g.run.ctx }

func (g *gate) HostSecrets(ctx context.Context, host string) ([]Secret, error) {
	return g.run.table.hostSecrets(ctx, host)
}

// argumentPrefix marks a secret that fills an argument of a tool.
const argumentPrefix = "arg:"

// ServerSecrets returns the secrets for starting a server: those as "env:NAME"
// belong in its environment, those as "header:NAME: TEXT" in the headers of
// requests to it.
func (t *Table) ServerSecrets(ctx context.Context, server string) ([]Secret, error) {
	return t.secrets(ctx, func(s policy.Secret) bool { return slices.Contains(s.To, "server:"+server) })
}

func (t *Table) hostSecrets(ctx context.Context, host string) ([]Secret, error) {
	return t.secrets(ctx, func(s policy.Secret) bool {
		return slices.ContainsFunc(s.To, func(to string) bool {
			pattern, ok := strings.CutPrefix(to, "host:")
			return ok && matchHost(pattern, host)
		})
	})
}

// argumentSecrets returns the secrets that fill arguments of a tool.
func (t *Table) argumentSecrets(ctx context.Context, tool string) ([]Secret, error) {
	return t.secrets(ctx, func(s policy.Secret) bool { return fillsArgument(s, tool) })
}

// fillsArgument reports whether a secret fills an argument of a tool.
func fillsArgument(s policy.Secret, tool string) bool {
	return strings.HasPrefix(s.As, argumentPrefix) && slices.ContainsFunc(s.To, func(to string) bool {
		if strings.HasPrefix(to, "server:") || strings.HasPrefix(to, "host:") {
			return false
		}
		g, err := policy.ParseGlob(to)
		return err == nil && g.Match(tool)
	})
}

// argument returns the name of the argument that a secret fills.
func (s Secret) argument() string { return strings.TrimPrefix(s.As, argumentPrefix) }

// secrets reads the values of the secrets that are chosen.
func (t *Table) secrets(ctx context.Context, chosen func(policy.Secret) bool) ([]Secret, error) {
	if t.policy == nil {
		return nil, nil
	}
	var out []Secret
	for _, s := range t.policy.Secrets() {
		if !chosen(s) {
			continue
		}
		if t.options.Secrets == nil {
			return nil, &Failure{Code: fault.ToolFailed, Message: "secret " + s.Name + " is not available: the host reads no secrets", Rule: s.Rule}
		}
		value, err := t.options.Secrets(ctx, s.From)
		if err != nil {
			t.log().Error("read a secret", "name", s.Name, "from", s.From, "error", err)
			return nil, &Failure{Code: fault.ToolFailed, Message: "secret " + s.Name + " cannot be read", Rule: s.Rule,
				Hint: "check its from in the policy"}
		}
		if !t.given.Add(s.Name, value) {
			return nil, &Failure{Code: fault.ToolFailed, Rule: s.Rule, Hint: "use a secret of another length",
				Message: fmt.Sprintf("secret %s must have %d to %d bytes, so that it can be removed from answers", s.Name, scrub.Shortest, scrub.Longest)}
		}
		out = append(out, Secret{Name: s.Name, As: s.As, Value: value})
	}
	return out, nil
}

// matchHost reports whether a host gets a secret: the pattern is the host, or
// *.example.org for the names below it.
func matchHost(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, "."))
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return below != "" && strings.HasSuffix(host, "."+below)
	}
	return pattern != "" && pattern == host
}

// scrub removes the secrets that the table gave away from an answer.
func (t *Table) scrub(a *Answer) {
	if t.given.Empty() {
		return
	}
	if data := t.given.Bytes(a.Data); !bytes.Equal(data, a.Data) {
		a.Data, a.Checked = data, false
	}
	if a.Body != nil {
		a.Body = scrubbed{t.given.Reader(a.Body), a.Body}
	}
}

// scrubbed is a body without secrets.
type scrubbed struct {
	io.Reader
	io.Closer
}
