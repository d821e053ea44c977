package catalogue

import (
	"slices"
	"strings"
	"testing"
)

func TestAQuerySaysWhatItAsksFor(t *testing.T) {
	for query, want := range map[string]deed{
		"":                           reads,
		"columns of a table":         reads,
		"who deleted the file":       reads,
		"please delete the file":     removes,
		"throw the old file away":    removes,
		"can you create a folder":    creates,
		"file a bug":                 creates,
		"file with the most bugs":    reads,
		"rename a branch":            changes,
		"asana task create":          creates,
		"reply on a ticket":          unsaid,
		"press the submit button":    unsaid,
		"I want to update a comment": changes,
	} {
		if got := askedDeed(queryWords(query)); got != want {
			t.Errorf("%q asks for %d, want %d", query, got, want)
		}
	}
}

func TestFormsAndVerbsOfTwoWordsAreOneVerb(t *testing.T) {
	for query, want := range map[string]string{
		"who wrote this":              "who write this",
		"get rid of old tags":         "delete of old tags",
		"take the label off the card": "remove the label the card",
		"look":                        "look",
		"":                            "",
	} {
		if got := strings.Join(queryWords(query), " "); got != want {
			t.Errorf("%q is read as %q, want %q", query, got, want)
		}
	}
}

func TestALongDescriptionDoesNotCrowdOutTheRightTool(t *testing.T) {
	c := New(append(slices.Clone(shop().Tools()), []Tool{
		{Server: "git", Name: "git_blame", Description: "Show who last changed each line of a file."},
		{Server: "desktop", Name: "write_file", Description: "Write or append to the contents of a file. " +
			strings.Repeat("Chunk each file into pieces of 30 lines of code. Write each line of code that changed. ", 20)},
	}...))
	for _, query := range []string{"who changed this line", "blame for a line"} {
		if found := searched(t, c, Query{Text: query}); len(found.Tools) == 0 || found.Tools[0].Name != "git.git_blame" {
			t.Errorf("%q found %v", query, found.Tools)
		}
	}
}

func TestAWordInAllNamesOfAServerIsThatOfTheServer(t *testing.T) {
	names := func(names ...string) (list []Tool) {
		for _, n := range names {
			list = append(list, Tool{Server: "shop", Name: n})
		}
		return list
	}
	c := New(names("acme_list_orders", "acme_get_order", "acme_delete_order", "acme_acme", "acme_refund"))
	searched(t, c, Query{Text: "order"})
	p := c.parts[0]
	for _, posting := range p.find("acme") {
		if posting.field == inName {
			t.Error("the word is in names")
		}
	}
	if lengths := p.lengths[0][inName]; lengths != 0 {
		t.Errorf("a name has %d more words", lengths)
	}
	if !slices.ContainsFunc(p.find(stem("order")), func(p posting) bool { return p.field == inName }) {
		t.Error("a word of three names of five is that of the server")
	}
}
