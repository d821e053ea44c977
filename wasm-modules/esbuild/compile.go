package main

import (
	"encoding/json"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// document is the input.
type document struct {
	Code  string `json:"code"`
	File  string `json:"file"`
	About bool   `json:"about"` // only report versions
}

// outcome is the value.
type outcome struct {
	Code        string          `json:"code"`
	Map         json.RawMessage `json:"map,omitempty"`
	WrappedAt   int             `json:"wrapped_at,omitempty"`
	WrappedBy   int             `json:"wrapped_by,omitempty"`
	UnwrappedAt int             `json:"unwrapped_at,omitempty"`
	Errors      []failure       `json:"errors,omitempty"`
	JSX         bool            `json:"jsx,omitempty"`
	About       []string        `json:"about,omitempty"`
}

type failure struct {
	Text   string   `json:"text"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Source string   `json:"source,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// compile compiles TypeScript to JavaScript. A program may return and await at its
// top level, which esbuild allows in a function or in a module: if it fails, the
// program is wrapped in an async function, and the output is unwrapped
// again, line by line.
func compile(in document) outcome {
	if in.About {
		return outcome{About: about()}
	}
	r := transform(in.Code, in.File, api.LoaderTS)
	if len(r.Errors) == 0 {
		return outcome{Code: string(r.Code), Map: r.Map}
	}
	if !returns(r.Errors) {
		return refused(in, r.Errors, in.Code, 0, 0)
	}
	wrapped, line, moved := wrap(in.Code)
	w := transform(wrapped, in.File, api.LoaderTS)
	if len(w.Errors) == 0 {
		if code, at, ok := unwrap(string(w.Code)); ok {
			return outcome{Code: code, Map: w.Map, WrappedAt: line, WrappedBy: moved, UnwrappedAt: at}
		}
		return outcome{Errors: failures(r.Errors, 0, 0)}
	}
	if len(r.Errors) == 1 {
		// The return was the only error: the function contains something
		// that only a module can have.
		f := failures(r.Errors, 0, 0)
		f[0].Text = "a program with exports or namespaces cannot use a top-level return together with import or await"
		f[0].Notes = []string{"use export default for the value, or remove the export or the namespace"}
		return outcome{Errors: f}
	}
	return refused(in, w.Errors, wrapped, line, moved)
}

// refused returns the errors of a program; if it would have none as TSX, they are
// about JSX.
func refused(in document, errors []api.Message, code string, line, moved int) outcome {
	out := outcome{Errors: failures(errors, line, moved)}
	if x := transform(code, in.File, api.LoaderTSX); len(x.Errors) == 0 || len(x.Errors) == 1 && returns(x.Errors) {
		out.JSX = true
		if at := tag.FindStringIndex(out.Errors[0].Source); at != nil {
			out.Errors[0].Column = utf8.RuneCountInString(out.Errors[0].Source[:at[0]]) + 1
		}
	}
	return out
}

// tag is how an element of JSX begins.
var tag = regexp.MustCompile(`<[A-Za-z>]`)

// about returns the versions in this guest.
func about() []string {
	all := []string{runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/evanw/esbuild" {
				all = append(all, "esbuild "+d.Version)
			}
		}
	}
	return all
}

// settings of TypeScript for every program.
const settings = `{"compilerOptions": {"target": "esnext", "useDefineForClassFields": true}}`

func transform(code, file string, loader api.Loader) api.TransformResult {
	return api.Transform(code, api.TransformOptions{
		Loader: loader, Sourcefile: file, Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentExclude,
		// What QuickJS supports; decorators and using are lowered.
		Target:      api.ES2023,
		Supported:   map[string]bool{"import-attributes": true, "top-level-await": true, "regexp-set-notation": true},
		TsconfigRaw: settings, Charset: api.CharsetUTF8, TreeShaking: api.TreeShakingFalse, LogLevel: api.LogLevelSilent,
		JSX: api.JSXPreserve,
	})
}

// returns reports whether esbuild rejects a return outside of functions.
func returns(errors []api.Message) bool {
	for _, e := range errors {
		if strings.Contains(e.Text, "Top-level return") {
			return true
		}
	}
	return false
}

// failures converts esbuild's errors. Places are counted from 1. Lines
// below the line wrapped moved by moved lines; 0: none did.
func failures(errors []api.Message, wrapped, moved int) []failure {
	const most = 10
	var all []failure
	for _, e := range errors[:min(len(errors), most)] {
		f := failure{Text: decapitalised(e.Text)}
		if l := e.Location; l != nil {
			f.Line, f.Source = l.Line, l.LineText
			f.Column = utf8.RuneCountInString(l.LineText[:min(max(l.Column, 0), len(l.LineText))]) + 1
			if wrapped > 0 && f.Line > wrapped {
				f.Line -= moved
			}
		}
		for _, n := range e.Notes {
			f.Notes = append(f.Notes, decapitalised(n.Text))
		}
		all = append(all, f)
	}
	return all
}

// decapitalised converts a message of esbuild to the style of wexec.
func decapitalised(s string) string {
	s = strings.TrimSuffix(s, ".")
	if len(s) > 1 && 'A' <= s[0] && s[0] <= 'Z' && 'a' <= s[1] && s[1] <= 'z' {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}
