package guests

import (
	"errors"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func TestEveryAliasAndExtensionLeadsToOneLanguage(t *testing.T) {
	seen := map[string]string{}
	for _, g := range All() {
		for _, name := range append([]string{g.Language, strings.ToUpper(g.Language)}, g.Aliases...) {
			if got, err := Lookup(name); err != nil || got.Language != g.Language {
				t.Errorf("%s: %s, %v", name, got.Language, err)
			}
		}
		for _, ext := range g.Extensions {
			if other := seen[ext]; other != "" {
				t.Errorf("%s is of %s and of %s", ext, g.Language, other)
			}
			seen[ext] = g.Language
			if got, ok := LanguageOfFile(`C:\some.dir\x` + strings.ToUpper(ext)); !ok || got != g.Language {
				t.Errorf("%s: %s", ext, got)
			}
		}
		if got, ok := LanguageOfFile(g.File); !ok || got != g.Language {
			t.Errorf("%s: %s", g.File, got)
		}
	}
	if _, ok := LanguageOfFile("dir.py/noext"); ok {
		t.Error("the name of a folder is not an extension")
	}
}

func TestUnknownLanguageIsAUsageFault(t *testing.T) {
	for _, name := range []string{"", " ", "ruby", strings.Repeat("x", 1<<16)} {
		_, err := Lookup(name)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.UsageLanguage || f.Hint == "" || len(err.Error()) > 300 {
			t.Errorf("%.10q: %v", name, err)
		}
	}
}

func TestEveryLanguageHasItsModules(t *testing.T) {
	for _, g := range All() {
		for _, name := range []string{g.Module, g.Compiler} {
			if name == "" {
				continue
			}
			if _, err := wasmmodules.Open(name); err != nil {
				t.Errorf("%s: %v", g.Language, err)
			}
		}
	}
}

func TestLanguageIsGuessedOnlyWhereItIsCertain(t *testing.T) {
	for _, c := range []struct{ want, code string }{
		{Python, "def f(x):\n    return x\n"},
		{Python, "import json\nprint(json.dumps({'a': 1}))"},
		{Python, "from tools import github\ngithub.list()"},
		{Python, "for i in range(3):\n    pass"},
		{Python, "if x == 1:\n  y = 2"},
		{Python, "rows = [r for r in data if r]"},
		{Python, "x = None"},
		{Python, "class A(B):\n  x = 1"},
		{Python, `s = "const x = 1; // not JavaScript"` + "\nprint(s)"},
		{Python, `"""let x = () => {};` + "\n" + `const y = 1;"""` + "\ny = None"},
		{Python, "def f(x: str, y: dict[str, int]) -> None:\n    ..."},
		{Python, "#!/usr/bin/env python3\n1"},
		{Python, "with open('x') as f:\n  pass"},
		{JavaScript, "const x = 1"},
		{JavaScript, "let {a, b} = args\nreturn a + b"},
		{JavaScript, "items.map(x => x.id)"},
		{JavaScript, "console.log('def f(x):')"},
		{JavaScript, "if (x) {\n  y()\n}"},
		{JavaScript, "import fs from 'fs/promises'"},
		{JavaScript, "export default 42"},
		{JavaScript, "#!/usr/bin/env node\n1"},
		{JavaScript, "const o = {a: 1, b: Foo, c: Bar}"},
		{JavaScript, "// import os\nvar x = `\ndef f(y):\n`"},
		{JavaScript, "return (ok ? a : B)\n/* None */ || 1"},
		{TypeScript, "const x: number = 1"},
		{TypeScript, "interface A { x: string }\nreturn 1"},
		{TypeScript, "type A = {x: string}"},
		{TypeScript, "function f(a: string, b?: number) { return a }"},
		{TypeScript, "enum E { A, B }"},
		{TypeScript, "const f = (o: Options) => o"},
		{TypeScript, "const x = {} satisfies Foo"},
		{"", "1 + 1"},
		{"", ""},
		{"", "hello()"},
		{"", "x = 1"},
		{"", "const x = 1\ndef f(y):\n  pass"},
		{"", "print(x) && y"},
		{"", "\"const x = 1;\""},
	} {
		got, why, ok := GuessLanguage(c.code)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q is %q (%s) and not %q", c.code, got, why, c.want)
		}
		if ok && why == "" && !strings.HasPrefix(c.code, "#!") {
			t.Errorf("%q: no reason", c.code)
		}
	}
}

func FuzzGuess(f *testing.F) {
	f.Add("x = '''a")
	f.Add(`""""""`)
	f.Add("/*/")
	f.Add("'\\")
	f.Fuzz(func(t *testing.T, code string) {
		language, _, ok := GuessLanguage(code)
		if _, err := Lookup(language); ok != (err == nil) {
			t.Errorf("%q, %v", language, ok)
		}
	})
}
