package fleet_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/apply/fleet"
	"bolt/apply/report"
	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/environment"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/run"
)

// TestCollect: facts are collected if the manifest reads a fact that is not known, and messages of the compilation without them are not
// logged.
func TestCollect(t *testing.T) {
	for name, c := range map[string]struct {
		code     string
		collects bool
		want     string // the log, and the title of the last resource
	}{
		"no fact":              {`notify { 'a': }`, false, "a"},
		"a known fact":         {`notify { $facts['role']: }`, false, "web"},
		"a known fact by name": {`notify { $role: }`, false, "web"},
		"known, in a hash":     {`notify { $facts['os']['name']: }`, false, "Mine"},
		"a log":                {`notice('said') notify { 'a': }`, false, "said a"},
		"another fact":         {`notice('said') notify { $facts['kernel']: }`, true, "said Linux"},
		"another in a hash":    {`notify { $facts['os']['family']: }`, true, "Debian"},
		"a hash":               {`notify { join($facts['os'].keys, '-'): }`, true, "name-family"},
		"all":                  {`notify { "${facts.length}": }`, true, "4"},
		"an error without it":  {`notify { $facts['a']['b']: }`, true, "undef"},
		"trusted":              {`notify { $trusted['certname']: }`, false, "n1"},
		"its own variable":     {`$x = 'own' notify { $x: }`, true, "own"},
		"an error":             {`fail('no')`, false, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			code, err := site.New("production", environment.Options{Modules: modules.NewPath(modules.Module{}), Getenv: os.LookupEnv, Now: time.Now}, []site.Source{{Text: c.code}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			m := &fleet.Manifest{Site: code, Log: func(_ context.Context, _ *inventory.Target, l eval.Log) {
				if !strings.HasPrefix(l.Msg, "Unknown") {
					got = append(got, l.Msg)
				}
			}}
			collected := 0
			action := &fleet.Apply{
				Facts: func(context.Context, *run.Site) (*ordered.Map, error) {
					return ordered.Of("role", "web", "os", ordered.Of("name", "Mine")), nil
				},
				Collect: func(context.Context, *run.Site) (*ordered.Map, error) {
					collected++
					return ordered.Of("role", "web", "kernel", "Linux", "os", ordered.Of("name", "Mine", "family", "Debian")), nil
				},
				Compile: m.Compile,
				Deliver: func(_ context.Context, _ *run.Site, made *catalog.Catalog, _ func(*report.Result)) (*report.Run, error) {
					list := made.Resources()
					got = append(got, list[len(list)-1].Title)
					return &report.Run{}, nil
				},
			}
			action.Compiles(1)
			err = run.New(&cutting{}, run.Options{}).Run(t.Context(), action, []*inventory.Target{target(t)}, event.Func(func(_ context.Context, e event.Event) error {
				if end, is := e.(event.TargetEnd); is && end.Result.Err != nil {
					got = append(got, end.Result.Err.Msg)
				}
				return nil
			}))
			text := strings.Join(got, " ")
			if err != nil || !strings.HasSuffix(text, c.want) && !strings.Contains(text, "n1: ") || !strings.Contains(text, c.want) || (collected > 0) != c.collects {
				t.Errorf("collected %d times: %q, %v", collected, text, err)
			}
		})
	}
	failed := &fleet.Apply{
		Facts:   func(context.Context, *run.Site) (*ordered.Map, error) { return &ordered.Map{}, nil },
		Collect: func(context.Context, *run.Site) (*ordered.Map, error) { return nil, errors.New("no facts") },
		Compile: func(context.Context, *inventory.Target, *ordered.Map, bool) (*catalog.Catalog, error) {
			return nil, fleet.ErrMoreFacts
		},
	}
	failed.Compiles(1)
	msg := ""
	_ = run.New(&cutting{}, run.Options{}).Run(t.Context(), failed, []*inventory.Target{target(t)}, event.Func(func(_ context.Context, e event.Event) error {
		if end, is := e.(event.TargetEnd); is {
			msg = end.Result.Err.Msg
		}
		return nil
	}))
	if msg != "no facts" {
		t.Errorf("%q", msg)
	}
}
