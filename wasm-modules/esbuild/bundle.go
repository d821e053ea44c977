package main

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// answer bundles a package or compiles a program.
func answer(in document) outcome {
	if in.Bundle != "" {
		return bundle(in.Files, in.Bundle)
	}
	return compile(in)
}

// bundle bundles a package of npm into one CommonJS module, which programs can
// import and require. Built-in modules of Node stay outside: the guest of the
// program has them, or says that it has not.
func bundle(files tree, name string) outcome {
	r := api.Build(api.BuildOptions{
		Stdin:   &api.StdinOptions{Contents: "module.exports = require(" + quoted(name) + ")", Sourcefile: "/bundle.js"},
		Bundle:  true,
		Format:  api.FormatCommonJS,
		Target:  api.ES2023,
		Charset: api.CharsetUTF8,
		// The platform decides which names are built in and how modules of
		// both kinds import each other.
		Platform:      api.PlatformNode,
		AbsWorkingDir: "/",
		Outfile:       "/out.js",
		Plugins:       []api.Plugin{files.plugin()},
		Define:        map[string]string{"process.env.NODE_ENV": `"production"`},
		LogLevel:      api.LogLevelSilent,
		TsconfigRaw:   settings,
	})
	if len(r.Errors) > 0 {
		return outcome{Errors: failures(r.Errors)}
	}
	return outcome{Code: string(r.OutputFiles[0].Contents)}
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// space is the namespace of the files of a tree.
const space = "npm"

// plugin answers all paths from the tree.
func (t tree) plugin() api.Plugin {
	return api.Plugin{Name: space, Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: ".*"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			if file := t.resolve(a.Path, a.Importer, a.Kind); file != "" {
				return api.OnResolveResult{Path: file, Namespace: space}, nil
			}
			if a.Namespace != space {
				return api.OnResolveResult{Errors: []api.Message{{Text: "the package has no JavaScript under its name"}}}, nil
			}
			if isBare(a.Path) { // built in, or a package that may not be needed
				return api.OnResolveResult{Path: a.Path, External: true}, nil
			}
			return api.OnResolveResult{Errors: []api.Message{{Text: "cannot find " + a.Path + ", which " + a.Importer + " imports"}}}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: ".*", Namespace: space}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			text := t[a.Path]
			loader := api.LoaderJS
			switch path.Ext(a.Path) {
			case ".json":
				loader = api.LoaderJSON
			case ".ts", ".mts", ".cts":
				loader = api.LoaderTS
			case ".txt", ".md":
				loader = api.LoaderText
			}
			return api.OnLoadResult{Contents: &text, Loader: loader}, nil
		})
	}}
}

// isBare reports whether a path names a module and not a file.
func isBare(name string) bool {
	return !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "#")
}

// manifest is what matters of a package.json.
type manifest struct {
	Main    string          `json:"main"`
	Module  string          `json:"module"`
	Exports json.RawMessage `json:"exports"`
	Imports json.RawMessage `json:"imports"`
}

func (t tree) manifest(dir string) (m manifest) {
	_ = json.Unmarshal([]byte(t[path.Join(dir, "package.json")]), &m)
	return m
}

// resolve returns the file that a name means in a file, or "".
func (t tree) resolve(name, importer string, kind api.ResolveKind) string {
	conditions := []string{"import", "module", "node", "default"}
	if kind == api.ResolveJSRequireCall || kind == api.ResolveJSRequireResolve {
		conditions = []string{"require", "node", "default"}
	}
	dir := path.Dir(importer)
	switch {
	case name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../"):
		return t.file(path.Join(dir, name))
	case strings.HasPrefix(name, "#"):
		for ; ; dir = path.Dir(dir) {
			if _, ok := t[path.Join(dir, "package.json")]; ok {
				return t.exported(dir, t.manifest(dir).Imports, name, conditions)
			}
			if dir == path.Dir(dir) {
				return ""
			}
		}
	}
	title, inside, _ := strings.Cut(name, "/")
	if strings.HasPrefix(name, "@") {
		scope := title
		title, inside, _ = strings.Cut(inside, "/")
		title = scope + "/" + title
	}
	for ; ; dir = path.Dir(dir) {
		home := path.Join(dir, "node_modules", title)
		if _, ok := t[path.Join(home, "package.json")]; ok {
			return t.entry(home, inside, conditions)
		}
		if dir == path.Dir(dir) || dir == "." {
			break
		}
	}
	if home := path.Join("node_modules", title); t[path.Join(home, "package.json")] != "" {
		return t.entry(home, inside, conditions)
	}
	return ""
}

