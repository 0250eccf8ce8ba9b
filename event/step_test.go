package event

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestStepOfKnowsEveryEvent checks that StepOf and OfStep handle each event with a field
// Step.
func TestStepOfKnowsEveryEvent(t *testing.T) {
	known := make(map[string]bool)
	s := &Step{Number: 1}
	for name, e := range map[string]Event{
		"TargetBegin": TargetBegin{}, "TargetOutput": TargetOutput{}, "TargetResource": TargetResource{}, "TargetEnd": TargetEnd{},
		"StepBegin": StepBegin{}, "BatchBegin": BatchBegin{}, "StepEnd": StepEnd{},
	} {
		known[name] = true
		if got := StepOf(OfStep(e, s)); got != s {
			t.Errorf("%s loses its step", name)
		}
	}
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.TypeSpec)
		if !is {
			return true
		}
		st, is := spec.Type.(*ast.StructType)
		if !is {
			return false
		}
		for _, f := range st.Fields.List {
			for _, name := range f.Names {
				if name.Name == "Step" && !known[spec.Name.Name] && spec.Name.IsExported() {
					t.Errorf("%s has a field Step, and this test does not know it: see StepOf and OfStep", spec.Name.Name)
				}
			}
		}
		return false
	})
}
