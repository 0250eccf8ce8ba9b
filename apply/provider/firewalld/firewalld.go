// Package firewalld applies resources of the types firewalld_zone, firewalld_port, firewalld_service and
// firewalld_rich_rule: the permanent configuration of firewalld.
//
// The behaviour is that of the module puppet-firewalld. The configuration is read and changed with firewall-cmd(1), and with
// firewall-offline-cmd(1) if firewalld does not run. One query reads it for all resources that are applied together.
package firewalld

import (
	"context"
	"slices"
	"strings"

	"bolt/apply/resource"
)

// Port returns the type firewalld_port.
func Port() resource.Type {
	return &entries{"firewalld_port", "port", "ports", portOf}
}

// Service returns the type firewalld_service.
func Service() resource.Type {
	return &entries{"firewalld_service", "service", "services", func(f *resource.Fields) string { return f.Word("service", f.R.Title, "\"'") }}
}

// RichRule returns the type firewalld_rich_rule.
func RichRule() resource.Type {
	return &entries{"firewalld_rich_rule", "rich-rule", "rich rules", richRule}
}

// entries is a type whose resources are entries in a list of a zone or a policy.
type entries struct {
	typ     string
	option  string // of --add-, such as port
	setting string // the name of the list in the output
	value   func(f *resource.Fields) string
}

// An entry is a resource.
type entry struct {
	*entries
	r      *resource.Resource
	value  string
	kind   string // zone or policy
	owner  string // the name of the zone or policy
	absent bool

	control *control
	exists  bool
}

// New implements resource.Type.
func (e *entries) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &entry{entries: e, r: r, absent: f.Text("ensure", "present") == "absent"}
	x.value = e.value(&f)
	zone, policy := f.Word("zone", "", "\"'"), f.Word("policy", "", "\"'")
	switch {
	case zone != "" && policy != "":
		f.Refuse("policy", "cannot be used together with zone")
	case zone != "":
		x.kind, x.owner = "zone", zone
	case policy != "":
		x.kind, x.owner = "policy", policy
	default:
		f.Refuse("zone", "must be given, or policy")
	}
	return x, f.Err
}

// portOf returns a port with its protocol, such as 80/tcp.
func portOf(f *resource.Fields) string {
	port, protocol := f.Word("port", f.Text("name", f.R.Title), "\"'"), f.Word("protocol", "", "\"'")
	if port == "" || strings.Trim(port, "0123456789-") != "" {
		f.RefuseValue("port", "must be a number or a range such as 8000-8010", port)
	}
	if protocol == "" {
		f.Refuse("protocol", "must be given")
	}
	return port + "/" + protocol
}

// Read implements resource.Item.
func (x *entry) Read(ctx context.Context, h *resource.Host) error {
	return x.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (e *entries) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	errs := make([]error, len(items))
	c, err := newControl(ctx, h)
	configs, failed := make(map[string]config), make(map[string]error)
	for i, item := range items {
		x := item.(*entry)
		if errs[i] = err; err != nil {
			continue
		}
		if x.control = c; configs[x.kind] == nil && failed[x.kind] == nil {
			configs[x.kind], failed[x.kind] = c.read(ctx, h, x.kind)
		}
		if errs[i] = failed[x.kind]; errs[i] != nil {
			continue
		}
		owner, known := configs[x.kind][x.owner]
		x.exists = slices.Contains(owner[x.setting], x.value)
		if !x.exists && known && e.option == "rich-rule" {
			// firewalld can write a rule in another way.
			x.exists, errs[i] = c.has(ctx, h, "--"+x.kind+"="+x.owner, "--query-rich-rule="+x.value)
		}
	}
	return errs
}

// Plan implements resource.Item.
func (x *entry) Plan() ([]resource.Change, error) {
	return resource.Ensure(x.typ, x.exists, x.absent), nil
}

// Do implements resource.Item.
func (x *entry) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	return x.DoAll(ctx, h, []resource.Work{{Item: x}})[0]
}

// DoAll implements resource.Doer. After changes of services, firewalld is reloaded once; the class firewalld of the module
// reloads it after other changes.
func (e *entries) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	for i, w := range works {
		x := w.Item.(*entry)
		verb := "--add-"
		option := x.option
		if x.absent {
			if verb = "--remove-"; option == "service" && !x.control.online {
				option = "service-from-zone"
			}
		}
		errs[i] = x.control.change(ctx, h, "--"+x.kind+"="+x.owner, verb+option+"="+x.value)
	}
	if e.option == "service" {
		reload(ctx, h, works[0].Item.(*entry).control, errs)
	}
	return errs
}

// reload reloads firewalld if a resource was changed without an error. If it fails, these resources get its error.
func reload(ctx context.Context, h *resource.Host, c *control, errs []error) {
	if !slices.Contains(errs, nil) {
		return
	}
	err := c.reload(ctx, h)
	for i := range errs {
		if errs[i] == nil {
			errs[i] = err
		}
	}
}
