package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Category is what some tools of a server are about: the thing that is listed,
// read, made or changed, as their names say. Servers do not declare any.
type Category struct {
	Server string   `json:"server"`
	Name   string   `json:"name"`  // "pull request"; "other" where the names say nothing
	Tools  []string `json:"tools"` // as the server named them, sorted
}

// otherCategory holds the tools whose names say only what is done.
const otherCategory = "other"

// Categories lists what the tools of a server are about, the largest category
// first. An empty name lists every server, one after another.
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
	names := map[string][]string{}      // by the first word of what they are about
	subjects := map[string][][]string{} // the words of it, one for each name
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

// subject is the words of a tool's name without what is done, at its beginning
// or its end, and without the server's own.
func subject(name string, ignored map[string]bool) []string {
	words := slices.DeleteFunc(Words(name), func(w string) bool { return stop[w] || ignored[stem(w)] })
	switch {
	case len(words) > 0 && done(words[0]):
		words = words[1:]
	case len(words) > 1 && done(words[len(words)-1]):
		words = words[:len(words)-1]
	}
	return words
}

// done reports whether a word of a name says what is done rather than to what.
func done(word string) bool { return nameVerbs()[stem(word)] }

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

// singular is a word without the ending of its plural, near enough to tell two
// forms of one word apart from two words.
func singular(w string) string {
	if base, ok := strings.CutSuffix(w, "ies"); ok && len(base) > 1 {
		return base + "y"
	}
	if strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || len(w) < 3 {
		return w
	}
	return strings.TrimSuffix(w, "s")
}

// last puts the category of what is left behind the others of its size.
func last(c Category) int {
	if c.Name == otherCategory {
		return 1
	}
	return 0
}

// common is the words that all lists begin with, each in its shortest form.
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

// overview says in one line what a server's tools are about.
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
