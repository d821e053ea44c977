package privacy

import "strings"

// glob is a pattern with * for any run of characters, also an empty one.
type glob struct{ parts []string }

func newGlob(s string) glob { return glob{strings.Split(s, "*")} }

// match takes time linear in the product of the parts and the text at worst,
// since each part is looked for once, from left to right.
func (g glob) match(s string) bool {
	first, rest := g.parts[0], g.parts[1:]
	if len(rest) == 0 {
		return s == first
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	last := rest[len(rest)-1]
	for _, p := range rest[:len(rest)-1] {
		at := strings.Index(s, p)
		if at < 0 {
			return false
		}
		s = s[at+len(p):]
	}
	return strings.HasSuffix(s, last)
}

// fieldGlob matches names and dotted paths of fields. Without a dot it is
// matched against each name of a path, so that "contact" also decides about
// what lies below it; with one against the end of the path.
type fieldGlob struct {
	names []glob
}

func newFieldGlob(s string) fieldGlob {
	var f fieldGlob
	for _, name := range strings.Split(s, ".") {
		f.names = append(f.names, newGlob(plainName(name)))
	}
	return f
}

// match reports whether the glob decides about a path of plain names.
func (f fieldGlob) match(path []string) bool {
	for from := 0; from+len(f.names) <= len(path); from++ {
		ok := true
		for i, g := range f.names {
			if !g.match(path[from+i]) {
				ok = false
				break
			}
		}
		if ok {
			return true
		}
	}
	return false
}

// plainName is a field's name without case and without the signs between its
// words.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ', '.', '/', '#', ':':
			return -1
		}
		return r
	}, strings.ToLower(s))
}
