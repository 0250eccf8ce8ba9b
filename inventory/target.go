package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/transport/option"
)

// Target is one machine of the inventory. An Inventory has one Target for each name, so
// pointers can be compared and used as map keys. Target is safe for concurrent use.
type Target struct {
	Name string // the name in the file; for ad-hoc targets the URI
	// URI is the URI from the inventory file, or the first URI that was given for the target;
	// "" if only a name was given. NewTarget can set another URI; Data has the current one.
	URI string

	// Adhoc is set for a target that is not in the inventory file.
	Adhoc bool

	inv     *Inventory
	defined []*group                 // groups that name it in the file, in preorder
	joined  bool                     // it is in group.added of the group all
	told    bool                     // the warning about dotted fact names was printed; belongs to the holder of turn
	file    atomic.Pointer[layer]    // its data from the file, nil until needed
	matched atomic.Pointer[[]*group] // groups whose match it meets, in preorder; nil until needed
	now     atomic.Pointer[state]
	first   state // most targets never get another state
}

// state is the data of a target at one time. A change makes a new state, so a result that was
// computed from an old state is never used for the new one.
type state struct {
	uri     string
	alias   []string
	plain   bool     // alias is written as one string
	groups  []*group // groups that contain it directly, in preorder, without groups that contain it by their match
	left    []*group // groups with a match that a plan removed it from
	own     *layer   // the target's own data; nil: the data from the file
	noAgent bool     // a plan removed puppet-agent
	early   int      // number of own's first features; puppet-agent is listed after them

	data     atomic.Pointer[Data] // nil until needed, like settings
	settings atomic.Pointer[Settings]
}

// next returns a copy of s without the computed data and settings.
func (s *state) next() *state {
	return &state{uri: s.uri, alias: s.alias, plain: s.plain, groups: s.groups, left: s.left, own: s.own, noAgent: s.noAgent, early: s.early}
}

// update replaces the target's state by the result of change. It may call change more than
// once.
func (t *Target) update(change func(*state) *state) {
	for {
		if s := t.now.Load(); t.now.CompareAndSwap(s, change(s)) {
			return
		}
	}
}

// SafeName returns the name without a password, for messages and files.
func (t *Target) SafeName() string {
	if t.Name == t.URI || strings.Contains(t.Name, "://") {
		return SafeName(t.Name)
	}
	return t.Name
}

func (t *Target) String() string { return t.SafeName() }

// Aliases lists the target's other names.
func (t *Target) Aliases() []string { return t.now.Load().alias }

// mergedURI returns the URI of a target that may be defined in several groups. Unlike other
// data, the outer group overrides the inner group and the later group the earlier one, as in
// Puppet Bolt.
func (t *Target) mergedURI() string {
	if len(t.defined) == 1 {
		return t.defined[0].byName[t.Name].uri
	}
	uri, _ := fold(closureOf(t.defined), func(g *group) (string, bool) {
		d := g.byName[t.Name]
		if d == nil {
			return "", false
		}
		return d.uri, true
	}, func(loser, winner string) string {
		if loser != "" {
			return loser
		}
		return winner
	})
	return uri
}

// mergedAliases returns the aliases of all definitions.
func (t *Target) mergedAliases() []string {
	aliases, _ := fold(closureOf(t.defined), func(g *group) ([]string, bool) {
		d := g.byName[t.Name]
		if d == nil {
			return nil, false
		}
		return d.alias, true
	}, func(loser, winner []string) []string { return append(loser[:len(loser):len(loser)], winner...) })
	return aliases
}

// Data is all data that the inventory has about a target.
type Data struct {
	Name, URI string
	Alias     []string
	// PlainAlias reports whether the only alias is written as a string. Bolt then shows a
	// string instead of a list.
	PlainAlias bool
	// Transport is the transport's name: the scheme of the URI, or the configured transport.
	// This program need not support it.
	Transport string
	// Config holds the options of Transport, including defaults, in display order. Passwords,
	// private keys and values from plugins that hide their values are transport.Secret
	// values, which are printed redacted. Strings in Vars, Facts and PluginHooks from such
	// plugins are transport.Secret values, too. Callers that need the clear values call
	// Reveal.
	//
	// Differs from Puppet: Bolt's inventory show prints these values.
	Config   *ordered.Map
	Vars     *ordered.Map
	Facts    *ordered.Map
	Features []string
	// AgentAssumed reports that "puppet-agent" is in Features only because the target is
	// local.
	AgentAssumed bool
	PluginHooks  *ordered.Map
	Groups       []string // nearest first, "all" last

	address uri
}

