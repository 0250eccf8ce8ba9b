package plugin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/safejson"
	"bolt/inventory"
	"bolt/inventory/plugin"
	"bolt/transport"
)

// TestSecretValues asks plugins that keep secrets, and such that do not, with and
// without the cache.
func TestSecretValues(t *testing.T) {
	o, _ := world(t, map[string]string{
		"modules/open/bolt_plugin.json":   "{}",
		"modules/says/bolt_plugin.json":   `{"sensitive": true}`,
		"modules/keeps/bolt_plugin.json":  "{}",
		"modules/denies/bolt_plugin.json": `{"sensitive": false}`,
		"modules/native/bolt_plugin.json": "{}",
		"modules/odd/bolt_plugin.json":    `{"sensitive": "yes"}`,
	}, map[string]fakeTask{
		"open::resolve_reference":   {do: identity},
		"says::resolve_reference":   {do: identity},
		"keeps::resolve_reference":  {do: identity},
		"keeps::secret_decrypt":     {do: identity},
		"denies::resolve_reference": {do: identity},
		"denies::secret_decrypt":    {do: identity},
		"native::resolve_reference": {do: identity},
	})
	o.Natives = []plugin.Native{
		{Name: "native", Secret: true},
		{Name: "own", Secret: true, Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) {
			return ordered.Of("v", ref.Value("v"), "n", int64(7)), nil
		}},
		{Name: "fails", Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) {
			return nil, errors.New("no luck with " + ref.Value("token").(string))
		}},
	}
	o.CacheFile, o.CacheTTL = o.Project+"/cache.json", time.Hour
	ctx := t.Context()
	for _, run := range []string{"asked", "cached"} {
		p := plugin.New(o)
		for name, secret := range map[string]bool{"open": false, "says": true, "keeps": true, "denies": false, "native": true, "own": true} {
			v, err := p.ResolveAll(ctx, ordered.Of("_plugin", name, "v", "canary-"+name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got := strings.Contains(jsonOf(t, v), "redacted"); got != secret {
				t.Errorf("%s, %s: secret is %v", name, run, got)
			}
			if got := inventory.Reveal(v).(*ordered.Map).Value("v"); got != "canary-"+name {
				t.Errorf("%s, %s: revealed as %v", name, run, got)
			}
			if got := p.Redact("x canary-" + name + " y"); (got == "x [redacted] y") != secret {
				t.Errorf("%s, %s: %s", name, run, got)
			}
		}
		if err := p.Save(ctx); err != nil {
			t.Fatal(err)
		}
	}
	p := plugin.New(o)
	if _, err := p.Resolve(ctx, "odd", ordered.Of("_plugin", "odd")); err == nil || !strings.Contains(err.Error(), "'sensitive' must be") {
		t.Errorf("got %v", err)
	}
	for _, run := range []string{"asked", "cached"} {
		v, err := p.Resolve(ctx, "open", ordered.Of("_plugin", "open", "v", "canary-said", "_sensitive", true))
		if err != nil || strings.Contains(fmt.Sprint(v), "canary-said") || p.Redact("canary-said") != "[redacted]" {
			t.Errorf("%s, said by the reference: %v, %v", run, v, err)
		}
		if err := p.Save(ctx); err != nil {
			t.Fatal(err)
		}
		p = plugin.New(o)
	}
	if _, err := p.Resolve(ctx, "open", ordered.Of("_plugin", "open", "_sensitive", "yes")); err == nil || err.Error() != "_sensitive must be true or false" {
		t.Errorf("got %v", err)
	}
	// One secret is given to another plugin in clear, and is not in what that says.
	inside := func(v string) *ordered.Map { return ordered.Of("_plugin", "own", "v", v) }
	got, err := p.ResolveAll(ctx, ordered.Of("_plugin", "open", "in", inside("canary1"), "list", []any{inside("canary2")}))
	if text := fmt.Sprint(inventory.Reveal(got).(*ordered.Map).Value("in").(*ordered.Map).Value("v")); err != nil || text != "canary1" {
		t.Errorf("got %v, %v", text, err)
	}
	p = plugin.New(plugin.Options{Natives: o.Natives, Prompt: func(context.Context, string) (transport.Secret, error) { return transport.NewSecret("canary3"), nil }})
	_, err = p.ResolveAll(ctx, ordered.Of("_plugin", "fails", "token", ordered.Of("_plugin", "prompt", "message", "m")))
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "canary") {
			t.Errorf("it is in %v", e)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "no luck with [redacted]") {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(o.CacheFile); err != nil || !strings.Contains(string(data), `"secret":true`) {
		t.Errorf("cache: %s, %v", data, err)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	if err := safejson.Write(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestRedact: what is known to be secret is found in whatever has it, be it in
// quotes, or beside a secret that is a part of it.
func TestRedact(t *testing.T) {
	p := plugin.New(plugin.Options{Natives: []plugin.Native{
		{Name: "own", Secret: true, Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) { return ref.Value("v"), nil }},
		{Name: "some", Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) {
			return []any{"in the open", transport.NewSecret("decrypted")}, nil
		}},
		{Name: "hints", Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) {
			return nil, &fault.Error{Kind: "bolt/validation-error", Msg: "no", Hint: "not " + ref.Value("v").(string)}
		}},
	}})
	for _, v := range []any{"abcd", "abcdefgh", "a\"b\nc\n", ordered.Of("k", []any{"deep"}), "abc"} {
		if _, err := p.Resolve(t.Context(), "own", ordered.Of("_plugin", "own", "v", v)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.Resolve(t.Context(), "some", ordered.Of("_plugin", "some"))
	if text := jsonOf(t, got); err != nil || text != `["in the open","[redacted]"]` {
		t.Errorf("got %s, %v", text, err)
	}
	for text, want := range map[string]string{
		"abcdefghi abcde":                      "[redacted]i [redacted]e",
		"a\"b\nc":                              "[redacted]",
		`v="a\"b\nc\n"`:                        `v="[redacted]"`,
		"so deep, in the open, decrypted, abc": "so [redacted], in the open, [redacted], abc",
	} {
		if got := p.Redact(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	_, err = p.Resolve(t.Context(), "hints", ordered.Of("_plugin", "hints", "v", "abcdefgh"))
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Hint != "not [redacted]" {
		t.Errorf("got %+v", err)
	}
}

// TestSecretsAreDifferent: two references that differ in nothing but a secret are
// two.
func TestSecretsAreDifferent(t *testing.T) {
	asked := 0
	p := plugin.New(plugin.Options{Natives: []plugin.Native{{Name: "x", Resolve: func(_ context.Context, _, ref *ordered.Map) (any, error) {
		asked++
		return ref.Value("v"), nil
	}}}})
	for _, v := range []string{"one", "two"} {
		got, err := p.Resolve(t.Context(), "x", ordered.Of("_plugin", "x", "v", transport.NewSecret(v)))
		if err != nil || got != v {
			t.Errorf("got %v, %v", got, err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

// TestUnknownKeysAreReported checks that a reference with an unknown key causes
// an error or a warning.
func TestUnknownKeysAreReported(t *testing.T) {
	env := func(key string) *ordered.Map { return ordered.Of("_plugin", "env_var", "var", "SET", key, true) }
	tests := []struct {
		ref         *ordered.Map
		hint, warns string
	}{
		{env("_sensitve"), "Did you mean '_sensitive'?", ""},
		{env("_sensative"), "Did you mean '_sensitive'?", ""},
		{ordered.Of("_plugin", "x", "_cached", true), "Did you mean '_cache'?", ""},
		{ordered.Of("_plugin", "x", "_note", "n", "other", "o"), "", "The plugin x has no option '_note': it is ignored."},
		{ordered.Of("_plugin", "x", "_run_as", "n", "_sensitive", nil, "_cache", nil), "", ""},
		{env("optional"), "", ""},
		{env("sensitive"), "", "The plugin env_var has no option 'sensitive': it is ignored. Did you mean '_sensitive'?"},
		{ordered.Of("_plugin", "prompt", "message", "m", "mesage", "n"), "", "The plugin prompt has no option 'mesage': it is ignored. Did you mean 'message'?"},
		{ordered.Of("_plugin", "yaml", "filepath", "a.yaml", "zzz", "n"), "", "The plugin yaml has no option 'zzz': it is ignored."},
		{ordered.Of("_plugin", "task", "task", "m::t", "params", ordered.Of()), "", "The plugin task has no option 'params': it is ignored."},
	}
	for _, tt := range tests {
		var warned []string
		o, _ := world(t, map[string]string{"a.yaml": "1"}, map[string]fakeTask{"m::t": {do: func(*ordered.Map) (*ordered.Map, error) { return ordered.Of("value", "v"), nil }}})
		o.Env = func(string) (string, bool) { return "text", true }
		o.Prompt = func(context.Context, string) (transport.Secret, error) { return transport.NewSecret("typed"), nil }
		o.Natives = []plugin.Native{{Name: "x", Resolve: func(context.Context, *ordered.Map, *ordered.Map) (any, error) { return "v", nil }}}
		o.Warn = func(id, text string) { warned = append(warned, id+": "+text) }
		p := plugin.New(o)
		for range 2 {
			v, err := p.ResolveAll(t.Context(), tt.ref)
			f, failed := errors.AsType[*fault.Error](err)
			switch {
			case tt.hint == "" && (err != nil || v == nil):
				t.Errorf("%v: got %v, %v", tt.ref, v, err)
			case tt.hint != "" && (!failed || f.Kind != "bolt/validation-error" || !strings.HasPrefix(f.Hint, tt.hint) || v != nil):
				t.Errorf("%v: got %v, %+v", tt.ref, v, err)
			}
		}
		want := ""
		if tt.warns != "" {
			want = "unknown_plugin_option: " + tt.warns
		}
		if got := strings.Join(warned, "\n"); got != want {
			t.Errorf("%v: warned %q, want %q", tt.ref, got, want)
		}
	}
}
