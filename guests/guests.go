// Package guests knows the languages that programs are written in: which guest
// runs each, how a program is told apart from one in another language, and what
// has to be done to a program before its guest takes it.
//
// Nothing here parses a program. Python and JavaScript are parsed by their own
// interpreters inside the sandbox, TypeScript by a compiler that is a guest
// itself and that the engine runs, see [Compiler].
package guests

import (
	"path"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// The languages.
const (
	JavaScript = "javascript"
	TypeScript = "typescript"
	Python     = "python"
)

// Guest is a language and the module that runs it.
type Guest struct {
	Language   string   // javascript, typescript or python
	Module     string   // name of the module in package wasmmodules that runs it
	Compiler   string   // name of the module that compiles it first; empty: none
	File       string   // name of a program that has none
	Extensions []string // of files in this language, with the dot
	Aliases    []string // other names of the language
}

// All returns the languages, in the order in which they are listed to people. The
// slices must not be changed.
func All() []Guest { return all }

var all = []Guest{
	{
		Language: JavaScript, Module: "quickjs", File: "main.js",
		Extensions: []string{".js", ".mjs", ".cjs"}, Aliases: []string{"js", "mjs", "ecmascript", "node"},
	},
	{
		Language: TypeScript, Module: "quickjs", Compiler: "esbuild", File: "main.ts",
		Extensions: []string{".ts", ".mts", ".cts", ".tsx"}, Aliases: []string{"ts", "mts", "tsx"},
	},
	{
		Language: Python, Module: "cpython", File: "main.py",
		Extensions: []string{".py", ".pyw"}, Aliases: []string{"py", "python3"},
	},
}

// Lookup finds a language by its name or by one of its aliases, in any case. The
// error is of the code usage.language.
func Lookup(language string) (Guest, error) {
	name := strings.ToLower(strings.TrimSpace(language))
	var names []string
	for _, g := range All() {
		if name == g.Language || slices.Contains(g.Aliases, name) {
			return g, nil
		}
		names = append(append(names, g.Language), g.Aliases...)
	}
	const hint = "use javascript, typescript or python"
	if name == "" {
		return Guest{}, fault.New(fault.UsageLanguage, "no language given").WithHint(hint)
	}
	err := fault.New(fault.UsageLanguage, "unknown language %q", text.ClipRunes(language, 40))
	if near := catalogue.NearestOf(text.ClipRunes(name, 40), names); near != "" {
		return Guest{}, err.WithHint("did you mean %q?", near)
	}
	return Guest{}, err.WithHint(hint)
}

// LanguageOfFile returns the language of a file by its extension.
func LanguageOfFile(name string) (language string, ok bool) {
	ext := strings.ToLower(path.Ext(strings.ReplaceAll(name, `\`, "/")))
	for _, g := range All() {
		if slices.Contains(g.Extensions, ext) {
			return g.Language, true
		}
	}
	return "", false
}
