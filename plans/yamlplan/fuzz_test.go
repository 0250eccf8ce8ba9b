package yamlplan

import (
	"bytes"
	"strings"
	"testing"

	"bolt/puppet/check"
	"bolt/puppet/syntax"
)

// FuzzPlan checks that no text causes a panic, that the nodes of a valid plan's
// program are in the file, and that it converts to a valid plan.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{
		"steps: []",
		"description: a\nprivate: true\nparameters: {a: {type: String, default: x}, b: }\nsteps:\n  - {name: c, command: x, targets: $a}\nreturn: [$c, {k: \"$b\"}]",
		"steps:\n  - name: a\n    eval: |\n      $x = 1\n      [$x].map |$i| {\n        $i }\nreturn: \"${a} \\t $\"",
		"steps:\n  - eval: |\n      @(END)\n        x\n        | END\n  - message: >\n      a\n",
		"steps:\n  - resources: [{file: /x, parameters: {a: 1, 'b c': $d}}, {type: $t, title: u}]\n    targets: $x.y\n    noop: true\n",
		"steps: [{script: a, targets: b, arguments: [1, -2, 1.5, ~, 'x\\'], env_vars: $v, serial: [1]}]",
		"steps: [{eval: $a # b\n}, {eval: $a#b\n}, {eval: \"${x[\\\"y\\\"]}\"}]",
		"steps: [{plan: a, targets: b, parameters: {? 1 : 2, yes: 3, x: |\n  $a -> $b\n}}]",
		"parameters: {a: {type: 'Integer['}}\nsteps: [{a: 1}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		p, err := Parse("m::p", "p.yaml", []byte(src))
		if err != nil {
			if problemText(err) == "" {
				t.Error("no text")
			}
			return
		}
		prog, err := p.Program()
		if err != nil {
			if strings.Contains(err.Error(), "nested") || strings.Contains(err.Error(), "deep") {
				return
			}
			t.Fatal(problemText(err))
		}
		syntax.Walk(prog.Body, func(n syntax.Node) bool {
			if n != nil && int(n.At().End()) > len(src) {
				t.Fatalf("%T is beyond the end", n)
			}
			return true
		})
		var b bytes.Buffer
		if err := p.Convert(&b); err != nil {
			t.Fatal(problemText(err))
		}
		converted, err := syntax.Parse(syntax.NewFile("p.pp", b.String()), language)
		if err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
		if err := check.Program(converted, check.Options{Tasks: true}).Err(); err != nil {
			t.Fatalf("%v\n%s", err, b.String())
		}
	})
}
