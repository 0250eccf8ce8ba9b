// Package postgresql applies resources of the module puppetlabs-postgresql: postgresql_psql, postgresql_conf,
// postgresql_conn_validator and postgresql_replication_slot.
//
// The rules come from version 10.6 of the module. SQL is run with psql(1), as the user of the resource. Secret SQL is standard input of
// psql, because every user of the host can see arguments.
package postgresql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bolt/apply/provider/login"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// limit ends a psql that hangs. Statements, such as the change of a large table, can take long.
const limit = 2 * time.Hour

// A client is how psql reaches a server.
type client struct {
	program     string
	args        []string // such as -d NAME
	user, group string
	dir         string
	env         []string // connection settings, NAME=value
}

// run runs psql.
func (c *client) run(ctx context.Context, h *resource.Host, changes bool, stdin string, args ...string) (*resource.Output, error) {
	program := c.program
	if !filepath.IsAbs(program) {
		program = h.Find(program)
	}
	if program == "" || !isFile(h.Path(program)) {
		return nil, fmt.Errorf("the program %s is missing. Install the client of PostgreSQL on the target", c.program)
	}
	as, err := login.Identity(ctx, h, c.user, c.group)
	if err != nil {
		return nil, err
	}
	cmd := &resource.Command{
		Argv: append(append([]string{program}, c.args...), args...), Env: h.Environ(c.env...), Dir: c.dir,
		As: as, Stdin: []byte(stdin), Session: changes, Timeout: limit,
	}
	out, err := h.Run(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("psql: %w", err)
	}
	return out, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// str returns a string of SQL. It means the same in each mode of the server.
func str(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// variable is the form of a setting of the environment.
var variable = lazyregexp.New(`(?s)^(\w+)=(.+)$`)

// settings reads the parameters connect_settings, a hash of variables, and environment, a list of NAME=value.
func settings(f *resource.Fields) (env []string) {
	switch v := f.R.Params.Value("connect_settings").(type) {
	case nil:
	case *ordered.Map:
		for name, value := range v.All() {
			text, ok := scalar(value)
			if !ok || !variable().MatchString(name+"="+text) && text != "" || strings.ContainsAny(name+text, "\x00") {
				f.Refuse("connect_settings", "must be a hash of names of variables and strings")
				return nil
			}
			env = append(env, name+"="+text)
		}
	default:
		f.Refuse("connect_settings", "must be a hash")
	}
	for _, text := range f.Texts("environment") {
		if !variable().MatchString(text) {
			f.Refuse("environment", "must be a list of NAME=value")
			return nil
		}
		env = append(env, text)
	}
	return env
}

func scalar(v any) (text string, ok bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64, bool, float64:
		return fmt.Sprint(v), true
	}
	return "", false
}

// failure is the error of a psql that failed. The messages of psql quote the SQL, so they are not shown if that is secret.
func failure(out *resource.Output, secret bool) error {
	if secret && out.Code != 0 {
		return fmt.Errorf("psql: exit code %d. Its messages are not shown, because the SQL is secret", out.Code)
	}
	return out.Failure("psql")
}

var errTooMuch = errors.New("psql printed too much")
