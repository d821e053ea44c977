package catalogue

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/text"
)

// Nearest returns at most n names of tools that resemble name, the most similar
// first, as "server.tool" in identifiers.
func (c *Catalogue) Nearest(name string, n int) []string {
	name = text.Prefix(name, maxSpelling)
	if rest, ok := strings.CutPrefix(name, "tools."); ok {
		name = rest
	}
	server, tool, dotted := strings.Cut(name, ".")
	type near struct {
		call string
		d    int
	}
	var found []near
	for _, t := range c.tools {
		call := c.serverCall(t.Server) + "." + c.Name(t)
		var d int
		switch {
		case !dotted:
			d = min(Distance(fold(name), fold(t.Name)), Distance(fold(name), fold(t.Server)))
		default:
			d = Distance(fold(tool), fold(t.Name))
			if words := sharedWords(tool, t.Name); words > 0 {
				d = min(d, 3-min(words, 2))
			}
			d += Distance(fold(server), fold(t.Server))
		}
		if d <= min(max(2, len(name)/4), max(2, len(call)/3)) {
			found = append(found, near{call, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return cmp.Or(a.d-b.d, strings.Compare(a.call, b.call)) })
	var out []string
	for _, f := range found {
		if len(out) == n {
			break
		}
		out = append(out, f.call)
	}
	return out
}

// NearestOf returns the word of a list that is most similar to a misspelled one,
// or "" if none is: up to a third of its letters may be wrong.
func NearestOf(word string, list []string) string {
	word = text.Prefix(word, maxSpelling)
	if len(word) < 2 && len(list) > 1 { // all are equally similar
		return ""
	}
	best, at := max(1, len(word)/3)+1, ""
	for _, w := range list {
		if d := Distance(fold(word), fold(w)); d < best && d <= max(1, (len(w)+2)/3) {
			best, at = d, w
		}
	}
	return at
}

// sharedWords counts the words that two names have in common.
func sharedWords(a, b string) int {
	of := Words(b)
	n := 0
	for _, w := range Words(a) {
		if len(w) > 2 && slices.Contains(of, w) {
			n++
		}
	}
	return n
}
