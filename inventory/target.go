package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"bolt/internal/fault"
	"bolt/internal/ordered"
)

// Target is one machine as the inventory knows it. There is one Target for a
// name in an Inventory, so pointers may be compared and used as map keys. It
// is safe for concurrent use.
type Target struct {
	Name string // what people call it; for ad-hoc targets the URI
	URI  string // "" if only a name was given

	// Adhoc is set for a target that the inventory does not mention.
	Adhoc bool

	inv      *Inventory
	defs     []*definition // in preorder of their groups
	data     atomic.Pointer[Data]
	settings atomic.Pointer[Settings]
}

// SafeName is the name for people and files: without a password.
func (t *Target) SafeName() string {
	if t.Name == t.URI || strings.Contains(t.Name, "://") {
		return SafeName(t.Name)
	}
	return t.Name
}

func (t *Target) String() string { return t.SafeName() }

// Aliases lists the target's other names.
func (t *Target) Aliases() []string {
	aliases, _ := fold(closureOf(t.defs), func(g *group) ([]string, bool) {
		d := g.byName[t.Name]
		if d == nil {
			return nil, false
		}
		return d.alias, true
	}, func(loser, winner []string) []string { return append(loser[:len(loser):len(loser)], winner...) })
	return aliases
}

// Data is everything that the inventory says about a target.
type Data struct {
	Name, URI string
	Alias     []string
	// Transport is the transport's name: that of the URI's scheme, or the
	// configured one. It need not be one that this program can dial.
	Transport string
	// Config holds the options of Transport, defaults included, in the order
	// in which they are shown. Passwords and key texts in it are
	// transport.Secret values, which show themselves redacted.
	//
	// Differs from Puppet: Bolt's inventory show prints them.
	Config   *ordered.Map
	Vars     *ordered.Map
	Facts    *ordered.Map
	Features []string
	// AgentAssumed: "puppet-agent" is among Features only because the target is
	// a local one.
	AgentAssumed bool
	PluginHooks  *ordered.Map
	Groups       []string // nearest first, "all" last

	address uri
}

// Protocol is what the URI says of how to talk to the target, "" if it does
// not.
func (d *Data) Protocol() string { return d.address.scheme }

