package catalogue

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "update the golden files")

// schemas are the interfaces of tools of real servers, without their words.
func schemas(t testing.TB) []Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var out []Tool
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDeclarationsOfRealToolsStayAsTheyAre(t *testing.T) {
	tools := schemas(t)
	if len(tools) < 60 {
		t.Fatalf("only %d tools", len(tools))
	}
	c := New(tools)
	var ts, py strings.Builder
	for _, tool := range c.Tools() {
		ts.WriteString("// " + tool.ID() + "\n" + c.TypeScript(tool) + "\n")
		py.WriteString("# " + tool.ID() + "\n" + c.Python(tool) + "\n")
	}
	for name, got := range map[string]string{"testdata/declarations.ts.golden": ts.String(), "testdata/declarations.pyi.golden": py.String()} {
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got), run with -update to accept it:\n%s", name, diff)
		}
	}
}
