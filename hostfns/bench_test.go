package hostfns

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
)

// BenchmarkCallPath is one call of 100 bytes with policy and audit on.
func BenchmarkCallPath(b *testing.B) {
	for _, c := range []struct{ name, pii string }{{"pii-off", "pii: {mode: off}\n"}, {"pii-on", ""}} {
		b.Run(c.name, func(b *testing.B) {
			text := "version: 1\n" + c.pii + "limits: {tool_calls: 2000000000, host_bytes: 1000GiB}\ntools:\n  deny:\n    - {tool: '*.delete_*', when: 'run.trigger == \"schedule\"'}\n  allow:\n    - {tool: gh.list, when: 'args.owner.startsWith(\"o\")'}\n"
			answer := []byte(`{"sha":"0123456789abcdef","message":"fix the parser so that it reads what it wrote","n":12345}`)
			readOnly := true // records of effects that write are synced to disk, which is the disk's time
			reads := tool("gh.list", commits)
			reads.Annotations.ReadOnly = &readOnly
			p := &rude{tools: []catalogue.Tool{reads}, call: func(context.Context, Call) (Answer, error) { return Answer{Data: answer}, nil }}
			log, err := audit.Open(b.TempDir(), audit.Options{})
			if err != nil {
				b.Fatal(err)
			}
			table, err := NewTable(mustPolicy(b, text), log, p)
			if err != nil {
				b.Fatal(err)
			}
			r, err := table.Open(b.Context(), RunInfo{ID: "bench"})
			if err != nil {
				b.Fatal(err)
			}
			args := []byte(`{"owner":"octocat-and-friends","per_page":50,"state":"open"}`)
			c := NewCalls(r, CallsOptions{})
			mem := append(heap("gh.list"), args...)
			mem = append(mem, make([]byte, 4096)...)
			b.ReportAllocs()
			for b.Loop() {
				id, err := c.Start(mem, 0, 7, 7, uint32(len(args)))
				if err != nil {
					b.Fatal(err)
				}
				if got, err := c.Wait(id, -1); err != nil || got != id {
					b.Fatal(got, err)
				}
				size := c.Size(id)
				if Kind(size>>32) != JSON {
					b.Fatal(size)
				}
				if _, err := c.Read(mem, id, 200, uint32(size)); err != nil {
					b.Fatal(err)
				}
			}
			c.Close()
		})
	}
}

// BenchmarkRun is what a run costs that calls nothing: its start and its end.
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
