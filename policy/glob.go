package policy

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Glob is a pattern for names of tools: * matches any characters, ? one, {a,b}
// either. All other characters match themselves, with case. mcp__server__tool is
// read as server.tool. The zero glob matches nothing.
type Glob struct {
	text string
	alts []alternative
}

// alternative is a pattern without braces.
type alternative struct {
	prefix string // before the first wildcard; rules are found by it
	rest   string // from the first wildcard on
}

const (
	maxGlob         = 500
	maxAlternatives = 256
)

// ParseGlob reads a pattern.
func ParseGlob(text string) (Glob, error) {
	patterns, err := expandBraces(text)
	if err != nil {
		return Glob{}, err
	}
	g := Glob{text: text}
	for _, p := range patterns {
		if rest, ok := strings.CutPrefix(p, "mcp__"); ok {
			p = dotted(rest)
		}
		g.alts = append(g.alts, newAlternative(p))
	}
	return g, nil
}

// parseToolGlob reads a pattern and refuses one that no tool can match.
func parseToolGlob(text string) (Glob, error) {
	g, err := ParseGlob(text)
	for _, a := range g.alts {
		if !strings.Contains(a.prefix+a.rest, ".") && !strings.ContainsAny(a.rest, "*?") {
			return g, fault.New(fault.UsagePolicy, "%q matches no tool: tools are named server.tool", clip(text)).
				WithHint("write %s.* for all tools of a server", a.prefix)
		}
	}
	return g, err
}

// String returns the pattern as it was written.
func (g Glob) String() string { return g.text }

// Match reports whether a name matches the pattern.
func (g Glob) Match(name string) bool {
	for i := range g.alts {
		if g.alts[i].match(name) {
			return true
		}
	}
	return false
}

// Alternatives returns the patterns without braces that the pattern stands for.
func (g Glob) Alternatives() []Glob {
	var out []Glob
	for _, a := range g.alts {
		out = append(out, Glob{a.prefix + a.rest, []alternative{a}})
	}
	return out
}

// Covers reports whether every name that other matches is matched by g too. It
// is never wrong when it returns true. It returns false for a ? in g.
func (g Glob) Covers(other Glob) bool {
	for _, a := range other.alts {
		if !slices.ContainsFunc(g.alts, func(o alternative) bool {
			return !strings.Contains(o.rest, "?") && o.match(a.prefix+a.rest)
		}) {
			return false
		}
	}
	return len(other.alts) > 0
}

// MatchesServer reports whether the pattern may match tools of a server.
func (g Glob) MatchesServer(server string) bool {
	return slices.ContainsFunc(g.alts, func(a alternative) bool {
		name, _, hasDot := strings.Cut(a.prefix, ".")
		return name == server || !hasDot && strings.HasPrefix(server, a.prefix) && a.rest != ""
	})
}

// AnyServer returns the glob that also reads mcp__a__b__c as a__b.c. Deny and
// ask rules use it: they apply to every server that the name may mean.
func (g Glob) AnyServer() Glob {
	patterns, err := expandBraces(g.text)
	if err != nil {
		return g
	}
	for _, p := range patterns {
		rest, ok := strings.CutPrefix(p, "mcp__")
		if !ok {
			continue
		}
		_, after, _ := strings.Cut(rest, "__")
		for i := len(rest) - len(after); i+2 < len(rest); i++ {
			if rest[i:i+2] == "__" {
				g.alts = append(slices.Clip(g.alts), newAlternative(rest[:i]+"."+rest[i+2:]))
			}
		}
	}
	return g
}

// dotted converts "server__tool" to "server.tool" and "server" to "server.*".
// The server's name ends at the first "__".
func dotted(name string) string {
	server, tool, ok := strings.Cut(name, "__")
	switch {
	case ok:
		return server + "." + tool
	case strings.ContainsAny(name, "*?"):
		return name
	}
	return name + ".*"
}

func newAlternative(pattern string) alternative {
	i := strings.IndexAny(pattern, "*?")
	if i < 0 {
		return alternative{prefix: pattern}
	}
	return alternative{prefix: pattern[:i], rest: pattern[i:]}
}

func (a *alternative) match(name string) bool {
	if a.rest == "" {
		return name == a.prefix
	}
	return strings.HasPrefix(name, a.prefix) && matchWildcards(a.rest, name[len(a.prefix):])
}

// matchWildcards matches * and ?. The time is linear in the name for each star.
func matchWildcards(pattern, name string) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// expandBraces lists the patterns that {a,b} stands for, with nested braces.
func expandBraces(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, fault.New(fault.UsagePolicy, "the pattern is empty").WithHint("write * for everything")
	case len(text) > maxGlob:
		return nil, fault.New(fault.UsagePolicy, "the pattern is longer than %d characters", maxGlob)
	case strings.ContainsAny(text, "[]"):
		return nil, fault.New(fault.UsagePolicy, "%q uses [ ], which patterns do not support", clip(text)).WithHint("write {a,b} for either")
	}
	open, closed := strings.IndexByte(text, '{'), strings.IndexByte(text, '}')
	switch {
	case closed >= 0 && (open < 0 || closed < open):
		return nil, fault.New(fault.UsagePolicy, "%q has an unmatched }", clip(text))
	case open < 0:
		return []string{text}, nil
	}
	depth, from := 0, open+1
	var parts []string
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, text[from:i])
				from = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			var all []string
			for _, part := range append(parts, text[from:i]) {
				more, err := expandBraces(text[:open] + part + text[i+1:])
				if err != nil {
					return nil, err
				}
				if all = append(all, more...); len(all) > maxAlternatives {
					return nil, fault.New(fault.UsagePolicy, "%q stands for more than %d patterns", clip(text), maxAlternatives)
				}
			}
			return all, nil
		}
	}
	return nil, fault.New(fault.UsagePolicy, "%q has an unmatched {", clip(text))
}
