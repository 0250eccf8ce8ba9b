// Package firewall applies resources of the types firewall and firewallchain: rules and chains of iptables and ip6tables.
//
// The behaviour is that of the module puppetlabs-firewall 8. A resource is found by its title, which is the comment of its
// rule. One run of iptables-save reads the state for all resources that are applied together. After their changes, the rules
// are saved once for the next boot.
package firewall

import (
	"context"
	"slices"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// Type returns the type firewall.
func Type() resource.Type { return rules{} }

type rules struct{}

// An item is a resource of the type firewall.
type item struct {
	r      *resource.Resource
	name   string
	absent bool
	family family
	table  string
	chain  string
	line   string             // of iptables-save, for a rule that is purged
	want   map[string]setting // by parameter; only parameters that are given
	off    []string           // flags that are given as false

	state *ruleset
	found *rule
	in    string // the table of found
}

// New implements resource.Type.
func (rules) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{r: r, want: make(map[string]setting), absent: f.Text("ensure", "present") == "absent"}
	x.name = f.Text("name", r.Title)
	x.line = f.Text("line", "")
	switch {
	case strings.ContainsAny(x.name, "\r\n"), !named().MatchString(x.name) && x.line == "":
		f.RefuseValue("name", "must be a number and words, such as 100 allow ssh", x.name)
	case foreign().MatchString(x.name) && !x.absent:
		f.Refuse("name", "cannot begin with a number from 9000 to 9999: these are for rules without a resource")
	}
	protocol := f.Text("protocol", f.Text("provider", "IPv4"))
	if !slices.Contains([]string{"IPv4", "IPv6", "iptables", "ip6tables"}, protocol) {
		f.RefuseValue("protocol", "must be IPv4, IPv6, iptables or ip6tables", protocol)
	}
	x.family = familyOf(protocol)
	x.table, x.chain = f.Word("table", "filter", "!"), f.Word("chain", "INPUT", "!")
	if x.table == "" {
		f.Refuse("table", "must not be empty")
	}
	if x.chain == "" {
		f.Refuse("chain", "must not be empty")
	}
	for _, p := range refused {
		if r.Params.Value(p) != nil && !x.absent {
			f.Refuse(p, "is not supported: use --engine puppet for this rule")
		}
	}
	if x.absent {
		return x, f.Err
	}
	x.want["name"] = setting{values: []string{x.name}}
	if r.Params.Value("proto") == nil {
		x.want["proto"] = setting{values: []string{"tcp"}}
	}
	for _, o := range options() {
		if o.param != "name" && r.Params.Value(o.param) != nil {
			x.read(&f, o)
		}
	}
	if action := f.Text("action", ""); action != "" && len(x.want["jump"].values) == 0 {
		x.want["jump"] = setting{values: []string{strings.ToUpper(action)}}
	}
	if class := f.Text("set_dscp_class", ""); class != "" {
		if dscp[class] == "" {
			f.RefuseValue("set_dscp_class", "must be a class such as af11, cs1 or ef", class)
		}
		x.want["set_dscp"] = setting{values: []string{dscp[class]}}
	}
	x.together(&f)
	return x, f.Err
}

// read takes a parameter of the resource.
func (x *item) read(f *resource.Fields, o option) {
	if x.r.Secret(o.param) {
		f.Refuse(o.param, "must not be Sensitive: it becomes an argument of a program, and every user of the machine can see arguments")
		return
	}
	if o.kind == flag || o.kind == bare {
		if f.Bool(o.param, false) {
			x.want[o.param] = setting{values: []string{"true"}}
		} else {
			x.off = append(x.off, o.param)
		}
		return
	}
	s := setting{}
	list := f.Texts(o.param)
	if len(list) > 1 && o.kind != words && o.kind != ports && o.kind != each && o.kind != switches {
		f.Refuse(o.param, "must be one value")
	}
	for i, text := range list {
		text, negated := cut(text)
		if o.kind == each && negated {
			text = "! " + text
		} else if negated {
			s.negated = true
		}
		if i > 0 && !negated && s.negated && o.kind != words && o.kind != ports {
			f.Refuse(o.param, "must be negated in all its values, or in none")
		}
		if i > 0 && negated && !strings.HasPrefix(strings.TrimSpace(list[0]), "!") && o.kind != each {
			f.Refuse(o.param, "must be negated in its first value, if it is negated")
		}
		if o.kind == ports || o.kind == words {
			text = strings.TrimSpace(text)
		}
		text, problem := canonical(o.param, text, x.family.v6)
		switch {
		case problem != "":
			f.RefuseValue(o.param, problem, list[i])
		case strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\r\n\x00"):
			f.RefuseValue(o.param, "must be one line that does not begin with -", list[i])
		}
		s.values = append(s.values, text)
	}
	if len(list) == 0 {
		return
	}
	if (o.param == "source" || o.param == "destination") && s.values[0] == "" {
		s = setting{} // all addresses
	}
	x.want[o.param] = s
}

