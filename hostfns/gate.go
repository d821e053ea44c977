package hostfns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// gate is what a provider of one call, or the files of a run, ask before each
// further effect.
type gate struct {
	run  *Run
	call uint64
	tool string
}

func (g *gate) Network(ctx context.Context, req NetworkRequest) error {
	r := g.run
	if err := r.Err(); err != nil {
		return err
	}
	ask := policy.NetRequest{Host: req.Host, Method: req.Method, Port: req.Port}
	target := fmt.Sprintf("%s %s:%d", clean(req.Method, 20), clean(req.Host, 255), req.Port)
	if req.Address != "" {
		ip, err := netip.ParseAddr(req.Address)
		if err != nil {
			return &Failure{Code: fault.DeniedNetwork, Tool: g.tool, Message: "the address of the host cannot be read"}
		}
		ask.IP = ip
		target += " at " + ip.String()
	}
	d := r.table.policy.DecideNetwork(ask)
	if d.Effect == policy.Allow && req.Address != "" {
		return nil // the request itself is on record; an address alone is no further effect
	}
	record := &audit.Decision{Call: g.call, Kind: "network", Tool: g.tool, Target: target, Effect: d.Effect.String(), Rule: d.Rule,
		Writes: req.Method != "GET" && req.Method != "HEAD" && req.Method != "OPTIONS"}
	if d.Effect != policy.Allow {
		record.Code, record.Message = string(fault.DeniedNetwork), d.Message
	}
	if err := r.record(audit.Event{Decision: record}); err != nil {
		return err
	}
	if d.Effect == policy.Allow {
		return nil
	}
	message := fmt.Sprintf("%s %s is not allowed", clean(req.Method, 20), clean(req.Host, 255))
	if req.From != "" {
		message = fmt.Sprintf("a redirect to %s is not allowed", clean(req.Host, 255))
	}
	if d.Message != "" {
		message += ": " + d.Message
	}
	f := &Failure{Code: fault.DeniedNetwork, Tool: g.tool, Message: message, Rule: d.Rule,
		Hint: "a policy has to allow it under network, or a person with --allow-net " + flagHost(req)}
	switch {
	case d.Rule == "":
	case d.Rule == "command line" && strings.HasPrefix(d.Message, "no rule allows"):
		f.Hint = "--allow-net " + flagHost(req) + " allows it, or a policy file does"
	default:
		f.Hint = "decided by " + d.Rule
	}
	return f
}

// flagHost is the host of a request as --allow-net takes it: with its port where
// that is none of those that go without saying.
func flagHost(req NetworkRequest) string {
	host := clean(req.Host, 255)
	if req.Port == 80 || req.Port == 443 || req.Port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(req.Port))
}

func (g *gate) File(ctx context.Context, req FileRequest) error {
	r := g.run
	if err := r.Err(); err != nil {
		return err
	}
	if req.Import {
		d := r.table.policy.DecideFile(policy.FileRequest{Path: req.Path, Import: true})
		if d.Effect == policy.Allow {
			return nil
		}
		return &Failure{Code: fault.DeniedFile, Message: clean(req.Guest, 500) + " may not be imported: " + d.Message, Rule: d.Rule}
	}
	r.cacheable(0) // what stands in a file now may not stand there later
	if r.table.recording != nil {
		return &Failure{Code: fault.DeniedFile, Message: "a replay has no files of the host"}
	}
	d := r.table.policy.DecideFile(policy.FileRequest{Path: req.Path, Write: req.Write})
	verb := "read "
	if req.Write {
		verb = "write "
	}
	record := &audit.Decision{Call: g.call, Kind: "file", Tool: g.tool, Target: verb + clean(req.Path, 4096), Effect: d.Effect.String(),
		Rule: d.Rule, Writes: req.Write}
	if d.Effect != policy.Allow {
		record.Code, record.Message = string(fault.DeniedFile), d.Message
	}
	if !req.Look {
		if err := r.record(audit.Event{Decision: record}); err != nil {
			return err
		}
	}
	if d.Effect == policy.Allow {
		return nil
	}
	message := fmt.Sprintf("%s may not be %s", clean(req.Guest, 500), map[bool]string{true: "written", false: "read"}[req.Write])
	if d.Message != "" {
		message += ": " + d.Message
	}
	return &Failure{Code: fault.DeniedFile, Message: message, Rule: d.Rule}
}

func (g *gate) Count(n int64) error { return g.run.spend(n) }

func (g *gate) Lifetime() context.Context { return g.run.ctx }

func (g *gate) HostSecrets(ctx context.Context, host string) ([]Secret, error) {
	return g.run.table.hostSecrets(ctx, host)
}

// ServerSecrets gives the secrets for a server, for the one who starts it: as
// "env:NAME" they belong into its environment, as "header:NAME: TEXT" into the
// headers of its requests.
func (t *Table) ServerSecrets(ctx context.Context, server string) ([]Secret, error) {
	return t.secretsFor(ctx, func(s policy.Secret) bool {
		for _, to := range s.To {
			if name, ok := strings.CutPrefix(to, "server:"); ok && name == server {
				return true
			}
		}
		return false
	})
}

func (t *Table) hostSecrets(ctx context.Context, host string) ([]Secret, error) {
	return t.secretsFor(ctx, func(s policy.Secret) bool {
		for _, to := range s.To {
			if pattern, ok := strings.CutPrefix(to, "host:"); ok && matchHost(pattern, host) {
				return true
			}
		}
		return false
	})
}

// argumentSecrets are the secrets that go into the arguments of a tool.
func (t *Table) argumentSecrets(ctx context.Context, tool string) ([]Secret, error) {
	return t.secretsFor(ctx, func(s policy.Secret) bool {
		if !strings.HasPrefix(s.As, "arg:") {
			return false
		}
		for _, to := range s.To {
			if strings.HasPrefix(to, "server:") || strings.HasPrefix(to, "host:") {
				continue
			}
			if g, err := policy.ParseGlob(to); err == nil && g.Match(tool) {
				return true
			}
		}
		return false
	})
}

// secretsFor reads the values of the secrets that are meant.
func (t *Table) secretsFor(ctx context.Context, meant func(policy.Secret) bool) ([]Secret, error) {
	if t.policy == nil {
		return nil, nil
	}
	var out []Secret
	for _, s := range t.policy.Secrets() {
		if !meant(s) {
			continue
		}
		if t.options.Secrets == nil {
			return nil, &Failure{Code: fault.ToolFailed, Message: "the secret " + s.Name + " is not at hand here", Rule: s.Rule}
		}
		value, err := t.options.Secrets(ctx, s.From)
		if err != nil {
			t.log().Error("a secret cannot be read", "name", s.Name, "from", s.From, "error", err)
			return nil, &Failure{Code: fault.ToolFailed, Message: "the secret " + s.Name + " cannot be read", Rule: s.Rule,
				Hint: "look at where the policy has it from"}
		}
		out = append(out, Secret{Name: s.Name, As: s.As, Value: value})
	}
	return out, nil
}

// matchHost fits a host to the pattern of a secret: the host itself, or
// *.example.org for the names below it. Nothing looser gets a secret.
func matchHost(pattern, host string) bool {
	pattern, host = strings.ToLower(pattern), strings.ToLower(strings.TrimSuffix(host, "."))
	if below, ok := strings.CutPrefix(pattern, "*."); ok {
		return below != "" && strings.HasSuffix(host, "."+below)
	}
	return pattern != "" && pattern == host
}
