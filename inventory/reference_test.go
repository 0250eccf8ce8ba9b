package inventory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/inventory"
	"bolt/transport/all"
)

// TestReferencePlaces: who mends a reference is told where it is.
func TestReferencePlaces(t *testing.T) {
	down := func(context.Context, string, *ordered.Map) (any, error) {
		return nil, &fault.Error{Kind: "bolt/plugin-error", Msg: "down", Hint: "Start it."}
	}
	tests := []struct{ yaml, place string }{
		{"_plugin: x", "in the inventory"},
		{"targets: {_plugin: x}", "at targets of group all"},
		{"groups: [{name: g, targets: [a, {_plugin: x}]}]", "at targets[1] of group g"},
		{"groups: [{name: {_plugin: x}}]", "at groups[0].name of group all"},
		{"targets: [{name: a, uri: {_plugin: y, of: [{_plugin: x}]}}]", "at targets[0].uri.of[0] of group all"},
		{"targets: [{name: a, alias: {_plugin: x}}]", "at alias of target a"},
		{"targets: [{name: a, vars: {k: {_plugin: x}}}]", "at vars.k of target a"},
		{"groups: [{name: g, targets: [a], config: {ssh: {password: {_plugin: x}}}}]", "at config.ssh.password of group g"},
	}
	for _, tt := range tests {
		data, err := yaml.Decode([]byte(tt.yaml), "")
		if err != nil {
			t.Fatal(err)
		}
		inv, err := inventory.New(t.Context(), data.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), Resolve: down})
		if err == nil {
			_, err = inv.AllTargets()[0].Data(t.Context())
		}
		f, ok := errors.AsType[*fault.Error](err)
		if want := "Start it. The reference is " + tt.place + "."; !ok || f.Hint != want {
			t.Errorf("%s: got %v, want %q", tt.yaml, err, want)
			if ok {
				t.Errorf("hint %q", f.Hint)
			}
		}
	}
	_, err := inventory.ResolveReferences(t.Context(), ordered.Of("a", []any{ordered.Of("_plugin", "x")}), down)
	if f, ok := errors.AsType[*fault.Error](err); !ok || !strings.HasSuffix(f.Hint, "The reference is at a[0].") {
		t.Errorf("got %v", err)
	}
}

// TestDuplicateTargets: machines that a mapping gives one name are not lost
// without a word.
func TestDuplicateTargets(t *testing.T) {
	data, err := yaml.Decode([]byte("groups: [{name: g, targets: [{name: web1, uri: a}, {name: web1, uri: b}, {name: web2}, {name: web2, uri: c}, {name: web1, uri: d}, {name: db}, {name: db}]}]"), "")
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	inv, err := inventory.New(t.Context(), data.(*ordered.Map), inventory.Options{Transports: all.Tables(all.List()), Warn: func(id, text string) { warned = append(warned, id+": "+text) }})
	if err != nil || len(inv.AllTargets()) != 3 {
		t.Fatal(err)
	}
	want := "duplicate_targets: Group g ignores 3 targets with the same name as an earlier target. Several targets have the name web[1-2]."
	if len(warned) != 1 || warned[0] != want {
		t.Errorf("warned %q", warned)
	}
}
