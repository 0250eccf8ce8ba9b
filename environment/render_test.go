package environment

import (
	"slices"
	"testing"

	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

// TestRender: a template sees functions, variables and data as a program does.
func TestRender(t *testing.T) {
	dir := world(t, map[string]string{"hiera.yaml": config, "data/common.yaml": "port: 2\n"})
	p, err := syntax.ParseTemplate(syntax.NewFile("t.epp", "<%= $environment %> <%= lookup('port') %> <%= concat([], 'x') %>"), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := at(dir).Evaluation(Local(value.NewHash(value.Entry{Key: value.String("os"), Value: value.String("x")}))).Render(t.Context(), p, nil)
	if err != nil || v != value.String("production 2 [x]") {
		t.Errorf("is %v, %v", v, err)
	}
}

func TestListsFunctionNames(t *testing.T) {
	names := Functions()
	for _, name := range []string{"map", "notice", "stdlib::to_json", "concat", "lookup"} {
		if !slices.Contains(names, name) {
			t.Errorf("no function %s", name)
		}
	}
	if types := Types(); !slices.Contains(types, "Stdlib::Port") {
		t.Errorf("types are %q", types)
	}
}