// URIPassword returns the password in the URI, which overrides the configured password.
func (d *Data) URIPassword() (password string, given bool) {
	return d.address.password, d.address.hasPass
}

// AliasValue returns the alias as Bolt prints it: a string if the target's only definition
// has a string, or else a list.
func (d *Data) AliasValue() any {
	if d.PlainAlias && len(d.Alias) == 1 {
		return d.Alias[0]
	}
	list := make([]any, len(d.Alias))
	for i, a := range d.Alias {
		list[i] = a
	}
	return list
}

// Protocol returns the scheme of the URI, "" if it has none.
func (d *Data) Protocol() string { return d.address.scheme }

// Data merges and checks the target's data from the inventory and from plans. It is computed
// once for each change; the result is shared and must not be changed. Errors are
// *fault.Error: bolt/validation-error for invalid configuration, bolt/unknown-transport, or
// an error of a plugin.
func (t *Target) Data(ctx context.Context) (*Data, error) { return t.dataOf(ctx, t.now.Load()) }

func (t *Target) dataOf(ctx context.Context, s *state) (*Data, error) {
	if d := s.data.Load(); d != nil {
		return d, nil
	}
	if err := t.inv.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer t.inv.endTurn()
	if d := s.data.Load(); d != nil {
		return d, nil
	}
	d, err := t.merge(ctx, s)
	if err != nil {
		return nil, err
	}
	s.data.Store(d)
	return d, nil
}

// FactsOver returns others with the facts of the inventory merged over them, as Where uses
// them. Values of the inventory replace values in others, key by key, and are in clear text.
func (d *Data) FactsOver(others *ordered.Map) *ordered.Map {
	return deepOverlay(others, RevealMap(d.Facts))
}

// merge computes the result of Data. The caller holds Inventory.turn.
func (t *Target) merge(ctx context.Context, s *state) (*Data, error) {
	inv := t.inv
	if !ascii(t.Name) {
		return nil, inv.invalid(nil, "Target name must be ASCII characters: %s", t.SafeName())
	}
	if c, bad := illegal(t.Name); bad {
		return nil, inv.invalid(nil, "Illegal character '%s' in target name '%s'", c, t.SafeName())
	}
	d := &Data{Name: t.Name, URI: s.uri, Alias: s.alias, PlainAlias: s.plain}
	if s.uri != "" {
		var err error
		if d.address, err = parseURI(s.uri); err != nil {
			return nil, inv.invalid(nil, "Invalid target uri %s: %v", SafeName(s.uri), err)
		}
	}
	groups, err := t.groupLayer(ctx, s)
	if err != nil {
		return nil, err
	}
	own := s.own
	if own == nil {
		if own, err = t.readFile(ctx); err != nil {
			return nil, err
		}
	}
	if d.Transport, err = t.transport(s, d.address.scheme, own, groups); err != nil {
		return nil, err
	}
	if d.Config, err = inv.transportConfig(ctx, t, d.Transport, own, groups); err != nil {
		return nil, err
	}
	d.Groups = groups.names
	d.Vars = present(overlay(groups.vars, own.vars))
	d.Facts = present(deepOverlay(groups.facts, own.facts))
	early := len(own.features)
	if s.own != nil {
		early = s.early
	}
	d.Features = union(groups.features, own.features[:early])
	// Every local target is treated as if it had an agent's Ruby, so that tasks choose the
	// same implementation as in Puppet Bolt, which includes a Ruby. This program includes
	// none: a Ruby script runs by its #! line.
	//
	// Differs from Puppet: Bolt does not do so for a target that becomes local later by a
	// plan.
	bundled, _ := d.Config.Value("bundled-ruby").(bool)
	if bundled && inv.transports[d.Transport].Here && !s.noAgent && !slices.Contains(d.Features, agent) && !slices.Contains(own.features, agent) {
		// A target that the file does not name is in no group at first.
		alone := d.Transport
		if len(t.defined) == 0 {
			if alone, err = t.transport(s, d.address.scheme, own, &groupLayer{}); err != nil {
				return nil, err
			}
		}
		if inv.transports[alone].Here {
			d.Features, d.AgentAssumed = union(d.Features, []string{agent}), true
		}
	}
	d.Features = union(d.Features, own.features[early:])
	d.PluginHooks = overlay(overlay(inv.hooks(), groups.hooks), own.hooks)
	inv.warnDottedFacts(t, d.Facts)
	return d, nil
}

