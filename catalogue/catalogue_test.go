package catalogue

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func toolsNamed(ids ...[2]string) []Tool {
	var out []Tool
	for _, id := range ids {
		out = append(out, Tool{Server: id[0], Name: id[1]})
	}
	return out
}

func TestLookupAcceptsEverySpelling(t *testing.T) {
	c := New(toolsNamed([2]string{"git-hub", "list-commits"}, [2]string{"shop", "class"}, [2]string{"a.b", "c.d"}))
	for spelling, id := range map[string]string{
		"git-hub.list-commits":       "git-hub.list-commits",
		"git_hub.list_commits":       "git-hub.list-commits",
		"gitHub.listCommits":         "git-hub.list-commits",
		"tools.git_hub.list_commits": "git-hub.list-commits",
		"mcp__git-hub__list-commits": "git-hub.list-commits",
		"mcp__git_hub__list_commits": "git-hub.list-commits",
		"shop.class_":                "shop.class",
		"a.b.c.d":                    "a.b.c.d",
		"a_b.c_d":                    "a.b.c.d",
	} {
		got, ok := c.Lookup(spelling)
		if !ok || got.ID() != id {
			t.Errorf("Lookup(%q) = %q, %v; want %q", spelling, got.ID(), ok, id)
		}
	}
	for _, unknown := range []string{"", ".", "github", "git-hub.", "nope.list", "mcp____"} {
		if got, ok := c.Lookup(unknown); ok {
			t.Errorf("Lookup(%q) found %q", unknown, got.ID())
		}
	}
}

func TestExactSpellingKeepsTheNameInACollision(t *testing.T) {
	tools := toolsNamed([2]string{"s", "a_b"}, [2]string{"s", "a-b"}, [2]string{"s", "a b"})
	c := New(tools)
	if got := c.Name(tools[0]); got != "a_b" {
		t.Errorf("a_b is called %q", got)
	}
	suffix := regexp.MustCompile(`^a_b_[0-9a-f]{4}$`)
	for _, other := range tools[1:] {
		if got := c.Name(other); !suffix.MatchString(got) {
			t.Errorf("%q is called %q", other.Name, got)
		}
		if found, ok := c.Lookup("s." + c.Name(other)); !ok || found.Name != other.Name {
			t.Errorf("%q does not lead back to %q", c.Name(other), other.Name)
		}
	}
	if _, ok := c.Lookup("s.aB"); ok {
		t.Error("an inexact spelling chose one of three")
	}
}

func TestReservedWordsGainAnUnderscoreInPythonOnly(t *testing.T) {
	tools := toolsNamed([2]string{"shop", "class"})
	c := New(tools)
	if js, py := c.Call(tools[0], "javascript"), c.Call(tools[0], "python"); js != "tools.shop.class" || py != "tools.shop.class_" {
		t.Errorf("javascript %q, python %q", js, py)
	}
}

func TestKeepLeavesNamesAsTheyWere(t *testing.T) {
	tools := toolsNamed([2]string{"s", "a_b"}, [2]string{"s", "a-b"})
	whole := New(tools)
	view := whole.Keep(func(t Tool) bool { return t.Name == "a-b" })
	if got, want := view.Name(tools[1]), whole.Name(tools[1]); got != want {
		t.Errorf("in the view %q, in the whole %q", got, want)
	}
	if _, ok := view.Lookup("s." + whole.Name(tools[1])); !ok {
		t.Error("the name does not work in the view")
	}
}

var valid = regexp.MustCompile(`^[\p{L}_][\p{L}\p{Nd}\p{Mn}\p{Mc}_]*$`)

func TestAnyOrderGivesTheSameValidNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.StringMatching(`[a-c_\- .]{1,4}`), rapid.StringN(1, 6, 20))
		var tools []Tool
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			tools = append(tools, Tool{Server: part.Draw(t, "server"), Name: part.Draw(t, "tool")})
		}
		a := New(tools)
		shuffled := slices.Clone(tools)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		b := New(shuffled)
		seen := map[string]string{}
		for _, tool := range a.Tools() {
			call := a.Call(tool, "javascript")
			if other := b.Call(tool, "javascript"); other != call {
				t.Fatalf("%q is %q in one order and %q in another", tool.ID(), call, other)
			}
			if !valid.MatchString(a.Name(tool)) {
				t.Fatalf("%q became %q, which is not an identifier", tool.Name, a.Name(tool))
			}
			key := tool.Server + "\x00" + tool.Name
			if before, ok := seen[call]; ok && before != key {
				t.Fatalf("%q and %q are both %q", before, key, call)
			}
			seen[call] = key
		}
		if a.Digest() != b.Digest() {
			t.Fatal("digests differ with the order")
		}
	})
}

func TestNearestFindsWhatWasMeant(t *testing.T) {
	c := New(toolsNamed([2]string{"github", "list_commits"}, [2]string{"github", "create_issue"}, [2]string{"jira", "search"}))
	for wrong, want := range map[string]string{
		"githb.list_commits": "github.list_commits",
		"github.list_comits": "github.list_commits",
		"github.get_commits": "github.list_commits",
		"jira.serach":        "jira.search",
	} {
		got := c.Nearest(wrong, 1)
		if len(got) != 1 || got[0] != want {
			t.Errorf("Nearest(%q) = %v, want %q", wrong, got, want)
		}
	}
	if got := c.Nearest("kubernetes.apply", 3); len(got) != 0 {
		t.Errorf("something far away is near to %v", got)
	}
}

func TestWordsSplitsAsPeopleRead(t *testing.T) {
	for in, want := range map[string][]string{
		"listPullRequests": {"list", "pull", "requests"},
		"HTTPServerError":  {"http", "server", "error"},
		"list_v2-items":    {"list", "v2", "items"},
		"openPRs in s3":    {"open", "prs", "in", "s3"},
		"":                 nil,
	} {
		if got := Words(in); !slices.Equal(got, want) {
			t.Errorf("Words(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestControlCharactersNeverReachADeclaration(t *testing.T) {
	c := New([]Tool{{Server: "shop", Name: "find", Description: "finds\x00 a\x1b[2J shop\u0085\u2028on a map",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a b":{"description":"of\u0000 a \u0007 kind","default":"\u0000"},"c":{"enum":["\u0000"],"description":"one\u0000two"}}}`)}})
	tool := c.Tools()[0]
	for _, text := range []string{c.TypeScript(tool), c.Python(tool), c.Declarations("javascript")["tools.d.ts"]} {
		for _, r := range text {
			if r != '\n' && unicode.IsControl(r) || r == '\u2028' {
				t.Errorf("%U in %q", r, text)
			}
		}
	}
	if doc := c.TypeScript(tool); !strings.Contains(doc, "finds a [2J shop on a map") {
		t.Errorf("got %q", doc)
	}
}
