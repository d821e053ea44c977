package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// fileRules is the files block of one policy.
type fileRules struct {
	read, write, deny []filePattern
	grants            bool // the block has a list of what may be opened
}

// resolve returns the rules with relative patterns beginning at base, and those
// with ~ at home.
func (f *fileRules) resolve(base, home string) (*fileRules, error) {
	out := &fileRules{grants: f.grants}
	for _, list := range []struct {
		from []filePattern
		to   *[]filePattern
	}{{f.read, &out.read}, {f.write, &out.write}, {f.deny, &out.deny}} {
		for _, p := range list.from {
			if p.relative {
				resolved, err := parseFilePattern(p.text, base, home)
				if err != nil {
					return nil, fault.New(fault.UsagePolicy, "%s: %w", p.where, err).WithHint("%s", fault.HintOf(err))
				}
				resolved.where = p.where
				p = resolved
			}
			*list.to = append(*list.to, p)
		}
	}
	return out, nil
}

// allows returns the first pattern that allows a path, or nil.
func (f *fileRules) allows(parts []string, write bool) *filePattern {
	list := f.read
	if write {
		list = f.write
	}
	if i := slices.IndexFunc(list, func(p filePattern) bool { return p.match(parts) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// filePattern is a pattern for paths, split at slashes. ** matches any number of
// parts; * and ? match within one.
type filePattern struct {
	text     string   // as written
	where    string   // file:line
	root     string   // literal prefix: a folder, or the one file
	base     []string // parts of the folder at which a relative pattern begins
	alts     [][]string
	tree     bool // no wildcard: matches the path and everything below it
	relative bool // not resolved yet, so it matches nothing
}

// parseFilePattern reads a pattern for paths. Relative patterns begin at base and
// those with ~ at home. If that folder is "" they match nothing until they are
// resolved.
func parseFilePattern(text, base, home string) (filePattern, error) {
	p := filePattern{text: text}
	t := filepath.ToSlash(text)
	if strings.ContainsRune(t, 0) {
		return p, fault.New(fault.UsagePolicy, "a path contains a zero byte")
	}
	if rest, ok := strings.CutPrefix(t, "~/"); ok || t == "~" {
		t, base = "./"+rest, home
	}
	absolute := path.IsAbs(t) || filepath.IsAbs(text)
	switch {
	case absolute:
	case base == "":
		p.relative = true
	default:
		p.base = splitPath(path.Clean(filepath.ToSlash(base)))
	}
	texts, err := expandBraces(t)
	if err != nil {
		return p, err
	}
	p.tree = !strings.ContainsAny(t, "*?")
	for i, t := range texts {
		parts := splitPath(path.Clean(t))
		for !absolute && !p.relative && len(parts) > 0 && parts[0] == ".." && len(p.base) > 0 && len(texts) == 1 {
			parts, p.base = parts[1:], p.base[:len(p.base)-1]
		}
		for _, part := range parts {
			if part == ".." && !p.relative {
				return p, fault.New(fault.UsagePolicy, "%q leaves the root of the file system", clip(text)).WithHint("write an absolute path")
			}
			if strings.Contains(part, "**") && part != "**" {
				return p, fault.New(fault.UsagePolicy, "%q has ** next to other characters", clip(text)).WithHint("write ** between slashes, or use *")
			}
		}
		p.alts = append(p.alts, parts)
		if lit := literalPrefix(p.base, parts); i == 0 {
			p.root = lit
		} else {
			p.root = commonFolder(p.root, lit)
		}
	}
	return p, nil
}

// splitPath splits a path at slashes.
func splitPath(name string) []string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// literalPrefix returns the part of a path before its first wildcard.
func literalPrefix(base, parts []string) string {
	n := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, "*?") })
	if n < 0 {
		n = len(parts)
	}
	return joinPath(slices.Concat(base, parts[:n]))
}

// joinPath returns the absolute path of its parts. On Windows the first is the
// volume.
func joinPath(parts []string) string {
	name := strings.Join(parts, "/")
	if len(parts) > 0 && filepath.IsAbs(filepath.FromSlash(name)) {
		return name
	}
	return "/" + name
}

// commonFolder returns the folder that two paths share.
func commonFolder(a, b string) string {
	if a == b {
		return a
	}
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	if n <= 1 && strings.HasPrefix(a, "/") {
		return "/"
	}
	return strings.Join(as[:n], "/")
}

// match reports whether a path matches.
func (p *filePattern) match(name []string) bool {
	if p.relative || !hasParts(name, p.base) {
		return false
	}
	name = name[len(p.base):]
	for _, alt := range p.alts {
		if p.tree && hasParts(name, alt) || !p.tree && matchParts(alt, name, false) {
			return true
		}
	}
	return false
}

// hasParts reports whether a path begins with the parts.
func hasParts(name, parts []string) bool {
	return len(name) >= len(parts) && slices.Equal(parts, name[:len(parts)])
}

// forbids reports whether a path, or a folder that it is in, matches without
// regard to case. A relative pattern that is not resolved yet matches at any
// depth.
func (p *filePattern) forbids(name []string) bool {
	if !p.relative {
		if len(name) < len(p.base) || !strings.EqualFold(strings.Join(p.base, "/"), strings.Join(name[:len(p.base)], "/")) {
			return false
		}
		name = name[len(p.base):]
	}
	for _, alt := range p.alts {
		for n := len(name); n >= 0; n-- {
			if matchParts(alt, name[:n], true) {
				return true
			}
			for from := 1; p.relative && from <= n; from++ {
				if matchParts(alt, name[from:n], true) {
					return true
				}
			}
		}
	}
	return false
}

// matchParts matches the parts of a path; ** matches any number of them.
func matchParts(pattern, name []string, fold bool) bool {
	star, mark := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, mark = p, n
			p++
		case p < len(pattern) && matchPart(pattern[p], name[n], fold):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

func matchPart(pattern, name string, fold bool) bool {
	if fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	return matchWildcards(pattern, name)
}
