package main

import (
	"strings"
	"testing"
)

func TestEveryFormOfAProgramCompiles(t *testing.T) {
	for code, want := range map[string]string{
		"":                                    "",
		"1 + 1":                               "1 + 1;\n",
		"const x: number = 1; return x":       "const x = 1;\nreturn x;\n",
		"return await (f() as Promise<T>)":    "return  await f();\n",
		"await f(); 5 + x":                    "await f();\n5 + x;\n",
		"export default 5 as number":          "export default 5;\n",
		"import {a} from 'fs'\nreturn a()":    "import { a } from \"fs\";\nreturn  a();\n",
		"import {T} from './t'\nreturn 1":     "return  1;\n",
		"// c\nimport a from 'a'; return a":   "import a from \"a\";\nreturn  a;\n",
		"#!/usr/bin/env x\nawait 1; return 2": "#!/usr/bin/env x\nawait 1;\nreturn  2;\n",
		"let x = y satisfies Z":               "let x = y;\n",
		"import a from 'a' with {type: 'json'}\nreturn await a": "import a from \"a\" with { type: \"json\" };\nreturn  await a;\n",
		"await import('x')\nreturn `\n} a`":                     "await import(\"x\");\nreturn  `\n} a`;\n",
		"export {}; await 1; return 2":                          "export {};\nawait 1;\nreturn  2;\n",
		"await 1\nif (x) return\nreturn // nothing\nx":          "await 1;\nif (x) return;\nreturn;\nx;\n",
		"await 1; while (x) { return }":                         "await 1;\nwhile (x) {\n  return;\n}\n",
		"await 1; return (// why\n 5 as T)":                     "await 1;\nreturn 0, // why\n5;\n",
		"await 1; return /* why */ {a: 1}":                      "await 1;\nreturn 0, /* why */\n{ a: 1 };\n",
		"await 1; return x = 1, async () => r$000":              "await 1;\nreturn  x = 1, async () => r$000;\n",
	} {
		out := compile(document{Code: code, File: "main.ts"})
		if len(out.Errors) > 0 || out.Code != want {
			t.Errorf("%q gives %q and not %q, %+v", code, out.Code, want, out.Errors)
		}
	}
}

func TestNewSyntaxIsWrittenOut(t *testing.T) {
	for _, code := range []string{
		"enum E { A, B = 'b' }; return E.A", "namespace N { export const x = 1 }; return N.x",
		"class A { @d m() {} }", "{ using x = f() }", "await f(); { await using y = g() }; return 1",
		"abstract class B { declare x: number; #y?: string; constructor(readonly z: number) {} }",
	} {
		out := compile(document{Code: code, File: "main.ts"})
		if len(out.Errors) > 0 {
			t.Errorf("%q: %+v", code, out.Errors)
		}
		for _, word := range []string{"enum ", "namespace ", "@d", "using x", "using y", "readonly", "declare"} {
			if strings.Contains(out.Code, word) {
				t.Errorf("%q leaves %s in %s", code, word, out.Code)
			}
		}
	}
}

func TestErrorsAreWhereTheAuthorSeesThem(t *testing.T) {
	for _, c := range []struct {
		code         string
		line, column int
		jsx          bool
	}{
		{"let x = ;", 1, 9, false},
		{"await f()\nreturn 1\nlet é = ;", 3, 9, false},
		{"import a from 'a'\nreturn a\n\nlet x = ;", 4, 9, false},
		{"const x = <div>hi</div>", 1, 11, true},
		{"await f(); return <div>hi</div>", 1, 19, true},
	} {
		out := compile(document{Code: c.code, File: "main.ts"})
		if len(out.Errors) == 0 {
			t.Errorf("%q compiles to %s", c.code, out.Code)
			continue
		}
		if e := out.Errors[0]; e.Line != c.line || e.Column != c.column || out.JSX != c.jsx {
			t.Errorf("%q: %+v, jsx %v", c.code, e, out.JSX)
		}
	}
}

func FuzzReturns(f *testing.F) {
	f.Add("import a from 'a'\nreturn 1")
	f.Add("export {}; if (a) { return /* b */ } return // c\n d")
	f.Fuzz(func(t *testing.T, code string) {
		out := compile(document{Code: code, File: "main.ts"})
		for _, e := range out.Errors {
			if strings.Contains(e.Text, "Top-level return") {
				t.Errorf("%q: %+v", code, e)
			}
		}
	})
}
