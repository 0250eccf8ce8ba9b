package mysql

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
)

type datadirs struct{}

// Datadir returns the type mysql_datadir.
func Datadir() resource.Type { return datadirs{} }

// A datadir is a mysql_datadir: a directory with the system tables of a new server.
type datadir struct {
	dir, basedir, user, defaults, log string
	insecure                          bool
	found                             bool
}

// New implements resource.Type.
func (datadirs) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &datadir{
		dir:      f.Text("datadir", f.Text("name", r.Title)),
		basedir:  f.Text("basedir", ""),
		user:     f.Text("user", "mysql"),
		defaults: f.Text("defaults_extra_file", ""),
		log:      f.Text("log_error", "/var/tmp/mysqld_initialize.log"),
		insecure: f.Bool("insecure", true),
	}
	for param, path := range map[string]string{"datadir": x.dir, "basedir": x.basedir, "defaults_extra_file": x.defaults, "log_error": x.log} {
		if path != "" && !filepath.IsAbs(path) {
			f.RefuseValue(param, "must be an absolute path", path)
		}
	}
	if x.defaults != "" && !strings.HasSuffix(x.defaults, ".cnf") {
		f.RefuseValue("defaults_extra_file", "must end with .cnf", x.defaults)
	}
	if f.Text("ensure", "present") == "absent" {
		f.Refuse("ensure", "cannot be absent: bolt does not remove data directories")
	}
	return x, f.Err
}

// Read implements resource.Item. As in the module, a directory with a file in its directory mysql is complete.
func (x *datadir) Read(_ context.Context, h *resource.Host) error {
	list, err := os.ReadDir(h.Path(filepath.Join(x.dir, "mysql")))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	x.found = len(list) > 0
	return err
}

// Plan implements resource.Item.
func (x *datadir) Plan() ([]resource.Change, error) {
	if x.found {
		return nil, nil
	}
	return resource.Created("mysql_datadir"), nil
}

// Do implements resource.Item. MySQL makes the directory with mysqld --initialize, and MariaDB with mariadb-install-db. The programs
// refuse a directory that has files.
func (x *datadir) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.defaults != "" && !isFile(h, x.defaults) {
		return fmt.Errorf("the file %s of defaults_extra_file is missing", x.defaults)
	}
	const hint = "Install the server of MySQL or MariaDB on the target"
	program := &tool.Tool{Name: "mysqld", Also: []string{"mariadbd"}, Hint: hint, Limit: limit}
	version, err := program.Query(ctx, h, "--version")
	if err != nil {
		return err
	}
	mariadb := strings.Contains(strings.ToLower(version), "mariadb")
	if mariadb {
		program = &tool.Tool{Name: "mariadb-install-db", Also: []string{"mysql_install_db"}, Hint: hint, Limit: limit}
	}
	var argv []string
	add := func(option, value string) {
		if value != "" {
			argv = append(argv, "--"+option+"="+value)
		}
	}
	add("defaults-extra-file", x.defaults)
	add("basedir", x.basedir)
	add("datadir", x.dir)
	add("user", x.user)
	if !mariadb {
		add("log-error", x.log)
		if x.insecure {
			argv = append(argv, "--initialize-insecure")
		} else {
			argv = append(argv, "--initialize")
		}
	}
	return program.Change(ctx, h, argv...)
}