// cut removes the negation of a value.
func cut(text string) (string, bool) {
	rest, negated := strings.CutPrefix(text, "!")
	if negated {
		rest = strings.TrimLeft(rest, " ")
	}
	return rest, negated
}

// together checks parameters that depend on each other. iptables would refuse most of these rules only when they are applied.
func (x *item) together(f *resource.Fields) {
	has := func(p string) bool { return len(x.want[p].values) > 0 }
	is := func(p string, values ...string) bool { return has(p) && slices.Contains(values, x.want[p].values[0]) }
	needs := func(p, problem string, ok bool) {
		if has(p) && !ok {
			f.Refuse(p, problem)
		}
	}
	needs("burst", "cannot be used without limit", has("limit"))
	needs("todest", "cannot be used without jump => DNAT", is("jump", "DNAT"))
	needs("tosource", "cannot be used without jump => SNAT", is("jump", "SNAT"))
	for _, p := range strings.Fields("log_prefix log_level log_uid log_tcp_sequence log_tcp_options log_ip_options") {
		needs(p, "cannot be used without jump => LOG", is("jump", "LOG"))
	}
	for _, p := range strings.Fields("zone helper notrack") {
		needs(p, "cannot be used without jump => CT", is("jump", "CT"))
	}
	for _, p := range strings.Fields("rseconds rhitcount rttl") {
		needs(p, "cannot be used without recent => update or rcheck", is("recent", "update", "rcheck"))
	}
	for _, p := range strings.Fields("rname rsource rdest mask") {
		needs(p, "cannot be used without recent", has("recent"))
	}
	needs("reap", "cannot be used without rseconds", has("rseconds"))
	needs("rdest", "cannot be used together with rsource", !has("rsource"))
	needs("string", "cannot be used without string_algo", has("string_algo"))
	needs("string_hex", "cannot be used without string_algo", has("string_algo"))
	needs("goto", "cannot be used together with jump", !has("jump"))
	for _, p := range []string{"ctmask", "nfmask"} {
		needs(p, "cannot be used without restore_mark", has("restore_mark"))
	}
	needs("connlimit_mask", "cannot be used without connlimit_upto or connlimit_above", has("connlimit_upto") || has("connlimit_above"))
	needs("checksum_fill", "cannot be used without jump => CHECKSUM and table => mangle", is("jump", "CHECKSUM") && x.table == "mangle")
	for _, o := range options() {
		if o.module == "hashlimit" {
			needs(o.param, "cannot be used without hashlimit_name and either hashlimit_upto or hashlimit_above", has("hashlimit_name") && has("hashlimit_upto") != has("hashlimit_above"))
		}
	}
	needs("hop_limit", "is for IPv6 only", x.family.v6)
	needs("icmp", "cannot be any: leave the parameter out", !is("icmp", "any"))
	nat := is("jump", "DNAT", "SNAT")
	switch {
	case nat && x.table != "nat":
		f.Refuse("jump", "needs table => nat")
	case is("jump", "DNAT") && !has("todest"):
		f.Refuse("jump", "cannot be DNAT without todest")
	case is("jump", "SNAT") && !has("tosource"):
		f.Refuse("jump", "cannot be SNAT without tosource")
	case is("jump", "CT") && x.table != "raw":
		f.Refuse("jump", "needs table => raw")
	case is("jump", "TEE") && !has("gateway"):
		f.Refuse("jump", "cannot be TEE without gateway")
	case is("jump", "TCPMSS") && !has("set_mss") && !has("clamp_mss_to_pmtu"):
		f.Refuse("jump", "cannot be TCPMSS without set_mss or clamp_mss_to_pmtu")
	}
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return rules{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader, with one query for each family.
func (rules) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	states, failed, errs := make(map[family]*ruleset), make(map[family]error), make([]error, len(items))
	for i, it := range items {
		x := it.(*item)
		if states[x.family] == nil && failed[x.family] == nil {
			states[x.family], failed[x.family] = load(ctx, h, x.family)
		}
		if errs[i] = failed[x.family]; errs[i] != nil {
			continue
		}
		x.state = states[x.family]
		x.find()
		errs[i] = x.accounts(ctx, h)
	}
	return errs
}

// find finds the rule of the resource. The chain and the table of the resource come first.
func (x *item) find() {
	x.found, x.in = nil, ""
	for name, t := range x.state.tables {
		for _, r := range t.rules {
			here := name == x.table && r.chain == x.chain
			if x.line != "" && (r.line != x.line || !here) || x.line == "" && r.name != x.name {
				continue
			}
			if x.found == nil || here {
				x.found, x.in = r, name
			}
		}
	}
}

// accounts replaces names of users and groups by numbers, which iptables-save prints.
func (x *item) accounts(ctx context.Context, h *resource.Host) error {
	for param, file := range map[string]string{"uid": "/etc/passwd", "gid": "/etc/group"} {
		s := x.want[param]
		if len(s.values) == 0 || strings.Trim(s.values[0], "0123456789-") == "" {
			continue
		}
		text, _, err := textfile.Read(ctx, h.Path(file))
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			if f := strings.SplitN(line, ":", 4); len(f) == 4 && f[0] == s.values[0] {
				x.want[param] = setting{s.negated, []string{f[2]}}
			}
		}
	}
	return nil
}

