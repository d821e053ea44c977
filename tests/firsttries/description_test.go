package firsttries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/internal/tools/figures"
)

// leftOut are sentences that the description does not have, since programs work
// without them.
var leftOut = []mcpd.Sentence{
	{Name: "calling", Text: "Tools are tools.<server>.<tool>({...}) or <server>.<tool>(name=value)."},
	{Name: "overlap", Text: "In Python, from tools.aio import x to await."},
	{Name: "branches", Text: "attempt() and settle() keep other branches running."},
	{Name: "error fields", Text: "An error has code, message and hint."},
}

// cautious replaces personal data, as policies do that do not turn it off, and denies
// a tool.
const cautious = "version: 1\ntools:\n  allow: ['*']\n  deny: [slack.post_message]\n"

// TestEverySentenceOfTheDescriptionIsNeeded runs programs whose writers do not know one
// sentence of the description of execute_code. For each sentence one of them fails, and
// works as it is written with the sentence. For those that are left out all work.
func TestEverySentenceOfTheDescriptionIsNeeded(t *testing.T) {
	naive, written := connect(t, open(t, cautious)), connect(t, open(t, everything))
	taught := map[string]program{}
	for _, p := range corpus(t, "taught") {
		taught[p.name] = p
	}
	works, fails := map[string]int{}, map[string]map[string]int{}
	count := func(p program, how string) {
		if how == "" {
			works[p.sentence]++
			return
		}
		t.Logf("%s: %s", p.name, how)
		if fails[p.sentence] == nil {
			fails[p.sentence] = map[string]int{}
		}
		fails[p.sentence][how]++
	}
	for _, p := range corpus(t, "naive") {
		how := failure(t, naive, p)
		count(p, how)
		better, ok := taught[p.name]
		delete(taught, p.name)
		switch {
		case how == "" && ok:
			t.Errorf("naive/%s works; remove taught/%s", p.name, p.name)
		case how != "" && (!ok || better.sentence != p.sentence || better.want != p.want || better.prints != p.prints):
			t.Errorf("naive/%s: %s; write taught/%s with the same Sentence and Want", p.name, how, p.name)
		case how != "":
			if how := failure(t, naive, better); how != "" {
				t.Errorf("taught/%s: %s", p.name, how)
			}
		}
	}
	for name := range taught {
		t.Errorf("taught/%s: there is no such program in the folder naive", name)
	}
	for _, p := range corpus(t, "programs") { // those that fail are in the folder advised
		if p.sentence != "" {
			count(p, failure(t, written, p))
		}
	}

	table := "| part | tokens | programs | work | fail | how they fail |\n|---|---|---|---|---|---|\n"
	row := func(s mcpd.Sentence, needed bool) {
		failing := 0
		var how []string
		for _, why := range slices.Sorted(maps.Keys(fails[s.Name])) {
			n := fails[s.Name][why]
			failing += n
			how = append(how, fmt.Sprintf("%s %d", why, n))
		}
		switch {
		case works[s.Name]+failing == 0:
			t.Errorf("%s: write programs without knowing that: %s", s.Name, s.Text)
		case needed && failing == 0:
			t.Errorf("%s: every program works without it; leave it out: %s", s.Name, s.Text)
		case !needed && failing > 0:
			t.Errorf("%s: programs fail without it; put it into mcpd.Sentences: %s", s.Name, s.Text)
		}
		tokens, err := codec.NewO200kBase().Count(s.Text)
		if err != nil {
			t.Fatal(err)
		}
		name := s.Name
		if !needed {
			name = "left out: `" + s.Text + "`"
		}
		table += fmt.Sprintf("| %s | %d | %d | %d | %d | %s |\n", name, tokens, works[s.Name]+failing, works[s.Name], failing, strings.Join(how, ", "))
		delete(works, s.Name)
		delete(fails, s.Name)
	}
	for _, s := range mcpd.Sentences([]string{"crm", "github", "slack", "weather"}) {
		row(s, true)
	}
	for _, s := range leftOut {
		row(s, false)
	}
	if len(works)+len(fails) > 0 {
		t.Errorf("there are no sentences of these names: %v %v", works, fails)
	}
	figures.Compare(t, "../../docs/use/mcp.md", "go test ./tests/firsttries -update", table, *update)
}

// failure returns how a program fails that a client sends to execute_code: the code of
// its error, "cut" if the client gets a preview of the answer, or "another answer". It
// returns an empty string if the program works.
func failure(t *testing.T, client *mcp.ClientSession, p program) string {
	t.Helper()
	answer, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": p.language, "code": p.code}})
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	res, err := mcpd.ResultOf(answer)
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	if res.Error != nil {
		return fmt.Sprintf("`%s`", res.Error.Code)
	}
	for _, part := range answer.Content {
		switch part := part.(type) {
		case *mcp.ResourceLink:
			return "cut"
		case *mcp.TextContent: // has the output of a program without a value
			res.Stdout += part.Text
		}
	}
	if mismatch(t, p, res) != "" {
		return "another answer"
	}
	return ""
}

// connect returns a client of the MCP server of a host.
func connect(t *testing.T, host *config.Host) *mcp.ClientSession {
	t.Helper()
	server := mcpd.New(mcpd.Options{Engine: host.Engine, Table: host.Table, Version: "test"})
	near, far := mcp.NewInMemoryTransports()
	go func() { _ = server.Serve(t.Context(), far) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}
