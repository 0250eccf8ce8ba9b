package catalogs

import (
	"context"
	"slices"

	"bolt/catalog"
	"bolt/catalog/site"
	"bolt/cli"
	"bolt/output/listing"
)

// ShowOptions are the options of catalog show.
type ShowOptions struct {
	args   []string
	format string // FormatDot, or one of the configuration
}

// Bind reads the flags and arguments.
func (o *ShowOptions) Bind(b *cli.Binder) {
	b.Rest(0, &o.args)
	b.Text("format", &o.format)
}

// ShowArguments checks a file and a resource.
func ShowArguments(args []string) error {
	switch {
	case len(args) == 0:
		return cli.Hinted(cli.Errorf("Must specify the file of a catalog"), "make one with \"bolt catalog compile --format json\"")
	case len(args) > 2:
		return cli.Errorf("Only one resource can be given")
	}
	return nil
}

// Show prints a catalog, or one of its resources.
func (v *Invocation) Show(ctx context.Context, o *ShowOptions) error {
	c, err := site.ReadOne(ctx, o.args[0], v.Vault)
	if err != nil {
		return err
	}
	if o.format == FormatDot {
		return v.draw(c)
	}
	how := listing.Options{Format: v.Format, Color: v.Color}
	if len(o.args) > 1 {
		r, err := site.Find(c, o.args[1])
		if err != nil {
			return err
		}
		return listing.PrintResource(v.Out, how, c, r)
	}
	list, err := site.Order(c)
	if err != nil {
		return err
	}
	return listing.PrintOrder(v.Out, how, c, list)
}

// FormatDot is the format of drawings of catalogs, in the language of Graphviz. Only "catalog
// compile" and "catalog show" have it.
const FormatDot = "dot"

// Beside makes bolt print errors on standard error if standard output has a drawing.
func (o *ShowOptions) Beside() bool { return o.format == FormatDot }

// Formats returns the format dot only for a whole catalog.
func (o *ShowOptions) Formats(all []string) ([]string, string) {
	if len(o.args) > 1 {
		withoutDot := slices.DeleteFunc(slices.Clone(all), func(f string) bool { return f == FormatDot })
		return withoutDot, "a drawing has all resources: name only the file"
	}
	return all, ""
}

// draw prints the drawing of a catalog. Errors go to standard error, because another program
// reads standard output.
func (v *Invocation) draw(c *catalog.Catalog) error {
	d, err := site.Draw(c)
	if err != nil {
		return err
	}
	return d.WriteDot(v.Out)
}

// FindOptions are the options of catalog find.
type FindOptions struct {
	resource string
	paths    []string
}

// Bind reads the flags and arguments.
func (o *FindOptions) Bind(b *cli.Binder) {
	var args []string
	b.Rest(0, &args)
	if len(args) > 1 {
		o.resource, o.paths = args[0], args[1:]
	}
}

// FindArguments checks a resource, and files or directories.
func FindArguments(args []string) error {
	if len(args) < 2 {
		return cli.Hinted(cli.Errorf("Must specify a resource and where to find it"), "for example: bolt catalog find 'File[/etc/motd]' catalogs/")
	}
	return nil
}

// Find prints the resources that an argument names. If no node has such a resource, it
// returns cli.ErrFailed.
func (v *Invocation) Find(ctx context.Context, o *FindOptions) error {
	sides := make([]*site.Side, len(o.paths))
	for i, path := range o.paths {
		s, err := site.ReadSide(path, v.Vault)
		if err != nil {
			return err
		}
		sides[i] = s
	}
	list, err := site.Search(ctx, sides, o.resource)
	if err != nil {
		return err
	}
	if err := listing.PrintFound(v.Out, listing.Options{Format: v.Format, Color: v.Color}, list); err != nil {
		return err
	}
	return cli.Failed(len(list.Resources) == 0, nil)
}
