package catalogue

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/wexec/wexec/internal/tools/timing"
)

func shop() *Catalogue {
	tool := func(server, name, description string, args ...string) Tool {
		var props []string
		for _, a := range args {
			props = append(props, fmt.Sprintf("%q:{}", a))
		}
		return Tool{Server: server, Name: name, Description: description,
			InputSchema: []byte(`{"type":"object","properties":{` + strings.Join(props, ",") + `}}`)}
	}
	return New([]Tool{
		tool("github", "list_commits", "List the commits of a branch", "owner", "repo", "since"),
		tool("github", "create_pull_request", "Open a pull request", "title", "head", "base"),
		tool("github", "delete_branch", "Delete a branch", "branch"),
		tool("jira", "create_issue", "Open a new issue", "title"),
		tool("jira", "search", "Search issues", "jql"),
		tool("slack", "post_message", "Post a message to a channel", "channel", "text"),
		tool("slack", "get_channel_history", "Messages of a channel", "channel", "limit"),
		tool("crm", "find_customers", "Search the customer list", "city", "segment"),
		tool("fs", "read_file", "Read the contents of a file", "path"),
		tool("fs", "write_file", "Write contents to a file", "path", "content"),
	})
}

func TestSearchUnderstandsHowPeopleAsk(t *testing.T) {
	c := shop()
	for question, want := range map[string]string{
		"commit history":                   "github.list_commits",
		"make a new PR":                    "github.create_pull_request",
		"remove a branch":                  "github.delete_branch",
		"send something to a room":         "slack.post_message",
		"which clients live in a city":     "crm.find_customers",
		"open a document on disk and load": "fs.read_file",
		"open an issue":                    "jira.create_issue",
		"save text into a file":            "fs.write_file",
		"lst comits":                       "github.list_commits",
	} {
		found := searched(t, c, Query{Text: question, Limit: 3})
		ok := false
		var got []string
		for _, e := range found.Tools {
			got = append(got, e.Name)
			ok = ok || e.Name == want
		}
		if !ok {
			t.Errorf("%q gave %v, want %s among them", question, got, want)
		}
	}
}

func TestSearchLeavesOutWhatThePolicyDenies(t *testing.T) {
	found := searched(t, shop(), Query{Text: "branch", Keep: func(t Tool) string {
		if strings.HasPrefix(t.Name, "delete") {
			return ""
		}
		return "allow"
	}})
	for _, e := range found.Tools {
		if e.Name == "github.delete_branch" || e.Decision != "allow" {
			t.Errorf("found %+v", e)
		}
	}
	if found.Total == 0 {
		t.Error("nothing was left")
	}
}

func TestEmptyQueryListsEverything(t *testing.T) {
	if found := searched(t, shop(), Query{Limit: 3}); found.Total != 10 || len(found.Tools) != 3 {
		t.Errorf("%d of %d", len(found.Tools), found.Total)
	}
}

// many returns tools of 20 servers as real ones describe theirs.
func many(n int) []Tool {
	verbs := []string{"list", "create", "delete", "update", "search", "send", "export", "merge"}
	nouns := []string{"commit", "invoice", "ticket", "customer", "message", "deployment", "calendar_event", "report"}
	adverbs := []string{"across every workspace that the account can see", "and return the new state with its history", "for the given owner, team or project",
		"between two dates, newest first", "with optional labels, assignees and attachments"}
	var out []Tool
	for i := range n {
		verb, noun := verbs[i%8], nouns[i/8%8]
		out = append(out, Tool{Server: fmt.Sprintf("server%d", i%20), Name: fmt.Sprintf("%s_%s_%d", verb, noun, i), Title: verb + " " + noun,
			Description: fmt.Sprintf("%s a %s of area%d %s. Works on things of the kind its name says, with paging, filters and a limit on what comes back.",
				verb, noun, i%251, adverbs[i%5]),
			InputSchema: []byte(fmt.Sprintf(`{"type":"object","properties":{"limit":{"type":"integer"},"cursor":{"type":"string"},"query":{"type":"string"},
				"%s_id":{"type":"string"},"state":{"enum":["open","closed","all"]},"field%d":{"type":"object","properties":{"name":{},"value":{}}}}}`, noun, i%97))})
	}
	return out
}

func TestTwoThousandToolsAreIndexedAndSearchedInTime(t *testing.T) {
	tools := many(2000)
	timing.Within(t, 600*time.Millisecond, "indexing", func() time.Duration {
		c := New(tools)
		return timing.Of(func() { searched(t, c, Query{Text: "warm"}) })
	})
}

