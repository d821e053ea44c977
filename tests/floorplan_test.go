// Package tests proves the whole from outside: the floor plan against the
// sources, documents against the tree, programs through every door.
package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/wexec/wexec"

// plan is the floor plan: each room and the rooms of ours that it may import.
// "*" stands for everything, "public" for everything but internal rooms.
var plan = map[string][]string{
	"fault":               {},
	"privacy":             {"fault", "internal/jsonscan"},
	"catalogue":           {"fault", "internal/text"},
	"policy":              {"fault", "catalogue", "privacy", "internal/text", "internal/units"},
	"audit":               {"fault"},
	"internal/meter":      {},
	"internal/atomicfile": {},
	"internal/jsonscan":   {},
	"internal/text":       {},
	"internal/units":      {"fault", "internal/text"},
	"internal/snapshot":   {"internal/atomicfile"},
	"wasm-modules":        {"fault", "internal/atomicfile", "internal/meter", "internal/snapshot"},
	"guests":              {"fault", "wasm-modules", "internal/text"},
	"hostfns":             {"fault", "policy", "audit", "privacy", "catalogue", "internal/atomicfile", "internal/jsonscan", "internal/text"},
	"hostfns/upstream":    {"fault", "hostfns", "catalogue", "internal/atomicfile", "internal/jsonscan", "internal/text"},
	"hostfns/fetch":       {"fault", "hostfns", "catalogue", "internal/text"},
	"hostfns/files":       {"fault", "hostfns", "catalogue"},
	"hostfns/approvals":   {"fault", "hostfns", "internal/text"},
	"hostfns/embeddings":  {"fault", "catalogue", "internal/atomicfile", "internal/text"},
	"engine": {"fault", "privacy", "catalogue", "policy", "audit", "internal/atomicfile", "internal/jsonscan", "internal/meter", "internal/snapshot",
		"internal/text", "internal/units", "wasm-modules", "guests", "hostfns"},
	"config": {"fault", "privacy", "catalogue", "policy", "audit", "internal/atomicfile", "internal/meter", "internal/snapshot",
		"internal/text", "internal/units", "wasm-modules", "guests", "hostfns", "hostfns/*", "engine"},
	"cmd":            {"*"},
	"tests":          {"*"},
	"internal/tools": {"*"}, // programs of the project, and what they share with tests
	"examples":       {"public"},
}

// source is one parsed Go file of the tree.
type source struct {
	path string // from the top, with slashes
	room string // the floor-plan row it belongs to
	test bool
	file *ast.File
	fset *token.FileSet
	size int // lines
}

// sources parses the tree as it is on disk; asking the go command would be
// answered from its cache.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	top := os.DirFS("..")
	err := fs.WalkDir(top, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); p != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || p == "work" || p == "dist" || p == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(top, p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, data, parser.ParseComments)
		if err != nil {
			t.Errorf("%s does not parse: %v", p, err)
			return nil
		}
		all = append(all, source{path: p, room: roomOf(path.Dir(p)), test: strings.HasSuffix(p, "_test.go"),
			file: f, fset: fset, size: strings.Count(string(data), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no sources found")
	}
	return all
}

// roomOf is the longest row of the plan that holds a folder.
func roomOf(dir string) string {
	for d := dir; d != "."; d = path.Dir(d) {
		if _, ok := plan[d]; ok {
			return d
		}
	}
	return ""
}

func mayImport(from, to string) bool {
	if from == to {
		return true
	}
	for _, rule := range plan[from] {
		switch {
		case rule == "*", rule == to:
			return true
		case rule == "public" && !strings.HasPrefix(to, "internal/"):
			return true
		case strings.HasSuffix(rule, "/*") && strings.HasPrefix(to, strings.TrimSuffix(rule, "*")):
			return true
		}
	}
	return false
}

func TestImportsFollowTheFloorPlan(t *testing.T) {
	for _, s := range sources(t) {
		if s.room == "" {
			t.Errorf("%s stands in no room of the floor plan", s.path)
			continue
		}
		for _, imp := range s.file.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if p == "unsafe" && s.room != "internal/snapshot" && !s.test && !strings.HasPrefix(s.path, "wasm-modules/esbuild/") {
				t.Errorf("%s imports unsafe", s.path)
			}
			own, ok := strings.CutPrefix(p, module+"/")
			if !ok || s.test {
				continue
			}
			if to := roomOf(own); !mayImport(s.room, to) {
				t.Errorf("%s: %s may not import %s", s.fset.Position(imp.Pos()), s.room, to)
			}
		}
	}
}

