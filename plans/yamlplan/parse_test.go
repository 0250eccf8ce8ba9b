package yamlplan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bolt/format/fault"
	"bolt/format/ordered"
)

func parse(t *testing.T, src string) *Plan {
	t.Helper()
	p, err := Parse("m::p", "plans/p.yaml", []byte(src))
	if err != nil {
		t.Fatal(problemText(err))
	}
	return p
}

// problemText returns an error in its form for people.
func problemText(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	details, _ := e.Map().Value("details").(*ordered.Map).MarshalJSON()
	return e.Kind + " " + string(details) + "\n" + e.Msg + "\nhint: " + e.Hint
}

func TestParse(t *testing.T) {
	p := parse(t, `
description: Does things
private: false
version: 2
parameters:
  targets: {type: TargetSpec, description: The targets}
  word:
    type: Enum[inner, outer]
    default: outer
  count: {type: 'Optional[Integer[0,5]]', default: null}
  any: {type: "Optional[Array[My::Type]]"}
  opts: {type: Hash, default: {a: 010, b: [yes, $x, "$y"]}}
  flag: {type: Boolean, default: false}
steps:
  - name: a
    command: 'echo hi'
    targets: $targets
    description: says hi
  - message: Hello
  - eval: [1, 2]
return: $a
`)
	want := []Parameter{
		{Name: "targets", TypeText: "TargetSpec", Type: "TargetSpec", Description: "The targets", HasDescription: true, Line: 6},
		{Name: "word", TypeText: "Enum[inner, outer]", Type: "Enum['inner', 'outer']", Default: "outer", HasDefault: true, Line: 7},
		{Name: "count", TypeText: "Optional[Integer[0,5]]", Type: "Optional[Integer[0, 5]]", Line: 10},
		{Name: "any", TypeText: "Optional[Array[My::Type]]", Type: "Optional[Array[My::Type]]", Line: 11},
		{Name: "opts", TypeText: "Hash", Type: "Hash", Default: ordered.Of("a", int64(8), "b", []any{true, "$x", "$y"}), HasDefault: true, Line: 12},
		{Name: "flag", TypeText: "Boolean", Type: "Boolean", Default: false, HasDefault: true, Line: 13},
	}
	for i := range p.Parameters {
		p.Parameters[i].value, p.Parameters[i].typed = nil, nil
	}
	sameData := cmp.Comparer(func(a, b *ordered.Map) bool {
		x, _ := a.MarshalJSON()
		y, _ := b.MarshalJSON()
		return string(x) == string(y)
	})
	if diff := cmp.Diff(want, p.Parameters, cmp.AllowUnexported(Parameter{}), sameData); diff != "" {
		t.Error(diff)
	}
	if p.Name != "m::p" || p.Description != "Does things" || p.Private || !p.HasPrivate {
		t.Errorf("%q %q %v %v", p.Name, p.Description, p.Private, p.HasPrivate)
	}
	steps := []Step{
		{Number: 1, Name: "a", Kind: "command", Description: "says hi", Object: "echo hi", Targets: "$targets", Line: 15},
		{Number: 2, Kind: "message", Object: "Hello", Line: 19},
		{Number: 3, Kind: "eval", Line: 20},
	}
	if diff := cmp.Diff(steps, p.Steps()); diff != "" {
		t.Error(diff)
	}
}

