package audit_test

import (
	"context"
	"fmt"
	"os"

	"github.com/wexec/wexec/audit"
)

// A chain on disk: records go in, come back, and are verified.
func Example() {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range []audit.Event{
		{Run: "r1", Start: &audit.Start{Language: "python", CodeSHA256: audit.Digest([]byte("return 1"))}},
		{Run: "r1", Decision: &audit.Decision{Call: 1, Tool: "github.list_commits", Effect: "allow", Rule: "policy.yaml:9"}},
		{Run: "r1", End: &audit.End{Status: "ok"}},
	} {
		if _, err := log.Record(ctx, e); err != nil {
			fmt.Println(err) // audit.unavailable: nothing may be done
			return
		}
	}
	if err := log.Close(); err != nil {
		fmt.Println(err)
		return
	}

	for e, err := range audit.Read(ctx, dir, audit.Filter{Run: "r1", Type: audit.TypeDecision}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, e.Decision.Tool, e.Decision.Effect)
	}
	report, err := audit.Verify(dir)
	fmt.Println(report.Records, report.OK(), err)
	// Output:
	// 2 github.list_commits allow
	// 3 true <nil>
}
