package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/privacy"
)

// envName is one entry of the env block.
type envName struct {
	pattern string
	where   string
	pos     position
}

// piiRules is the pii block of one policy.
type piiRules struct {
	config   privacy.Config
	kinds    bool // the block says which kinds are looked for
	revealTo []Glob
	reveals  bool // the block has reveal_to
	tools    []ToolMode

	revealAt, toolsAt []position // where each stands
}

// Limits is what the policy says about a run's limits: zero where no file says
// anything. See [Limits.Tighten] for what holds with a request.
func (p *Policy) Limits() Limits {
	var l Limits
	for _, one := range p.list() {
		l = l.Tighten(one.limits)
	}
	return l
}

// list makes the nil policy one without layers.
func (p *Policy) list() []*layer {
	if p == nil {
		return nil
	}
	return p.layers
}

// Languages lists the languages programs may be written in, sorted, or nil
// where no file says anything: then all.
func (p *Policy) Languages() []string {
	var out []string
	said := false
	for _, l := range p.list() {
		switch {
		case !l.hasLanguages:
		case !said:
			out, said = slices.Clone(l.languages), true
		default:
			out = slices.DeleteFunc(out, func(s string) bool { return !slices.Contains(l.languages, s) })
		}
	}
	if said && out == nil {
		out = []string{}
	}
	slices.Sort(out)
	return out
}

// DecideLanguage says whether programs may be written in a language.
func (p *Policy) DecideLanguage(language string) Decision {
	for _, l := range p.list() {
		if l.hasLanguages && !slices.Contains(l.languages, language) {
			why := "the policies together let programs be written in no language"
			if all := p.Languages(); len(all) > 0 {
				why = "the policy lets programs be written in " + strings.Join(all, ", ") + " only"
			}
			return Decision{Rule: l.file, Message: why}
		}
	}
	return Decision{Effect: Allow}
}

// Files is what the policy says about files: the roots of the lowest layer that
// names any, and every denial. [Policy.DecideFile] decides each one.
func (p *Policy) Files() Files {
	var f Files
	drawn := false
	for _, l := range p.list() {
		if l.files == nil {
			continue
		}
		drawn = drawn || l.files.drawn
		for _, d := range l.files.deny {
			f.Deny = append(f.Deny, d.text)
		}
		if l.files.drawn || (l.origin == FromCLI && !drawn) {
			f.Read, f.Write = roots(l.files.read), roots(l.files.write)
		}
	}
	return f
}

func roots(list []filePattern) []Root {
	var out []Root
	for _, p := range list {
		if !p.relative {
			out = append(out, Root{Path: p.root, Pattern: p.text})
		}
	}
	return out
}

// Network lists the entries about the network, of every layer that may speak.
// [Policy.DecideNetwork] decides each request.
func (p *Policy) Network() Network {
	var n Network
	drawn := false
	for _, l := range p.list() {
		if l.network == nil {
			continue
		}
		drawn = drawn || l.network.drawn
		n.Deny = append(n.Deny, l.network.deny...)
		if l.origin != FromCLI || !drawn {
			n.Allow = append(n.Allow, l.network.allow...)
		}
	}
	return n
}

// Env lists the names of environment variables that programs may see, with *
// for any run of characters. Where several files have a list,
// [Policy.AllowsEnv] asks all of them.
func (p *Policy) Env() []string {
	var out []string
	for _, l := range p.list() {
		if l.hasEnv {
			out = nil
			for _, e := range l.env {
				out = append(out, e.pattern)
			}
		}
	}
	return out
}

// AllowsEnv reports whether programs may see an environment variable.
func (p *Policy) AllowsEnv(name string) bool {
	said := false
	for _, l := range p.list() {
		if !l.hasEnv {
			continue
		}
		if !slices.ContainsFunc(l.env, func(e envName) bool { return wild(e.pattern, name) }) {
			return false
		}
		said = true
	}
	return said
}

// Secrets lists the secrets of every layer. Of two with one name the higher
// layer's stays.
func (p *Policy) Secrets() []Secret {
	var out []Secret
	for _, l := range p.list() {
		for _, s := range l.secrets {
			if !slices.ContainsFunc(out, func(o Secret) bool { return o.Name == s.Name }) {
				out = append(out, s)
			}
		}
	}
	return out
}

var modeOrder = []privacy.Mode{privacy.Off, privacy.Detect, privacy.Partial, privacy.Tokenize, privacy.Redact, privacy.Block}

// modeRank orders modes from the loosest to the strictest.
func modeRank(m privacy.Mode) int {
	if m == "" {
		m = privacy.Tokenize
	}
	return slices.Index(modeOrder, m)
}

