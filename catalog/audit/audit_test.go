package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"bolt/catalog"
	"bolt/catalog/audit"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// options stand for the tables of the engine.
func options() audit.Options {
	return audit.Options{
		Applies: func(typ string) bool { return slices.Contains([]string{"File", "Package", "Notify", "Exec"}, typ) },
		Refuses: func(typ, param, value string) error {
			if param == "provider" && value == "odd" {
				return errors.New("it is odd")
			}
			return nil
		},
		Facts: []string{"os", "kernel"},
	}
}

// code writes the files of an archive, and returns them as an environment.
func code(t *testing.T, archive string) (audit.Code, string) {
	t.Helper()
	dir := t.TempDir()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := audit.Code{Modules: modules.NewPath(modules.Module{}, filepath.Join(dir, "modules")), Hiera: filepath.Join(dir, "hiera.yaml")}
	if path := filepath.Join(dir, "site.pp"); strings.Contains(archive, "-- site.pp --") {
		c.Manifests = []string{path}
	}
	c.Env = environment.New(environment.Options{Modules: c.Modules, Dir: dir, Now: time.Now})
	return c, dir
}

// read returns the units of code with their needs, and the reasons with their places, one a line.
func read(t *testing.T, archive string) string {
	t.Helper()
	c, dir := code(t, archive)
	r, err := audit.Read(t.Context(), c, options())
	if err != nil {
		t.Fatal(err)
	}
	return shown(r.Report(), dir)
}