// agent is the feature of targets that have Puppet's own Ruby.
const agent = "puppet-agent"

// Config returns the target's configuration from the inventory and from plans, for all
// transports, without defaults and other configuration below the inventory. Plans see it as a
// target's config. The caller owns the map. Passwords and private keys are transport.Secret
// values, as in Data. Errors are the errors of Data.
func (t *Target) Config(ctx context.Context) (*ordered.Map, error) {
	s := t.now.Load()
	if err := t.inv.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer t.inv.endTurn()
	groups, err := t.groupLayer(ctx, s)
	if err != nil {
		return nil, err
	}
	own := s.own
	if own == nil {
		if own, err = t.readFile(ctx); err != nil {
			return nil, err
		}
	}
	config := groups.layer.config.Merge(own.config)
	for _, v := range config.All() {
		if m, ok := v.(*ordered.Map); ok {
			t.inv.hideSecrets(m)
		}
	}
	return config, nil
}

// present returns an empty map for a nil map, so that it is written as an empty map.
func present(m *ordered.Map) *ordered.Map {
	if m == nil {
		return &ordered.Map{}
	}
	return m
}

// RunOn returns the target that tasks for a device run on.
func (t *Target) RunOn(ctx context.Context) (*Target, error) {
	d, err := t.Data(ctx)
	if err != nil {
		return nil, err
	}
	name := option.Values{Map: RevealMap(d.Config)}.Text(runOnOption)
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

// transport chooses the transport of a target: the URI's scheme overrides the target's
// configuration, which overrides the configuration of its groups, which overrides the
// default. The URI of a remote target may have any scheme.
func (t *Target) transport(s *state, scheme string, own *layer, groups *groupLayer) (string, error) {
	configured := t.inv.opts.Transport
	if name, ok := Reveal(groups.layer.config.Value("transport")).(string); ok {
		configured = name
	}
	if name, ok := Reveal(own.config.Value("transport")).(string); ok {
		configured = name
	}
	name := scheme
	switch {
	case name == Remote, configured == Remote:
		name = Remote
	case name == "":
		name = configured
	}
	if _, ok := t.inv.transports[name]; !ok {
		what := t.SafeName()
		if s.uri != "" {
			what = SafeName(s.uri)
		}
		e := fault.New("bolt/unknown-transport", "Unknown transport %s found for %s", name, what)
		e.Hint = "The transports are " + strings.Join(t.inv.transports.names(), ", ") + "."
		return "", e
	}
	return name, nil
}

// hooks returns the project's plugin hooks merged over the built-in hook.
func (inv *Inventory) hooks() *ordered.Map {
	builtin := ordered.Of("puppet_library", ordered.Of("plugin", "openvox_bootstrap", "stop_service", true))
	return overlay(builtin, inv.opts.PluginHooks)
}

func (inv *Inventory) warnDottedFacts(t *Target, facts *ordered.Map) {
	if t.told {
		return
	}
	var dotted []string
	for k := range facts.All() {
		if strings.Contains(k, ".") {
			dotted = append(dotted, "'"+k+"'")
		}
	}
	if dotted != nil {
		t.told = true
		inv.opts.Warn("dotted_fact_name", fmt.Sprintf("Target '%s' has facts with a dot in their name: %s. "+
			"They are not turned into structured facts, and are deprecated.", t.SafeName(), strings.Join(dotted, ", ")))
	}
}