// TestInvalidPlans checks the first reported problem of invalid plans, and parts of
// the other problems.
func TestInvalidPlans(t *testing.T) {
	const invalid = `bolt/invalid-plan {"file":"plans/p.yaml"}` + "\n"
	tests := []struct {
		name, src, want string
		more            []string
	}{
		{"nothing", "", invalid + "Plan must be a hash", nil},
		{"a list", "- 1", invalid + "Plan must be a hash", nil},
		{"no YAML", "steps:\n  - command: \"open\n", `bolt/pal-error {"file":"plans/p.yaml","line":2}`, nil},
		{"a date", "steps: []\nreturn: 2020-01-01", `bolt/pal-error {"file":"plans/p.yaml","line":2}`, []string{"put it in quotes"}},
		{"an alias", "steps: &x []\nreturn: *x", `bolt/pal-error {"file":"plans/p.yaml","line":2}`, []string{"alias"}},
		{"no steps", "description: x", invalid + "Plan must specify an array of steps\n", nil},
		{"steps no array", "steps: {}", invalid + "Plan must specify an array of steps\n", nil},
		{"two things", "parameters:\n  x: {type: String, wat: 1}\nbogus: 1\nsteps: []", invalid + `Plan parameter "x" contains illegal key(s) ["wat"]` + "\n",
			[]string{"line 2", "line 3 is wrong, too: Plan contains illegal key(s) [\"bogus\"]"}},
		{"parameters no hash", "parameters: [a]\nsteps: []", invalid + "Plan parameters must be a Hash", nil},
		{"parameter's name", "parameters: {Bad-Name: }\nsteps: []", invalid + `Invalid parameter name "Bad-Name"`, nil},
		{"parameter's definition", "parameters: {a: String}\nsteps: []", invalid + `Plan parameter "a" must be a hash`, nil},
		{"type without an end", "parameters:\n  x: {type: \"Integer[\"}\nsteps: []", "bolt/pal-error {}\nSyntax error at end of input\n", []string{"line 2", `"x"`}},
		{"type that is none", "parameters: {x: {type: 'Integer[a]'}}\nsteps: []", "bolt/pal-error {}\nThe type Integer[a]", nil},
		{"type that is code", "parameters: {x: {type: $y}}\nsteps: []", "bolt/pal-error {}\nThe type $y", nil},
		{"private", "private: maybe\nsteps: []", invalid + `Plan m::p key 'private' must be a boolean, received: "maybe"`, nil},
		{"no action", "steps:\n  - nosuch: foo", invalid + "Parse error in step number 1: \n No valid action detected\n", []string{"line 2"}},
		{"a named one", "steps:\n  - {name: a, nosuch: foo}", invalid + "Parse error in step \"a\": \n No valid action detected\n", nil},
		{"two actions", "steps: [{task: a, command: b, targets: c}]", invalid + "Parse error in step number 1: \n Multiple action keys detected: [\"command\", \"task\"]", nil},
		{"no targets", "steps:\n  - name: a\n    command: x", invalid + "Parse error in step \"a\": \n The \"command\" step requires: [\"targets\"] key(s)", nil},
		{"unknown key", "steps:\n  - name: a\n    command: x\n    targets: y\n    parameters: {}", invalid + "Parse error in step \"a\": \n The \"command\" step does not support: [\"parameters\"] key(s)", []string{"line 5"}},
		{"step's name", "steps: [{name: Bad-Name, eval: 1}]", invalid + "Parse error in step \"Bad-Name\": \n Invalid step name: \"Bad-Name\"", nil},
		{"name that is no string", "steps: [{name: , eval: 1}]", invalid + "Parse error in step number 1: \n Invalid step name: nil", nil},
		{"name twice", "parameters: {b: }\nsteps:\n  - {name: a, eval: 1}\n  - {name: a, eval: 2}\n  - {name: b, eval: 3}", invalid + "Parse error in step \"a\": \n Duplicate step name or parameter detected: \"a\"",
			[]string{"line 4", `line 5 is wrong, too: Parse error in step "b": Duplicate`}},
		{"no step", "steps: [x]", invalid + "Parse error in step number 1: Plan step must be", nil},
		{"parameters of a step", "steps: [{task: a, targets: b, parameters: $x}]", invalid + "Parse error in step number 1: \n Parameters key must be a hash", nil},
		{"options twice", "steps: [{task: a, targets: b, parameters: {_run_as: x}, run_as: y}]", invalid + "Parse error in step number 1: \n Cannot specify metaparameters when using top-level keys with same name: run_as", nil},
		{"arguments", "steps: [{script: a, targets: b, arguments: $x}]", invalid + "Parse error in step number 1: \n arguments key must be an array", nil},
		{"pwsh_params", "steps: [{script: a, targets: b, pwsh_params: []}]", invalid + "Parse error in step number 1: \n pwsh_params key must be a hash", nil},
		{"env_vars", "steps: [{command: a, targets: b, env_vars: x}]", invalid + "Parse error in step number 1: \n env_vars key must be a hash or evaluable string", nil},
		{"shell's variable", "steps:\n  - command: echo $HOME\n    targets: x", invalid + "Parse error in step number 1: \n Error parsing \"command\": $HOME", []string{"line 2", "single quotation marks"}},
		{"shell's default", "steps:\n  - command: echo ${FOO:-bar}\n    targets: x", invalid + "Parse error in step number 1: \n Error parsing \"command\": unexpected ':'", nil},
		{"inside of a parameter", "steps:\n  - task: a\n    targets: x\n    parameters:\n      deep:\n        - $a.\n", invalid + "Parse error in step number 1: \n Error parsing \"deep\": ", []string{"line 6"}},
		{"block of code", "steps:\n  - eval: |\n      $a = 1\n\n      $b = = 2\n", invalid + "Parse error in step number 1: \n Error parsing \"eval\": unexpected '='", []string{"line 5"}},
		{"return", "steps: []\nreturn:\n  a: $x[", invalid + "Error parsing \"a\": ", []string{"line 3"}},
		{"long number", "steps: [{eval: 123456789012345678901234567890}]", invalid + "Parse error in step number 1: \n Error parsing \"eval\": ", []string{"in quotation marks"}},
		{"no number", "parameters: {a: {default: .nan}}\nsteps: []", invalid + "Error parsing \"a\": ", nil},
		{"resources", "steps: [{resources: $x, targets: y}]", invalid + "Parse error in step number 1: \n resources key must be an array", nil},
		{"title alone", "steps: [{resources: [{title: x}], targets: y}]", invalid + "Parse error in step number 1: \n Resource declaration must include type key if title key is set", nil},
		{"type alone", "steps: [{resources: [{type: x}], targets: y}]", invalid + "Parse error in step number 1: \n Resource declaration must include title key if type key is set", nil},
		{"no type", "steps: [{resources: [{parameters: {}}], targets: y}]", invalid + "Parse error in step number 1: \n Resource declaration is missing a type", nil},
		{"two types", "steps: [{resources: [{file: a, package: b}], targets: y}]", invalid + "Parse error in step number 1: \n Resource declaration has ambiguous type: could be file or package", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("m::p", "plans/p.yaml", []byte(test.src))
			if err == nil {
				t.Fatal("no error")
			}
			got := problemText(err)
			if !strings.HasPrefix(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			for _, more := range test.more {
				if !strings.Contains(got, more) {
					t.Errorf("got\n%s\nwant in it\n%s", got, more)
				}
			}
		})
	}
}

// TestUnusualValidPlans parses valid plans that look invalid.
func TestUnusualValidPlans(t *testing.T) {
	for name, src := range map[string]string{
		"shell's variables in single quotes": "steps: [{command: 'echo $HOME ${FOO:-bar}', targets: x}]",
		"shell's variables, folded":          "steps:\n  - command: >\n      echo $HOME ${FOO:-bar}\n    targets: x",
		"code for environment variables":     "steps: [{command: a, targets: b, env_vars: $vars}]",
		"options of ours":                    "steps: [{command: a, targets: b, timeout: 3, concurrency: 2, serial: [1, 10%], max_failures: 0, pause: 1}]",
		"no steps":                           "steps: []",
		"null":                               "parameters: {a: , b: false}\nprivate: ~\ndescription: ~\nsteps: []\nreturn: ~",
		"empty arguments":                    "steps: [{script: a, targets: b, arguments: , pwsh_params: }]",
	} {
		t.Run(name, func(t *testing.T) { parse(t, src) })
	}
}