// TestTheFoundationsAreTheGivenOnes holds the libraries that wexec is built on,
// each where it does its work.
func TestTheFoundationsAreTheGivenOnes(t *testing.T) {
	for library, room := range map[string]string{
		"github.com/tetratelabs/wazero":      "engine",
		"github.com/extism/go-sdk":           "engine",
		"github.com/klauspost/compress/zstd": "wasm-modules",
		"github.com/urfave/cli/v2":           "cmd",
	} {
		used := slices.ContainsFunc(sources(t), func(s source) bool {
			return s.room == room && !s.test && slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
				return i.Path.Value == strconv.Quote(library)
			})
		})
		if !used {
			t.Errorf("%s does not stand on %s", room, library)
		}
	}
}

func TestTopLevelIsTheGivenOne(t *testing.T) {
	allowed := []string{".ci", ".git", ".gitignore", ".golangci.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "NOTICE",
		"RATIONALE.md", "README.md", "SECURITY.md", "audit", "bin", "catalogue", "cmd", "config", "dist", "docs", "engine", "examples",
		"fault", "go.mod", "go.sum", "guests", "hostfns", "internal", "policy", "privacy", "tests", "wasm-modules", "work"}
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s has no place at the top", e.Name())
		}
	}
}

func TestFilesAreOfReadableSize(t *testing.T) {
	for _, s := range sources(t) {
		if s.size > 600 {
			t.Errorf("%s has %d lines; a file over 600 is two files", s.path, s.size)
		}
	}
}

func TestNoDrawerForEverything(t *testing.T) {
	for _, s := range sources(t) {
		for _, name := range []string{"util", "utils", "common", "helper", "helpers", "types", "misc"} {
			if s.file.Name.Name == name || strings.TrimSuffix(filepath.Base(s.path), ".go") == name {
				t.Errorf("%s is named like a drawer", s.path)
			}
		}
	}
}

func TestLibrariesReadNoEnvironmentAndRegisterNothing(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.room == "tests" || s.room == "internal/tools" || s.room == "examples" || s.file.Name.Name == "main" {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init", s.fset.Position(f.Pos()))
			}
		}
		if s.room == "config" || s.path == "engine/extism.go" {
			continue // the one reader, and the one name that the Extism file looks at
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" {
				switch sel.Sel.Name {
				case "Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir":
					t.Errorf("%s: os.%s in a library", s.fset.Position(n.Pos()), sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestPackageVariablesStayAsTheyAre looks for assignments to package-level
// variables from inside functions.
func TestPackageVariablesStayAsTheyAre(t *testing.T) {
	globals := map[string]map[string]bool{} // folder to names
	all := sources(t)
	for _, s := range all {
		if s.test {
			continue
		}
		dir := path.Dir(s.path)
		if globals[dir] == nil {
			globals[dir] = map[string]bool{}
		}
		for _, decl := range s.file.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					globals[dir][name.Name] = true
				}
			}
		}
	}
	for _, s := range all {
		if s.test || s.room == "tests" || s.room == "internal/tools" || s.room == "examples" {
			continue
		}
		names := globals[path.Dir(s.path)]
		for _, decl := range s.file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				var targets []ast.Expr
				switch n := n.(type) {
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						targets = n.Lhs
					}
				case *ast.IncDecStmt:
					targets = []ast.Expr{n.X}
				}
				for _, target := range targets {
					if id, ok := target.(*ast.Ident); ok && id.Name != "_" && id.Obj == nil && names[id.Name] {
						t.Errorf("%s changes the package variable %s", s.fset.Position(n.Pos()), id.Name)
					}
				}
				return true
			})
		}
	}
}

func TestEveryExportedNameHasAComment(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.room == "tests" || s.room == "internal/tools" || s.file.Name.Name == "main" {
			continue
		}
		for _, decl := range s.file.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
					t.Errorf("%s: %s has no comment", s.fset.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					var names []*ast.Ident
					var doc, line *ast.CommentGroup
					switch sp := spec.(type) {
					case *ast.TypeSpec:
						names, doc, line = []*ast.Ident{sp.Name}, sp.Doc, sp.Comment
					case *ast.ValueSpec:
						names, doc, line = sp.Names, sp.Doc, sp.Comment
					}
					for _, name := range names {
						if name.IsExported() && doc == nil && line == nil && d.Doc == nil {
							t.Errorf("%s: %s has no comment", s.fset.Position(name.Pos()), name.Name)
						}
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if idx, ok := typ.(*ast.IndexExpr); ok {
		typ = idx.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}
