package privacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/detect"
)

// Mode says what happens with what was found.
type Mode string

// The modes. The empty mode is that of the [Config], where it is Tokenize.
const (
	Off      Mode = "off"      // nothing is searched
	Detect   Mode = "detect"   // findings are counted and stay
	Tokenize Mode = "tokenize" // replaced by a token that can be revealed: [EMAIL_1]
	Redact   Mode = "redact"   // replaced by the kind, for good: [EMAIL]
	Block    Mode = "block"    // a finding is an error
	Partial  Mode = "partial"  // a token with the useful part of the value: [EMAIL_1:example.org]
)

// Modes lists every mode.
func Modes() []Mode { return []Mode{Off, Detect, Tokenize, Redact, Block, Partial} }

// Valid reports whether m is a mode or empty.
func (m Mode) Valid() bool { return m == "" || slices.Contains(Modes(), m) }

// Levels of detection: how much evidence a finding needs.
const (
	Strict   = "strict"   // finds most: weak evidence is enough
	Balanced = "balanced" // the default
	Relaxed  = "relaxed"  // finds least: only what is validated or labeled
)

// confidence is the least confidence of each level, in percent.
var confidence = map[string]uint8{Strict: 30, Balanced: 50, "": 50, Relaxed: 80}

// Config says what counts as personal data and what happens with it. The zero
// value searches every kind at level balanced and replaces it with tokens.
type Config struct {
	Mode     Mode                // "" is Tokenize
	Detect   []Kind              // kinds to search in addition to those of Patterns and Lists; none: all
	Level    string              // Strict, Balanced (""), Relaxed
	Regions  []string            // ISO countries in which phone numbers without a calling code are read; none: US
	Patterns map[string]string   // kinds of the policy: name to a regular expression in RE2 syntax
	Lists    map[string][]string // kinds of the policy or known ones: words and phrases, in any case
	Fields   Fields              // fields that decide regardless of the value
	Ignore   []string            // globs of values that are never findings: *@example.org
	Modes    map[string]Mode     // globs of fields to the mode there
}

// Fields are globs over the names or dotted paths of fields. Case and the signs
// between words do not matter.
type Fields struct {
	Never  []string // nothing is searched there
	Always []string // each value there is personal data
}

// Problem is one error in a [Config].
type Problem struct {
	Path    string // the key: "detect[2]", "patterns.employee"
	Message string
	Hint    string
}

// Bounds of a configuration.
const (
	maxPatterns = 64
	maxWords    = 100_000
	maxGlobs    = 1000
	maxGlobSize = 500
)

// isKindName reports whether a policy may give a kind this name: a lower-case
// letter, then letters, digits and _. Every start of the command would
// compile a regular expression.
func isKindName(s string) bool {
	return len(s) > 0 && len(s) <= 32 && s[0] >= 'a' && s[0] <= 'z' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// Check returns every problem of c, in the order of its fields.
func (c Config) Check() []Problem {
	var all []Problem
	add := func(path, hint, format string, args ...any) {
		all = append(all, Problem{Path: path, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	modesHint := "modes: " + joined(Modes())
	if !c.Mode.Valid() {
		add("mode", modesHint, "unknown mode %q", c.Mode)
	}
	for i, k := range c.Detect {
		_, pattern := c.Patterns[string(k)]
		_, list := c.Lists[string(k)]
		if !Known(k) && !pattern && !list {
			add(fmt.Sprintf("detect[%d]", i), "kinds: "+joined(knownKinds()), "unknown kind %q", k)
		}
	}
	if confidence[c.Level] == 0 {
		add("level", "levels: strict, balanced, relaxed", "unknown level %q", c.Level)
	}
	for i, r := range c.Regions {
		if !contact.KnownRegion(r) {
			add(fmt.Sprintf("regions[%d]", i), "use two letters of ISO 3166, such as US or DE", "unknown region %q", r)
		}
	}
	if len(c.Patterns) > maxPatterns {
		add("patterns", "", "%d patterns are more than %d", len(c.Patterns), maxPatterns)
	}
	const nameHint = "use lower-case letters, digits and _"
	for _, name := range slices.Sorted(maps.Keys(c.Patterns)) {
		path := "patterns." + name
		if !isKindName(name) {
			add(path, nameHint, "invalid name of a kind: %q", name)
		} else if Known(Kind(name)) {
			add(path, "choose another name", "%q is a built-in kind", name)
		}
		if _, err := detect.CompilePattern(c.Patterns[name]); err != nil {
			add(path, "write the pattern in RE2 syntax", "%s", err)
		}
	}
	words := 0
	for _, name := range slices.Sorted(maps.Keys(c.Lists)) {
		path := "lists." + name
		if !isKindName(name) {
			add(path, nameHint, "invalid name of a kind: %q", name)
		}
		words += len(c.Lists[name])
		for i, w := range c.Lists[name] {
			if strings.TrimSpace(w) == "" || len(w) > detect.MaxWordSize {
				add(fmt.Sprintf("%s[%d]", path, i), "", "a word must have 1 to %d bytes", detect.MaxWordSize)
			}
		}
	}
	if words > maxWords {
		add("lists", "", "%d words are more than %d", words, maxWords)
	}
	modeGlobs := slices.Sorted(maps.Keys(c.Modes))
	for _, m := range modeGlobs {
		if mode := c.Modes[m]; mode == "" || !mode.Valid() {
			add("modes."+m, modesHint, "unknown mode %q", mode)
		}
	}
	for _, globs := range []struct {
		path string
		list []string
	}{{"fields.never", c.Fields.Never}, {"fields.always", c.Fields.Always}, {"ignore", c.Ignore}, {"modes", modeGlobs}} {
		if len(globs.list) > maxGlobs {
			add(globs.path, "", "%d globs are more than %d", len(globs.list), maxGlobs)
		}
		for i, g := range globs.list {
			if g == "" || len(g) > maxGlobSize {
				add(fmt.Sprintf("%s[%d]", globs.path, i), "", "a glob must have 1 to %d bytes", maxGlobSize)
			}
		}
	}
	return all
}

// err is the problems of c as one error, or nil.
func (c Config) err() error {
	problems := c.Check()
	if len(problems) == 0 {
		return nil
	}
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.Path + ": " + p.Message
	}
	e := fault.New(fault.UsagePolicy, "%s", strings.Join(lines, "; ")).WithOp("read the privacy settings")
	if problems[0].Hint != "" {
		e = e.WithHint("%s", problems[0].Hint)
	}
	return e
}

func joined[T ~string](list []T) string {
	s := make([]string, len(list))
	for i, v := range list {
		s[i] = string(v)
	}
	return strings.Join(s, ", ")
}
