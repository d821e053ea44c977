package policy

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Glob is a pattern over names of tools: * stands for any run of characters, ?
// for one, {a,b} for either. Everything else stands for itself, case included.
// mcp__server__tool is read as server.tool.
type Glob struct {
	text string
	alts []alternative
}

// alternative is a pattern without braces. Its text before the first wildcard
// is kept apart, since that is what rules are found by.
type alternative struct {
	prefix string // literal start
	rest   string // pattern after it; "" where the whole is literal
}

const (
	maxGlob         = 500
	maxAlternatives = 256
)

// ParseGlob reads a pattern over names of tools.
func ParseGlob(text string) (Glob, error) {
	texts, err := expandBraces(text)
	if err != nil {
		return Glob{}, err
	}
	g := Glob{text: text}
	for _, t := range texts {
		if rest, ok := strings.CutPrefix(t, "mcp__"); ok {
			t = undress(rest)
		}
		g.alts = append(g.alts, newAlternative(t))
	}
	return g, nil
}

// String is the pattern as it was written.
func (g Glob) String() string { return g.text }

// Match reports whether a name fits the pattern. The zero glob fits nothing.
func (g Glob) Match(name string) bool {
	for i := range g.alts {
		if g.alts[i].match(name) {
			return true
		}
	}
	return false
}

// undress turns "server__tool" into "server.tool" and "server" into
// "server.*". A server's own name ends at the first "__".
func undress(rest string) string {
	server, tool, ok := strings.Cut(rest, "__")
	if !ok {
		if strings.ContainsAny(rest, "*?") {
			return rest
		}
		return rest + ".*"
	}
	return server + "." + tool
}

// everySplit is the glob that also reads mcp__a__b__c as a__b.c: where a rule
// keeps something back, each server that the name may mean is meant.
func (g Glob) everySplit() Glob {
	texts, err := expandBraces(g.text)
	if err != nil {
		return g
	}
	for _, t := range texts {
		rest, ok := strings.CutPrefix(t, "mcp__")
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

func newAlternative(t string) alternative {
	i := strings.IndexAny(t, "*?")
	if i < 0 {
		return alternative{prefix: t}
	}
	return alternative{prefix: t[:i], rest: t[i:]}
}

func (a *alternative) match(name string) bool {
	if a.rest == "" {
		return name == a.prefix
	}
	return strings.HasPrefix(name, a.prefix) && wild(a.rest, name[len(a.prefix):])
}

// wild matches * and ? in time linear in the name for each star.
func wild(pattern, name string) bool {
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
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// expandBraces lists the patterns that {a,b} stands for, nested ones included.
func expandBraces(text string) ([]string, error) {
	switch {
	case text == "":
		return nil, fault.New(fault.UsagePolicy, "the pattern is empty").WithHint("write * for everything")
	case len(text) > maxGlob:
		return nil, fault.New(fault.UsagePolicy, "the pattern is longer than %d characters", maxGlob)
	case strings.ContainsAny(text, "[]"):
		return nil, fault.New(fault.UsagePolicy, "%q has [ ], which patterns do not know", clip(text)).WithHint("write {a,b} for either")
	}
	open := strings.IndexByte(text, '{')
	if open < 0 {
		if strings.IndexByte(text, '}') >= 0 {
			return nil, fault.New(fault.UsagePolicy, "%q closes a brace that is not open", clip(text))
		}
		return []string{text}, nil
	}
	if shut := strings.IndexByte(text, '}'); shut >= 0 && shut < open {
		return nil, fault.New(fault.UsagePolicy, "%q closes a brace that is not open", clip(text))
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
			parts = append(parts, text[from:i])
			var all []string
			for _, part := range parts {
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
	return nil, fault.New(fault.UsagePolicy, "%q opens a brace that is not closed", clip(text))
}
