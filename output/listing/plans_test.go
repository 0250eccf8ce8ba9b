package listing

import (
	"strings"
	"testing"

	"bolt/modules"
	"bolt/output/layout"
	"bolt/plans"
)

func TestPrintPlans(t *testing.T) {
	list := &PlanList{Modulepath: []string{"/a", "/b"}, Plans: []Described{{"m", ""}, {"m::x", "First line\nsecond"}}}
	plan := &plans.Plan{
		Summary: plans.Summary{Name: "m::x", Description: "Short.", Private: true, Module: modules.Module{Name: "m", Dir: "/a/m"}},
		Brief:   "Short.", Docstring: "Longer,\nin two lines.\n", Documented: []string{"b", "no"},
		Parameters: []plans.Parameter{{Name: "a", TypeText: "String[1]", Description: "An a\n  in two lines\n\nand a third", HasDescription: true},
			{Name: "b", DefaultText: "{\n  1 => 2\n}", Default: int64(3), HasDefault: true}},
	}
	bare := &plans.Plan{Summary: plans.Summary{Name: "m", Module: builtIn(t, "m")}}
	tests := []struct {
		name  string
		print func(b *strings.Builder) error
		want  string
	}{
		{"list", func(b *strings.Builder) error { return PrintPlanList(b, Options{}, list) }, `Plans
  m
  m::x     First line
           second

Modulepath
  /a:/b

Additional information
  Use 'bolt plan show <PLAN NAME>' to view details and parameters for a specific plan.
`},
		{"list, JSON", func(b *strings.Builder) error { return PrintPlanList(b, Options{Format: layout.JSON}, list) },
			`{"plans":[["m",null],["m::x","First line\nsecond"]],"modulepath":["/a","/b"]}` + "\n"},
		{"none", func(b *strings.Builder) error { return PrintPlanList(b, Options{Format: layout.JSON}, &PlanList{}) },
			`{"plans":[],"modulepath":[]}` + "\n"},
		{"plan", func(b *strings.Builder) error { return PrintPlan(b, Options{}, plan) }, `m::x
  Short.

  Longer,
  in two lines.

Usage
  bolt plan run m::x a=<value> [b=<value>]

Parameters
  a  String[1]
    An a
    in two lines
    and a third

  b  Any
    Default: {
      1 => 2
    }

Module
  /a/m
`},
		{"plan, JSON", func(b *strings.Builder) error { return PrintPlan(b, Options{Format: layout.JSON}, plan) },
			`{"name":"m::x","description":"Short.","parameters":{"b":{"type":"Any","sensitive":false,"default_value":3},"a":{"type":"String[1]","sensitive":false,"description":"An a\n  in two lines\n\nand a third"}},"private":true,"summary":"Short.","docstring":"Longer,\nin two lines.\n","module_dir":"/a/m"}` + "\n"},
		{"bare plan", func(b *strings.Builder) error { return PrintPlan(b, Options{}, bare) }, `m
  No description available.

Usage
  bolt plan run m

Module
  built-in module
`},
		{"bare plan, JSON", func(b *strings.Builder) error { return PrintPlan(b, Options{Format: layout.JSON}, bare) },
			`{"name":"m","description":null,"parameters":{},"private":false,"summary":null,"docstring":null,"module_dir":"built-in module"}` + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			if err := tt.print(&b); err != nil {
				t.Fatal(err)
			}
			if b.String() != tt.want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), tt.want)
			}
		})
	}
}
