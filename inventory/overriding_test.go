package inventory_test

import (
	"testing"

	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport/all"
)

func TestOverriding(t *testing.T) {
	data := ordered.Of("targets", []any{
		"web1", ordered.Of("uri", "web2", "config", ordered.Of("ssh", ordered.Of("user", "joe"))), ordered.Of("uri", "web3", "config", ordered.Of("ssh", ordered.Of("user", "ann"))),
	})
	inv, err := inventory.New(t.Context(), data, inventory.Options{Transports: all.Tables(all.List())})
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"ann": "web2", "joe": "web3", "root": "web[2-3]"} {
		got, err := inventory.Overriding(t.Context(), inv.AllTargets(), "user", func(string) any { return given })
		if err != nil || got != want {
			t.Errorf("--user %s: %q, %v; want %q", given, got, err, want)
		}
	}
}
