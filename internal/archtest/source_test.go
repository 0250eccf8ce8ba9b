package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module = "bolt"
	root   = "../.."
)

// A file is one parsed Go file of the module.
type file struct {
	name  string // relative to the root of the module
	pkg   string // its folder, relative to the root of the module
	text  []byte
	ast   *ast.File
	fset  *token.FileSet
	test  bool // _test.go
	lines int
}

// at returns the position of a node, relative to the root of the module.
func (f *file) at(n ast.Node) token.Position {
	p := f.fset.Position(n.Pos())
	p.Filename = f.name
	return p
}

// imports maps the local name of each import to its path.
func (f *file) imports() map[string]string {
	m := make(map[string]string)
	for _, s := range f.ast.Imports {
		imp := strings.Trim(s.Path.Value, `"`)
		name := path.Base(imp)
		if s.Name != nil {
			name = s.Name.Name
		}
		m[name] = imp
	}
	return m
}

// uses returns each use of pkg.Name in f, where pkg is an import path.
func (f *file) uses(pkg string, names ...string) []ast.Node {
	var found []ast.Node
	imports := f.imports()
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok || imports[id.Name] != pkg {
			return true
		}
		for _, name := range names {
			if sel.Sel.Name == name {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// source parses all Go files of the module, and of the module in clouds, whose
// packages have paths below the same name.
//
// It reads the files itself instead of calling "go list". The test cache
// notices the files that a test opens, but not the files that its child
// processes open. A test built on a subprocess would pass from the cache after
// a bad change.
func source(t *testing.T) []*file {
	t.Helper()
	var files []*file
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		tree, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		files = append(files, &file{
			name: rel, pkg: path.Dir(filepath.ToSlash(rel)), text: text, ast: tree, fset: fset,
			test: strings.HasSuffix(name, "_test.go"), lines: bytes.Count(text, []byte("\n")),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no Go files below %s", root)
	}
	return files
}

// under reports whether pkg is one of the folders or lies below one.
func under(pkg string, folders ...string) bool {
	for _, f := range folders {
		if pkg == f || strings.HasPrefix(pkg, f+"/") {
			return true
		}
	}
	return false
}
