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
	whole, ofServer, ofTool := newSpelling(fold(name)), newSpelling(fold(server)), newSpelling(fold(tool))
	words := Words(tool)
	for _, s := range c.servers {
		from, to := c.rangeOf(s.Name)
		folded := fold(s.Name)
		asServer, away := whole.distance(folded), ofServer.distance(folded)
		for i, t := range c.tools[from:to] {
			var d int
			if !dotted {
				d = min(whole.distance(c.folds[from+i]), asServer)
			} else {
				d = ofTool.distance(c.folds[from+i])
				if words := sharedWords(words, t.Name); words > 0 {
					d = min(d, 3-min(words, 2))
				}
				d += away
			}
			call := s.Call + "." + c.Name(t)
			if d <= min(max(2, len(name)/4), max(2, len(call)/3)) {
				found = append(found, near{call, d})
			}
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
	meant := newSpelling(fold(word))
	for _, w := range list {
		if d := meant.distance(fold(w)); d < best && d <= max(1, (len(w)+2)/3) {
			best, at = d, w
		}
	}
	return at
}

// sharedWords counts the longer words that occur in a name.
func sharedWords(words []string, name string) int {
	n := 0
	var of []string
	for _, w := range words {
		if len(w) <= 2 {
			continue
		}
		if of == nil {
			of = Words(name)
		}
		if slices.Contains(of, w) {
			n++
		}
	}
	return n
}
