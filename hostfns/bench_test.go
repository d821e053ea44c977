package hostfns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
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

// BenchmarkSearchOfARun searches 5,000 tools from a program.
func BenchmarkSearchOfARun(b *testing.B) {
	verbs, nouns := strings.Fields("list create delete update search send export merge"), strings.Fields("commit invoice ticket customer message deployment event report")
	var tools []catalogue.Tool
	for i := range 5000 {
		verb, noun := verbs[i%8], nouns[i/8%8]
		tools = append(tools, catalogue.Tool{Server: "s", Name: fmt.Sprintf("%s_%s_%d", verb, noun, i),
			Description: fmt.Sprintf("%s a %s of area %d, with paging, filters and a limit on what comes back.", verb, noun, i%251)})
	}
	table, err := NewTable(mustPolicy(b, "version: 1\ntools: {allow: ['s.*'], ask: ['s.send_*'], deny: ['s.delete_*']}\n"), audit.None(), &fakeProvider{tools: tools})
	if err != nil {
		b.Fatal(err)
	}
	run := openRun(b, table, RunInfo{Limits: policy.Limits{HostBytes: 1 << 50}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run.Call(b.Context(), "wexec:search", []byte(`{"query":"create an invoice for a customer"}`)); err != nil {
			b.Fatal(err)
		}
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
