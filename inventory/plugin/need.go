package plugin

import (
	"context"
	"slices"

	"bolt/format/fault"
)

// Needing returns a context for resolving references that the plugin with that
// name depends on. In this context a reference to the plugin itself is an
// error; otherwise the two would wait for each other.
func Needing(ctx context.Context, name string) context.Context {
	return neededBy(ctx).by(ctx, name, false)
}

// A need records the plugins that wait for references resolved with a context.
type need struct {
	plugins []string
	loading bool // one of them is being loaded, and holds Plugins.loading
}

type needKey struct{}

func neededBy(ctx context.Context) need {
	n, _ := ctx.Value(needKey{}).(need)
	return n
}

// by returns a context for references that one more plugin depends on.
func (n need) by(ctx context.Context, name string, loading bool) context.Context {
	return context.WithValue(ctx, needKey{}, need{append(slices.Clone(n.plugins), name), n.loading || loading})
}

// refuse returns an error if the plugin with that name waits for this
// reference.
func (n need) refuse(name string) error {
	if !slices.Contains(n.plugins, name) {
		return nil
	}
	return fault.New(kindPlugin, "Configuration for plugin '%s' depends on the plugin itself", name)
}
