package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"bolt/environment/program"
	"bolt/format/fault"
	"bolt/internal/inorder"
	"bolt/internal/lazyregexp"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/puppet/check"
	"bolt/puppet/erb"
	"bolt/puppet/syntax"
)

// A reader reads the files of the code.
type reader struct {
	code    Code
	o       Options
	engine  *erb.Engine
	files   []file
	bodies  []*body
	customs map[string]custom // by the names of facts
}

// A custom is a fact that a module defines in Ruby.
type custom struct {
	module string
	at     Place
}

// A file is a file to read.
type file struct {
	path string
	m    modules.Module // the zero Module for main manifests and plans
	rel  string         // in the module
}

// contents is what a file has.
type contents struct {
	bodies []*body
	facts  map[string]int // the lines of facts in Ruby
}

// read reads all files. If ctx ends, its error is returned. Errors in files are in the bodies.
func (r *reader) read(ctx context.Context) error {
	for _, path := range r.code.Manifests {
		r.files = append(r.files, file{path: path})
	}
	for _, path := range r.code.Plans {
		f := file{path: path, rel: "plans/" + filepath.Base(path)}
		if m, rel, ok := r.code.Modules.Of(path); ok && strings.HasPrefix(filepath.ToSlash(rel), "plans/") {
			f.m, f.rel = m, filepath.ToSlash(rel)
		}
		r.files = append(r.files, f)
	}
	for _, m := range r.code.Modules.All() {
		if !m.BuiltIn() {
			r.list(ctx, m)
		}
	}
	done := 0
	for c := range inorder.Each(r.files, func(f file) (c contents) {
		defer func() {
			if p := recover(); p != nil { // a bug ends the reading of one file
				b := &body{key: key{sortFile, f.path}, at: Place{File: f.path}, module: f.m.Name}
				b.fail(b.at, fmt.Errorf("internal error: %v", p))
				c = contents{bodies: []*body{b}}
			}
		}()
		return r.open(ctx, f)
	}) {
		f := r.files[done]
		r.bodies = append(r.bodies, c.bodies...)
		for name, line := range c.facts {
			if _, known := r.customs[name]; !known {
				r.customs[name] = custom{f.m.Name, Place{f.path, line}}
			}
		}
		if done++; r.o.Progress != nil {
			r.o.Progress(done, len(r.files))
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// folders are the folders of a module that are read, with the endings of their files.
var folders = []struct {
	name string
	ends []string
}{
	{"manifests", []string{".pp"}},
	{"functions", []string{".pp"}},
	{"types", []string{".pp"}},
	{"plans", []string{".pp", ".yaml"}},
	{"templates", []string{".erb", ".epp"}},
	{"lib/facter", []string{".rb"}},
}

// list adds the files of a module.
func (r *reader) list(ctx context.Context, m modules.Module) {
	for _, folder := range folders {
		program.Files(ctx, m.Path(folder.name), func(name string) bool { return slices.Contains(folder.ends, filepath.Ext(name)) },
			func(name string) {
				rel, err := filepath.Rel(m.Dir, name)
				if err == nil && !slices.Contains(r.code.Manifests, name) && !slices.Contains(r.code.Plans, name) {
					r.files = append(r.files, file{name, m, filepath.ToSlash(rel)})
				}
			},
			func(f program.Finding) {
				b := &body{key: key{sortFile, f.File}, at: Place{File: f.File}, module: m.Name}
				b.fail(b.at, errors.New(f.Msg))
				r.bodies = append(r.bodies, b)
			})
	}
	if _, err := m.Stat("hiera.yaml"); err == nil {
		r.files = append(r.files, file{m.Path("hiera.yaml"), m, "hiera.yaml"})
	}
}

// open reads one file.
func (r *reader) open(ctx context.Context, f file) contents {
	folder, _, _ := strings.Cut(f.rel, "/")
	switch ext := filepath.Ext(f.path); {
	case f.rel == "hiera.yaml":
		return contents{bodies: []*body{r.backends(ctx, f.path, f.m.Name)}}
	case folder == "templates":
		return contents{bodies: []*body{r.readTemplate(ctx, f.path, f.m.Name, ext == ".epp")}}
	case folder == "lib":
		return contents{facts: factsIn(ctx, f.path)}
	}
	text, err := readfile.Read(ctx, f.path, readfile.Language)
	if err != nil {
		return broken(f, readError(err))
	}
	p, err := r.parse(f, string(text))
	if err != nil {
		return broken(f, err)
	}
	if folder == "plans" {
		return contents{bodies: applies(p, f.m.Name)}
	}
	return contents{bodies: definitions(p, f.m.Name)}
}

// readError returns the error of a file that could not be read.
func readError(err error) error {
	return fmt.Errorf("the file could not be read: %w", fault.WithoutPath(err))
}

// broken returns the body of a file that cannot be used.
func broken(f file, err error) contents {
	b := &body{key: key{sortFile, f.path}, at: Place{File: f.path}, module: f.m.Name}
	if f.rel == "" {
		b.sort = sortMain
	}
	b.failSyntax(err)
	return contents{bodies: []*body{b}}
}

// parse parses and checks a program as a compilation does.
func (r *reader) parse(f file, text string) (*syntax.Program, error) {
	if filepath.Ext(f.path) == ".yaml" {
		if r.o.YAMLPlan == nil {
			return &syntax.Program{File: syntax.NewFile(f.path, "")}, nil
		}
		name, _ := check.Namespace(cmp.Or(f.m.Name, "plan"), strings.TrimSuffix(f.rel, ".yaml"))
		return r.o.YAMLPlan(name, f.path, []byte(text))
	}
	o := check.Options{Tasks: strings.HasPrefix(f.rel, "plans/")}
	if f.m.Name != "" {
		o.Namespace, _ = check.Namespace(f.m.Name, f.rel)
		o.Defines = check.Defines(f.rel)
	}
	p, err := syntax.Parse(syntax.NewFile(f.path, text), syntax.Options{Tasks: o.Tasks})
	if err != nil {
		return nil, err
	}
	if err := check.Program(p, o).Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// definitions returns the bodies of a manifest.
func definitions(p *syntax.Program, module string) (list []*body) {
	if p.Body != nil && len(p.Body.Exprs) > 0 {
		main := &body{key: key{sortMain, p.File.Name}, at: Place{File: p.File.Name}, module: module}
		extract(main, p.File, p.Body)
		if len(main.uses) > 0 || len(main.locals) > 0 {
			list = append(list, main)
		}
	}
	for _, d := range p.Definitions {
		at := p.File.Position(d.At().Off)
		b := &body{at: Place{at.File, at.Line}, module: module}
		if node, is := d.(*syntax.NodeDef); is {
			b.key = key{sortNode, matches(node)}
		} else if k, is := definitionKey(d); is {
			b.key = k
		} else {
			continue
		}
		extract(b, p.File, d)
		list = append(list, b)
	}
	return list
}

// matches returns the names of a node definition.
func matches(n *syntax.NodeDef) string {
	var names []string
	for _, m := range n.Matches {
		switch m := m.(type) {
		case *syntax.Default:
			names = append(names, "default")
		case *syntax.Regexp:
			names = append(names, "/"+m.Source+"/")
		default:
			text, _ := literal(m)
			names = append(names, text)
		}
	}
	return strings.Join(names, ", ")
}

// applies returns the apply blocks of a plan. The variables of the plan are variables of its blocks.
func applies(p *syntax.Program, module string) (list []*body) {
	for _, d := range p.Definitions {
		plan, is := d.(*syntax.Plan)
		if !is {
			continue
		}
		locals := make(map[string]bool)
		syntax.Walk(plan, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Param:
				locals[n.Name] = true
			case *syntax.Assign:
				(&extractor{body: &body{locals: locals}}).assigned(n.X)
			case *syntax.Apply:
				at := p.File.Position(n.Off)
				b := &body{key: key{sortApply, fmt.Sprintf("%s, line %d", lower(plan.Name), at.Line)}, at: Place{at.File, at.Line}, module: module, locals: locals}
				list = append(list, b)
				extract(b, p.File, n)
			}
			return n != nil
		})
	}
	return list
}

// backends returns the body of a hiera.yaml.
func (r *reader) backends(ctx context.Context, path, module string) *body {
	b := &body{key: key{sortData, path}, at: Place{File: path}, module: module}
	list, err := r.code.Env.Backends(ctx, path, module != "")
	if err != nil {
		b.fail(placeOf(err, b.at), errors.New(message(err)))
		return b
	}
	for _, f := range list {
		b.uses = append(b.uses, use{kind: useFunction, name: lower(f.Function), param: f.Level, at: Place{path, f.Line}})
	}
	return b
}

// factAdded is the call that defines a fact in Ruby.
var factAdded = lazyregexp.New(`^\s*Facter\.add\b[\s(]*:?["']?([a-zA-Z_]\w*)`)

// factsIn returns the facts that a Ruby file defines by a fixed name. Ruby is not evaluated.
func factsIn(ctx context.Context, path string) map[string]int {
	text, err := readfile.Read(ctx, path, readfile.Language)
	if err != nil {
		return nil // facts of an unreadable file are unknown facts
	}
	found := make(map[string]int)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		if m := factAdded().FindStringSubmatch(line); m != nil {
			if _, known := found[m[1]]; !known {
				found[m[1]] = n
			}
		}
	}
	return found
}
