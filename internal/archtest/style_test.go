package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines is the most lines that a file may have. A longer file is certain
// to have a second subject.
const maxLines = 800

// bannedNames are names that do not show the purpose of a package.
var bannedNames = []string{"base", "common", "core", "helper", "helpers", "manager", "misc", "models", "shared", "structs", "types", "util", "utils"}

// TestPackageDocs checks that each package has exactly one package doc, and
// that it begins as godoc expects.
func TestPackageDocs(t *testing.T) {
	docs := make(map[string][]string)
	names := make(map[string]string)
	for _, f := range source(t) {
		if f.test {
			continue
		}
		names[f.pkg] = f.ast.Name.Name
		if f.ast.Doc == nil {
			continue
		}
		docs[f.pkg] = append(docs[f.pkg], f.name)
		want := []string{"Package " + f.ast.Name.Name}
		if program := path.Base(f.pkg); f.ast.Name.Name == "main" {
			want = []string{"Command " + program, strings.ToUpper(program[:1]) + program[1:]}
		}
		text := strings.ReplaceAll(f.ast.Doc.Text(), "\n", " ")
		if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(text, w+" ") }) {
			t.Errorf("%s: the package doc begins with none of %q", f.name, want)
		}
	}
	for pkg := range names {
		if n := len(docs[pkg]); n != 1 {
			t.Errorf("package %s has %d package docs %q, want exactly one", pkg, n, docs[pkg])
		}
		if slices.Contains(bannedNames, path.Base(pkg)) && pkg != "catalog/types" { // resource types are a subject
			t.Errorf("package %s: the name does not say what it is for", pkg)
		}
	}
}

// TestNoHiddenState checks that there are no init functions, no assignments
// to package-level variables, and no global logger.
func TestNoHiddenState(t *testing.T) {
	globals := make(map[string]map[string]bool) // package -> its variables
	files := source(t)
	for _, f := range files {
		if f.test {
			continue
		}
		if globals[f.pkg] == nil {
			globals[f.pkg] = make(map[string]bool)
		}
		for _, name := range variables(f.ast) {
			globals[f.pkg][name] = true
		}
	}
	for _, f := range files {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init function; wire it explicitly", f.at(fn))
			}
			if fn.Body == nil {
				continue
			}
			for _, id := range assigned(fn) {
				if globals[f.pkg][id.Name] {
					t.Errorf("%s: assignment to the package-level variable %s", f.at(id), id.Name)
				}
			}
		}
		if f.test {
			continue
		}
		for _, n := range f.uses("log/slog", "Default", "SetDefault", "Debug", "Info", "Warn", "Error", "Log", "DebugContext", "InfoContext", "WarnContext", "ErrorContext") {
			t.Errorf("%s: global logger; take a *slog.Logger", f.at(n))
		}
	}
}

// variables returns the names that a file declares with var at its top level.
func variables(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			for _, id := range s.(*ast.ValueSpec).Names {
				if id.Name != "_" {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// assigned returns the identifiers at the root of all left-hand sides in a
// function ("x" in x = 1, x.f = 1, x[i]++) that it does not declare itself.
func assigned(fn *ast.FuncDecl) []*ast.Ident {
	local := make(map[string]bool)
	var left []ast.Expr
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				local[id.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					local[id.Name] = true
				}
			}
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				left = append(left, n.Lhs...)
				return true
			}
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok {
					local[id.Name] = true
				}
			}
		case *ast.IncDecStmt:
			left = append(left, n.X)
		}
		return true
	})
	var ids []*ast.Ident
	for _, e := range left {
		if id := base(e); id != nil && !local[id.Name] {
			ids = append(ids, id)
		}
	}
	return ids
}

// base returns the identifier that a left-hand side starts with, if any.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// TestOnlyProgramsUseProcess checks that only the programs use flags, the
// environment, exit and the root context. All other packages take values.
func TestOnlyProgramsUseProcess(t *testing.T) {
	rules := []struct {
		pkg   string
		names []string
		in    []string
	}{
		{"os", []string{"Exit", "Args"}, []string{"cmd", "clouds/cmd", "bench", "examples", "transport/transporttest"}},
		{"os", []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv"}, []string{"cmd", "clouds/cmd", "bench", "examples", "apply/provider/providertest", "internal/puppetdbtest", "internal/roottest", "transport/transporttest"}},
		{"context", []string{"Background", "TODO"}, []string{"cmd", "clouds/cmd", "bench", "examples", "internal/sshtest", "transport/transporttest"}},
		{"fmt", []string{"Print", "Printf", "Println"}, []string{"bench"}},
		{"os", []string{"Stdin", "Stdout", "Stderr"}, []string{"cmd", "clouds/cmd", "bench", "examples"}},
	}
	for _, f := range source(t) {
		if f.test {
			continue
		}
		for _, r := range rules {
			if under(f.pkg, r.in...) {
				continue
			}
			for _, n := range f.uses(r.pkg, r.names...) {
				t.Errorf("%s: %s.%s is for %q", f.at(n), r.pkg, n.(*ast.SelectorExpr).Sel.Name, r.in)
			}
		}
	}
}

// unfinished matches words that mark unfinished work. The pattern is built
// from parts so that it does not match itself.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)

// foreign matches folders of the machines on which this code was written.
var foreign = regexp.MustCompile(`/(wo` + `rk|tmp/br` + `ief)/\w+`)

// TestFilesHaveNoLeftovers checks that files are of readable length, contain no
// notes about unfinished work and no paths of their author's machine, and
// skip no test.
func TestFilesHaveNoLeftovers(t *testing.T) {
	for _, f := range source(t) {
		if f.lines > maxLines {
			t.Errorf("%s: %d lines, more than %d: split it by subject", f.name, f.lines, maxLines)
		}
		for _, m := range foreign.FindAllString(string(f.text), -1) {
			t.Errorf("%s: names the place %s, which only some machine has", f.name, m)
		}
		for _, g := range f.ast.Comments {
			if m := unfinished.FindString(g.Text()); m != "" {
				t.Errorf("%s: %s in a comment", f.at(g), m)
			}
		}
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			id, ok := sel.X.(*ast.Ident)
			if ok && (id.Name == "t" || id.Name == "b") && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				t.Errorf("%s: a skipped test; let it fail and say what is missing", f.at(n))
			}
			return true
		})
	}
}