// searched returns what a search finds.
func searched(t testing.TB, c *Catalogue, q Query) Found {
	t.Helper()
	found, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// BenchmarkIndex builds the index of 5,000 tools, and reports its memory.
func BenchmarkIndex(b *testing.B) {
	tools := many(5000)
	for b.Loop() {
		searched(b, New(tools), Query{Text: "warm"})
	}
	c := New(tools)
	held := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	searched(b, c, Query{Text: "warm"})
	b.ReportMetric(float64(int64(held()-before))/float64(len(tools)), "B/tool")
	runtime.KeepAlive(c)
}

// BenchmarkSearch searches 5,000 tools in several ways, and reports the median.
func BenchmarkSearch(b *testing.B) {
	c := New(many(5000))
	for name, query := range map[string]string{
		"one word": "invoice", "a question": "create an invoice for a customer", "misspelled": "creat an invioce for a custmer",
		"many words": "list create delete update search send export merge commit invoice ticket customer message deployment event report",
	} {
		b.Run(name, func(b *testing.B) {
			searched(b, c, Query{Text: query})
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				searched(b, c, Query{Text: query})
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
		})
	}
}

func TestTreeIsAFileSystem(t *testing.T) {
	if err := fstest.TestFS(shop().Tree(nil), "README.md", "github/index.ts", "github/list_commits.ts", "slack/__init__.pyi", "crm/find_customers.pyi"); err != nil {
		t.Fatal(err)
	}
}

func FuzzDeclarations(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}}}`)
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"allOf":[{"$ref":"#/allOf/0"}]}`)
	f.Add(`{"type":["string","null"],"enum":["a\"*/",null,1.5,{}]}`)
	f.Add(`{"type":"array","items":[{"type":"number"}],"additionalItems":false}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if len(schema) > 1<<16 {
			return
		}
		tool := Tool{Server: "s", Name: "t", Description: schema, InputSchema: []byte(schema), OutputSchema: []byte(schema)}
		c := New([]Tool{tool})
		for _, text := range []string{c.TypeScript(tool), c.Python(tool)} {
			if text == "" {
				t.Fatal("no declaration")
			}
			if len(text) > 64*len(schema)*len(schema)+1<<16 {
				t.Fatalf("%d bytes of schema became %d of declaration", len(schema), len(text))
			}
		}
	})
}

func TestDeepTypesAreFoldedInASearchAndWholeInADescription(t *testing.T) {
	deep := `{"type":"string","description":"a word about this field, as servers like to say one"}`
	for i := range 6 {
		deep = fmt.Sprintf(`{"type":"object","properties":{"level_%d":%s,"other_%d":{"type":"string","description":"a word about this field, as servers like to say one"},"third_%d":{"type":"array","items":%s}},"required":["level_%d"]}`, i, deep, i, i, deep, i)
	}
	c := New([]Tool{
		{Server: "shop", Name: "order_deep", Description: "Order something deep.", InputSchema: []byte(deep), OutputSchema: []byte(deep)},
		{Server: "shop", Name: "order_flat", Description: "Order something flat.", InputSchema: []byte(`{"type":"object","properties":{"id":{"type":"string"}}}`)},
	})
	for lang, helper := range map[string]string{"javascript": "describeTool", "python": "describe_tool"} {
		for _, e := range searched(t, c, Query{Text: "order something", Detail: "full", Lang: lang}).Tools {
			whole, ok := c.Describe(e.Name, "full", lang)
			if !ok {
				t.Fatal(e.Name)
			}
			folded := strings.Contains(e.Declaration, `(folded: `+helper+`("shop.order_deep") shows all)`)
			if e.Name == "shop.order_flat" && (folded || e.Declaration != whole.Declaration) {
				t.Errorf("%s: a small type is folded: %s", lang, e.Declaration)
			}
			if e.Name == "shop.order_deep" && (!folded || len(e.Declaration) > maxDeclaration || !strings.Contains(e.Declaration, "level_5")) {
				t.Errorf("%s: %d bytes: %s", lang, len(e.Declaration), e.Declaration)
			}
			if strings.Contains(whole.Declaration, "folded") || e.Name == "shop.order_deep" && !strings.Contains(whole.Declaration, "level_0") {
				t.Errorf("%s: the description is folded: %s", lang, whole.Declaration)
			}
		}
	}
}
