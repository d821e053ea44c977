package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"testing"
)

// source is a parsed Go file of the repository.
type source struct {
	path string // from the top, with slashes
	room string // its row of the floor plan
	test bool
	file *ast.File
	fset *token.FileSet
	size int // lines
}

// sources returns all Go files. It reads the disk: the go command would answer
// from its cache.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsed = sync.OnceValues(func() ([]source, error) {
	var all []source
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if generated(p, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		data, err := fs.ReadFile(root, p)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, p, data, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path: p, room: roomOf(path.Dir(p)), test: strings.HasSuffix(p, "_test.go"),
			file: f, fset: fset, size: strings.Count(string(data), "\n")})
		return nil
	})
	return all, err
})

// generated reports whether a folder has no sources of this repository.
func generated(p, name string) bool {
	return p != "." && strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || p == "work" || p == "dist" || p == "bin"
}

// product reports whether a file is part of what users build: no test, no
// program of the project, no example.
func (s source) product() bool {
	return !s.test && s.room != "tests" && s.room != "internal/tools" && s.room != "examples"
}

func TestLibrariesReadNoEnvironmentAndRegisterNothing(t *testing.T) {
	for _, s := range sources(t) {
		if !s.product() || s.file.Name.Name == "main" {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init function", s.fset.Position(f.Pos()))
			}
		}
		if s.room == "config" || strings.HasPrefix(s.path, "engine/") && path.Base(s.path) == "extism.go" {
			continue // config reads the environment; extism.go reads one variable of Extism
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" {
				switch sel.Sel.Name {
				case "Getenv", "LookupEnv", "Environ", "ExpandEnv", "UserHomeDir", "UserConfigDir", "UserCacheDir":
					t.Errorf("%s: os.%s in a library; only config reads the environment", s.fset.Position(n.Pos()), sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestPackageVariablesAreConstant finds assignments to package-level variables
// inside functions.
func TestPackageVariablesAreConstant(t *testing.T) {
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
		if !s.product() {
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
						t.Errorf("%s assigns to the package variable %s", s.fset.Position(n.Pos()), id.Name)
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

// TestEverySkipHasAReason checks that the message of a skip starts with "short: "
// if -short causes it, and else says what the test needs.
func TestEverySkipHasAReason(t *testing.T) {
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Skip" && sel.Sel.Name != "Skipf" && sel.Sel.Name != "SkipNow" {
				return true
			}
			reason := ""
			if len(call.Args) > 0 {
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					reason = strings.Trim(lit.Value, "`\"")
				}
			}
			if !strings.HasPrefix(reason, "short: ") && !strings.Contains(reason, "need") {
				t.Errorf("%s: the message of the skip must start with short: or say what the test needs", s.fset.Position(n.Pos()))
			}
			return true
		})
	}
}
