package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/privacy"
)

// Name returns the name of the policy; of several, that of the lowest layer that
// has one.
func (p *Policy) Name() string {
	name := ""
	for _, l := range p.all() {
		name = cmp.Or(l.name, name)
	}
	return name
}

// Limits returns the policy's limits on a run; a limit that no file sets is
// zero. See [Limits.Tighten] for the limits of a run with a request.
func (p *Policy) Limits() Limits {
	var out Limits
	for _, l := range p.all() {
		out = out.Tighten(l.limits)
	}
	return out
}

// Languages returns the languages in which programs may be written, sorted. It
// returns nil if no file says anything: then all.
func (p *Policy) Languages() []string {
	var out []string
	said := false
	for _, l := range p.all() {
		switch {
		case !l.hasLanguages:
		case !said:
			out, said = slices.Clone(l.languages), true
		default:
			out = intersect(out, l.languages)
		}
	}
	if said && out == nil {
		out = []string{}
	}
	slices.Sort(out)
	return out
}

// DecideLanguage decides whether programs may be written in a language.
func (p *Policy) DecideLanguage(language string) Decision {
	for _, l := range p.all() {
		if !l.hasLanguages || slices.Contains(l.languages, language) {
			continue
		}
		why := "the policy files together allow no language"
		if all := p.Languages(); len(all) > 0 {
			why = "the policy allows only " + strings.Join(all, ", ")
		}
		return Decision{Rule: l.file, Message: why}
	}
	return Decision{Effect: Allow}
}

// Files is what a policy says about files. Paths are absolute once the policy
// has been resolved.
type Files struct {
	Read, Write []Root
	Deny        []string // patterns
}

// Root is one pattern under which files may be opened, with the folder or file
// at which it begins.
type Root struct {
	Path    string // literal prefix of the pattern: a folder, or one file
	Pattern string // equal to Path if everything below it is included
}

// Files returns what the policy says about files: the roots of the lowest layer
// that has any, and every deny pattern. [Policy.DecideFile] decides each file.
func (p *Policy) Files() Files {
	var out Files
	granted := false
	for _, l := range p.all() {
		if l.files == nil {
			continue
		}
		granted = granted || l.files.grants
		for _, d := range l.files.deny {
			out.Deny = append(out.Deny, d.text)
		}
		if l.files.grants || l.origin == FromCLI && !granted {
			out.Read, out.Write = roots(l.files.read), roots(l.files.write)
		}
	}
	return out
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

// Network is what a policy says about the network.
type Network struct {
	Allow []NetRule
	Deny  []NetRule
}

// Network returns the network rules of every layer that applies.
// [Policy.DecideNetwork] decides each request.
func (p *Policy) Network() Network {
	var out Network
	granted := false
	for _, l := range p.all() {
		if l.network == nil {
			continue
		}
		granted = granted || l.network.grants
		out.Deny = append(out.Deny, l.network.deny...)
		if l.origin != FromCLI || !granted {
			out.Allow = append(out.Allow, l.network.allow...)
		}
	}
	return out
}

// Env returns the names of environment variables that programs may read, with *
// for any characters. If several files have a list, it is that of the lowest;
// [Policy.AllowsEnv] respects all of them.
func (p *Policy) Env() []string {
	var out []string
	for _, l := range p.all() {
		if l.hasEnv {
			out = slices.Clone(l.env)
		}
	}
	return out
}

// AllowsEnv reports whether programs may read an environment variable.
func (p *Policy) AllowsEnv(name string) bool {
	allowed := false
	for _, l := range p.all() {
		if !l.hasEnv {
			continue
		}
		if allowed = slices.ContainsFunc(l.env, func(pattern string) bool { return matchWildcards(pattern, name) }); !allowed {
			return false
		}
	}
	return allowed
}

// Secret is a value that the host adds to a call and that the sandbox never
// sees.
type Secret struct {
	Name string
	From string   // env:NAME or file:PATH
	To   []string // server:NAME, host:PATTERN or patterns for tools
	As   string   // env:NAME, arg:NAME or header:NAME: TEXT with {}
	Rule string   // file:line
}

// Secrets returns the secrets of every layer. Of two with the same name it is
// that of the higher layer.
func (p *Policy) Secrets() []Secret {
	var out []Secret
	for _, l := range p.all() {
		for _, s := range l.secrets {
			if !slices.ContainsFunc(out, func(o Secret) bool { return o.Name == s.Name }) {
				out = append(out, s)
			}
		}
	}
	return out
}

// Approvals is how people are asked for approval.
type Approvals struct {
	Via      []string      // terminal, mcp, socket
	Timeout  time.Duration // an unanswered question is a denial
	Remember string        // never, run or session
}

// rememberOrder is from the strictest to the most permissive.
var rememberOrder = []string{"never", "run", "session"}

// Approvals returns how people are asked: where every file allows it, with the
// shortest timeout, and remembered for the shortest time.
func (p *Policy) Approvals() Approvals {
	var out Approvals
	for _, l := range p.all() {
		a := l.approvals
		if a.Via != nil {
			if out.Via == nil {
				out.Via = slices.Clone(a.Via)
			} else if out.Via = intersect(out.Via, a.Via); out.Via == nil {
				out.Via = []string{}
			}
		}
		out.Timeout = tighter(out.Timeout, a.Timeout)
		if a.Remember != "" && (out.Remember == "" || slices.Index(rememberOrder, a.Remember) < slices.Index(rememberOrder, out.Remember)) {
			out.Remember = a.Remember
		}
	}
	if out.Via == nil {
		out.Via = []string{"terminal", "mcp"}
	}
	out.Timeout = cmp.Or(out.Timeout, 10*time.Minute)
	out.Remember = cmp.Or(out.Remember, "never")
	return out
}

// Detail is how much of a text the audit log keeps.
type Detail string

// The details. With DetailNone not even the digest is kept.
const (
	DetailHash Detail = "hash"
	DetailFull Detail = "full"
	DetailNone Detail = "none"
)

// Audit is how much of a run the audit log keeps.
type Audit struct {
	Code, Inputs, Outputs Detail
}

// Audit returns how much of a run is kept: for each part what the highest file
// says, or else digests.
func (p *Policy) Audit() Audit {
	var out Audit
	for _, l := range p.all() {
		out = Audit{cmp.Or(out.Code, l.audit.Code), cmp.Or(out.Inputs, l.audit.Inputs), cmp.Or(out.Outputs, l.audit.Outputs)}
	}
	return Audit{cmp.Or(out.Code, DetailHash), cmp.Or(out.Inputs, DetailHash), cmp.Or(out.Outputs, DetailHash)}
}

// Tests returns the test cases of every layer.
func (p *Policy) Tests() []Test {
	var out []Test
	for _, l := range p.all() {
		out = append(out, l.tests...)
	}
	return out
}

// PII is what a policy says about personal data.
type PII struct {
	privacy.Config
	RevealTo []Glob     // tools whose arguments get values in place of tokens
	Tools    []ToolMode // modes of the answers of some tools

	reveal [][]Glob // one list for each file that has one; all must match
}

// ToolMode is the mode of the answers of some tools.
type ToolMode struct {
	Tool Glob
	Mode privacy.Mode
}

// Reveals reports whether the arguments of a tool get values in place of tokens.
// The tool is named server.tool.
func (p PII) Reveals(tool string) bool {
	for _, list := range p.reveal {
		if !slices.ContainsFunc(list, func(g Glob) bool { return g.Match(tool) }) {
			return false
		}
	}
	return len(p.reveal) > 0
}

// ModeOf returns the mode of the answers of a tool, named server.tool: the
// strictest of those whose pattern matches, or else the mode of the run.
func (p PII) ModeOf(tool string) privacy.Mode {
	mode, found := p.Mode, false
	for _, t := range p.Tools {
		if t.Tool.Match(tool) && (!found || modeRank(t.Mode) > modeRank(mode)) {
			mode, found = t.Mode, true
		}
	}
	return mode
}

// piiRules is the pii block of one policy.
type piiRules struct {
	config   privacy.Config
	kinds    bool // the block has detect
	revealTo []Glob
	reveals  bool // the block has reveal_to
	tools    []ToolMode
}

// PII returns what applies to personal data: the strictest of all files, or else
// tokens for the kinds that are certain. Flags turn it off only if no file says
// anything.
func (p *Policy) PII() PII {
	var out PII
	said := false
	for _, l := range p.all() {
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
			c.Detect = privacy.DefaultKinds()
		}
		if said {
			c = strictestPII(out.Config, c)
		}
		out.Config, said = c, true
	}
	if !said {
		out.Config = privacy.Config{Detect: privacy.DefaultKinds()}
	}
	out.Mode = cmp.Or(out.Mode, privacy.Tokenize)
	return out
}

