package mongodb

import (
	"context"
	"errors"
	"slices"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

type databases struct{}

// Database returns the type mongodb_database.
func Database() resource.Type { return databases{} }

// A database is a mongodb_database.
type database struct {
	r      *resource.Resource
	name   string
	tries  int64
	absent bool

	found, secondary bool
}

// New implements resource.Type.
func (databases) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &database{r: r, name: f.Text("name", r.Title), tries: tries(&f), absent: f.Text("ensure", "present") == "absent"}
	if !databaseName().MatchString(x.name) {
		f.RefuseValue("name", "must have only letters, digits, _ and -", x.name)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *database) Read(ctx context.Context, h *resource.Host) error {
	return databases{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (databases) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	var most int64
	for _, i := range items {
		most = max(most, i.(*database).tries)
	}
	res, err := query(ctx, h, items[0].(*database).r, "databases", most)
	if errors.Is(err, errMissing) {
		res, err = &result{Primary: true}, nil
	}
	if err == nil {
		for _, i := range items {
			x := i.(*database)
			x.found, x.secondary = slices.Contains(res.Databases, x.name), !res.Primary
			if x.secondary {
				onSecondary(h, x.r)
			}
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// Plan implements resource.Item.
func (x *database) Plan() ([]resource.Change, error) {
	if x.secondary {
		return nil, nil
	}
	return resource.Ensure("mongodb_database", x.found, x.absent), nil
}

// Do implements resource.Item.
func (x *database) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return databases{}.DoAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer. MongoDB stores a database only with a collection, so a new database gets the document that the module also makes.
func (databases) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	jobs := make([]job, len(works))
	for i, w := range works {
		x := w.Item.(*database)
		c := ordered.Of("insert", "dummyData", "documents", []any{ordered.Of("created_by_puppet", int64(1))})
		if x.absent {
			c = ordered.Of("dropDatabase", int64(1))
		}
		jobs[i].commands = []command{{x.name, c}}
	}
	return change(ctx, h, jobs)
}