// Data merges what the inventory says about the target, and checks it. It is
// computed once; the result is shared and must not be changed. Errors are
// *fault.Error: bolt/validation-error for bad configuration,
// bolt/unknown-transport, or what a plugin returned.
func (t *Target) Data(ctx context.Context) (*Data, error) {
	if d := t.data.Load(); d != nil {
		return d, nil
	}
	select {
	case t.inv.turn <- struct{}{}:
		defer func() { <-t.inv.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if d := t.data.Load(); d != nil {
		return d, nil
	}
	d, err := t.merge(ctx)
	if err != nil {
		return nil, err
	}
	t.data.Store(d)
	return d, nil
}

// merge does Data's work. The caller holds Inventory.turn.
func (t *Target) merge(ctx context.Context) (*Data, error) {
	inv := t.inv
	if !ascii(t.Name) {
		return nil, inv.invalid(nil, "Target name must be ASCII characters: %s", t.SafeName())
	}
	if c, bad := illegal(t.Name); bad {
		return nil, inv.invalid(nil, "Illegal character '%s' in target name '%s'", c, t.SafeName())
	}
	d := &Data{Name: t.Name, URI: t.URI, Alias: t.Aliases()}
	if t.URI != "" {
		var err error
		if d.address, err = parseURI(t.URI); err != nil {
			return nil, inv.invalid(nil, "Invalid target uri %s: %v", SafeName(t.URI), err)
		}
	}
	groups, err := inv.groupLayer(ctx, t.defs)
	if err != nil {
		return nil, err
	}
	own, err := inv.ownLayer(ctx, t.defs)
	if err != nil {
		return nil, err
	}
	if d.Transport, err = t.transport(d.address, own, groups); err != nil {
		return nil, err
	}
	if d.Config, err = inv.transportConfig(ctx, t, d.Transport, own, groups); err != nil {
		return nil, err
	}
	d.Groups = groups.names
	d.Vars = present(overlay(groups.vars, own.vars))
	if d.Facts = present(groups.facts); own.facts.Len() > 0 {
		d.Facts = groups.facts.Merge(own.facts)
	}
	d.Features = union(groups.features, own.features)
	// Every local target counts as one that has an agent's Ruby, so that
	// tasks choose the same implementation as under Puppet Bolt, which brings
	// a Ruby of its own. We bring none: a Ruby script runs by its #! line.
	const agent = "puppet-agent"
	if bundled, _ := d.Config.Value("bundled-ruby").(bool); bundled && d.Transport == "local" && !slices.Contains(d.Features, agent) {
		d.Features, d.AgentAssumed = union(d.Features, []string{agent}), true
	}
	d.PluginHooks = overlay(overlay(inv.hooks(), groups.hooks), own.hooks)
	inv.warnDottedFacts(t, d.Facts)
	return d, nil
}

// present makes a nil map an empty one, as which it is then written.
func present(m *ordered.Map) *ordered.Map {
	if m == nil {
		return &ordered.Map{}
	}
	return m
}

// Remote is the transport of devices: targets without a shell of their own,
// for which tasks run on another target.
const Remote = "remote"

// RunOn returns the target that tasks for a device run on.
func (t *Target) RunOn(ctx context.Context) (*Target, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	name := options{d.Config}.text("run-on")
	found, err := t.inv.Targets(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fault.New("bolt/invalid-remote-target", "run-on of %s must name one target, and '%s' names %d", t.SafeName(), name, len(found))
	}
	via, err := found[0].Data(ctx)
	if err != nil {
		return nil, err
	}
	if via.Transport == Remote {
		return nil, fault.New("bolt/invalid-remote-target", "%s is not a valid run-on target for %s since is also remote.", found[0].SafeName(), t.SafeName())
	}
	return found[0], nil
}

// transport chooses the transport of a target: the URI's scheme beats the
// target's configuration, that of its groups, and the default. A URI of a
// remote target has a scheme that is none of ours.
func (t *Target) transport(address uri, own *layer, groups *groupLayer) (string, error) {
	configured := t.inv.opts.Transport
	if s, ok := groups.layer.config.Value("transport").(string); ok {
		configured = s
	}
	// The machine that we are on needs no SSH, whatever its groups say.
	if t.Name == "localhost" {
		configured = "local"
	}
	if s, ok := own.config.Value("transport").(string); ok {
		configured = s
	}
	name := address.scheme
	switch {
	case name == Remote, configured == Remote:
		name = Remote
	case name == "":
		name = configured
	}
	if _, ok := t.inv.transports[name]; !ok {
		what := t.SafeName()
		if t.URI != "" {
			what = SafeName(t.URI)
		}
		return "", fault.New("bolt/unknown-transport", "Unknown transport %s found for %s\nThe transports are %s",
			name, what, strings.Join(Transports(), ", "))
	}
	return name, nil
}

// hooks are the project's plugin hooks over the built-in one.
func (inv *Inventory) hooks() *ordered.Map {
	builtin := ordered.Of("puppet_library", ordered.Of("plugin", "openvox_bootstrap", "stop_service", true))
	return overlay(builtin, inv.opts.PluginHooks)
}

func (inv *Inventory) warnDottedFacts(t *Target, facts *ordered.Map) {
	var dotted []string
	for k := range facts.All() {
		if strings.Contains(k, ".") {
			dotted = append(dotted, "'"+k+"'")
		}
	}
	if dotted != nil {
		inv.opts.Warn("dotted_fact_name", fmt.Sprintf("Target '%s' has facts with a dot in their name: %s. "+
			"They are not turned into structured facts, and are deprecated.", t.SafeName(), strings.Join(dotted, ", ")))
	}
}
