package policy

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// FuzzParse checks that any file gives a usable policy or problems with
// positions, in bounded time and without a panic.
func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/support-triage.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(data))
	for _, seed := range []string{
		"version: 1\n", "version: 1\ntools: {allow: [\"*\"]}\n", "a: &b [*b]\n", "- - - -\n", "version: 1\nvars: {a: vars.b, b: vars.a}\n", "? a\n: b\n", "version: 1\n---\n...\n",
		"version: 1\ntools:\n  deny:\n    - tool: a.b\n      when: |\n        args.x\n", "{version: 1, tools: {ask: [{tool: \"{a,b}.{c,d}\", messageExpression: \"'x'\"}]}}", "\xff\xfe", "version: 1\nname: \"\\x00\"\n", "<<: {version: 1}\n",
		"version: 1\npii: {patterns: {a: '((((a*)*)*)*)'}}\n", "version: !!int 1\n", "version: 1\nlimits: {time: 99999999999999h}\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		p, err := Parse("p.yaml", []byte(text))
		if took := time.Since(start); took > 30*time.Second {
			t.Fatalf("it took %v", took)
		}
		if err != nil {
			var list Problems
			if p != nil || fault.CodeOf(err) != fault.UsagePolicy || !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for _, name := range []string{"create_issue", "list_issues", "delete_repo", "send", "form"} {
			req := Request{Tool: catalogue.Tool{Server: "github", Name: name}, Args: map[string]any{"to": "x", "n": 1.0}, Now: time.Unix(0, 0)}
			d, e := p.Decide(req), p.Explain(req)
			if d.Effect != e.Decision || d.Rule != e.Rule {
				t.Fatalf("%v and %v", d, e)
			}
		}
		p.DecideFile(FileRequest{Path: "/a/b"})
		p.DecideNetwork(NetRequest{Host: "example.com", Port: 443})
		p.PII().ModeOf("a.b")
	})
}

// FuzzCondition checks that any condition compiles or is a problem, and that
// what compiles ends in bounded time for any arguments.
func FuzzCondition(f *testing.F) {
	for _, seed := range []string{
		`args.to == "x"`, `args.l.all(x, args.l.all(y, x + y > 0))`, `"a".matches(args.to)`, `args.to.replace("", args.to)`, `lists.range(1000).map(x, lists.range(1000))`,
		`now.getHours("Europe/Berlin") > 3`, `calls["a"] + 9223372036854775807 > 0`, `tool == run`, `[tool].exists(t, t.name == "x")`, `{"a": args}.a.b[0]`, `optional.of(args).?a.?b`, `string(run)`, `type(args) == map`,
		`"%s".format([args])`, `args.l.sort()`, `vars.x`, `dyn(tool).nope`, `wexec.run{id: "x"}`, `args.map(k, k + k).join(args.to)`, `1/0 > 1`, `size(args.to) > 0 ? args.n : "x"`,
	} {
		f.Add(seed, "hello", 3.0)
	}
	f.Fuzz(func(t *testing.T, text, s string, n float64) {
		p, err := Parse("p.yaml", []byte("version: 1\nvars: {x: args.n}\ntools:\n  deny: [{tool: a.b, when: "+quoteYAML(strings.ToValidUTF8(text, ""))+"}]\n  allow: [\"*\"]\n"))
		if err != nil {
			return
		}
		l := make([]any, 50)
		for i := range l {
			l[i] = float64(i)
		}
		start := time.Now()
		d := p.Decide(Request{Tool: catalogue.Tool{Server: "a", Name: "b"}, Args: map[string]any{"to": s, "n": n, "l": l, "o": map[string]any{s: s}}})
		if took := time.Since(start); took > 30*time.Second {
			t.Fatalf("%q took %v", text, took)
		}
		if d.Effect == Ask || d.Rule == "" {
			t.Fatalf("%+v", d)
		}
	})
}
