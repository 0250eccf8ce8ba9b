package firewalld

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

// Zone returns the type firewalld_zone.
func Zone() resource.Type { return zones{} }

type zones struct{}

// A zone is a resource.
type zone struct {
	r                  *resource.Resource
	name               string
	absent             bool
	target             string // "" if it is not managed
	description, short string
	lists              map[string][]string // the wanted values, by parameter
	flags              map[string]bool     // the wanted values, by parameter
	purge              map[string]bool     // by parameter

	control *control
	is      map[string][]string // nil if the zone does not exist
	extra   map[string][]string // by parameter of purge: the entries that no resource has
}

// The list parameters and the flag parameters, each with the option of firewall-cmd and the setting in its output.
var (
	listParams = [][3]string{{"interfaces", "interface", "interfaces"}, {"sources", "source", "sources"}, {"protocols", "protocol", "protocols"}, {"icmp_blocks", "icmp-block", "icmp-blocks"}}
	flagParams = [][3]string{{"masquerade", "masquerade", "masquerade"}, {"icmp_block_inversion", "icmp-block-inversion", "icmp-block-inversion"}}
	purgeTypes = []struct {
		param string
		*entries
	}{
		{"purge_rich_rules", RichRule().(*entries)},
		{"purge_services", Service().(*entries)},
		{"purge_ports", Port().(*entries)},
	}
)

