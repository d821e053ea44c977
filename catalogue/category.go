package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Category is a group of tools of a server that concern the same thing, derived
// from the names of the tools.
type Category struct {
	Server string   `json:"server"`
	Name   string   `json:"name"`  // such as "pull request", or "other"
	Tools  []string `json:"tools"` // original names, sorted
}

// otherCategory has the tools whose names consist of a verb.
const otherCategory = "other"

// Categories returns the categories of a server, the largest first. An empty name
// means all servers.
func (c *Catalogue) Categories(server string) []Category {
	out := []Category{}
	for _, s := range c.servers {
		if server == "" || server == s.Name {
			out = append(out, categoriesOf(s.Name, c.ServerTools(s.Name))...)
		}
	}
	return out
}

func categoriesOf(server string, tools []Tool) []Category {
	ignored := map[string]bool{}
	for _, w := range Words(server) {
		ignored[stem(w)] = true
	}
	names := map[string][]string{}      // by the first word of the subject
	subjects := map[string][][]string{} // by the same word, one for each name
	for _, t := range tools {
		words, key := subject(t.Name, ignored), ""
		if len(words) > 0 {
			key = singular(words[0])
			subjects[key] = append(subjects[key], words)
		}
		names[key] = append(names[key], t.Name)
	}
	out := make([]Category, 0, len(names))
	for key, list := range names {
		out = append(out, Category{Server: server, Name: cmp.Or(common(subjects[key]), otherCategory), Tools: list})
	}
	slices.SortFunc(out, func(a, b Category) int {
		return cmp.Or(cmp.Compare(len(b.Tools), len(a.Tools)), last(a)-last(b), strings.Compare(a.Name, b.Name), strings.Compare(a.Tools[0], b.Tools[0]))
	})
	return out
}

// subject returns the words of a tool's name without the verb, at its start or
// end, and without the name of the server.
func subject(name string, ignored map[string]bool) []string {
	words := slices.DeleteFunc(Words(name), func(w string) bool { return stop[w] || ignored[stem(w)] })
	switch {
	case len(words) > 0 && isVerb(words[0]):
		words = words[1:]
	case len(words) > 1 && isVerb(words[len(words)-1]):
		words = words[:len(words)-1]
	}
	return words
}

// isVerb reports whether a word in a name says what the tool does.
func isVerb(word string) bool { return nameVerbs()[stem(word)] }

// nameVerbs are the verbs in names of tools, stemmed. Book and copy are nouns
// more often.
var nameVerbs = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, w := range slices.Concat(destroyingVerbs, writingVerbs, readingVerbs) {
		out[stem(w)] = w != "book" && w != "copy"
	}
	return out
})

var readingVerbs = []string{
	"answer", "attach", "browse", "change", "complete", "convert", "display", "download", "draw", "export", "fetch", "filter", "find",
	"finish", "generate", "get", "give", "invoke", "launch", "list", "load", "locate", "look", "lookup", "make", "mark", "notify", "open",
	"pull", "query", "read", "register", "resolve", "retrieve", "scale", "search", "show", "store", "switch", "take", "tell", "translate",
	"turn", "view",
}

// singular returns a word without its plural ending, by approximation.
func singular(w string) string {
	if base, ok := strings.CutSuffix(w, "ies"); ok && len(base) > 1 {
		return base + "y"
	}
	if strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || len(w) < 3 {
		return w
	}
	return strings.TrimSuffix(w, "s")
}

// last sorts the category "other" after those of the same size.
func last(c Category) int {
	if c.Name == otherCategory {
		return 1
	}
	return 0
}

// common returns the words with which all lists start, each in its shortest form.
func common(lists [][]string) string {
	if len(lists) == 0 {
		return ""
	}
	words := slices.Clone(lists[0])
	for _, l := range lists[1:] {
		n := 0
		for n < len(words) && n < len(l) && singular(words[n]) == singular(l[n]) {
			if len(l[n]) < len(words[n]) {
				words[n] = l[n]
			}
			n++
		}
		words = words[:n]
	}
	return strings.Join(words, " ")
}

// overview returns a line about the categories of a server.
func overview(categories []Category, most int) string {
	var b strings.Builder
	for i, one := range categories {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(categories)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %d", oneLine(one.Name), len(one.Tools))
	}
	return b.String()
}