func shown(r *audit.Report, dir string) string {
	var b strings.Builder
	for _, u := range r.Units {
		fmt.Fprintf(&b, "%s %s: %v %v\n", u.Kind, u.Name, u.Needs, u.Reasons)
	}
	for i, c := range r.Reasons {
		fmt.Fprintf(&b, "%d %v %v %s", i, c.Need, c.Kind, c.Name)
		if c.Optional {
			b.WriteString(" (optional)")
		}
		for _, at := range c.Places {
			b.WriteString(" " + at.String())
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), dir+"/", "")
}

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"a class that needs nothing", "-- modules/m/manifests/init.pp --\nclass m { file { '/a': } }",
			"class m: [] []\n"},
		{"types", "-- modules/m/manifests/init.pp --\nclass m {\n host { 'a': }\n m_odd { 'b': }\n nothing { 'c': }\n stage { 'd': }\n}\n-- modules/m/lib/puppet/type/m_odd.rb --\n",
			"class m: [modules engine] [0 1 2]\n0 engine type host modules/m/manifests/init.pp:2\n1 engine type m_odd modules/m/manifests/init.pp:3\n2 modules type nothing modules/m/manifests/init.pp:4\n"},
		{"needs are those of all that a class reaches",
			"-- modules/m/manifests/init.pp --\nclass m { include m::a }\n-- modules/m/manifests/a.pp --\nclass m::a inherits m::b { m::d { 'x': } }\n" +
				"-- modules/m/manifests/b.pp --\nclass m::b { }\n-- modules/m/manifests/d.pp --\ndefine m::d() { create_resources('host', {}) }\n",
			"class m: [engine] [0]\nclass m::a: [engine] [0]\nclass m::b: [] []\ndefine m::d: [engine] [0]\n0 engine type host modules/m/manifests/d.pp:1\n"},
		{"classes that reach each other", "-- modules/m/manifests/init.pp --\nclass m inherits m::a { }\n-- modules/m/manifests/a.pp --\nclass m::a inherits m { host { 'a': } notify { $x: } }\n",
			"class m: [facts engine] [0 1]\nclass m::a: [facts engine] [0 1]\n0 engine type host modules/m/manifests/a.pp:1\n1 facts fact x modules/m/manifests/a.pp:1\n"},
		{"a variable of a class needs the class", "-- modules/m/manifests/init.pp --\nclass m { $x = 1 host { 'a': } }\n-- modules/m/manifests/a.pp --\nclass m::a { notify { \"${m::x}\": } }\n",
			"class m: [engine] [0]\nclass m::a: [engine] [0]\n0 engine type host modules/m/manifests/init.pp:1\n"},
		{"providers and parameters", "-- modules/m/manifests/init.pp --\nclass m {\n package { 'a': provider => odd }\n Package { provider => 'odd' }\n file { '/a': colour => 'red' }\n package { 'b': provider => gem }\n}\n",
			"class m: [engine impossible] [0 1]\n0 engine provider package odd modules/m/manifests/init.pp:2 modules/m/manifests/init.pp:3\n1 impossible parameter file colour modules/m/manifests/init.pp:4\n"},
		{"functions", "-- modules/m/manifests/init.pp --\nclass m {\n $a = m::f()\n $b = old()\n $c = [1].m::new()\n $d = unknown()\n}\n" +
			"-- modules/m/functions/f.pp --\nfunction m::f() {\n m::new()\n}\n-- modules/m/lib/puppet/parser/functions/old.rb --\n-- modules/m/lib/puppet/functions/m/new.rb --\n",
			"class m: [modules compiler] [0 1 2]\n0 compiler function m::new modules/m/functions/f.pp:2 modules/m/manifests/init.pp:4\n" +
				"1 compiler function old modules/m/manifests/init.pp:3\n2 modules function unknown modules/m/manifests/init.pp:5\n"},
		{"a function in Ruby whose name is that of a module", "-- modules/m/manifests/init.pp --\nclass m { role('x') }\n-- modules/m/lib/puppet/functions/role.rb --\n-- modules/role/manifests/init.pp --\nclass role { }\n",
			"class m: [compiler] [0]\nclass role: [] []\n0 compiler function role modules/m/manifests/init.pp:1\n"},
		{"modules that are not installed", "-- modules/m/manifests/init.pp --\nclass m {\n include other\n other::x { 'a': }\n if $kernel { rare::x { 'b': } unknown() }\n}\n",
			"class m: [modules] [0 1 2]\n0 modules module other modules/m/manifests/init.pp:2 modules/m/manifests/init.pp:3\n" +
				"1 modules function unknown (optional) modules/m/manifests/init.pp:4\n2 modules module rare (optional) modules/m/manifests/init.pp:4\n"},
		{"names that an installed module does not define", "-- modules/m/manifests/init.pp --\nclass m {\n include m::a\n m::b { 'x': }\n m::c()\n include n\n}\n-- modules/n/README --\n",
			"class m: [impossible] [0 1 2 3]\n0 impossible class m::a modules/m/manifests/init.pp:2\n1 impossible class n modules/m/manifests/init.pp:5\n2 impossible function m::c modules/m/manifests/init.pp:4\n3 impossible type m::b modules/m/manifests/init.pp:3\n"},
		{"branches for other systems", "-- modules/m/manifests/init.pp --\nclass m {\n case $facts['os']['family'] {\n 'windows', 'Darwin': { a() }\n default: { host { 'a': } }\n }\n" +
			" if $facts['kernel'] == 'windows' and true { b() } else { notify { 'a': } }\n $x = $::osfamily ? { 'windows' => c(), default => 1 }\n}\n",
			"class m: [facts engine] [0 1]\n0 engine type host modules/m/manifests/init.pp:4\n1 facts fact osfamily modules/m/manifests/init.pp:7\n"},
		{"facts", "-- modules/m/manifests/init.pp --\nclass m($p = $facts['own']) {\n $l = 1\n notify { \"${facts['os']['family']} ${::old} ${l} ${p} ${title} ${facts.get('b.c')} ${fact('d.e')} ${kernel}\": }\n" +
			" [1].each |$i| { notify { $i: } }\n if 'a' =~ /(a)/ { notify { $1: } }\n}\n-- modules/m/lib/facter/own.rb --\nFacter.add('own') do\nend\n",
			"class m: [facts] [0 1 2 3]\n0 facts fact b modules/m/manifests/init.pp:3\n1 facts fact d modules/m/manifests/init.pp:3\n2 facts fact old modules/m/manifests/init.pp:3\n3 facts fact own modules/m/manifests/init.pp:1\n"},
		{"templates", "-- modules/m/manifests/init.pp --\nclass m(String $t = 'm/c.erb') {\n $v = 1\n file { '/a': content => template('m/a.erb') }\n file { '/b': content => epp('m/b.epp') }\n file { '/c': content => template('m/none.erb') }\n}\n" +
			"-- modules/m/templates/a.erb --\n<%= @v %><%= @w %>\n<%= system('x') %>\n-- modules/m/templates/b.epp --\n<%- | $p = 1 | -%>\n<%= $p %><%= unknown() %>\n-- modules/m/templates/c.erb --\n<%= foo %><%= @any %>\n-- modules/m/templates/d.erb --\n<%= Resolv %>\n",
			"class m: [modules facts compiler impossible] [0 1 3 4 5]\nfile modules/m/templates/d.erb: [compiler] [2]\n0 impossible erb foo modules/m/templates/c.erb:1\n1 impossible template m/none.erb modules/m/manifests/init.pp:5\n" +
				"2 compiler erb the constant Resolv modules/m/templates/d.erb:1\n3 compiler erb the function system modules/m/templates/a.erb:2\n4 facts fact w modules/m/templates/a.erb:1\n5 modules function unknown modules/m/templates/b.epp:2\n"},
		{"inline templates", "-- modules/m/manifests/init.pp --\nclass m {\n $a = inline_template('<%= 1 %>\n<%= Resolv %>')\n}\n",
			"class m: [compiler] [0]\n0 compiler erb the constant Resolv modules/m/manifests/init.pp:3\n"},
		{"hiera", "-- hiera.yaml --\nversion: 5\nhierarchy:\n- name: x\n  data_hash: m::data\n- name: y\n  data_hash: yaml_data\n  path: x.yaml\n-- modules/m/manifests/init.pp --\nclass m($p = 1) { }\n-- modules/m/manifests/a.pp --\nclass m::a { }\n-- modules/m/lib/puppet/functions/m/data.rb --\n",
			"class m: [compiler] [0]\nclass m::a: [] []\n0 compiler hiera m::data hiera.yaml:3\n"},
		{"errors in files", "-- modules/m/manifests/init.pp --\nclass m {\n-- modules/m/manifests/a.pp --\nclass m::a { include m }\n-- modules/m/hiera.yaml --\nversion: 3\n",
			"class m::a: [impossible] [1]\nfile modules/m/hiera.yaml: [impossible] [0]\nfile modules/m/manifests/init.pp: [impossible] [1]\n" +
				"0 impossible code hiera.yaml version 3 is not supported: convert it to version 5 (each path of ':hierarchy' becomes an entry with name and path, ':backends' becomes data_hash) modules/m/hiera.yaml:1\n" +
				"1 impossible code the text ends before the '{' of line 1 is closed with '}' modules/m/manifests/init.pp:2\n"},
		{"node definitions see the main manifest", "-- site.pp --\n$site = 1\nhost { 'a': }\nnode 'a', /b/ { include m }\nnode default { notify { $site: } }\n-- modules/m/manifests/init.pp --\nclass m { notify { $site: } }\n",
			"node definition a, /b/: [engine] [0]\nnode definition default: [engine] [0]\nclass m: [] []\n0 engine type host site.pp:2\n"},
		{"apply blocks", "-- modules/m/plans/init.pp --\nplan m($targets) {\n run_command('x', $targets)\n $v = 1\n apply($targets) { host { $v: } }\n apply($targets) { notify { 'x': } }\n}\n",
			"apply m, line 4: [engine] [0]\napply m, line 5: [] []\n0 engine type host modules/m/plans/init.pp:4\n"},
		{"types of values", "-- modules/m/manifests/init.pp --\nclass m(M::Port $a = 1, Stdlib::Absolutepath $b = '/', M::None $c = 1) { }\n-- modules/m/types/port.pp --\ntype M::Port = Integer\n",
			"class m: [impossible] [0]\n0 impossible data type M::None modules/m/manifests/init.pp:1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := read(t, c.code); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

// Only the units of one module are reported, but other modules are read.
func TestOnly(t *testing.T) {
	c, dir := code(t, "-- modules/m/manifests/init.pp --\nclass m { include n }\n-- modules/n/manifests/init.pp --\nclass n { host { 'a': } }\n-- modules/n/manifests/b.pp --\nclass n::b { nothing() }\n")
	c.Only = "m"
	r, err := audit.Read(t.Context(), c, options())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shown(r.Report(), dir), "class m: [engine] [0]\n0 engine type host modules/n/manifests/init.pp:1\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Trees with loops, pipes, binary files and deep code are read to their end.
func TestHostile(t *testing.T) {
	c, dir := code(t, "-- modules/m/manifests/init.pp --\nclass m { }\n-- modules/m/manifests/binary.pp --\n\x00\xff\xfe\n-- modules/m/templates/deep.erb --\n"+
		"<%= "+strings.Repeat("[", 10_000)+" %>\n-- modules/m/manifests/deep.pp --\nclass m::deep { $x = "+strings.Repeat("[", 100_000)+" }\n")
	m := filepath.Join(dir, "modules", "m", "manifests")
	if err := errors.Join(os.Symlink(".", filepath.Join(m, "loop")), os.Symlink("nowhere.pp", filepath.Join(m, "link.pp")),
		os.Symlink("m", filepath.Join(dir, "modules", "n")), syscall.Mkfifo(filepath.Join(m, "pipe.pp"), 0o600), os.Mkdir(filepath.Join(m, "dir.pp"), 0o755)); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(filepath.Join(m, "large.pp"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(1<<40), large.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Read(t.Context(), c, options())
	if err != nil {
		t.Fatal(err)
	}
	got := shown(r.Report(), dir)
	for _, want := range []string{"class m: [] []\n", "m/manifests/large.pp: [impossible]", "m/manifests/binary.pp: [impossible]", "m/manifests/deep.pp: [impossible]", "m/templates/deep.erb: [impossible]", "m/manifests/link.pp: [impossible]"} {
		if !strings.Contains(got, want) {
			t.Errorf("the report has no %q:\n%.3000s", want, got)
		}
	}
	if strings.Contains(got, "pipe.pp") || strings.Contains(got, "loop") {
		t.Errorf("the report has the pipe or the loop:\n%.3000s", got)
	}
}

func TestCancel(t *testing.T) {
	c, _ := code(t, "-- modules/m/manifests/init.pp --\nclass m { }\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	cancel(ended)
	if _, err := audit.Read(ctx, c, options()); !errors.Is(err, ended) {
		t.Errorf("error is %v, want %v", err, ended)
	}
}

// Each use of a name is counted once for each line, and supported parts are counted, too.
func TestUses(t *testing.T) {
	c, _ := code(t, "-- modules/m/manifests/init.pp --\nclass m {\n file { ['/a', '/b']: } file { '/c': }\n package { 'a': provider => gem }\n notify { md5($facts['kernel']): }\n}\n")
	r, err := audit.Read(t.Context(), c, options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range r.Report().Uses {
		got = append(got, fmt.Sprintf("%s %s %d", u.Kind, u.Name, len(u.Places)))
	}
	if want := "fact kernel 1, function md5 1, provider package gem 1, type file 1, type notify 1, type package 1"; strings.Join(got, ", ") != want {
		t.Errorf("uses are %s, want %s", strings.Join(got, ", "), want)
	}
}

// A node has the parts of its catalog, or the error of its compilation.
func TestNodes(t *testing.T) {
	c, dir := code(t, "-- modules/m/manifests/init.pp --\nclass m { }\n")
	r, err := audit.Read(t.Context(), c, options())
	if err != nil {
		t.Fatal(err)
	}
	host := &catalog.Resource{Ref: catalog.Ref{Type: "Host", Title: "a"}, Kind: catalog.KindType, File: dir + "/x.pp", Line: 3}
	file := &catalog.Resource{Ref: catalog.Ref{Type: "File", Title: "/a"}, Kind: catalog.KindType, File: dir + "/x.pp", Line: 4}
	var made catalog.Catalog
	if err := errors.Join(made.Add(host), made.Add(file)); err != nil {
		t.Fatal(err)
	}
	r.AddNode(&site.Compiled{Node: "good", Catalog: &catalog.Catalog{}}, nil)
	r.AddNode(&site.Compiled{Node: "bad", Catalog: &made}, []audit.Refusal{
		{Resource: host, UnknownType: true, Err: errors.New("unknown type")},
		{Resource: file, Param: "owner", Err: errors.New("no such owner")},
		{Err: errors.New("a cycle")},
	})
	r.AddNode(&site.Compiled{Node: "worse", Err: errors.New("does not compile")}, nil)
	r.AddNode(&site.Compiled{Node: "without facts", Err: &eval.Error{Kind: "unknown-variable", Name: "osfamily", Pos: syntax.Position{File: dir + "/x.pp", Line: 5}}}, nil)
	r.AddNode(&site.Compiled{Node: "without modules", Err: &eval.Error{Kind: "unknown-class", Name: "apt::x", Pos: syntax.Position{File: dir + "/x.pp", Line: 6}}}, nil)
	want := "node bad: [engine impossible] [0 2 3]\nnode good: [] []\nnode without facts: [facts] [4]\nnode without modules: [modules] [5]\nnode worse: [impossible] [1]\nclass m: [] []\n" +
		"0 impossible code a cycle \n1 impossible code does not compile \n2 engine parameter file owner x.pp:4\n3 engine type host x.pp:3\n" +
		"4 facts fact osfamily x.pp:5\n5 modules module apt x.pp:6\n"
	if got := shown(r.Report(), dir); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if v := r.Report().Verdict(); v != audit.Impossible {
		t.Errorf("the verdict is %v", v)
	}
}
