package main

import (
	"strings"
	"testing"
)

func TestAPackageBecomesOneModule(t *testing.T) {
	out := answer(document{Bundle: "@a/top", Files: tree{
		"node_modules/@a/top/package.json":                   `{"exports": {".": {"types": "./x.d.ts", "import": "./top.mjs", "require": "./top.cjs"}}, "imports": {"#in": "./lib/in.js"}}`,
		"node_modules/@a/top/top.cjs":                        `const b = require('b'); const { words } = require('b/words'); exports.f = () => [b(), words.length, require('#in')]; exports.os = require('os'); try { require('absent') } catch {}`,
		"node_modules/@a/top/lib/in.js":                      `module.exports = require('./data')`,
		"node_modules/@a/top/lib/data.json":                  `[1, 2]`,
		"node_modules/@a/top/node_modules/b/package.json":    `{"main": "./lib", "module": "m.js"}`,
		"node_modules/@a/top/node_modules/b/lib/index.js":    `module.exports = () => 'inner b'`,
		"node_modules/@a/top/node_modules/b/words/index.mjs": `export const words = ['w']`,
		"node_modules/b/package.json":                        `{}`,
		"node_modules/b/index.js":                            `module.exports = () => 'outer b'`,
	}})
	if len(out.Errors) > 0 {
		t.Fatal(out.Errors)
	}
	for _, want := range []string{"inner b", `require("os")`, `require("absent")`, `words = ["w"]`, "[1, 2]"} {
		if !strings.Contains(out.Code, want) {
			t.Errorf("%s is missing in\n%s", want, out.Code)
		}
	}
	if strings.Contains(out.Code, "outer b") {
		t.Error("the outer package was taken instead of the inner one")
	}
}

func TestAFileThatIsMissingInAPackageIsNamed(t *testing.T) {
	for want, files := range map[string]tree{
		"cannot find ./gone":  {"node_modules/a/package.json": `{"main": "x.js"}`, "node_modules/a/x.js": "require('./gone')"},
		"no JavaScript under": {"node_modules/a/package.json": `{"exports": {"default": {"default": [{"default": "./gone.js"}]}}}`},
		"its name":            {},
	} {
		out := answer(document{Bundle: "a", Files: files})
		if len(out.Errors) != 1 || !strings.Contains(out.Errors[0].Text, want) {
			t.Errorf("%s: %+v", want, out)
		}
	}
}
