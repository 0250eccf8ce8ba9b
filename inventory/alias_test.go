package inventory_test

import (
	"encoding/json"
	"testing"

	"bolt/format/ordered"
	"bolt/inventory"
)

// TestAliasValue checks that an alias written as a string is shown as one, unless
// the target has several definitions. Their aliases are collected in a list.
func TestAliasValue(t *testing.T) {
	const file = `
version: 2
targets:
  - {name: one, alias: a}
  - {name: listed, alias: [b]}
  - {name: two, alias: c}
  - {name: none}
groups:
  - {name: g, targets: [two]}
`
	inv := mustLoad(t, file, inventory.Options{})
	if _, err := inv.NewTarget(t.Context(), ordered.Of("name", "plan", "target_alias", "d")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"one": `"a"`, "listed": `["b"]`, "two": `["c"]`, "none": `[]`, "plan": `"d"`, "a": `"a"`} {
		d, err := one(t, inv, name).Data(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(d.AliasValue()); string(got) != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
