package alternatives

import (
	"context"
	"strconv"
	"strings"

	"bolt/apply/resource"
)

// Entry returns the type alternative_entry.
func Entry() resource.Type { return entries{} }

type entries struct{}

// An entry is a resource of the type alternative_entry: one choice of a generic name.
type entry struct {
	path, link, name string
	priority         string
	absent           bool
	is               group
}

// New implements resource.Type. A title can have the form PATH:LINK.
func (entries) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	title, link := r.Title, ""
	if at := strings.LastIndexByte(title, ':'); at >= 0 {
		title, link = title[:at], title[at+1:]
	}
	x := &entry{absent: f.Text("ensure", "present") == "absent", priority: f.Text("priority", "")}
	x.path = absolute(&f, "name", f.Text("name", title))
	x.name = word(&f, "altname", f.Text("altname", ""))
	if x.link = f.Text("altlink", link); x.link != "" || !x.absent {
		absolute(&f, "altlink", x.link)
	}
	if n, err := strconv.ParseInt(x.priority, 0, 32); err == nil {
		x.priority = strconv.FormatInt(n, 10)
	} else if x.priority != "" || !x.absent {
		f.RefuseValue("priority", "must be a whole number", x.priority)
	}
	if ro, given, _ := r.Text("altlink_ro"); given && ro != x.link {
		f.Refuse("altlink_ro", "cannot be set: it is the value of altlink")
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *entry) Read(ctx context.Context, h *resource.Host) error {
	return entries{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader, with one query for each generic name.
func (entries) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	type answer struct {
		group
		err error
	}
	s, known, errs := systemOf(h), make(map[string]answer), make([]error, len(items))
	for i, item := range items {
		x := item.(*entry)
		a, is := known[x.name]
		if !is {
			a.group, a.err = s.query(ctx, h, x.name)
			known[x.name] = a
		}
		x.is, errs[i] = a.group, a.err
	}
	return errs
}

// Watch implements resource.Watcher.
func (x *entry) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	return watches(h, x.name)
}

// Plan implements resource.Item.
func (x *entry) Plan() (changes []resource.Change, err error) {
	c, exists := x.is.choices[x.path]
	switch {
	case x.absent && exists:
		return resource.Removed("alternative_entry"), nil
	case x.absent:
		return nil, nil
	case !exists:
		return resource.Created("alternative_entry"), nil
	}
	if x.is.link != x.link {
		changes = append(changes, resource.Change{Property: "altlink", Is: x.is.link, Should: x.link})
	}
	if c.priority != x.priority {
		changes = append(changes, resource.Change{Property: "priority", Is: c.priority, Should: x.priority})
	}
	return changes, nil
}

// Do implements resource.Item. An entry that exists is changed in place, so that a name in manual mode keeps its choice.
func (x *entry) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	s := systemOf(h)
	if x.absent {
		return s.Change(ctx, h, "--remove", x.name, x.path)
	}
	return s.Change(ctx, h, "--install", x.link, x.name, x.path, x.priority)
}
