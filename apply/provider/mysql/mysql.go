// Package mysql applies resources of the module puppetlabs-mysql: mysql_user, mysql_database, mysql_grant, mysql_plugin
// and mysql_datadir.
//
// The rules come from version 16.3 of the module. The server is read and changed with the client mysql(1), or mariadb(1), as
// root of the host. The client gets --defaults-extra-file=/root/.my.cnf if that file exists, or the login file /root/.mylogin.cnf.
// All SQL is standard input of the client, because every user of the host can see arguments. Names and strings in it are
// always quoted. One query reads all resources of a type that can be applied at the same time.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

// limit ends a client that hangs, such as behind a lock of tables.
const limit = 10 * time.Minute

// The files of root with the credentials of the client.
const (
	defaultsFile = "/root/.my.cnf"
	loginFile    = "/root/.mylogin.cnf"
)

// prepare makes the quoting below right for each mode of the server, and the bytes of names UTF-8.
const prepare = "SET NAMES utf8mb4;\n" +
	"SET SESSION sql_mode = TRIM(BOTH ',' FROM REPLACE(REPLACE(CONCAT(',', @@sql_mode, ','), ',NO_BACKSLASH_ESCAPES,', ','), ',ANSI_QUOTES,', ','));\n"

// query runs SQL and returns the rows of all results. A header is a row, too, if headers is set. secret is set if the SQL has
// a secret: then the server's message is not part of the error, because it can quote the SQL.
type query struct {
	sql             string
	headers, secret bool
	force           bool // go on after an error of a statement; errs gets the messages
	changes         bool
}

// A failure is an error message of the server, such as ERROR 1141 (42000) at line 3: message. The field text does not have
// the line number, because it is a line of bolt's SQL.
type failure struct{ code, text string }

var failures = lazyregexp.New(`(?m)^(ERROR (\d+)(?: \(\w+\))?)(?: at line \d+)?(.*)$`)

// run runs a query.
func (q query) run(ctx context.Context, h *resource.Host) (rows [][]string, errs []failure, err error) {
	program := h.Find("mysql", "mariadb")
	if program == "" {
		return nil, nil, errors.New("the program mysql is missing. Install the client of MySQL or MariaDB on the target")
	}
	argv, env := []string{program}, h.Environ()
	switch {
	case isFile(h, loginFile):
		env = h.Environ("MYSQL_TEST_LOGIN_FILE=" + loginFile)
	case isFile(h, defaultsFile):
		argv = append(argv, "--defaults-extra-file="+defaultsFile)
	}
	flags := "-NB"
	if q.headers {
		flags = "-B"
	}
	argv = append(argv, flags)
	if q.force {
		argv = append(argv, "--force")
	}
	out, err := h.Run(ctx, &resource.Command{Argv: argv, Env: env, Stdin: []byte(prepare + q.sql + "\n"), Session: q.changes, Timeout: limit})
	if err != nil {
		return nil, nil, fmt.Errorf("mysql: %w", err)
	}
	for _, m := range failures().FindAllStringSubmatch(string(out.Stderr), -1) {
		errs = append(errs, failure{m[2], safetext.Message(m[1] + m[3])})
	}
	if out.Cut {
		return nil, nil, errors.New("mysql printed too much")
	}
	if out.Code != 0 && (!q.force || len(errs) == 0 || connection(errs)) {
		switch {
		case q.secret:
			return nil, nil, secretFailure(errs, out.Code)
		case len(errs) > 0: // the client prints the statement, too
			return nil, nil, fmt.Errorf("mysql: %s", errs[0].text)
		}
		return nil, nil, out.Failure("mysql")
	}
	return parse(out.Stdout), errs, nil
}

// connection reports whether the client could not reach the server: its errors have codes from 2000 to 2999.
func connection(errs []failure) bool {
	return slices.ContainsFunc(errs, func(f failure) bool { return len(f.code) == 4 && f.code[0] == '2' || f.code == "1045" })
}

// secretFailure is the error of SQL with a secret.
func secretFailure(errs []failure, code int) error {
	if len(errs) == 0 {
		return fmt.Errorf("mysql: exit code %d. Its messages are not shown, because the statement has a secret", code)
	}
	return fmt.Errorf("mysql: error %s. The message is not shown, because the statement has a secret", errs[0].code)
}

func isFile(h *resource.Host, path string) bool {
	info, err := os.Stat(h.Path(path))
	return err == nil && info.Mode().IsRegular()
}

// change runs statements that change the server.
func change(ctx context.Context, h *resource.Host, secret bool, statements ...string) error {
	_, _, err := query{sql: strings.Join(statements, ";\n") + ";", changes: true, secret: secret}.run(ctx, h)
	return err
}

var unescaped = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\0`, "\x00")

// parse reads the output of the client with -B: a row is a line, with tabs between the values.
func parse(text []byte) (rows [][]string) {
	for line := range strings.Lines(string(text)) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for i, v := range values {
			values[i] = unescaped.Replace(v)
		}
		rows = append(rows, values)
	}
	return rows
}

var inString = strings.NewReplacer(`\`, `\\`, `'`, `''`)

// str returns a string of SQL.
func str(text string) string { return "'" + inString.Replace(text) + "'" }

// name returns an identifier of SQL.
func name(text string) string { return "`" + strings.ReplaceAll(text, "`", "``") + "`" }

// An account is a user of the server with the host that the user comes from.
type account struct{ user, host string }

// account forms of the module: 'user'@host in one of three quotes, user@host of plain characters, and any other user@host.
var (
	quotedAccount = lazyregexp.New("^(?:'([^']*)'|`([^`]*)`|\"([^\"]*)\")@([\\w%.:/-]+)$")
	plainAccount  = lazyregexp.New(`^([0-9a-zA-Z$_]*)@([\w%.:/-]+)$`)
	otherAccount  = lazyregexp.New("^([^'`\"].*[^0-9a-zA-Z$_].*|[^0-9a-zA-Z$_'`\"].*)@(.+)$")
)

// parseAccount reads the name of a user. As in the module, the host is in lower case.
func parseAccount(text string) (a account, ok bool) {
	if strings.ContainsAny(text, "\x00\n") {
		return a, false
	}
	if m := quotedAccount().FindStringSubmatch(text); m != nil {
		return account{m[1] + m[2] + m[3], strings.ToLower(m[4])}, true
	}
	if m := plainAccount().FindStringSubmatch(text); m != nil {
		return account{m[1], strings.ToLower(m[2])}, true
	}
	if m := otherAccount().FindStringSubmatch(text); m != nil {
		return account{m[1], strings.ToLower(m[2])}, true
	}
	return a, false
}

func (a account) String() string { return a.user + "@" + a.host }

func (a account) sql() string { return str(a.user) + "@" + str(a.host) }

// readOne is Item.Read for a type that reads many items at once.
func readOne(ctx context.Context, h *resource.Host, t resource.Reader, i resource.Item) error {
	return t.ReadAll(ctx, h, []resource.Item{i})[0]
}