// entry returns the file of a package, or of a path inside of it.
func (t tree) entry(home, inside string, conditions []string) string {
	m := t.manifest(home)
	switch {
	case len(m.Exports) > 0 && string(m.Exports) != "null":
		if inside != "" {
			return t.exported(home, m.Exports, "./"+inside, conditions)
		}
		return t.exported(home, m.Exports, ".", conditions)
	case inside != "":
		return t.file(path.Join(home, inside))
	}
	for _, main := range []string{m.Main, m.Module, "index"} {
		if main != "" {
			if file := t.file(path.Join(home, main)); file != "" {
				return file
			}
		}
	}
	return ""
}

// endings are what a path may leave out.
var endings = []string{"", ".js", ".cjs", ".mjs", ".json", ".ts", "/index.js", "/index.cjs", "/index.mjs", "/index.json"}

func (t tree) file(name string) string {
	if m, ok := t[path.Join(name, "package.json")]; ok && m != "" {
		if main := t.manifest(name).Main; main != "" && path.Join(name, main) != name {
			if file := t.file(path.Join(name, main)); file != "" {
				return file
			}
		}
	}
	for _, ending := range endings {
		if _, ok := t[name+ending]; ok {
			return name + ending
		}
	}
	return ""
}

// exported returns the file of a key in the exports or imports of a
// package.json.
func (t tree) exported(home string, all json.RawMessage, key string, conditions []string) string {
	keys, targets := object(all)
	if len(keys) == 0 || !strings.HasPrefix(keys[0], ".") && !strings.HasPrefix(keys[0], "#") {
		if key == "." {
			return t.target(home, all, "", conditions, 0)
		}
		return ""
	}
	if at := slices.Index(keys, key); at >= 0 {
		return t.target(home, targets[at], "", conditions, 0)
	}
	for i, pattern := range keys {
		before, after, star := strings.Cut(pattern, "*")
		if star && len(key) >= len(before)+len(after) && strings.HasPrefix(key, before) && strings.HasSuffix(key, after) {
			if file := t.target(home, targets[i], key[len(before):len(key)-len(after)], conditions, 0); file != "" {
				return file
			}
		}
	}
	return ""
}

// target returns the first file of a target that a condition selects.
func (t tree) target(home string, target json.RawMessage, star string, conditions []string, depth int) string {
	if depth > 20 {
		return ""
	}
	var name string
	if json.Unmarshal(target, &name) == nil {
		name = path.Join(home, strings.ReplaceAll(name, "*", star))
		if _, ok := t[name]; ok {
			return name
		}
		return ""
	}
	var list []json.RawMessage
	if json.Unmarshal(target, &list) != nil {
		keys, targets := object(target)
		for i, key := range keys {
			if slices.Contains(conditions, key) {
				list = append(list, targets[i])
			}
		}
	}
	for _, one := range list {
		if file := t.target(home, one, star, conditions, depth+1); file != "" {
			return file
		}
	}
	return ""
}

// object returns the keys and the values of a JSON object, in its order.
func object(data json.RawMessage) (keys []string, values []json.RawMessage) {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, nil
	}
	for dec.More() {
		key, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return nil, nil
		}
		name, _ := key.(string)
		keys, values = append(keys, name), append(values, value)
	}
	return keys, values
}
