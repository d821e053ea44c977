package policy

import (
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
)

// Flags is what a command line says about what a program may do. The zero
// value says nothing.
type Flags struct {
	AllowTool, DenyTool []string // patterns over server.tool
	AllowNet            []string // HOST or HOST:PORT
	AllowRead           []string // absolute paths; a folder counts with everything below it
	AllowWrite          []string
	NoPII               bool // personal data is left as it is
}

// FromFlags makes a policy of flags, for [Layer] under the origin FromCLI.
// Flags that say nothing make the nil policy. All that is wrong is told at
// once, as usage.flag.
func FromFlags(f Flags) (*Policy, error) {
	if len(f.AllowTool)+len(f.DenyTool)+len(f.AllowNet)+len(f.AllowRead)+len(f.AllowWrite) == 0 && !f.NoPII {
		return nil, nil
	}
	var wrong []string
	fail := func(flag string, err error) {
		line := flag + ": " + err.Error()
		if hint := fault.HintOf(err); hint != "" {
			line += " (" + hint + ")"
		}
		wrong = append(wrong, line)
	}
	source, _ := json.Marshal(f)
	l := &layer{file: "command line", origin: FromCLI, source: string(source)}
	tools := func(effect Effect, flag string, patterns []string) {
		for _, text := range patterns {
			g, err := parseToolGlob(text)
			if err != nil {
				fail(flag, err)
				continue
			}
			if effect == Deny {
				g = g.everySplit()
			}
			l.rules = append(l.rules, rule{effect: effect, tool: g, where: flag + " " + clip(text), limitless: true})
		}
	}
	tools(Deny, "--deny-tool", f.DenyTool)
	tools(Allow, "--allow-tool", f.AllowTool)
	l.index = newIndex(l.rules)
	if len(f.AllowNet) > 0 {
		l.network = &netRules{}
	}
	for _, text := range f.AllowNet {
		r, err := parseAllowNet(text)
		if err != nil {
			fail("--allow-net", err)
			continue
		}
		l.network.allow = append(l.network.allow, r)
	}
	if len(f.AllowRead)+len(f.AllowWrite) > 0 {
		l.files = &fileRules{}
	}
	paths := func(flag string, list []string) []filePattern {
		var out []filePattern
		for _, text := range list {
			if !filepath.IsAbs(text) {
				fail(flag, fault.New(fault.UsageFlag, "%q is not an absolute path", clip(text)))
				continue
			}
			p, err := parseFilePattern(text, "", "")
			if err != nil {
				fail(flag, err)
				continue
			}
			p.where = flag + " " + clip(text)
			out = append(out, p)
		}
		return out
	}
	if l.files != nil {
		l.files.read = paths("--allow-read", f.AllowRead)
		l.files.write = paths("--allow-write", f.AllowWrite)
	}
	if f.NoPII {
		l.pii = &piiRules{config: privacy.Config{Mode: privacy.Off}}
	}
	if wrong != nil {
		return nil, fault.New(fault.UsageFlag, "%s", strings.Join(wrong, "\n"))
	}
	return newPolicy([]*layer{l}), nil
}

// parseAllowNet reads HOST, HOST:PORT or an address with or without one.
func parseAllowNet(text string) (NetRule, error) {
	host, port := text, ""
	if h, p, err := net.SplitHostPort(text); err == nil && !strings.Contains(text, "://") {
		host, port = h, p
	}
	r, err := newNetRule(host, "--allow-net "+clip(text))
	if err != nil {
		return r, err
	}
	if port != "" {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return r, fault.New(fault.UsageFlag, "%q is not a port", clip(port))
		}
		r.Ports = []int{n}
	}
	return r, nil
}

// parseToolGlob reads a pattern over tools, and refuses one that no tool can
// fit.
func parseToolGlob(text string) (Glob, error) {
	g, err := ParseGlob(text)
	if err != nil {
		return g, err
	}
	for _, a := range g.alts {
		if !strings.Contains(a.prefix+a.rest, ".") && !strings.ContainsAny(a.rest, "*?") {
			return g, fault.New(fault.UsagePolicy, "%q fits no tool, since tools are called server.tool", clip(text)).
				WithHint("write %s", fmt.Sprintf("%s.* for all tools of a server", a.prefix))
		}
	}
	return g, nil
}
