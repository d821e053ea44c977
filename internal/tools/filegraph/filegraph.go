// Package filegraph measures how the files of a Go package depend on each other.
//
// An arrow runs from a file to another file of the same package when the first
// uses a package-level name, method or struct field that the second declares.
// In the best order of the files most arrows run from later files to earlier
// ones; the rest run back up, and each of those is part of a cycle of files.
package filegraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Package is the file graph of one package.
type Package struct {
	Path     string // import path relative to the module
	Files    int    // Go files without tests, of all platforms
	Lines    int
	Largest  int      // lines of the longest file
	Order    []string // the files of this platform, foundations first
	Arrows   []Arrow
	BackUp   []Arrow // arrows from an earlier file of Order to a later one
	Cyclic   int     // arrows between files that reach each other
	Shortest string  // name of the shortest file
}

// Arrow is a reference from one file to another.
type Arrow struct {
	From, To string
	Names    []string // what From uses of To
}

type listed struct {
	Dir, ImportPath, Export       string
	GoFiles, IgnoredGoFiles       []string
	Module                        *struct{ Path string }
	DepOnly, Standard, Incomplete bool
}

// Load measures the packages that match the patterns in the module at dir. The
// packages must build.
func Load(dir string, patterns ...string) ([]Package, error) {
	packages, err := list(dir, patterns)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(exports[path])
	})
	var measured []Package
	for _, p := range packages {
		if p.DepOnly {
			continue
		}
		m, err := measure(p, fset, imports)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", p.ImportPath, err)
		}
		measured = append(measured, m)
	}
	return measured, nil
}

func list(dir string, patterns []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-export", "-deps",
		"-json=Dir,ImportPath,Export,GoFiles,IgnoredGoFiles,Module,DepOnly"}, patterns...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what go list prints: %w", err)
		}
		packages = append(packages, p)
	}
}

func measure(p listed, fset *token.FileSet, imports types.Importer) (Package, error) {
	m := Package{Path: p.ImportPath}
	if p.Module != nil {
		m.Path = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, p.Module.Path), "/")
	}
	shortest := 0
	var files []*ast.File
	for i, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return m, err
		}
		lines := bytes.Count(data, []byte("\n"))
		m.Files++
		m.Lines += lines
		m.Largest = max(m.Largest, lines)
		if shortest == 0 || lines < shortest {
			shortest, m.Shortest = lines, name
		}
		if i >= len(p.GoFiles) {
			continue // of another platform: counted, not type-checked
		}
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), data, parser.SkipObjectResolution)
		if err != nil {
			return m, err
		}
		files = append(files, f)
		m.Order = append(m.Order, name)
	}
	uses, err := references(p.ImportPath, fset, files, imports)
	if err != nil {
		return m, err
	}
	m.Order = bestOrder(m.Order, uses)
	for _, to := range m.Order {
		for _, from := range m.Order {
			names := uses[from][to]
			if len(names) == 0 {
				continue
			}
			a := Arrow{From: from, To: to, Names: names}
			m.Arrows = append(m.Arrows, a)
			if reaches(to, from, uses, map[string]bool{}) {
				m.Cyclic++
			}
			if slices.Index(m.Order, from) < slices.Index(m.Order, to) {
				m.BackUp = append(m.BackUp, a)
			}
		}
	}
	return m, nil
}

func reaches(from, to string, uses map[string]map[string][]string, seen map[string]bool) bool {
	for next := range uses[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if reaches(next, to, uses, seen) {
				return true
			}
		}
	}
	return false
}

// references returns, for each file, the names that it uses of each other file.
func references(path string, fset *token.FileSet, files []*ast.File, imports types.Importer) (map[string]map[string][]string, error) {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	conf := types.Config{Importer: imports}
	pkg, err := conf.Check(path, fset, files, info)
	if err != nil {
		return nil, err
	}
	uses := map[string]map[string][]string{}
	for id, obj := range info.Uses {
		if obj.Pkg() != pkg || !declaredOutsideFunctions(pkg, obj) {
			continue
		}
		from, to := filepath.Base(fset.Position(id.Pos()).Filename), filepath.Base(fset.Position(obj.Pos()).Filename)
		if from == to || slices.Contains(uses[from][to], obj.Name()) {
			continue
		}
		if uses[from] == nil {
			uses[from] = map[string][]string{}
		}
		uses[from][to] = append(uses[from][to], obj.Name())
	}
	for _, targets := range uses {
		for _, names := range targets {
			slices.Sort(names)
		}
	}
	return uses, nil
}

// declaredOutsideFunctions leaves out local variables, parameters and results.
func declaredOutsideFunctions(pkg *types.Package, obj types.Object) bool {
	if obj.Parent() == pkg.Scope() {
		return true
	}
	switch o := obj.(type) {
	case *types.Func:
		return o.Signature().Recv() != nil
	case *types.Var:
		return o.IsField()
	}
	return false
}
