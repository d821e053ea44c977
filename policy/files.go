package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
)

// fileRules is the files block of one policy.
type fileRules struct {
	read, write, deny []filePattern
	drawn             bool // the file has a list of what may be opened
}

// filePattern is one pattern over paths, in parts between slashes. ** stands
// for any number of parts, * and ? stay within one.
type filePattern struct {
	text     string // as written
	where    string // file:line
	pos      position
	root     string   // literal start: a folder, or the one file
	base     []string // parts of the folder a relative pattern begins at, taken literally
	alts     [][]string
	tree     bool // no wildcard: the path and everything below it
	relative bool // begins at no folder yet, and so fits nothing
}

// DecideFile says whether a file may be opened. A pattern under deny covers
// what is below it too, in any case of letters.
func (p *Policy) DecideFile(req FileRequest) Decision {
	if p == nil && req.Import {
		return Decision{Effect: Allow}
	}
	if p == nil {
		return Decision{Message: "there is no policy, and so no file may be opened"}
	}
	name := filepath.ToSlash(req.Path)
	if !filepath.IsAbs(req.Path) || path.Clean(name) != name || strings.ContainsRune(name, 0) {
		return Decision{Rule: p.file(), Message: "the path is not a clean absolute one"}
	}
	parts := split(name)
	drawn := false
	for _, l := range p.layers {
		if l.files == nil {
			continue
		}
		drawn = drawn || l.files.drawn
		for i := range l.files.deny {
			if d := &l.files.deny[i]; d.forbids(parts) {
				return Decision{Rule: d.where, Message: fmt.Sprintf("the policy denies files under %s", d.text)}
			}
		}
	}
	if req.Import {
		return Decision{Effect: Allow}
	}
	verb := "read"
	if req.Write {
		verb = "written"
	}
	rule := ""
	for _, l := range p.layers {
		if l.files == nil || (l.origin == FromCLI && drawn) || (l.origin != FromCLI && !l.files.drawn) {
			continue
		}
		list := l.files.read
		if req.Write {
			list = l.files.write
		}
		found := false
		for i := range list {
			if list[i].match(parts) {
				found = true
				if rule == "" {
					rule = list[i].where
				}
				break
			}
		}
		if !found {
			return Decision{Rule: l.file, Message: fmt.Sprintf("no rule says that the file may be %s", verb)}
		}
	}
	if rule == "" {
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule says that any file may be %s", verb)}
	}
	return Decision{Effect: Allow, Rule: rule}
}

// parseFilePattern reads a pattern over paths. Relative ones begin at base,
// those with ~ at home; without them they fit nothing until they are resolved.
func parseFilePattern(text, base, home string) (filePattern, error) {
	p := filePattern{text: text}
	t := filepath.ToSlash(text)
	if strings.ContainsRune(t, 0) {
		return p, fault.New(fault.UsagePolicy, "a path has a zero byte")
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
		p.base = split(path.Clean(filepath.ToSlash(base)))
	}
	texts, err := expandBraces(t)
	if err != nil {
		return p, err
	}
	p.tree = !strings.ContainsAny(t, "*?")
	for i, t := range texts {
		parts := split(path.Clean(t))
		for !absolute && !p.relative && len(parts) > 0 && parts[0] == ".." && len(p.base) > 0 && len(texts) == 1 {
			parts, p.base = parts[1:], p.base[:len(p.base)-1]
		}
		for _, part := range parts {
			if part == ".." && !p.relative {
				return p, fault.New(fault.UsagePolicy, "%q leaves the root of the file system", clip(text)).WithHint("write an absolute path")
			}
			if strings.Contains(part, "**") && part != "**" {
				return p, fault.New(fault.UsagePolicy, "%q has ** beside other letters", clip(text)).WithHint("write ** between slashes, or *")
			}
		}
		p.alts = append(p.alts, parts)
		if lit := literal(p.base, parts); i == 0 {
			p.root = lit
		} else {
			p.root = common(p.root, lit)
		}
	}
	return p, nil
}

func split(name string) []string {
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// literal is the part of a path before its first wildcard.
func literal(base, parts []string) string {
	n := 0
	for n < len(parts) && !strings.ContainsAny(parts[n], "*?") {
		n++
	}
	return rooted(append(slices.Clone(base), parts[:n]...))
}

// rooted makes a path of its parts. On Windows the first is the volume.
func rooted(parts []string) string {
	name := strings.Join(parts, "/")
	if len(parts) > 0 && filepath.IsAbs(filepath.FromSlash(name)) {
		return name
	}
	return "/" + name
}

// common is the folder that two paths share.
func common(a, b string) string {
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

// match reports whether a path fits.
func (p *filePattern) match(name []string) bool {
	if p.relative || len(name) < len(p.base) || !slices.Equal(p.base, name[:len(p.base)]) {
		return false
	}
	name = name[len(p.base):]
	for _, alt := range p.alts {
		if p.tree {
			if len(name) >= len(alt) && slices.Equal(alt, name[:len(alt)]) {
				return true
			}
			continue
		}
		if matchParts(alt, name, false) {
			return true
		}
	}
	return false
}

// forbids reports whether a path, or a folder it is in, fits, in any case of
// letters. A relative pattern that begins nowhere yet denies wherever it could
// mean: a denial too many is better than one too few.
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

// matchParts matches parts with wildcards, ** over any number of them.
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
	return wild(pattern, name)
}
