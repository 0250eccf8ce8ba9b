package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

type plugins struct{}

// Plugin returns the type mysql_plugin.
func Plugin() resource.Type { return plugins{} }

// A plugin is a mysql_plugin.
type plugin struct {
	name, soname string
	given        bool // soname is given
	absent       bool

	found   bool
	library string
}

var library = lazyregexp.New(`^\w+\.\w+$`)

// New implements resource.Type.
func (plugins) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &plugin{name: f.Text("name", r.Title), absent: f.Text("ensure", "present") == "absent"}
	if !pluginName().MatchString(x.name) {
		f.RefuseValue("name", "must be a word", x.name)
	}
	_, x.given = r.Params.Get("soname")
	if x.soname = f.Text("soname", x.name+".so"); !library().MatchString(x.soname) {
		f.RefuseValue("soname", "must be the name of a library, such as auth_socket.so", x.soname)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *plugin) Read(ctx context.Context, h *resource.Host) error {
	return readOne(ctx, h, plugins{}, x)
}

// ReadAll implements resource.Reader.
func (plugins) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	rows, _, err := query{sql: "SHOW PLUGINS;"}.run(ctx, h)
	libraries := make(map[string]string)
	for _, row := range rows {
		if len(row) < 4 {
			return slices.Repeat([]error{errors.New("mysql printed plugins in a form that is not understood")}, len(items))
		}
		libraries[row[0]] = row[3]
	}
	if err == nil {
		for _, i := range items {
			x := i.(*plugin)
			x.library, x.found = libraries[x.name]
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// Plan implements resource.Item. The module reports another library as changed at each run, without effect.
func (x *plugin) Plan() ([]resource.Change, error) {
	switch {
	case x.absent && x.found:
		return resource.Removed("mysql_plugin"), nil
	case !x.absent && !x.found:
		return resource.Created("mysql_plugin"), nil
	case !x.absent && x.given && x.library != x.soname:
		return nil, fmt.Errorf("the plugin is installed from the library %s. Remove it with ensure => absent first", safetext.Message(x.library))
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *plugin) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.absent {
		return change(ctx, h, false, "UNINSTALL PLUGIN "+name(x.name))
	}
	return change(ctx, h, false, "INSTALL PLUGIN "+name(x.name)+" SONAME "+str(x.soname))
}
