package metrics

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/figures"
)

var update = flag.Bool("update", false, "write the table of metrics into the document")

func TestTheMetricsAreDocumented(t *testing.T) {
	table := "| metric | type | meaning |\n|---|---|---|\n"
	for _, f := range Families() {
		table += fmt.Sprintf("| `%s` | %s | %s |\n", f.Name, f.Kind, f.Help)
	}
	figures.Compare(t, "../../docs/operate/monitoring.md", "go test ./service/metrics -run Documented -update", table, *update)
}

// A program that calls tools of many names makes few counts.
func TestCountsAreBounded(t *testing.T) {
	var s Set
	r := &engine.Result{Status: engine.StatusOK}
	for i := range 1000 {
		r.Calls = append(r.Calls, engine.Call{Tool: fmt.Sprintf("server%d.tool", i), Decision: "allow", OK: true}, engine.Call{Tool: fmt.Sprintf("zaphod%d.tool", i)},
			engine.Call{Tool: fmt.Sprintf("\"\n%d", i), Decision: "deny", Code: "denied.tool"})
	}
	s.Ended("no language", r)
	var text strings.Builder
	if err := s.Write(&text, Now{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "\nwexec_tool_calls_total{"); n != maxServers+3 {
		t.Errorf("%d counts of calls", n)
	}
	for _, want := range []string{
		`wexec_runs_total{language="other",status="ok"} 1`, `wexec_tool_calls_total{server="other",outcome="ok"} 900`,
		`wexec_tool_calls_total{server="other",outcome="error"} 1000`, `wexec_tool_calls_total{server="other",outcome="denied"} 1000`,
		`wexec_run_seconds_bucket{le="0.005"} 1`, `wexec_run_seconds_bucket{le="+Inf"} 1`,
	} {
		if !strings.Contains(text.String(), want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text.String(), "zaphod") {
		t.Error("the name that a program wrote is in the metrics")
	}
}
