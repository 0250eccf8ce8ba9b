package inventory_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/transport"
)

// TestSecretsOfPlugins gives every place of an inventory a value from a plugin that
// keeps secrets: each is used as it is, and shown redacted.
func TestSecretsOfPlugins(t *testing.T) {
	keeps := func(_ context.Context, name string, ref *ordered.Map) (any, error) {
		if name == "plain" {
			return ref.Value("v"), nil
		}
		return inventory.Hide(ref.Value("v")), nil
	}
	inv := mustLoad(t, `
targets:
  - {_plugin: keeps, v: alone}
  - name: {_plugin: keeps, v: web}
    uri: {_plugin: keeps, v: "ssh://web.example.com"}
    alias: {_plugin: keeps, v: [w]}
    features: {_plugin: keeps, v: [f]}
    vars:
      pw: {_plugin: keeps, v: canary1}
      deep: {list: [{_plugin: keeps, v: canary2}, open]}
      chain: {_plugin: keeps, v: {_plugin: plain, v: seen}}
    facts: {_plugin: keeps, v: {token: canary3, n: 5}}
    config:
      transport: {_plugin: keeps, v: ssh}
      ssh:
        user: {_plugin: keeps, v: canary4}
        password: {_plugin: keeps, v: canary5}
        private-key: {_plugin: keeps, v: {key-data: canary6}}
        run-as: {_plugin: keeps, v: canary7}
        run-as-command: {_plugin: keeps, v: [canary8, -x]}
        tmpdir: {_plugin: keeps, v: /canary9}
        port: {_plugin: keeps, v: 2022}
        interpreters: {_plugin: keeps, v: {rb: /canary10}}
        host-key-check: {_plugin: keeps, v: false}
groups:
  - name: {_plugin: keeps, v: g}
    targets: [web]
`, inventory.Options{Resolve: keeps})
	targets, err := inv.Targets(t.Context(), []string{"w", "alone", "g"})
	if err != nil || len(targets) != 2 || targets[0].Name != "web" || targets[1].Name != "alone" {
		t.Fatalf("got %v, %v", targets, err)
	}
	d, err := targets[0].Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Secrets(); !slices.Equal(got, []string{"canary3", "canary1", "canary2", "seen"}) {
		t.Errorf("secrets: %v", got)
	}
	config, err := targets[0].Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	if err := safejson.Write(&shown, []any{d.Config, d.Vars, d.Facts, config}); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&shown, "%v %+v", d, d.Vars)
	if strings.Contains(shown.String(), "canary") || !strings.Contains(shown.String(), "2022") {
		t.Errorf("shown: %s", &shown)
	}
	s, err := targets[0].Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(s.Host, s.User, s.Dest.Password.Reveal(), s.Dest.KeyData.Reveal(), s.RunAs.User, s.RunAs.Command, s.TmpDir, s.Dest.Port, s.Interpreters, s.Dest.HostKeyCheck == transport.CheckNone, d.Features, d.Transport)
	if want := "web.example.com canary4 canary5 canary6 canary7 [canary8 -x] /canary9 2022 map[.rb:[/canary10]] true [f] ssh\n"; got != want {
		t.Errorf("used: %s\nwant: %s", got, want)
	}
	var used strings.Builder
	if err := safejson.Write(&used, []any{inventory.Reveal(d.Vars), inventory.RevealMap(d.Facts)}); err != nil {
		t.Fatal(err)
	}
	if want := `[{"pw":"canary1","deep":{"list":["canary2","open"]},"chain":"seen"},{"token":"canary3","n":5}]`; used.String() != want {
		t.Errorf("revealed: %s", &used)
	}
}

// TestWrongSecrets: what is wrong with a secret value is said without it.
func TestWrongSecrets(t *testing.T) {
	for _, option := range []string{"port: {_plugin: keeps}", "login-shell: {_plugin: keeps}", "interpreters: {_plugin: keeps}"} {
		inv := mustLoad(t, "targets: [a]\nconfig: {ssh: {"+option+"}}", inventory.Options{Resolve: func(context.Context, string, *ordered.Map) (any, error) {
			return inventory.Hide("canary"), nil
		}})
		targets, err := inv.Targets(t.Context(), []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = targets[0].Data(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", option, err)
		}
	}
}
