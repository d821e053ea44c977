package mcpd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tiktoken-go/tokenizer/codec"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/policy"
)

func tokens(t *testing.T, text string) int {
	t.Helper()
	n, err := codec.NewO200kBase().Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTheListingStaysSmallHoweverManyServersThereAre counts everything that a
// client puts before a model.
func TestTheListingStaysSmallHoweverManyServersThereAre(t *testing.T) {
	var many []hostfns.Provider
	for i := range 200 {
		many = append(many, hostfns.Func(fmt.Sprintf("warehouse_of_region_%03d.list_items", i), func(context.Context, struct{}) (int, error) { return i, nil }))
	}
	c := connect(t, newServer(t, openPolicy, nil, many...), "", nil)
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := json.Marshal(tools.Tools)
	if err != nil {
		t.Fatal(err)
	}
	if n := tokens(t, string(listed)); n > 1500 {
		t.Errorf("the listing has %d tokens", n)
	} else {
		t.Logf("the listing has %d tokens", n)
	}
}

func TestTheDescriptionIsShort(t *testing.T) {
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("server_%d", i)
	}
	for _, family := range Families() {
		text, ok := Prompt(family, names, 0)
		if n := tokens(t, text); !ok || n > 600 || n < 150 {
			t.Errorf("%s: %d tokens", family, n)
		}
		small, _ := Prompt(family, names, 200)
		if n := tokens(t, small); n > 200 {
			t.Errorf("%s: %d tokens of 200", family, n)
		}
	}
	if n := tokens(t, Description(names)); n > 600 {
		t.Errorf("the description has %d tokens", n)
	}
}

// TestTheExamplesOfTheDescriptionRun runs each against the demo servers, as a
// model would that takes them as they are.
func TestTheExamplesOfTheDescriptionRun(t *testing.T) {
	demo := filepath.Join(t.TempDir(), "demo-server")
	build := exec.Command("go", "build", "-o", demo, "../../../examples/demo-server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var servers []upstream.Server
	for _, name := range []string{"github", "jira", "slack"} {
		servers = append(servers, upstream.Server{Name: name, Command: demo, Args: []string{name}, Transport: upstream.Stdio})
	}
	up, err := upstream.New(servers, upstream.Options{Environ: os.Environ(), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: ['*.{list,search,history}*']\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), up)
	if err != nil {
		t.Fatal(err)
	}
	defer table.Close()
	eng, err := engine.New(t.Context(), engine.Config{Cache: filepath.Join(os.TempDir(), "wexec-tests"), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	c := connect(t, New(Options{Engine: eng, Table: table}), "", nil)
	shown := Description(table.Identifiers())
	for _, family := range Families() {
		text, _ := Prompt(family, nil, 0)
		shown += text
	}
	for i, e := range Examples() {
		if !strings.Contains(shown, e.Code) {
			t.Errorf("example %d is shown nowhere", i)
		}
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": e.Language, "code": e.Code}})
		if err != nil {
			t.Errorf("example %d: %v", i, err)
			continue
		}
		if v := string(resultOf(t, res).Value); res.IsError || len(v) < 10 {
			t.Errorf("example %d gives %s\n%s", i, v, textOf(res))
		}
	}
}
