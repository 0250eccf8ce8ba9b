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

// Target is one machine as the inventory knows it. There is one Target for a
// name in an Inventory, so pointers may be compared and used as map keys. It
// is safe for concurrent use.
type Target struct {
	Name string // what people call it; for ad-hoc targets the URI
	// URI is that of the inventory's file, or of who first mentioned the target;
	// "" if only a name was given. NewTarget may give another: Data has the one
	// that counts.
	URI string

	// Adhoc is set for a target that the inventory's file does not mention.
	Adhoc bool

	inv     *Inventory
	defined []*group                 // that mention it in the file, in preorder
	joined  bool                     // it is in group.added of the group all
	told    bool                     // that facts have dotted names; belongs to the holder of turn
	file    atomic.Pointer[layer]    // what the file says about it, nil until needed
	matched atomic.Pointer[[]*group] // those whose match it meets, in preorder; nil until needed
	now     atomic.Pointer[state]
	first   state // most targets have no other
}

// state is what a target is made of at one time. A change makes another one, so
// nothing that was computed from an old one can be taken for the new.
type state struct {
	uri     string
	alias   []string
	plain   bool     // alias is written as one string
	groups  []*group // that hold it themselves, in preorder; without those that do so by their match
	left    []*group // with a match, that a plan took it out of
	own     *layer   // what is said about the target itself; nil: what the file says
	noAgent bool     // a plan took puppet-agent away
	early   int      // how many of own's features it began with: puppet-agent stands behind them

	data     atomic.Pointer[Data] // nil until needed, as is settings
	settings atomic.Pointer[Settings]
}

// next is a state in which everything but what depends on it is as in s.
func (s *state) next() *state {
	return &state{uri: s.uri, alias: s.alias, plain: s.plain, groups: s.groups, left: s.left, own: s.own, noAgent: s.noAgent, early: s.early}
}

// update replaces the target's state by what change makes of it, which may be
// asked more than once.
func (t *Target) update(change func(*state) *state) {
	for {
		if s := t.now.Load(); t.now.CompareAndSwap(s, change(s)) {
			return
		}
	}
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
func (t *Target) Aliases() []string { return t.now.Load().alias }

// mergedURI is the URI of a target that may be defined in several groups.
// Unlike all else, here the outer beats the inner and the later the earlier
// group: that is what Puppet Bolt does.
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

// mergedAliases are those of all definitions.
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

// Data is everything that the inventory says about a target.
type Data struct {
	Name, URI string
	Alias     []string
	// PlainAlias reports whether the only alias is written as a string. Bolt then shows a
	// string instead of a list.
	PlainAlias bool
	// Transport is the transport's name: that of the URI's scheme, or the
	// configured one. It need not be one that this program can dial.
	Transport string
	// Config holds the options of Transport, defaults included, in the order
	// in which they are shown. Passwords and key texts in it, and what is from
	// plugins that keep secrets, are transport.Secret values, which show
	// themselves redacted; so are texts in Vars, Facts and PluginHooks from such
	// plugins. Reveal is for those who use them.
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

// URIPassword returns the password in the URI, which overrides the configured password.
func (d *Data) URIPassword() (password string, given bool) {
	return d.address.password, d.address.hasPass
}

// AliasValue is the alias as Bolt shows it: a string if it is written as a
// string in the only definition of the target, or else a list.
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

// Protocol is what the URI says of how to talk to the target, "" if it does
// not.
func (d *Data) Protocol() string { return d.address.scheme }

// Data merges what the inventory, and plans since, say about the target, and
// checks it. It is computed once for each change; the result is shared and must
// not be changed. Errors are *fault.Error: bolt/validation-error for bad
// configuration, bolt/unknown-transport, or what a plugin returned.
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

// FactsOver returns the facts of the inventory over others, as Where sees them: values of the
// inventory replace the others, key by key, and are in clear text.
func (d *Data) FactsOver(others *ordered.Map) *ordered.Map {
	return deepOverlay(others, RevealMap(d.Facts))
}

// merge does Data's work. The caller holds Inventory.turn.
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
	// Every local target counts as one that has an agent's Ruby, so that
	// tasks choose the same implementation as under Puppet Bolt, which brings
	// a Ruby of its own. We bring none: a Ruby script runs by its #! line.
	//
	// Differs from Puppet: in Bolt a target that a plan makes a local one later
	// does not count.
	bundled, _ := d.Config.Value("bundled-ruby").(bool)
	if bundled && inv.transports[d.Transport].Here && !s.noAgent && !slices.Contains(d.Features, agent) && !slices.Contains(own.features, agent) {
		// A target that the file does not name begins outside of all groups.
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

// Config is the configuration that the inventory and plans give the target, for
// all transports, without defaults and what lies below the inventory. It is what
// plans see as a target's config; the map is the caller's. Passwords and key
// texts are transport.Secret values, as in Data. Errors are those of Data.
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

// present makes a nil map an empty one, as which it is then written.
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

// transport chooses the transport of a target: the URI's scheme beats the
// target's configuration, that of its groups, and the default. A URI of a
// remote target has a scheme that is none of ours.
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

// hooks are the project's plugin hooks over the built-in one.
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
