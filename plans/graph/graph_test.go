package graph

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bolt/plans/yamlplan"
	"bolt/puppet/syntax"
)

var update = flag.Bool("update", false, "write the expected pictures anew")

// of returns the graph of the plan in src.
func of(t testing.TB, file, src string, o Options) *Graph {
	t.Helper()
	g, err := parsed(file, src, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func parsed(file, src string, o Options) (*Graph, error) {
	prog, err := syntax.Parse(syntax.NewFile(file, src), syntax.Options{Tasks: true})
	if err != nil {
		return nil, err
	}
	name := ""
	for _, x := range prog.Definitions {
		if p, is := x.(*syntax.Plan); is {
			name = p.Name
			break
		}
	}
	return Of(prog, name, o)
}

// pictures returns a graph in both formats.
func pictures(t testing.TB, g *Graph) (dot, svg string) {
	t.Helper()
	var a, b bytes.Buffer
	if err := g.WriteDot(&a); err != nil {
		t.Fatal(err)
	}
	if err := g.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

// TestPictures compares whole pictures. If you change them, look at them.
func TestPictures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pp")
	if err != nil || len(files) == 0 {
		t.Fatal("no plans", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dot, svg := pictures(t, of(t, filepath.Base(file), string(src), Options{}))
		for ext, got := range map[string]string{".dot": dot, ".svg": svg} {
			want := strings.TrimSuffix(file, ".pp") + ext
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("%s: -want +got; after a look at the new ones: go test ./plans/graph -update\n%s", want, diff)
			}
		}
	}
}

// outline returns a short form of a graph: nodes separated by ";", branches and
// bodies in braces.
func outline(list []*Node) string {
	var parts []string
	for _, n := range list {
		if n.Kind == Start {
			continue
		}
		text := n.Name
		if n.Result != "" {
			text = n.Result + "=" + text
		}
		if n.Object != "" {
			text += "(" + n.Object + ")"
		}
		for _, w := range n.Waits {
			text += "<" + w.Result + "@" + fmt.Sprint(w.Place.Line)
		}
		for _, b := range n.Branches {
			text += " " + b.Label + "{" + outline(b.Body) + "}"
		}
		if n.frame() {
			text += "{" + outline(n.Body) + "}"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// plan returns a plan that contains code.
func plan(code string) string { return "plan p($t) {\n" + code + "\n}" }

func TestNodeOrder(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"empty", "", "end"},
		{"values alone", "$x = 1 + 2\nif $x { $y = 3 }\n$l.each |$z| { notice($z) }", "end"},
		{"arguments first", "run_command('a', run_command('b', $t).targets)", "run_command(b); run_command(a); end"},
		{"in strings and lists", `$x = ["${run_command('a', $t)}", {k => run_command('b', $t)}]`, "run_command(a); run_command(b); end"},
		{"result", "$r = (run_task('a', $t))", "$r=run_task(a); end"},
		{"result of a part", "$r = run_task('a', $t).ok", "run_task(a); end"},
		{"as a method", "$t.run_plan('p', 'x' => 1)", "run_plan($t); end"},
		{"if", "if $x { run_command('a', $t) }", "if($x) yes{run_command(a)} no{}; end"},
		{"step in a condition", "if run_command('a', $t).ok { return 1 }", "run_command(a); if(run_command(…).ok) yes{return(1)} no{}; end"},
		{"elsif", "if $x { return() } elsif $y { fail_plan('f') } else { run_command('a', $t) }",
			"if($x) yes{return} no{if($y) yes{fail_plan(f)} no{run_command(a)}}; end"},
		{"all branches end", "if $x { return 1 } else { fail_plan('f') }\nrun_command('never', $t)", "if($x) yes{return(1)} no{fail_plan(f)}"},
		{"behind an end", "return(run_command('a', $t))\nrun_command('never', $t)", "run_command(a); return(run_command(…))"},
		{"unless", "unless $x { run_command('a', $t) }", "unless($x) no{run_command(a)} yes{}; end"},
		{"case", "case $x { 1: { return 'a' } 2, 3: { } /z/: { run_command('b', $t) } }", "case($x) 1{return(a)} /z/{run_command(b)} 2, 3, others{}; end"},
		{"case with default", "case $x { 1: { return 'a' } default: { } }", "case($x) 1{return(a)} default{}; end"},
		{"selector", "$r = $x ? { 1 => run_command('a', $t), default => undef }", "$r=case($x) 1{run_command(a)} default{}; end"},
		{"and", "$x and run_command('a', $t)", "and($x) yes{run_command(a)} no{}; end"},
		{"or", "run_command('a', $t).ok or fail_plan('f')", "run_command(a); or(run_command(…).ok) no{fail_plan(f)} yes{}; end"},
		{"then", "$x.then |$y| { run_command('a', $t) }", "then($x == undef) no{run_command(a)} yes{}; end"},
		{"lest", "$x.lest || { fail_plan('f') }", "lest($x == undef) yes{fail_plan(f)} no{}; end"},
		{"loop", "$r = $t.map |$x, $y| { run_command('a', $x) }", "$r=map($t.map |$x, $y|){run_command(a)}; end"},
		{"loop over results", "run_command('a', $t).each |$r| { return $r }", "run_command(a); each(run_command(…).each |$r|){return($r)}; end"},
		{"loop that ends always", "ctrl::do_until() || { return 1 }\nrun_command('never', $t)", "ctrl::do_until(ctrl::do_until){return(1)}"},
		{"jumps", "$t.each |$x| { if $x { next() } elsif $y { break() }\nrun_command('a', $x) }",
			"each($t.each |$x|){if($x) yes{next} no{if($y) yes{break} no{}}; run_command(a)}; end"},
		{"jumps alone", "$t.each |$x| { if $x { next() } }", "end"},
		{"what is called once", "with(1) |$x| { run_command('a', $t) }", "run_command(a); end"},
		{"what is called once, with a jump", "with(1) |$x| { if $x { next() } run_command('a', $t) }", "with(with(1) |$x|){if($x) yes{next} no{}; run_command(a)}; end"},
		{"return in a block", "without_default_logging() || { return 1 }\nrun_command('never', $t)", "without_default_logging(without_default_logging){return(1)}"},
		{"return in a branch", "parallelize($t) |$x| { return 1 }", "parallelize(parallelize($t) |$x|){return(1)}; end"},
		{"error that is caught", "catch_errors() || { fail_plan('f') }", "catch_errors(catch_errors){fail_plan(f)}; end"},
		{"unknown block", "site::twice($t) |$x| { run_command('a', $x) }", "site::twice(site::twice($t) |$x|){run_command(a)}; end"},
		{"wait for one", "$a = background() || { run_command('a', $t) }\n$b = background() || { run_command('b', $t) }\nwait($b)",
			"$a=background(background){run_command(a)}; $b=background(background){run_command(b)}; wait($b)<$b@3; end<$a@2"},
		{"wait for several", "$a = background() || { run_command('a', $t) }\n$b = background() || { run_command('b', $t) }\nwait([$a, $b], 5)",
			"$a=background(background){run_command(a)}; $b=background(background){run_command(b)}; wait([$a, $b])<$a@2<$b@3; end"},
		{"wait for all", "$f = $t.map |$x| { background() || { run_command('a', $x) } }\nwait('_catch_errors' => true)\nwait()",
			"$f=map($t.map |$x|){background(background){run_command(a)}}; wait<@2; wait; end"},
		{"wait for those of a loop", "$f = $t.map |$x| { background() || { run_command('a', $x) } }\nwait($f)",
			"$f=map($t.map |$x|){background(background){run_command(a)}}; wait($f)<@2; end"},
		{"other definitions", "function p::f() { run_command('never', $t) }\nrun_command('a', $t)", "run_command(a); end"},
	} {
		g := of(t, "", plan(c.code), Options{})
		if got := outline(g.Body); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		pictures(t, g)
	}
}

func TestNodeTexts(t *testing.T) {
	for code, want := range map[string]string{
		`run_command('a  b', $t)`:                                        "run_command|a b|on $t",
		`run_command("a ${b['x']} \"q\"", 'web')`:                        `run_command|a ${b['x']} "q"|on 'web'`,
		`run_command($c, [$a, $b], 'why')`:                               "run_command|$c|why|on [$a, $b]",
		`run_command('a', $t, _description => 'why')`:                    "run_command|a|why|on $t",
		`run_task('a', $t, 'x' => 1, '_noop' => true, y => [2])`:         "run_task|a|on $t|x => 1, y => [2]|_noop => true",
		`run_task('a', $t, $params)`:                                     "run_task|a|on $t|$params",
		`run_task('a', $t, 'why', $params)`:                              "run_task|a|why|on $t|$params",
		`run_task('a', $t, $params + {'x' => 1})`:                        "run_task|a|on $t|$params + { 'x' => 1 }",
		`run_plan('a', $t, x => 1)`:                                      "run_plan|a|on $t|x => 1",
		`run_plan('a', x => 1, _run_as => 'root')`:                       "run_plan|a|x => 1|_run_as => 'root'",
		`run_script('m/s.sh', $t, 'arguments' => ['-x'])`:                "run_script|m/s.sh|on $t|arguments => ['-x']",
		`upload_file('a', '/b', $t, '_run_as' => 'root')`:                "upload_file|a → /b|on $t|_run_as => 'root'",
		`write_file('text of it', '/b', $t)`:                             "write_file|/b|on $t",
		`$t.apply_prep`:                                                  "apply_prep|on $t",
		`get_resources($t, [Package])`:                                   "get_resources|[Package]|on $t",
		"run_command(@(E), $t)\n  one\n  two\n  | E\n":                   "run_command|one two|on $t",
		`run_command("\u001b[31mred\u202e", $t)`:                         "run_command|red|on $t",
		"apply($t, _catch_errors => true) { package { 'a': } }":          "apply|package { 'a': }|on $t|_catch_errors => true",
		`run_container('alpine', cmd => 'ls', 'rm' => true)`:             "run_container|alpine|cmd => 'ls', rm => true",
		`puppetdb_query('nodes[certname] {}')`:                           "puppetdb_query|nodes[certname] {}",
		`prompt('Who?', 'sensitive' => true)`:                            "prompt|Who?",
		`run_task_with('a', $t) |$x| { { 'n' => $x.name } }`:             "run_task_with|a|on $t",
		`run_command('a', $t, '_env_vars' => {'A' => $x.map |$y| {$y}})`: "run_command|a|on $t|_env_vars => { 'A' => $x.map |$y| { $y } }",
	} {
		g := of(t, "", plan(code), Options{})
		var text []string
		for _, l := range g.Body[1].lines() {
			text = append(text, l.text)
		}
		if got := strings.Join(text, "|"); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

// TestSecrets checks that pictures contain no part of a Sensitive.
func TestSecrets(t *testing.T) {
	for _, code := range []string{
		`run_task('a', $t, 'password' => Sensitive('hunter2'))`,
		`run_task('a', $t, Sensitive({ 'password' => 'hunter2' }))`,
		`run_task('a', $t, 'password' => Sensitive.new("hunter2 ${x}"))`,
		`run_task('a', $t, 'password' => Sensitive[String].new('hunter2'))`,
		`run_task('a', $t, 'password' => new(Sensitive, 'hunter2'))`,
		`run_task('a', $t, 'password' => 'hunter2'.convert_to(Sensitive))`,
		`run_task('a', $t, 'password' => convert_to('hunter2', Sensitive[String]))`,
		"run_task('a', $t, 'password' => Sensitive(@(E)))\n  hunter2\n  | E\n",
		`run_command("echo ${Sensitive('hunter2').unwrap}", $t)`,
		`run_command("echo ${x.then |$y| { Sensitive('hunter2') }}", $t)`,
		`run_command(Sensitive('hunter2').unwrap, $t, Sensitive('hunter2'), '_description' => Sensitive("hunter2"))`,
		`$x = Sensitive(run_command('hunter2', $t, 'hunter2', 'hunter2' => 'hunter2'))`,
		`if $x == Sensitive('hunter2') { run_command('a', $t) }`,
		`case $x { Sensitive('hunter2'): { run_command('a', $t) } }`,
		`Sensitive('hunter2').each |$x| { run_command('a', $t) }`,
		`return Sensitive(['hunter2', [ 'hunter2' ]])`,
		`apply($t) { user { 'a': password => Sensitive('hunter2') } }`,
		`run_task('a', $t, 'pin' => Sensitive(712345), 'match' => Sensitive(/hunter2/), 'name' => Sensitive(hunter2))`,
	} {
		dot, svg := pictures(t, of(t, "", plan(code), Options{}))
		for _, s := range []string{"hunter2", "712345"} {
			if strings.Contains(dot, s) || strings.Contains(svg, s) {
				t.Errorf("%s: it is in the picture\n%s", code, dot)
			}
		}
		if !strings.Contains(dot, "…") {
			t.Errorf("%s: nothing stands for it\n%s", code, dot)
		}
	}
	dot, _ := pictures(t, of(t, "", plan("run_task('a', $t, 'password' => Sensitive($pw))"), Options{}))
	if !strings.Contains(dot, "Sensitive($pw)") {
		t.Errorf("a variable is hidden:\n%s", dot)
	}
}

// TestSubplans checks that each plan is drawn once, and that further calls of
// it are steps.
func TestSubplans(t *testing.T) {
	sources := map[string]string{
		"a": "plan a($t) {\n  run_command('in a', $t)\n  run_plan('::b', $t)\n  run_plan('a', $t)\n}",
		"b": "plan b($t) {\n\n  background() || { run_command('in b', $t) }\n  run_plan('a', $t)\n  return 1\n}",
		"c": "plan c($t) { }",
	}
	var asked []string
	subplan := func(name string) (*syntax.Program, error) {
		asked = append(asked, name)
		src, known := sources[name]
		switch {
		case name == "broken":
			return nil, errors.New("it is broken")
		case !known:
			return nil, nil
		}
		return syntax.Parse(syntax.NewFile(name+".pp", src), syntax.Options{Tasks: true})
	}
	g := of(t, "p.pp", plan("run_plan('a', $t)\nrun_plan('b', $t)\nrun_plan('c', $t)\nrun_plan($x, $t)\nwait()"), Options{Subplan: subplan})
	want := "run_plan(a){run_command(in a); run_plan(::b){background(background){run_command(in b)}; run_plan(a); return(1)}; run_plan(a)}; run_plan(b); run_plan(c); run_plan($x); wait; end"
	if got := outline(g.Body); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	a := g.Body[1]
	if a.Place != (Place{"p.pp", 2}) || a.Body[1].Place != (Place{"a.pp", 3}) || a.Body[1].Body[0].Place != (Place{"b.pp", 3}) {
		t.Errorf("places: %v, %v, %v", a.Place, a.Body[1].Place, a.Body[1].Body[0].Place)
	}
	pictures(t, g)
	g = of(t, "", plan("run_plan('gone', $t)"), Options{Subplan: subplan})
	if got, want := outline(g.Body), "run_plan(gone); end"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := parsed("", plan("run_plan('broken', $t)"), Options{Subplan: subplan}); err == nil || err.Error() != "it is broken" {
		t.Errorf("a plan that cannot be read: %v", err)
	}
}

// TestYAML checks that the positions of a YAML plan refer to the YAML file.
func TestYAML(t *testing.T) {
	src := "parameters:\n  targets: {type: TargetSpec}\nsteps:\n  - name: up\n    command: uptime\n    targets: $targets\n  - task: package\n    targets: $targets\n    parameters: {name: nginx}\n  - eval: |\n      if $up.ok {\n        run_command('x', $targets)\n      }\nreturn: $up\n"
	p, err := yamlplan.Parse("site::y", "y.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	prog, err := p.Program()
	if err != nil {
		t.Fatal(err)
	}
	g, err := Of(prog, "site::y", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "$up=run_command(uptime); run_task(package); if($up.ok) yes{run_command(x)} no{}; return($up)"
	if got := outline(g.Body); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var lines []int
	for _, n := range g.Body[1:] {
		lines = append(lines, n.Place.Line)
	}
	if want := []int{5, 7, 11, 14}; !slices.Equal(lines, want) {
		t.Errorf("lines %d, want %d", lines, want)
	}
}

func TestPlacesAreRelativeToDir(t *testing.T) {
	for dir, want := range map[string]string{"/p": "plans/a.pp", "/p/": "plans/a.pp", "/p/plan": "/p/plans/a.pp", "": "/p/plans/a.pp"} {
		g := of(t, "/p/plans/a.pp", plan(""), Options{Dir: dir})
		if got := g.Body[0].Place; got != (Place{want, 1}) {
			t.Errorf("below %q: %v, want %s:1", dir, got, want)
		}
	}
}

func TestUnknownPlan(t *testing.T) {
	prog, err := syntax.Parse(syntax.NewFile("", plan("")), syntax.Options{Tasks: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Of(prog, "other", Options{}); err == nil || !strings.Contains(err.Error(), "other") {
		t.Error(err)
	}
}

func TestFormats(t *testing.T) {
	g := &Graph{Plan: "site"}
	for format, begin := range map[string]string{"": "digraph", "dot": "digraph", "svg": "<svg"} {
		var b strings.Builder
		if err := g.Write(&b, format); err != nil || !strings.HasPrefix(b.String(), begin) {
			t.Errorf("%q: %.20q, %v", format, b.String(), err)
		}
	}
}
