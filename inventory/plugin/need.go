package plugin

import (
	"context"
	"slices"

	"bolt/format/fault"
)

// Needing returns a context for resolving what the plugin of that name needs
// before it can do its work. A reference to the plugin itself is refused then:
// otherwise the two would wait for each other.
func Needing(ctx context.Context, name string) context.Context {
	return neededBy(ctx).by(ctx, name, false)
}

// A need is who waits for what is resolved with a context.
type need struct {
	plugins []string
	loading bool // one of them is being loaded, and holds Plugins.loading
}

type needKey struct{}

func neededBy(ctx context.Context) need {
	n, _ := ctx.Value(needKey{}).(need)
	return n
}

// by returns a context for what one more plugin needs.
func (n need) by(ctx context.Context, name string, loading bool) context.Context {
	return context.WithValue(ctx, needKey{}, need{append(slices.Clone(n.plugins), name), n.loading || loading})
}

// refuse is the error of a reference to a plugin that waits for it.
func (n need) refuse(name string) error {
	if !slices.Contains(n.plugins, name) {
		return nil
	}
	return fault.New(kindPlugin, "Configuration for plugin '%s' depends on the plugin itself", name)
}