// Plan implements resource.Item.
func (x *item) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && x.found != nil:
		return resource.Removed("firewall"), nil
	case x.absent:
		return nil, nil
	case x.found == nil:
		return resource.Created("firewall"), nil
	}
	note := func(property, is, should string) {
		changes = append(changes, resource.Change{Property: property, Is: is, Should: should})
	}
	if x.in != x.table {
		note("table", x.in, x.table)
	}
	if x.found.chain != x.chain {
		note("chain", x.found.chain, x.chain)
	}
	now := x.found.settings(x.family.v6)
	for _, o := range options() {
		want, given := x.want[o.param]
		is, there := now[o.param]
		if value := implied[o.param]; !there && value != "" {
			is = setting{values: []string{value}}
		}
		switch {
		case given && !is.sorted(o).equal(want.sorted(o)) && o.param != "name":
			note(o.param, is.String(), want.String())
		case slices.Contains(x.off, o.param) && there:
			note(o.param, "true", "false")
		}
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	return rules{}.DoAll(ctx, h, []resource.Work{{Item: x}})[0]
}

// DoAll implements resource.Doer: the rules are changed one after the other, and saved once.
func (rules) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	changed := make(map[family]*resource.Resource)
	for i, w := range works {
		x := w.Item.(*item)
		if errs[i] = x.change(ctx, h); errs[i] == nil {
			changed[x.family] = x.r
		}
	}
	persist(ctx, h, changed)
	return errs
}

// change brings the rule to the state of the resource.
func (x *item) change(ctx context.Context, h *resource.Host) error {
	run := func(args ...string) error {
		return x.family.program("").Change(ctx, h, append([]string{"-w"}, args...)...)
	}
	if x.absent {
		if x.found == nil {
			return nil
		}
		return x.remove(ctx, h, run)
	}
	// The new rule is added before the old rule is removed. So the machine keeps the old rule if iptables refuses the new rule. The old
	// rule is removed by its arguments, because another program can insert a rule meanwhile, and then the number is wrong.
	t := x.state.table(x.table)
	args := x.args()
	made := &rule{chain: x.chain, name: x.name, args: args}
	n := t.position(x.chain, x.name)
	if x.found != nil && x.in == x.table && x.found.chain == x.chain {
		n = slices.Index(t.of(x.chain), x.found) + 1
	}
	if err := run(append([]string{"-t", x.table, "-I", x.chain, itoa(n)}, args...)...); err != nil {
		return err
	}
	t.put(made, n)
	if x.found != nil {
		if err := x.remove(ctx, h, run); err != nil {
			return err
		}
	}
	x.found, x.in = made, x.table
	return nil
}

// remove removes the rule that was found.
func (x *item) remove(ctx context.Context, h *resource.Host, run func(...string) error) error {
	r, table := x.found, x.in
	err := run(append([]string{"-t", table, "-D", r.chain}, r.args...)...)
	if err != nil {
		// iptables cannot find rules of some modules, such as recent, by their arguments.
		now, failed := load(ctx, h, x.family)
		if failed != nil {
			return err
		}
		n := slices.IndexFunc(now.table(table).of(r.chain), func(o *rule) bool { return o.line == r.line })
		if r.line == "" || n < 0 {
			return err
		}
		if err := run("-t", table, "-D", r.chain, itoa(n+1)); err != nil {
			return err
		}
	}
	x.state.table(table).remove(r)
	x.found = nil
	return nil
}