// PII is what holds for personal data: the strictest of all files, or
// tokenising the sure kinds where none says anything. Flags switch it off only
// then.
func (p *Policy) PII() PII {
	var out PII
	said := false
	for _, l := range p.list() {
		if l.pii == nil {
			continue
		}
		if l.origin == FromCLI {
			if !said {
				return PII{Config: l.pii.config}
			}
			continue
		}
		if l.pii.reveals {
			out.reveal = append(out.reveal, l.pii.revealTo)
			out.RevealTo = l.pii.revealTo
		}
		out.Tools = append(out.Tools, l.pii.tools...)
		c := l.pii.config
		if !l.pii.kinds {
			c.Detect = privacy.Sure()
		}
		if said {
			c = strictest(out.Config, c)
		}
		out.Config, said = c, true
	}
	if !said {
		out.Config = privacy.Config{Mode: privacy.Tokenize, Detect: privacy.Sure()}
	}
	if out.Mode == "" {
		out.Mode = privacy.Tokenize
	}
	return out
}

// strictest puts two configurations together so that neither loosens the other.
func strictest(a, b privacy.Config) privacy.Config {
	out := privacy.Config{
		Mode:     a.Mode,
		Detect:   union(a.Detect, b.Detect),
		Level:    a.Level,
		Regions:  union(a.Regions, b.Regions),
		Patterns: map[string]string{},
		Lists:    map[string][]string{},
		Fields:   privacy.Fields{Never: both(a.Fields.Never, b.Fields.Never), Always: union(a.Fields.Always, b.Fields.Always)},
		Ignore:   both(a.Ignore, b.Ignore),
		Modes:    map[string]privacy.Mode{},
	}
	if modeRank(b.Mode) > modeRank(a.Mode) {
		out.Mode = b.Mode
	}
	if levelRank(b.Level) > levelRank(a.Level) {
		out.Level = b.Level
	}
	if len(a.Detect) == 0 || len(b.Detect) == 0 {
		out.Detect = nil // none means all
	}
	for _, c := range []privacy.Config{b, a} {
		for name, pattern := range c.Patterns {
			out.Patterns[name] = pattern
		}
		for kind, words := range c.Lists {
			out.Lists[kind] = union(out.Lists[kind], words)
		}
		for field, mode := range c.Modes {
			if old, ok := out.Modes[field]; !ok || modeRank(mode) > modeRank(old) {
				out.Modes[field] = mode
			}
		}
	}
	return out
}

func levelRank(level string) int {
	switch level {
	case privacy.Strict:
		return 2
	case privacy.Relaxed:
		return 0
	}
	return 1
}

func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func both[T comparable](a, b []T) []T {
	var out []T
	for _, v := range a {
		if slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}

// Approvals is how people are asked: by the ways that all files name, for the
// shortest of their times, remembered for the shortest.
func (p *Policy) Approvals() Approvals {
	var out Approvals
	order := []string{"never", "run", "session"}
	for _, l := range p.list() {
		a := l.approvals
		if a.Via != nil {
			if out.Via == nil {
				out.Via = slices.Clone(a.Via)
			} else if out.Via = both(out.Via, a.Via); out.Via == nil {
				out.Via = []string{}
			}
		}
		if a.Timeout > 0 && (out.Timeout == 0 || a.Timeout < out.Timeout) {
			out.Timeout = a.Timeout
		}
		if a.Remember != "" && (out.Remember == "" || slices.Index(order, a.Remember) < slices.Index(order, out.Remember)) {
			out.Remember = a.Remember
		}
	}
	if out.Via == nil {
		out.Via = []string{"terminal", "mcp"}
	}
	if out.Timeout == 0 {
		out.Timeout = 10 * time.Minute
	}
	if out.Remember == "" {
		out.Remember = "never"
	}
	return out
}

// Audit is how much of a run is kept: what the highest file says, for each
// part; digests where none says anything.
func (p *Policy) Audit() Audit {
	var out Audit
	for _, l := range p.list() {
		out.Code = first(out.Code, l.audit.Code)
		out.Inputs = first(out.Inputs, l.audit.Inputs)
		out.Outputs = first(out.Outputs, l.audit.Outputs)
	}
	return Audit{first(out.Code, DetailHash), first(out.Inputs, DetailHash), first(out.Outputs, DetailHash)}
}

func first(a, b Detail) Detail {
	if a != "" {
		return a
	}
	return b
}

// Tests lists the cases of every layer.
func (p *Policy) Tests() []Test {
	var out []Test
	for _, l := range p.list() {
		out = append(out, l.tests...)
	}
	return out
}

// Name is what the policy calls itself; of several, the lowest that has a name.
func (p *Policy) Name() string {
	name := ""
	for _, l := range p.list() {
		if l.name != "" {
			name = l.name
		}
	}
	return name
}

// Digest is a SHA-256 over the effective policy, in hex. The nil policy has the
// empty digest.
func (p *Policy) Digest() string {
	if p == nil {
		return ""
	}
	return p.digest
}