// New implements resource.Type.
func (zones) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &zone{r: r, absent: f.Text("ensure", "present") == "absent", lists: make(map[string][]string), flags: make(map[string]bool), purge: make(map[string]bool)}
	x.name = f.Word("name", r.Title, "\"'")
	if len(x.name) > 17 || x.name == "" {
		f.RefuseValue("name", "must have 1 to 17 characters", x.name)
	}
	x.target, x.description, x.short = f.Word("target", "", "\"'"), f.Text("description", ""), f.Text("short", "")
	for _, p := range listParams {
		if list := f.Texts(p[0]); list != nil {
			x.lists[p[0]] = slices.Sorted(slices.Values(list))
		}
		for _, v := range x.lists[p[0]] {
			if v == "" || strings.ContainsAny(v, " \t\r\n") {
				f.RefuseValue(p[0], "must be words", v)
			}
		}
	}
	for _, p := range flagParams {
		if r.Params.Value(p[0]) != nil || p[0] == "icmp_block_inversion" {
			x.flags[p[0]] = f.Bool(p[0], false)
		}
	}
	for _, p := range purgeTypes {
		x.purge[p.param] = f.Bool(p.param, false)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *zone) Read(ctx context.Context, h *resource.Host) error {
	return zones{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (zones) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	var c *control
	return tool.ReadAll(items, func() (all config, err error) {
		if c, err = newControl(ctx, h); err != nil {
			return nil, err
		}
		return c.read(ctx, h, "zone")
	}, func(x *zone, all config) (err error) {
		x.control, x.is, x.extra = c, all[x.name], make(map[string][]string)
		for _, p := range purgeTypes {
			if x.is != nil && x.purge[p.param] {
				if x.extra[p.param], err = p.unmanaged(h, x.name, x.is[p.setting]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// unmanaged returns the entries of a zone that no resource of the catalog has.
func (e *entries) unmanaged(h *resource.Host, zone string, list []string) (extra []string, err error) {
	own := make(map[string]bool)
	for _, r := range h.Declared(strings.ToUpper(e.typ[:1]) + e.typ[1:]) {
		item, err := e.New(r)
		if err != nil {
			return nil, fmt.Errorf("the entries of the zone cannot be purged, because bolt cannot read the parameters of %s: %w", r.Ref, err)
		}
		if item.(*entry).owner == zone && item.(*entry).kind == "zone" {
			own[unordered(item.(*entry).value)] = true
		}
	}
	for _, v := range list {
		if !own[unordered(v)] {
			extra = append(extra, v)
		}
	}
	return extra, nil
}

// unordered returns a form of an entry for comparisons: without quotes, and with sorted words. firewalld prints the words of rich rules
// in its own order.
func unordered(entry string) string {
	words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(entry))
	words = slices.DeleteFunc(words, func(w string) bool { return w == "priority=0" }) // it is the default, which firewalld does not print
	slices.Sort(words)
	return strings.Join(words, " ")
}

func first(list []string) string { return strings.Join(list, " ") }

// Plan implements resource.Item.
func (x *zone) Plan() ([]resource.Change, error) {
	changes := resource.Ensure("firewalld_zone", x.is != nil, x.absent)
	if changes != nil || x.absent {
		return changes, nil
	}
	note := func(property, is, should string) {
		changes = append(changes, resource.Change{Property: property, Is: is, Should: should})
	}
	if is := first(x.is["target"]); x.target != "" && strings.Trim(is, "%") != strings.Trim(x.target, "%") {
		note("target", is, x.target)
	}
	for _, p := range listParams {
		want, given := x.lists[p[0]]
		if is := slices.Sorted(slices.Values(x.is[p[2]])); given && !slices.Equal(is, want) {
			note(p[0], strings.Join(is, ", "), strings.Join(want, ", "))
		}
	}
	for _, p := range flagParams {
		want, given := x.flags[p[0]]
		if is := first(x.is[p[2]]) == "yes"; given && is != want {
			note(p[0], text(is), text(want))
		}
	}
	for _, p := range purgeTypes {
		if extra := x.extra[p.param]; len(extra) > 0 {
			note(p.param, strings.Join(extra, ", "), "")
		}
	}
	return changes, nil
}

func text(b bool) string {
	if b {
		return "true"
	}
	return "false"
}

// Do implements resource.Item.
func (x *zone) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return zones{}.DoAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer. firewalld is reloaded once, after all changes.
func (zones) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	for i, w := range works {
		x := w.Item.(*zone)
		for _, c := range w.Changes {
			if errs[i] = x.change(ctx, h, c.Property); errs[i] != nil {
				break
			}
		}
	}
	reload(ctx, h, works[0].Item.(*zone).control, errs)
	return errs
}

// change makes the change of one property.
func (x *zone) change(ctx context.Context, h *resource.Host, property string) error {
	if property == "ensure" {
		if x.absent {
			return x.control.change(ctx, h, "--delete-zone="+x.name)
		}
		return x.create(ctx, h)
	}
	in := func(args ...string) error {
		return x.control.change(ctx, h, append([]string{"--zone=" + x.name}, args...)...)
	}
	if property == "target" {
		return in("--set-target=" + x.target)
	}
	for _, p := range listParams {
		if p[0] != property {
			continue
		}
		var args []string
		for _, v := range x.lists[p[0]] {
			if !slices.Contains(x.is[p[2]], v) {
				args = append(args, "--add-"+p[1]+"="+v)
			}
		}
		for _, v := range x.is[p[2]] {
			if !slices.Contains(x.lists[p[0]], v) {
				args = append(args, "--remove-"+p[1]+"="+v)
			}
		}
		return one(in, args)
	}
	for _, p := range flagParams {
		if p[0] == property && x.flags[property] {
			return in("--add-" + p[1])
		} else if p[0] == property {
			return in("--remove-" + p[1])
		}
	}
	for _, p := range purgeTypes {
		if p.param != property {
			continue
		}
		option := p.option
		if option == "service" && !x.control.online {
			option = "service-from-zone"
		}
		var args []string
		for _, v := range x.extra[property] {
			args = append(args, "--remove-"+option+"="+v)
		}
		return one(in, args)
	}
	return nil
}

// one runs the program for each argument: firewall-cmd does not take additions and removals together.
func one(in func(...string) error, args []string) error {
	for _, a := range args {
		if err := in(a); err != nil {
			return err
		}
	}
	return nil
}

// create adds the zone with all its settings.
func (x *zone) create(ctx context.Context, h *resource.Host) error {
	if err := x.control.change(ctx, h, "--new-zone="+x.name); err != nil {
		return err
	}
	properties := []string{}
	if x.target != "" {
		properties = append(properties, "target")
	}
	for _, p := range listParams {
		properties = append(properties, p[0])
	}
	for _, p := range flagParams {
		if x.flags[p[0]] {
			properties = append(properties, p[0])
		}
	}
	for _, p := range properties {
		if err := x.change(ctx, h, p); err != nil {
			return err
		}
	}
	var args []string
	if x.description != "" {
		args = append(args, "--set-description="+x.description)
	}
	if x.short != "" {
		args = append(args, "--set-short="+x.short)
	}
	return one(func(args ...string) error {
		return x.control.change(ctx, h, append([]string{"--zone=" + x.name}, args...)...)
	}, args)
}
