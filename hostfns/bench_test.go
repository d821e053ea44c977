package hostfns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
)

// BenchmarkCallPath measures a call of 100 bytes with policy and audit.
func BenchmarkCallPath(b *testing.B) {
	for _, c := range []struct{ name, pii string }{{"pii-off", "pii: {mode: off}\n"}, {"pii-on", ""}} {
		b.Run(c.name, func(b *testing.B) {
			call := callPath(b, c.pii)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// BenchmarkRun measures the start and end of a run without calls.
func BenchmarkRun(b *testing.B) {
	for _, c := range []struct{ name, pii string }{{"pii-off", "pii: {mode: off}\n"}, {"pii-on", ""}} {
		b.Run(c.name, func(b *testing.B) {
			table, err := NewTable(mustPolicy(b, "version: 1\n"+c.pii+"tools: {allow: ['*']}\n"), audit.None(), Func("math.add", add))
			if err != nil {
				b.Fatal(err)
			}
			code := audit.Blob(strings.Repeat("const x = await tools.math.add({a: 1, b: 2});\n", 20))
			b.ReportAllocs()
			for b.Loop() {
				r, err := table.Open(b.Context(), RunInfo{ID: "bench", Start: audit.Start{Code: code}})
				if err != nil {
					b.Fatal(err)
				}
				NewCalls(r, CallsOptions{}).Close()
				if _, err := r.Close(b.Context(), audit.End{Status: "ok"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func ExampleFunc() {
	type in struct {
		Name string `json:"name" jsonschema:"who to greet"`
	}
	greet := Func("host.greet", func(_ context.Context, in in) (string, error) { return "hello " + in.Name, nil }, Describe("greets somebody"))
	tools, _ := greet.Tools(context.Background(), "host")
	fmt.Println(tools[0].ID(), string(tools[0].InputSchema))
	// Output: host.greet {"type":"object","properties":{"name":{"type":"string","description":"who to greet"}},"required":["name"],"additionalProperties":false}
}
