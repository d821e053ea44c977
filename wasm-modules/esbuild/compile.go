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

	// Bundle names a package to bundle, from Files.
	Bundle string `json:"bundle"`
	Files  tree   `json:"files"`
}

// tree has the text of files by path, such as node_modules/left/index.js.
type tree map[string]string

// outcome is the value.
type outcome struct {
	Code   string          `json:"code"`
	Map    json.RawMessage `json:"map,omitempty"`
	Errors []failure       `json:"errors,omitempty"`
	JSX    bool            `json:"jsx,omitempty"`
	About  []string        `json:"about,omitempty"`
}

type failure struct {
	Text   string   `json:"text"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Source string   `json:"source,omitempty"`
	Notes  []string `json:"notes,omitempty"`
}

// compile compiles TypeScript to JavaScript. A program may return at its top level
// and also await, import and export, which esbuild rejects: the returns are hidden
// from it.
func compile(in document) outcome {
	if in.About {
		return outcome{About: about()}
	}
	r := transform(in.Code, in.File, api.LoaderTS)
	if len(r.Errors) > 0 && isReturn(r.Errors[0]) {
		if code, name, ok := hideReturns(in.Code, r.Errors); ok {
			in.Code = code
			r = transform(code, in.File, api.LoaderTS)
			r.Code = []byte(showReturns(string(r.Code), name))
		}
	}
	if len(r.Errors) > 0 {
		return refused(in, r.Errors)
	}
	return outcome{Code: string(r.Code), Map: r.Map}
}

// refused returns the errors of a program; if it would have none as TSX, they are
// about JSX.
func refused(in document, errors []api.Message) outcome {
	out := outcome{Errors: failures(errors)}
	if x := transform(in.Code, in.File, api.LoaderTSX); len(x.Errors) == 0 || isReturn(x.Errors[0]) {
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

// isReturn reports whether esbuild rejected a return outside of functions. It does so
// when the program has no other error of syntax.
func isReturn(e api.Message) bool { return strings.Contains(e.Text, "Top-level return") }

// failures converts esbuild's errors. Places are counted from 1.
func failures(errors []api.Message) []failure {
	const most = 10
	var all []failure
	for _, e := range errors[:min(len(errors), most)] {
		f := failure{Text: decapitalised(e.Text)}
		if l := e.Location; l != nil {
			f.Line, f.Source = l.Line, l.LineText
			f.Column = utf8.RuneCountInString(l.LineText[:min(max(l.Column, 0), len(l.LineText))]) + 1
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
