package postgresql

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/safetext"
)

type statements struct{}

// Psql returns the type postgresql_psql. Resources are read one by one, as in Puppet, because the SQL of one resource can
// change the result of the next check.
func Psql() resource.Type { return statements{} }

// A statement is a postgresql_psql.
type statement struct {
	client
	command        string
	unless, onlyIf *string // nil if not given
	path           string  // of schemas, as SQL; "" if not given
	refreshOnly    bool
	secret         bool // the command
	secretChecks   bool

	needed bool
}

// New implements resource.Type.
func (statements) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &statement{
		command:     f.Text("command", f.Text("name", r.Title)),
		refreshOnly: f.Bool("refreshonly", false),
		client: client{
			program: f.Text("psql_path", "psql"),
			user:    f.Text("psql_user", "postgres"),
			group:   f.Text("psql_group", "postgres"),
			dir:     f.Text("cwd", "/tmp"),
			env:     settings(&f),
		},
	}
	hidden := f.Bool("sensitive", false)
	x.secret, x.secretChecks = hidden || r.Secret("command"), hidden || r.Secret("unless") || r.Secret("onlyif")
	x.unless, x.onlyIf = optional(&f, "unless"), optional(&f, "onlyif")
	if !filepath.IsAbs(x.dir) {
		f.RefuseValue("cwd", "must be an absolute path", x.dir)
	}
	if db := f.Text("db", ""); db != "" {
		x.args = append(x.args, "-d", db)
	}
	if port := f.Text("port", ""); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			f.RefuseValue("port", "must be the number of a port", port)
		}
		x.args = append(x.args, "-p", port)
	}
	if schemas := f.Texts("search_path"); len(schemas) > 0 {
		for i, s := range schemas {
			schemas[i] = schema(s)
		}
		x.path = strings.Join(schemas, ",")
	}
	return x, f.Err
}

func optional(f *resource.Fields, param string) *string {
	if f.R.Params.Value(param) == nil {
		return nil
	}
	text := f.Text(param, "")
	return &text
}

// schema quotes the names of schemas in a list with commas. As in SQL, a name in double quotes keeps its case, and other names become lower case.
func schema(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if n := len(part); n > 1 && part[0] == '"' && part[n-1] == '"' {
			part = strings.ReplaceAll(part[1:n-1], `""`, `"`)
		} else if part != "$user" {
			part = strings.ToLower(part)
		}
		parts = append(parts, `"`+strings.ReplaceAll(part, `"`, `""`)+`"`)
	}
	return strings.Join(parts, ",")
}

// sql runs SQL as one message, as psql -c does: several statements are one transaction. Secret SQL is a string in the
// standard input of psql, which \gexec then runs in the same way.
func (x *statement) sql(ctx context.Context, h *resource.Host, text string, secret, changes bool) (*resource.Output, error) {
	if x.path != "" {
		text = "set search_path to " + x.path + "; " + text
	}
	if secret {
		return x.run(ctx, h, changes, "SELECT "+str(text)+` \gexec`+"\n", "-t", "-X", "-v", "ON_ERROR_STOP=1", "-f", "-")
	}
	return x.run(ctx, h, changes, "", "-t", "-X", "-c", text)
}

// rows returns the number of rows of a query. Errors name the parameter.
func (x *statement) rows(ctx context.Context, h *resource.Host, param, query string) (int, error) {
	out, err := x.sql(ctx, h, "SELECT COUNT(*) FROM ("+query+") count", x.secretChecks, false)
	if err != nil {
		return 0, err
	}
	if err := failure(out, x.secretChecks); err != nil {
		return 0, fmt.Errorf("the check of the parameter %s failed: %w", param, err)
	}
	var lines []string
	for line := range strings.Lines(string(out.Stdout)) {
		// SET is the answer to the search path.
		if line = strings.TrimSpace(line); line != "" && line != "SET" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 1 {
		if n, err := strconv.Atoi(lines[0]); err == nil {
			return n, nil
		}
	}
	shown := safetext.Message(string(out.Stdout[:min(len(out.Stdout), 200)]))
	if x.secretChecks {
		shown = "[secret]"
	}
	return 0, fmt.Errorf("the check of the parameter %s failed: psql printed %q instead of a number", param, shown)
}

// needs reports whether the checks require the command.
func (x *statement) needs(ctx context.Context, h *resource.Host) (bool, error) {
	for _, check := range []struct {
		param string
		query *string
		wants bool
	}{{"onlyif", x.onlyIf, true}, {"unless", x.unless, false}} {
		if check.query == nil {
			continue
		}
		n, err := x.rows(ctx, h, check.param, *check.query)
		if err != nil || (n > 0) != check.wants {
			return false, err
		}
	}
	return true, nil
}

// Read implements resource.Item. A resource that only a refresh runs is not checked before.
func (x *statement) Read(ctx context.Context, h *resource.Host) (err error) {
	x.needed = false
	if !x.refreshOnly {
		x.needed, err = x.needs(ctx, h)
	}
	return err
}

// Plan implements resource.Item.
func (x *statement) Plan() ([]resource.Change, error) {
	if !x.needed {
		return nil, nil
	}
	should := x.command
	if x.secret {
		should = "[redacted]"
	}
	return []resource.Change{{Property: "command", Is: "notrun", Should: should}}, nil
}

// Do implements resource.Item.
func (x *statement) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	out, err := x.sql(ctx, h, x.command, x.secret, true)
	if err != nil {
		return err
	}
	return failure(out, x.secret)
}

// Refresh implements resource.Refresher.
func (x *statement) Refresh(ctx context.Context, h *resource.Host, _ []resource.Change) error {
	needed, err := x.needs(ctx, h)
	if err != nil || !needed {
		return err
	}
	return x.Do(ctx, h, nil)
}
