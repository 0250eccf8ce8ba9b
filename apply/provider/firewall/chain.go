package firewall

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// Chain returns the type firewallchain.
func Chain() resource.Type { return chainType{} }

type chainType struct{}

// A chain is a resource of the type firewallchain.
type chain struct {
	r             *resource.Resource
	name, table   string
	protocol      string
	family        family
	absent, purge bool
	policy        string // in capitals; "" if it is not managed
	ignore        []*regexp.Regexp
	ignoreForeign bool

	state *ruleset
}

var (
	chainForm = lazyregexp.New(`^([^\s:-][^\s:]*):(nat|mangle|filter|raw|rawpost|broute|security):(IP|IPv4|IPv6|ethernet)$`)
	builtIn   = lazyregexp.New(`^(INPUT|OUTPUT|FORWARD|PREROUTING|POSTROUTING)$`)
)

// tableChains are the built-in chains of tables.
var tableChains = map[string]string{"filter": "INPUT OUTPUT FORWARD", "mangle": "PREROUTING POSTROUTING INPUT FORWARD OUTPUT", "nat": "PREROUTING POSTROUTING INPUT OUTPUT",
	"raw": "PREROUTING OUTPUT", "security": "INPUT OUTPUT FORWARD"}

// New implements resource.Type.
func (chainType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &chain{r: r, absent: f.Text("ensure", "present") == "absent", purge: f.Bool("purge", false), ignoreForeign: f.Bool("ignore_foreign", false)}
	name := f.Text("name", r.Title)
	m := chainForm().FindStringSubmatch(name)
	if m == nil {
		f.RefuseValue("name", "must have the form CHAIN:TABLE:PROTOCOL, such as INPUT:filter:IPv4", name)
		return x, f.Err
	}
	x.name, x.table, x.protocol = m[1], m[2], m[3]
	x.family = familyOf(x.protocol)
	x.policy = strings.ToUpper(f.Text("policy", ""))
	inside := builtIn().MatchString(x.name)
	switch {
	case x.protocol == "ethernet" || x.protocol == "IP" || x.table == "broute" || x.table == "rawpost":
		f.Refuse("name", "must be a chain of iptables or ip6tables: bolt does not apply chains of ebtables")
	case inside && !slices.Contains(strings.Fields(tableChains[x.table]), x.name):
		f.RefuseValue("name", "must be a chain that the table has", name)
	case !inside && x.policy != "":
		f.Refuse("policy", "can only be set for built-in chains such as INPUT")
	case !slices.Contains([]string{"", "ACCEPT", "DROP", "QUEUE", "RETURN"}, x.policy):
		f.RefuseValue("policy", "must be accept, drop, queue or return", x.policy)
	}
	for _, text := range f.Texts("ignore") {
		re, err := regexp.Compile(text)
		if err != nil {
			f.RefuseValue("ignore", "must be regular expressions", text)
			continue
		}
		x.ignore = append(x.ignore, re)
	}
	return x, f.Err
}

// Generate implements resource.Generator: it returns the rules to be purged.
func (x *chain) Generate(ctx context.Context, h *resource.Host) (list []*resource.Resource, err error) {
	if !x.purge || x.absent {
		return nil, nil
	}
	state, err := load(ctx, h, x.family)
	if err != nil {
		return nil, err
	}
	for i, r := range state.table(x.table).of(x.name) {
		title := r.title(i + 1)
		if slices.ContainsFunc(x.ignore, func(re *regexp.Regexp) bool { return re.MatchString(r.line) }) || x.ignoreForeign && !r.managed() {
			continue
		}
		params := ordered.Of("ensure", "absent", "table", x.table, "chain", x.name, "protocol", x.protocol, "line", r.line)
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Firewall", Title: title}, Params: params})
	}
	return list, nil
}

// Read implements resource.Item.
func (x *chain) Read(ctx context.Context, h *resource.Host) error {
	return chainType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader, with one query for each family.
func (chainType) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	states, failed, errs := make(map[family]*ruleset), make(map[family]error), make([]error, len(items))
	for i, it := range items {
		x := it.(*chain)
		if states[x.family] == nil && failed[x.family] == nil {
			states[x.family], failed[x.family] = load(ctx, h, x.family)
		}
		x.state, errs[i] = states[x.family], failed[x.family]
	}
	return errs
}

// Plan implements resource.Item.
func (x *chain) Plan() ([]resource.Change, error) {
	t := x.state.table(x.table)
	policy, exists := t.policies[x.name]
	inside := builtIn().MatchString(x.name)
	switch {
	case x.absent && (!exists || inside && len(t.of(x.name)) == 0 && policy == "ACCEPT"):
		return nil, nil
	case x.absent:
		return resource.Removed("firewallchain"), nil
	case !exists && !inside:
		return resource.Created("firewallchain"), nil
	case !exists:
		policy = "ACCEPT" // iptables-save prints no tables that were never used
	}
	if x.policy != "" && x.policy != policy {
		return []resource.Change{{Property: "policy", Is: strings.ToLower(policy), Should: strings.ToLower(x.policy)}}, nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *chain) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	run := func(args ...string) error {
		return x.family.program("").Change(ctx, h, append([]string{"-w", "-t", x.table}, args...)...)
	}
	inside := builtIn().MatchString(x.name)
	var err error
	switch {
	case x.absent:
		if inside {
			h.Logf(x.r.Ref, report.Warning, "A built-in chain cannot be removed. Its rules are removed, and its policy becomes accept")
		}
		if err = run("-F", x.name); err == nil && inside {
			err = run("-P", x.name, "ACCEPT")
		} else if err == nil {
			err = run("-X", x.name)
		}
	case inside:
		err = run("-P", x.name, x.policy)
	default:
		err = run("-N", x.name)
	}
	if err == nil {
		persist(ctx, h, map[family]*resource.Resource{x.family: x.r})
	}
	return err
}
