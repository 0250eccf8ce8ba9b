package plans

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bolt/format/fault"
	"bolt/format/valuedata"
	"bolt/modules"
)

// project makes a project called site, and a module path that contains it.
func project(t *testing.T, files map[string]string) (*world, string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, files)
	return newWorld(modules.NewPath(modules.Module{Name: "site", Dir: filepath.Join(dir, "site")}, filepath.Join(dir, "modules"))), dir
}

// described formats a plan for comparison, with a line for each of its parts.
func described(p *Plan) []string {
	list := []string{fmt.Sprintf("%s %s private=%v yaml=%v description=%q brief=%q docstring=%q", p.Name, p.File, p.Private, p.YAML != nil, p.Description, p.Brief, p.Docstring)}
	for _, q := range p.Parameters {
		line := fmt.Sprintf("%s %s %q", q.Usage(), q.Shown(), q.Description)
		if q.HasDefault {
			line += fmt.Sprintf(" default=%s,%s", valuedata.Shown(q.Default), q.DefaultText)
		}
		if q.Sensitive {
			line += " sensitive"
		}
		list = append(list, line)
	}
	return list
}

func TestFind(t *testing.T) {
	tests := []struct {
		name, file, text string
		want             []string
		warns            []string
	}{
		{"site", "site/plans/init.pp", `# @summary Short.
#
# Longer,
# on two lines.
#
# @param targets Where
#   it runs.
# @param count
plan site(
  TargetSpec $targets,
  Integer[1, 5] $count = 1 + 2,
  $any = undef,
  Sensitive[String] $secret = Sensitive('x'),
  My::Secret $own,
  Optional[Sensitive] $maybe = undef,
  Hash[String, Nowhere::Type] $rest = { 'a' => [1, "${count}"] }, # a comment
  String $call = $targets.map |$t| { "${t}" }.join(','),
) { }
`, []string{
			`site plans/init.pp private=false yaml=false description="Short." brief="Short." docstring="Longer,\non two lines."`,
			`targets=<value> TargetSpec "Where\nit runs."`,
			`[count=<value>] Integer[1, 5] "" default="1 + 2",1 + 2`,
			`[any=<value>] Any "" default="undef",undef`,
			`[secret=<value>] Sensitive[String] "" default="Sensitive('x')",Sensitive('x') sensitive`,
			`own=<value> My::Secret "" sensitive`,
			`[maybe=<value>] Optional[Sensitive] "" default="undef",undef`,
			`[rest=<value>] Hash[String, Nowhere::Type] "" default="{ 'a' => [1, \"${count}\"] }",{ 'a' => [1, "${count}"] }`,
			`[call=<value>] String "" default="$targets.map |$t| { \"${t}\" }.join(',')",$targets.map |$t| { "${t}" }.join(',')`,
		}, nil},
		{"site::a::b", "site/plans/a/b.pp", "plan site::a::b {\n}\n", []string{
			`site::a::b plans/a/b.pp private=false yaml=false description="" brief="" docstring=""`,
		}, nil},
		{"::m::old", "modules/m/plans/old.pp", "# Text.\n# @private true\n# @param gone Not there.\n# @param x Here.\nplan m::old(Integer $x) {}\n", []string{
			`m::old plans/old.pp private=true yaml=false description="Text." brief="" docstring="Text."`,
			`x=<value> Integer "Here."`,
		}, []string{
			"missing_plan_parameter: The comment above the plan m::old describes a parameter 'gone', which the plan does not have: modules/m/plans/old.pp.",
			"plan_private_tag: The tag '@private' above the plan m::old is deprecated: write '@api private' instead, in modules/m/plans/old.pp.",
		}},
		{"m::y", "modules/m/plans/y.yaml", `description: A YAML plan
private: true
parameters:
  targets:
    type: TargetSpec
    description: Where
  num: {type: Integer, default: 4}
  untyped:
  opt: {type: 'Optional[String]', default: null}
  text: {type: 'Enum[plain,  other]', default: plain}
  empty: {default: ""}
  data: {type: Hash, default: {a: [1, null], b: true}}
  "off": {type: Boolean, default: false}
  hush: {type: 'Sensitive[String]'}
steps: []
`, []string{
			`m::y plans/y.yaml private=true yaml=true description="A YAML plan" brief="" docstring="A YAML plan"`,
			`targets=<value> TargetSpec "Where"`,
			`[num=<value>] Integer "" default=4,4`,
			`untyped=<value> Any ""`,
			`opt=<value> Optional[String] ""`,
			`[text=<value>] Enum['other', 'plain'] "" default="plain",plain`,
			`[empty=<value>] Any "" default="",`,
			`[data=<value>] Hash "" default={"a"=>[1, nil], "b"=>true},{"a"=>[1, nil], "b"=>true}`,
			`[off=<value>] Boolean "" default=false,false`,
			`hush=<value> Sensitive[String] "" sensitive`,
		}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, dir := project(t, map[string]string{tt.file: tt.text})
			p, err := w.lib.Find(t.Context(), tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, described(p)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.warns, w.told(dir)); diff != "" {
				t.Error(diff)
			}
			if got, want := p.Path(), filepath.Join(dir, tt.file); got != want {
				t.Errorf("path %s, want %s", got, want)
			}
		})
	}
}

