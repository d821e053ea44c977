package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// TestTheHelpersAreDocumentedInTheTree checks that HELPERS.md has at least ten lines
// and a working program in both languages for each helper.
func TestTheHelpersAreDocumentedInTheTree(t *testing.T) {
	text, err := fs.ReadFile(catalogue.New(nil).Tree(nil), "HELPERS.md")
	if err != nil {
		t.Fatal(err)
	}
	env := machine(t)
	list := `{"mcpServers": {`
	for i, name := range []string{"github", "jira", "slack"} {
		if i > 0 {
			list += ","
		}
		list += `"` + name + `": {"command": "${DEMO_SERVER}", "args": ["` + name + `"]}`
	}
	file := filepath.Join(env.Dir, "mcp.json")
	if err := os.WriteFile(file, []byte(list+"}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := testenv.Open(t, env, config.Flags{MCP: []string{file}, Allow: policy.Flags{AllowTool: []string{"*"}}})
	sections := strings.Split(string(text), "\n## ")[1:]
	fence := regexp.MustCompile("(?s)```(js|py)\n(.*?)```")
	for _, want := range []string{"attempt", "settle", "pages", "mapLimit", "progress", "pii", "artifacts"} {
		found := false
		for _, section := range sections {
			name, body, _ := strings.Cut(section, "\n")
			if !strings.HasPrefix(name, want) {
				continue
			}
			found = true
			if n := strings.Count(strings.TrimSpace(body), "\n") + 1; n < 10 {
				t.Errorf("%s has %d lines", name, n)
			}
			values := map[string]string{}
			for _, m := range fence.FindAllStringSubmatch(body, -1) {
				language := map[string]string{"js": engine.JavaScript, "py": engine.Python}[m[1]]
				res := run(t, host, engine.Request{Language: language, Code: m[2]})
				values[m[1]] = string(res.Value)
				if v := string(res.Value); v == "" || v == "null" || v == "0" || v == "[]" {
					t.Errorf("%s in %s gives %s", name, m[1], v)
				}
			}
			if len(values) != 2 {
				t.Errorf("%s has programs in %d languages", name, len(values))
			}
			t.Logf("%s: %v", name, values)
		}
		if !found {
			t.Errorf("HELPERS.md has no section on %s", want)
		}
	}
}