// strictestPII combines two configurations so that neither loosens the other.
func strictestPII(a, b privacy.Config) privacy.Config {
	out := privacy.Config{
		Mode:     a.Mode,
		Detect:   union(a.Detect, b.Detect),
		Level:    a.Level,
		Regions:  union(a.Regions, b.Regions),
		Patterns: map[string]string{},
		Lists:    map[string][]string{},
		Fields:   privacy.Fields{Never: intersect(a.Fields.Never, b.Fields.Never), Always: union(a.Fields.Always, b.Fields.Always)},
		Ignore:   intersect(a.Ignore, b.Ignore),
		Modes:    map[string]privacy.Mode{},
	}
	if modeRank(b.Mode) > modeRank(a.Mode) {
		out.Mode = b.Mode
	}
	if levelRank(b.Level) > levelRank(a.Level) {
		out.Level = b.Level
	}
	if len(a.Detect) == 0 || len(b.Detect) == 0 {
		out.Detect = nil // no list means all kinds
	}
	for _, c := range []privacy.Config{b, a} {
		for name, pattern := range c.Patterns {
			out.Patterns[name] = pattern
		}
		for kind, words := range c.Lists {
			out.Lists[kind] = union(out.Lists[kind], words)
		}
		for field, mode := range c.Modes {
			if other, ok := out.Modes[field]; !ok || modeRank(mode) > modeRank(other) {
				out.Modes[field] = mode
			}
		}
	}
	return out
}

// modeRank orders modes from the loosest to the strictest.
func modeRank(m privacy.Mode) int {
	return slices.Index([]privacy.Mode{privacy.Off, privacy.Detect, privacy.Partial, privacy.Tokenize, privacy.Redact, privacy.Block}, cmp.Or(m, privacy.Tokenize))
}

// levelRank orders levels from the loosest to the strictest.
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

func intersect[T comparable](a, b []T) []T {
	var out []T
	for _, v := range a {
		if slices.Contains(b, v) {
			out = append(out, v)
		}
	}
	return out
}
