package policy

import (
	"cmp"
	"slices"
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
	for _, l := range p.all() {
		out = intersectLists(out, l.languages)
	}
	slices.Sort(out)
	return out
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
		if l.decides(l.files.grants, granted) {
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
		if l.env != nil {
			out = slices.Clone(l.env)
		}
	}
	return out
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

// rememberOrder is from the strictest to the most permissive.
var rememberOrder = []string{"never", "run", "session"}

// Approvals returns how people are asked: where every file allows it, with the
// shortest timeout, and remembered for the shortest time.
func (p *Policy) Approvals() Approvals {
	var out Approvals
	for _, l := range p.all() {
		a := l.approvals
		out.Via = intersectLists(out.Via, a.Via)
		out.Timeout = tighter(out.Timeout, a.Timeout)
		if a.Remember != "" && (out.Remember == "" || slices.Index(rememberOrder, a.Remember) < slices.Index(rememberOrder, out.Remember)) {
			out.Remember = a.Remember
		}
	}
	if out.Via == nil {
		out.Via = []string{"terminal", "mcp", "page", "api"}
	}
	out.Timeout = cmp.Or(out.Timeout, 10*time.Minute)
	out.Remember = cmp.Or(out.Remember, "never")
	return out
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

// Keep reports whether a store may keep the text of runs. If any file says keep: false
// it keeps digests only.
func (p *Policy) Keep() bool {
	return !slices.ContainsFunc(p.all(), func(l *layer) bool { return l.digests })
}

// KeepsValues reports whether a value over the output limit is kept as an artifact. One
// trusted file with that setting is enough.
func (p *Policy) KeepsValues() bool {
	return slices.ContainsFunc(p.all(), func(l *layer) bool { return l.artifact })
}

// Tests returns the test cases of every layer.
func (p *Policy) Tests() []Test {
	var out []Test
	for _, l := range p.all() {
		out = append(out, l.tests...)
	}
	return out
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

// levelRank orders levels from the loosest to the strictest.
func levelRank(level string) int {
	return slices.Index([]string{privacy.Relaxed, privacy.Balanced, privacy.Strict}, cmp.Or(level, privacy.Balanced))
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

// intersectLists returns the values of both lists. A nil list restricts nothing.
func intersectLists(a, b []string) []string {
	switch {
	case a == nil:
		return slices.Clone(b)
	case b == nil:
		return a
	}
	return append([]string{}, intersect(a, b)...)
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
