package rollouts

import (
	"context"
	"fmt"
	"strings"

	"bolt/cli"
	"bolt/internal/safetext"
	"bolt/output/layout"
	"bolt/rollout/ledger"
	"bolt/rollout/webhook"
)

// CollectOptions are those of rollout gc.
type CollectOptions struct {
	StateOptions
	keep cli.Optional
	noop bool
}

// Bind reads the flags.
func (o *CollectOptions) Bind(b *cli.Binder) {
	o.StateOptions.Bind(b)
	b.Optional("keep", &o.keep)
	b.Switch("noop", &o.noop)
}

// Check requires the number of rollouts that stay.
func (o *CollectOptions) Check() error {
	if !o.keep.Given {
		return cli.Hinted(cli.Errorf("Must specify with --keep how many of the last rollouts stay"), "'bolt rollout gc --keep 50 --noop' lists older rollouts and removes nothing")
	}
	if keep, err := cli.ParseCount(o.keep.Text); err != nil || keep < 1 {
		return cli.Invalid("keep", o.keep.Text)
	}
	return nil
}

// Collect carries out rollout gc: it removes the logs of old rollouts that have ended.
func (v *Invocation) Collect(ctx context.Context, o *CollectOptions) error {
	keep, err := cli.ParseCount(o.keep.Text)
	if err != nil {
		return err
	}
	b, err := v.open(ctx, &o.StateOptions)
	if err != nil {
		return err
	}
	c, err := b.ledger.Collect(ctx, ledger.CollectOptions{Holder: v.holder(), Keep: keep, Noop: o.noop})
	if err == nil && !o.noop {
		err = webhook.Collect(ctx, b.store)
	}
	if err != nil {
		return failed(err)
	}
	if v.Format.Data {
		list := func(ids []string) []string { return append([]string{}, ids...) }
		return layout.WriteDocument(v.Out, map[string]any{"removed": list(c.Removed), "in_use": list(c.InUse), "noop": o.noop})
	}
	var text strings.Builder
	for _, id := range c.InUse {
		fmt.Fprintf(&text, "Rollout %s stays: it was the last one on a node\n", id)
	}
	verb := "Removed"
	if o.noop {
		verb = "Would remove"
	}
	for _, id := range c.Removed {
		fmt.Fprintf(&text, "%s rollout %s\n", verb, id)
	}
	fmt.Fprintf(&text, "%s %s\n", verb, layout.Plural(len(c.Removed), "rollout"))
	_, err = v.Out.Write([]byte(safetext.TerminalString(text.String())))
	return err
}
