package rollouts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"bolt/cli/acting"
	"bolt/format/fault"
	"bolt/inventory"
	"bolt/release"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
)

// owned returns the targets of a check that names no release: each node is compared with the release that it has. A release that
// was created but not rolled out is no drift, and a check that repairs drift must not bring it to the nodes. Targets without a
// known release are left out. of is nil if the targets have several releases.
func (v *Invocation) owned(ctx context.Context, b *book, o *acting.Targets, st *strategy.Strategy) (list []*inventory.Target, of *release.Release, err error) {
	targets, err := v.targets(ctx, o, st, nil)
	if err != nil {
		return nil, nil, err
	}
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	last, err := b.ledger.Last(ctx, names)
	if err != nil {
		return nil, nil, failed(err)
	}
	var releases, unknown []string
	for _, t := range targets {
		l := last[t.Name]
		if l.Release == "" {
			unknown = append(unknown, t.SafeName())
			continue
		}
		list = append(list, t)
		if !slices.Contains(releases, l.Release) {
			releases = append(releases, l.Release)
		}
	}
	if len(targets) > 0 && list == nil {
		e := fault.New(ledger.Kind, "No node has a known release, so a check has nothing to compare with")
		e.Hint = "start a rollout first, or name a release: 'bolt rollout start RELEASE'"
		return nil, nil, e
	}
	if unknown != nil {
		v.Logs.Warn("no_release", fmt.Sprintf("The check leaves out nodes without a known release: %s.", shortList(unknown)))
	}
	signers, err := v.signers(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range releases {
		entry, err := b.releases.Find(ctx, id)
		if err != nil {
			return nil, nil, failed(err)
		}
		if of, _, err = b.releases.Admit(ctx, entry, signers, time.Now()); err != nil {
			return nil, nil, failed(err)
		}
	}
	if len(releases) > 1 {
		of = nil
	}
	return list, of, nil
}
