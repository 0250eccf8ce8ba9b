package rabbitmq

import (
	"context"
	"slices"
	"strings"

	"bolt/apply/resource"
)

type vhosts struct{}

// Vhost returns the type rabbitmq_vhost.
func Vhost() resource.Type { return vhosts{} }

// A vhost is a rabbitmq_vhost.
type vhost struct {
	r                      *resource.Resource
	name                   string
	description, queueType *string  // nil if not given
	tags                   []string // sorted; empty if not managed
	absent                 bool

	found bool
	is    vhostRow
	done  bool // Do has changed the properties
}

type vhostRow struct {
	Name, Description string
	DefaultQueueType  string `json:"default_queue_type"`
	Tags              []string
}

func optional(f *resource.Fields, param string) *string {
	if f.R.Params.Value(param) == nil {
		return nil
	}
	text := f.Text(param, "")
	return &text
}

// New implements resource.Type.
func (vhosts) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &vhost{r: r, name: word(&f), description: optional(&f, "description"), queueType: optional(&f, "default_queue_type"), absent: f.Text("ensure", "present") == "absent"}
	x.tags, _ = words(&f, "tags")
	x.tags = slices.Compact(slices.Sorted(slices.Values(x.tags)))
	if x.description != nil && strings.ContainsAny(*x.description, "\x00\r\n") {
		f.RefuseValue("description", "must be one line", *x.description)
	}
	return x, f.Err
}

// managed reports whether the resource has properties, which RabbitMQ has since 3.11.
func (x *vhost) managed() bool { return x.description != nil || x.queueType != nil || len(x.tags) > 0 }

// Read implements resource.Item.
func (x *vhost) Read(ctx context.Context, h *resource.Host) error {
	return vhosts{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (vhosts) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	args := []string{"list_vhosts", "name"}
	if slices.ContainsFunc(items, func(i resource.Item) bool { return i.(*vhost).managed() }) {
		args = append(args, "description", "default_queue_type", "tags")
	}
	rows, err := list[vhostRow](ctx, h, items[0].(*vhost).r, args...)
	for _, i := range items {
		x := i.(*vhost)
		x.found, x.done = false, false
		for _, row := range rows {
			if row.Name == x.name {
				slices.Sort(row.Tags)
				x.found, x.is = true, row
			}
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// Plan implements resource.Item.
func (x *vhost) Plan() ([]resource.Change, error) {
	changes, compare := existence("rabbitmq_vhost", x.absent, x.found)
	if !compare {
		return changes, nil
	}
	if x.description != nil && *x.description != x.is.Description {
		changes = append(changes, resource.Change{Property: "description", Is: x.is.Description, Should: *x.description})
	}
	if x.queueType != nil && *x.queueType != x.is.DefaultQueueType {
		changes = append(changes, resource.Change{Property: "default_queue_type", Is: x.is.DefaultQueueType, Should: *x.queueType})
	}
	if len(x.tags) > 0 && !slices.Equal(x.tags, x.is.Tags) {
		changes = append(changes, resource.Change{Property: "tags", Is: strings.Join(x.is.Tags, ", "), Should: strings.Join(x.tags, ", ")})
	}
	return changes, nil
}

// Do implements resource.Item. One command changes all properties.
func (x *vhost) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	args := []string{"update_vhost_metadata", x.name}
	switch {
	case x.absent:
		return change(ctx, h, "", "delete_vhost", x.name)
	case c.Property == "ensure":
		args[0] = "add_vhost"
	case x.done:
		return nil
	}
	if x.description != nil {
		args = append(args, "--description", *x.description)
	}
	if x.queueType != nil {
		args = append(args, "--default-queue-type", *x.queueType)
	}
	if len(x.tags) > 0 {
		args = append(args, "--tags", strings.Join(x.tags, ","))
	}
	err := change(ctx, h, "", args...)
	x.done = err == nil
	return err
}