// TestPuppetPlanTakesPrecedence checks that the file in the Puppet language is the plan if
// there are two files of one name, and that directories are not plans.
func TestPuppetPlanTakesPrecedence(t *testing.T) {
	w, dir := project(t, map[string]string{
		"site/plans/both.pp": "plan site::both() {}\n", "site/plans/both.yaml": "steps: []\n",
		"site/plans/dir.pp/x": "", "site/plans/dir.yaml": "steps: []\n",
	})
	for name, want := range map[string]string{"site::both": "plans/both.pp", "site::dir": "plans/dir.yaml"} {
		if p, err := w.lib.Find(t.Context(), name); err != nil || p.File != want {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "site/plans/both.pp")); err != nil {
		t.Fatal(err)
	}
	if p, err := w.lib.Find(t.Context(), "site::both"); err != nil || p.YAML == nil {
		t.Errorf("without the .pp: %+v, %v", p, err)
	}
}

func TestFindErrors(t *testing.T) {
	w, dir := project(t, map[string]string{
		"site/plans/init.pp":      "plan site() {}\n",
		"site/plans/deploy.pp":    "plan site::deploy() {}\n",
		"site/plans/broken.pp":    "plan site::broken() {\n  $x = [1, 2\n  return $x\n}\n",
		"site/plans/two.pp":       "plan site::two() {\n  file { '/x': }\n  file { '/y': }\n}\n",
		"site/plans/wrong.pp":     "plan site::other() {}\n",
		"site/plans/empty.pp":     "",
		"site/plans/type.yaml":    "parameters:\n  x: {type: 'Integer['}\nsteps: []\n",
		"site/plans/noparse.yaml": "steps:\n  - command: \"unterminated\n",
		"site/plans/step.yaml":    "steps:\n  - frobnicate: x\n",
	})
	if err := os.Symlink("gone", filepath.Join(dir, "site/plans/gone.pp")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, kind string
		says       []string // parts of the message
		details    string
	}{
		{"nowhere", UnknownPlan, []string{"'nowhere'", "bolt plan show"}, "{}"},
		{"site::deplyo", UnknownPlan, []string{"Did you mean site::deploy?"}, "{}"},
		{"deploy", UnknownPlan, []string{"Did you mean site::deploy?"}, "{}"},
		{"site::init", UnknownPlan, []string{"'site::init'"}, "{}"},
		{"site::Deploy", UnknownPlan, []string{"Did you mean site::deploy?"}, "{}"},
		{"site::../deploy", UnknownPlan, []string{"'site::../deploy'"}, "{}"},
		{"", UnknownPlan, nil, "{}"},
		{"site::gone", UnknownPlan, nil, "{}"},
		{"site::broken", palError, []string{"unexpected 'return' (file: site/plans/broken.pp, line: 3, column: 3)"}, `{"file":"site/plans/broken.pp","line":3,"column":3}`},
		{"site::two", palError, []string{"(file: site/plans/two.pp, line: 2, column: 3)"}, `{"file":"site/plans/two.pp","line":2,"column":3}`},
		{"site::wrong", palError, []string{"site/plans/wrong.pp", "site::wrong"}, "{}"},
		{"site::empty", palError, []string{"site/plans/empty.pp", "site::empty"}, "{}"},
		{"site::type", palError, []string{"Syntax error at end of input"}, "{}"},
		{"site::noparse", palError, []string{"YAML"}, `{"file":"site/plans/noparse.yaml","line":2}`},
		{"site::step", "bolt/invalid-plan", []string{"No valid action detected"}, `{"file":"site/plans/step.yaml"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.lib.Find(t.Context(), tt.name)
			e, ok := errors.AsType[*fault.Error](err)
			if !ok {
				t.Fatalf("error %v", err)
			}
			msg := strings.ReplaceAll(e.Msg, dir+"/", "")
			for _, part := range tt.says {
				if !strings.Contains(msg, part) {
					t.Errorf("the message %q does not say %q", msg, part)
				}
			}
			details, err := e.Details.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(string(details), dir+"/", ""); e.Kind != tt.kind || got != tt.details {
				t.Errorf("kind %s, details %s, want %s, %s", e.Kind, got, tt.kind, tt.details)
			}
			if tt.name == "site::two" && !strings.Contains(e.Hint, "the first of 2 errors") {
				t.Errorf("hint %q", e.Hint)
			}
		})
	}
	if w.warns != nil {
		t.Errorf("warnings %q", w.warns)
	}
}

func TestAt(t *testing.T) {
	w, dir := project(t, map[string]string{
		"site/plans/init.yaml":               "description: the init\nsteps: []\n",
		"site/plans/a/b.yaml":                "steps: []\n",
		"site/plans/x.pp":                    "plan site::x() {}\n",
		"site/plans/plans/deep.yaml":         "steps: []\n",
		"plans/elsewhere/plans/c.yaml":       "steps: []\n",
		"plans/elsewhere/plans/plans/d.yaml": "steps: []\n",
		"plans/elsewhere/plans/Bad.yaml":     "steps: []\n",
		"plans/elsewhere/loose.yaml":         "steps: []\n",
		"site/plans/wrong.yaml":              "steps: [{frobnicate: 1}]\n",
	})
	tests := []struct{ what, name, kind string }{
		{"site", "site", ""},
		{"::site::a::b", "site::a::b", ""},
		{"site/plans/init.yaml", "site", ""},
		{"site/plans/../plans/a/b.yaml", "site::a::b", ""},
		{"site/plans/plans/deep.yaml", "site::plans::deep", ""},
		{"plans/elsewhere/plans/c.yaml", "elsewhere::c", ""},
		{"plans/elsewhere/plans/plans/d.yaml", "plans::d", ""},
		{"plans/elsewhere/plans/Bad.yaml", "", "bolt/modulepath-error"},
		{"plans/elsewhere/loose.yaml", "plans::elsewhere::loose", "bolt/modulepath-error"},
		{"site/plans/x.pp", "", "bolt/convert-error"},
		{"site::x", "", "bolt/convert-error"},
		{"site/plans/gone.yaml", "", "bolt/file-error"},
		{"site::gone", "", UnknownPlan},
		{"site/plans/wrong.yaml", "", "bolt/invalid-plan"},
	}
	t.Chdir(dir)
	for _, tt := range tests {
		p, err := w.lib.At(t.Context(), tt.what)
		if e, is := errors.AsType[*fault.Error](err); tt.kind != "" && (!is || e.Kind != tt.kind) || tt.kind == "" && (err != nil || p.Name != tt.name || p.YAML == nil) {
			t.Errorf("%s: %+v, %v", tt.what, p, err)
		}
	}
}
