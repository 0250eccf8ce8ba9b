package postgresql

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
)

type validators struct{}

// ConnValidator returns the type postgresql_conn_validator.
func ConnValidator() resource.Type { return validators{} }

// A validator is a postgresql_conn_validator: it waits until a server answers.
type validator struct {
	client
	r      *resource.Resource
	secret bool // the command
	sql    string
	tries  int64
	pause  time.Duration
	server string // for the message

	answers bool
}

// New implements resource.Type.
func (validators) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &validator{
		r:      r,
		sql:    f.Text("command", "SELECT 1"),
		secret: r.Secret("command"),
		server: f.Text("host", "") + ":" + f.Text("port", ""),
		client: client{program: f.Text("psql_path", "psql"), user: f.Text("run_as", ""), env: settings(&f)},
	}
	number := func(param string, without, least int64) int64 {
		n, err := r.Int(param, without)
		if err != nil || n < least || n > 1<<31 {
			f.RefuseValue(param, fmt.Sprintf("must be a whole number of at least %d", least), f.Text(param, ""))
		}
		return n
	}
	x.tries, x.pause = number("tries", 10, 1), time.Duration(number("sleep", 2, 0))*time.Second
	number("port", 5432, 1)
	x.args = []string{"--tuples-only", "--quiet", "--no-psqlrc"}
	for _, o := range [][2]string{{"host", "--host"}, {"port", "--port"}, {"db_username", "--username"}, {"db_name", "--dbname"}} {
		if value := f.Text(o[0], ""); value != "" {
			x.args = append(x.args, o[1], value)
		}
	}
	if password := f.Text("db_password", ""); password != "" {
		x.env = append(x.env, "PGPASSWORD="+password)
	}
	if f.Text("ensure", "present") == "absent" {
		f.Refuse("ensure", "cannot be absent")
	}
	return x, f.Err
}

// Read implements resource.Item. As in the module, a server answers if psql prints something. Unless a password is given, psql must not prompt for a password.
func (x *validator) Read(ctx context.Context, h *resource.Host) error {
	x.answers = false
	for try := range x.tries {
		if try > 0 {
			h.Logf(x.r.Ref, report.Info, "The server %s does not answer. The next try is in %s", x.server, x.pause)
			if err := resource.Sleep(ctx, x.pause); err != nil {
				return err
			}
		}
		args, stdin := []string{"--no-password", "--command", x.sql}, ""
		if x.secret {
			args, stdin = []string{"--no-password", "-v", "ON_ERROR_STOP=1", "-f", "-"}, "SELECT "+str(x.sql)+` \gexec`+"\n"
		}
		out, err := x.run(ctx, h, false, stdin, args...)
		if err != nil {
			return err
		}
		if out.Code == 0 && len(strings.TrimSpace(string(out.Stdout))) > 0 {
			x.answers = true
			return nil
		}
	}
	return nil
}

// Plan implements resource.Item.
func (x *validator) Plan() ([]resource.Change, error) {
	if x.answers {
		return nil, nil
	}
	return resource.Created("postgresql_conn_validator"), nil
}

// Do implements resource.Item. It fails, because bolt cannot start the server.
func (x *validator) Do(context.Context, *resource.Host, *resource.Change) error {
	return fmt.Errorf("cannot connect to the PostgreSQL server %s", x.server)
}

type slots struct{}

// ReplicationSlot returns the type postgresql_replication_slot.
func ReplicationSlot() resource.Type { return slots{} }

// A slot is a postgresql_replication_slot.
type slot struct {
	name          string
	absent, found bool
}

// New implements resource.Type.
func (slots) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &slot{name: f.Text("name", r.Title), absent: f.Text("ensure", "present") == "absent"}
	if x.name == "" || strings.Trim(x.name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		f.RefuseValue("name", "must have only lower case letters, digits and _", x.name)
	}
	return x, f.Err
}

// slotSQL runs SQL as the module does, as the user postgres.
func slotSQL(ctx context.Context, h *resource.Host, changes bool, sql string) ([]string, error) {
	c := client{program: "psql", user: "postgres", group: "postgres", dir: "/"}
	out, err := c.run(ctx, h, changes, "", "-t", "-X", "-A", "-c", sql)
	if err != nil {
		return nil, err
	}
	if out.Cut {
		return nil, errTooMuch
	}
	return strings.Split(strings.TrimSpace(string(out.Stdout)), "\n"), out.Failure("psql")
}

// Read implements resource.Item.
func (x *slot) Read(ctx context.Context, h *resource.Host) error {
	return slots{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader.
func (slots) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	names, err := slotSQL(ctx, h, false, "SELECT slot_name FROM pg_replication_slots;")
	errs := make([]error, len(items))
	for i := range items {
		x := items[i].(*slot)
		x.found, errs[i] = slices.Contains(names, x.name), err
	}
	return errs
}

// Plan implements resource.Item.
func (x *slot) Plan() ([]resource.Change, error) {
	switch {
	case x.absent && x.found:
		return resource.Removed("postgresql_replication_slot"), nil
	case !x.absent && !x.found:
		return resource.Created("postgresql_replication_slot"), nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *slot) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	sql := "SELECT * FROM pg_create_physical_replication_slot('" + x.name + "');"
	if x.absent {
		sql = "SELECT pg_drop_replication_slot('" + x.name + "');"
	}
	_, err := slotSQL(ctx, h, true, sql)
	return err
}
