package postgresql

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{
	"Postgresql_psql": Psql(), "Postgresql_conf": Conf(), "Postgresql_conn_validator": ConnValidator(), "Postgresql_replication_slot": ReplicationSlot(),
}

// A site is a real server of PostgreSQL that listens on a socket in a temporary directory only. It runs as the user postgres.
type site struct {
	t    *testing.T
	dir  string // of the socket
	conf string
	bin  string
	host *resource.Host

	mu   sync.Mutex
	argv []string // of the programs that the last apply ran
}

func newSite(t *testing.T) *site {
	t.Helper()
	bins, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bins) == 0 {
		t.Fatal("no server of PostgreSQL. Run scripts/setup.sh")
	}
	dir, err := os.MkdirTemp("", "pg") // other users cannot enter the parent of t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &site{t: t, dir: dir, bin: bins[len(bins)-1]}
	data := filepath.Join(s.dir, "data")
	s.conf = filepath.Join(data, "postgresql.conf")
	if out, err := exec.CommandContext(t.Context(), "chown", "postgres", s.dir).CombinedOutput(); err != nil {
		t.Fatalf("chown: %s", out)
	}
	s.shell(s.bin + "/initdb --no-sync --locale=C -A trust -D " + data)
	s.shell(fmt.Sprintf("%s/pg_ctl -w -D %s -l %s/log -o \"-c listen_addresses= -c unix_socket_directories=%s -c fsync=off\" start", s.bin, data, s.dir, s.dir))
	t.Cleanup(func() {
		cmd := exec.Command("setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", s.bin+"/pg_ctl", "-m", "immediate", "-D", data, "stop")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("pg_ctl: %s", out)
		}
	})
	s.host = resource.NewHost()
	s.host.Env = []string{"PATH=" + s.bin + ":/usr/bin:/bin", "PGHOST=" + s.dir, "HOME=/nonexistent"}
	s.host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if filepath.Base(c.Argv[0]) == "psql" {
			s.mu.Lock()
			s.argv = append(s.argv, strings.Join(c.Argv, " "))
			s.mu.Unlock()
		}
		return resource.Exec(ctx, c)
	}
	return s
}

// shell runs a script as the user postgres.
func (s *site) shell(script string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "sh", "-ec", script)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), "PGHOST="+s.dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *site) query(sql string) string {
	s.t.Helper()
	return s.shell("psql -tAX <<'END'\n" + sql + "\nEND")
}

func (s *site) apply(noop bool, resources ...string) string {
	s.t.Helper()
	s.argv = nil
	return strings.TrimSpace(hosttest.Apply(s.t, s.host, types, noop, resources...))
}

func (s *site) want(what, got, want string) {
	s.t.Helper()
	if got != want {
		s.t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// step applies resources with noop, then really, then again.
func (s *site) step(want string, resources ...string) {
	s.t.Helper()
	s.want("noop", s.apply(true, resources...), strings.ReplaceAll(want, " changed ", " noop "))
	s.want("result", s.apply(false, resources...), want)
	s.want("again", s.apply(false, resources...), "")
}

// TestServer applies the types to a real server.
func TestServer(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name string
		f    func(*testing.T, *site)
	}{{"statements", statementSteps}, {"secrets", secretSteps}, {"refreshes", refreshSteps}, {"search path", pathSteps}, {"failures", failureSteps}, {"slots", slotSteps}, {"validator", validatorSteps}, {"settings", settingSteps}} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			c.f(t, s)
		})
	}
}

func statementSteps(_ *testing.T, s *site) {
	const db = `Postgresql_psql[CREATE DATABASE "d b"] {"unless":"SELECT 1 FROM pg_database WHERE datname = 'd b'"}`
	s.step(`Postgresql_psql[CREATE DATABASE "d b"] changed command(notrun -> CREATE DATABASE "d b")`, db)
	s.apply(true, db)
	s.want("command", strings.Join(s.argv, "\n"), s.bin+`/psql -t -X -c SELECT COUNT(*) FROM (SELECT 1 FROM pg_database WHERE datname = 'd b') count`)
	s.step(`Postgresql_psql[t] changed command(notrun -> CREATE TABLE t (a int); INSERT INTO t VALUES (1))`,
		`Postgresql_psql[t] {"command":"CREATE TABLE t (a int); INSERT INTO t VALUES (1)","db":"d b","unless":"SELECT 1 FROM pg_class WHERE relname = 't'"}`)
	s.step(`Postgresql_psql[more] changed command(notrun -> INSERT INTO t VALUES (2))`,
		`Postgresql_psql[more] {"command":"INSERT INTO t VALUES (2)","connect_settings":{"PGDATABASE":"d b"},"environment":"PGAPPNAME=x","port":5432,"onlyif":"SELECT 1 FROM t HAVING count(*) < 2"}`)
	// Each check is read when all resources before it have been applied.
	s.want("in order", s.apply(false, `Postgresql_psql[a] {"command":"CREATE ROLE x","unless":"SELECT 1 FROM pg_roles WHERE rolname = 'x'"}`,
		`Postgresql_psql[b] {"command":"CREATE ROLE x","unless":"SELECT 1 FROM pg_roles WHERE rolname = 'x'"}`), "Postgresql_psql[a] changed command(notrun -> CREATE ROLE x)")
	// Several statements are one transaction.
	if got := s.apply(false, `Postgresql_psql[two] {"command":"CREATE ROLE y; SELECT 1/0"}`); !strings.Contains(got, "psql: exit code 1: ERROR: division by zero") {
		s.t.Error(got)
	}
	s.want("transaction", s.query("SELECT count(*) FROM pg_roles WHERE rolname = 'y'"), "0")
}

// Secret SQL is neither an argument nor in a message, and means the same.
func secretSteps(t *testing.T, s *site) {
	const sql = `CREATE ROLE \"s'1\" PASSWORD 'top:secret\\\\x'; COMMENT ON ROLE \"s'1\" IS 'a\nb'`
	s.step(`Postgresql_psql[s] changed command([redacted] -> [redacted])`,
		`Postgresql_psql[s] {"command":{"sensitive":"`+sql+`"},"unless":{"sensitive":"SELECT 1 FROM pg_roles WHERE rolname = 's''1'"}}`)
	if len(s.argv) != 1 || strings.Contains(s.argv[0], "pg_roles") {
		t.Errorf("%q", s.argv)
	}
	s.want("comment", s.query("SELECT shobj_description(oid, 'pg_authid') FROM pg_authid WHERE rolname = 's''1'"), "a\nb")
	got := s.apply(false, `Postgresql_psql[two] {"command":{"sensitive":"CREATE ROLE y; SELECT 1/0 AS secret"}}`)
	if !strings.Contains(got, "psql: exit code 3. Its messages are not shown") || strings.Contains(got, "zero") {
		t.Error(got)
	}
	s.want("transaction", s.query("SELECT count(*) FROM pg_roles WHERE rolname = 'y'"), "0")
	s.step("Postgresql_psql[db] changed command(notrun -> [redacted])", `Postgresql_psql[db] {"command":"CREATE DATABASE secret","sensitive":true,"unless":"SELECT 1 FROM pg_database WHERE datname = 'secret'"}`)
	if got := s.apply(false, `Postgresql_psql[x] {"command":"SELECT 1","unless":{"sensitive":"SELECT nosuchsecret"}}`); !strings.Contains(got, "the check of the parameter unless failed: psql: exit code 3") || strings.Contains(got, "nosuchsecret") {
		t.Error(got)
	}
}

func refreshSteps(_ *testing.T, s *site) {
	s.query("CREATE TABLE r (a int)")
	const insert = `Postgresql_psql[r] {"command":"INSERT INTO r VALUES (1)","refreshonly":true,"unless":"SELECT 1 FROM r"}`
	s.want("no refresh", s.apply(false, insert), "")
	s.want("no process", fmt.Sprint(len(s.argv)), "0")
	s.want("refresh", s.apply(false, `Postgresql_psql[n] {"command":"SELECT 1","notify":"Postgresql_psql[r]"}`, insert), "Postgresql_psql[n] changed command(notrun -> SELECT 1)\nPostgresql_psql[r] changed refresh")
	s.want("rows", s.query("SELECT count(*) FROM r"), "1")
	s.apply(false, `Postgresql_psql[n] {"command":"SELECT 1","notify":"Postgresql_psql[r]"}`, insert)
	s.want("rows", s.query("SELECT count(*) FROM r"), "1")
}

func pathSteps(_ *testing.T, s *site) {
	s.query(`CREATE SCHEMA "S 1"`)
	s.step(`Postgresql_psql[p] changed command(notrun -> CREATE TABLE in_schema (a int))`,
		`Postgresql_psql[p] {"command":"CREATE TABLE in_schema (a int)","search_path":["\"S 1\"","PUBLIC"],"unless":"SELECT 1 FROM pg_tables WHERE tablename = 'in_schema' AND schemaname = current_schema()"}`)
	s.want("schema", s.query("SELECT schemaname FROM pg_tables WHERE tablename = 'in_schema'"), "S 1")
	s.want("quotes", schema(`a"; DROP TABLE x; --`), `"a""; drop table x; --"`)
}

func failureSteps(t *testing.T, s *site) {
	for text, want := range map[string]string{
		`Postgresql_psql[x] {"unless":"SELECT nosuch"}`:                      `the check of the parameter unless failed: psql: exit code 1: ERROR: column "nosuch" does not exist`,
		`Postgresql_psql[SELECT nosuch]`:                                     `failed: psql: exit code 1: ERROR: column "nosuch" does not exist`,
		`Postgresql_psql[x] {"psql_path":"/none/psql"}`:                      "the program /none/psql is missing. Install the client of PostgreSQL on the target",
		`Postgresql_psql[x] {"psql_path":"none"}`:                            "the program none is missing",
		`Postgresql_psql[x] {"psql_user":"nosuchuser"}`:                      `user "nosuchuser" does not exist`,
		`Postgresql_psql[x] {"port":1}`:                                      "psql: exit code 2",
		`Postgresql_conf[x] {"key":"a","value":1,"target":"/none/x.conf"}`:   "the file /none/x.conf does not exist",
		`Postgresql_psql[x] {"psql_path":"/bin/cat","unless":"SELECT 1"}`:    "failed: psql: exit code 1",
		`Postgresql_psql[x] {"psql_path":"/bin/echo","unless":"a\u001b[0m"}`: `instead of a number`,
	} {
		if got := s.apply(false, text); !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func slotSteps(t *testing.T, s *site) {
	s.step("Postgresql_replication_slot[one_1] changed postgresql_replication_slot_created\nPostgresql_replication_slot[two] changed postgresql_replication_slot_created",
		`Postgresql_replication_slot[one_1] {"ensure":"present"}`, `Postgresql_replication_slot[two] {"ensure":"present"}`, `Postgresql_replication_slot[three] {"ensure":"absent"}`)
	if len(s.argv) != 1 {
		t.Errorf("%q", s.argv)
	}
	s.want("slots", s.query("SELECT slot_name, slot_type FROM pg_replication_slots ORDER BY 1"), "one_1|physical\ntwo|physical")
	s.step("Postgresql_replication_slot[two] changed postgresql_replication_slot_removed", `Postgresql_replication_slot[two] {"ensure":"absent"}`)
}

func validatorSteps(t *testing.T, s *site) {
	s.want("answers", s.apply(false, `Postgresql_conn_validator[v] {"host":"`+s.dir+`","port":5432,"db_username":"postgres","db_name":"postgres","run_as":"postgres","db_password":{"sensitive":"pass"}}`), "")
	s.want("command", strings.Join(s.argv, "\n"), s.bin+"/psql --tuples-only --quiet --no-psqlrc --host "+s.dir+" --port 5432 --username postgres --dbname postgres --no-password --command SELECT 1")
	s.want("secret", s.apply(false, `Postgresql_conn_validator[v] {"run_as":"postgres","command":{"sensitive":"SELECT 'x'"},"tries":1}`), "")
	const none = `Postgresql_conn_validator[v] {"host":"/none","port":"5433","sleep":0,"tries":3}`
	s.want("noop", s.apply(true, none), "Postgresql_conn_validator[v] noop postgresql_conn_validator_created")
	s.want("no server", s.apply(false, none), "Postgresql_conn_validator[v] failed FAILED change of ensure from absent to present failed: cannot connect to the PostgreSQL server /none:5433")
	if len(s.argv) != 3 {
		t.Errorf("%q", s.argv)
	}
}

// settingSteps changes the file of a real server, and the server reads it.
func settingSteps(t *testing.T, s *site) {
	conf := func(key, params string) string {
		return fmt.Sprintf(`Postgresql_conf[%s] {"key":%q,"target":%q,%s}`, key, key, s.conf, params)
	}
	s.shell("echo \"work_mem = '8MB' # old\" >>" + s.conf)
	s.step("Postgresql_conf[max_connections] changed value(100 -> 50)\nPostgresql_conf[work_mem] changed value(8MB -> 16MB) comment(old -> new)\n"+
		"Postgresql_conf[DateStyle] changed value(iso, mdy -> it's, 'x')\nPostgresql_conf[app.x] changed postgresql_conf_created\nPostgresql_conf[lc_time] changed postgresql_conf_removed",
		conf("max_connections", `"value":50`), conf("work_mem", `"value":"16MB","comment":"new"`), conf("DateStyle", `"value":"it's, 'x'"`), conf("app.x", `"value":"a#b\\\\"`), conf("lc_time", `"ensure":"absent"`))
	s.step("Postgresql_conf[DateStyle] changed value(it's, 'x' -> iso, dmy)", conf("DateStyle", `"value":"iso, dmy"`))
	s.want("lines", s.shell("grep -E '^(max_conn|work_mem|datestyle|app|lc_time)' "+s.conf), "max_connections = 50\ndatestyle = 'iso, dmy'\nwork_mem = 16MB # new\napp.x = 'a#b\\\\'")
	s.shell(s.bin + "/pg_ctl -D " + filepath.Dir(s.conf) + " reload")
	s.want("the server", s.query(`SELECT name, setting, error FROM pg_file_settings WHERE name IN ('app.x', 'datestyle', 'max_connections') ORDER BY 1`),
		"app.x|a#b\\|\ndatestyle|iso, dmy|\nmax_connections|50|setting could not be applied")
	s.shell("printf 'work_mem 1' >>" + s.conf)
	if got := s.apply(false, conf("work_mem", `"value":"1"`)); !strings.Contains(got, "has the setting work_mem more than once") {
		t.Error(got)
	}
	info, err := os.Stat(s.conf)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Postgresql_psql[x] {"cwd":"tmp"}`:                                           "cwd must be an absolute path",
		`Postgresql_psql[x] {"port":"1 x"}`:                                          "port must be the number of a port",
		`Postgresql_psql[x] {"connect_settings":"PGHOST"}`:                           "connect_settings must be a hash",
		`Postgresql_psql[x] {"connect_settings":{"A B":"c"}}`:                        "connect_settings must be a hash of names",
		`Postgresql_psql[x] {"environment":["A"]}`:                                   "environment must be a list of NAME=value",
		`Postgresql_psql[x] {"refreshonly":"maybe"}`:                                 "refreshonly ",
		`Postgresql_conf[x] {"value":1,"target":"/x.conf"}`:                          "key must be the name of a setting",
		`Postgresql_conf[x] {"key":"a","value":1,"target":"x.conf"}`:                 "target must be an absolute path",
		`Postgresql_conf[x] {"key":"a","target":"/x.conf"}`:                          "value must be given",
		`Postgresql_conf[x] {"key":"a","value":"a\nb","target":"/x.conf"}`:           "value must be one line",
		`Postgresql_conf[x] {"key":"a","value":"C:\\","target":"/x.conf"}`:           "value must not have a single backslash",
		`Postgresql_conf[x] {"key":"a","value":"it\\'s","target":"/x.conf"}`:         "value must not have a single backslash",
		`Postgresql_conf[x] {"key":"a","value":"a\\\\\\","target":"/x.conf"}`:        "value must not have a single backslash",
		`Postgresql_conf[x] {"key":"a","value":1,"comment":"\n","target":"/x.conf"}`: "comment must be one line",
		`Postgresql_conn_validator[x] {"tries":0}`:                                   "tries must be a whole number of at least 1",
		`Postgresql_conn_validator[x] {"port":"x"}`:                                  "port must be a whole number",
		`Postgresql_conn_validator[x] {"ensure":"absent"}`:                           "ensure cannot be absent",
		`Postgresql_replication_slot[A-b]`:                                           "name must have only lower case letters",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types, false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestHangingPsql(t *testing.T) {
	h := resource.NewHost()
	h.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if strings.HasPrefix(filepath.Base(c.Argv[0]), "id") {
			return resource.Exec(ctx, c)
		}
		c.Argv, c.As, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, nil, 1
		return resource.Exec(ctx, c)
	}
	got := hosttest.Apply(t, h, types, false, `Postgresql_psql[x] {"psql_path":"/bin/sh","psql_user":"nobody","psql_group":"nogroup"}`, `Postgresql_replication_slot[x] {"ensure":"present"}`)
	if strings.Count(got, "psql: timed out") != 2 && !strings.Contains(got, "psql is missing") {
		t.Error(got)
	}
}

// FuzzLine writes a value and reads it again.
func FuzzLine(f *testing.F) {
	f.Add("a'b # c", "d")
	f.Add(`a\\'b\c\\`, `\`)
	f.Fuzz(func(t *testing.T, value, comment string) {
		parseLine(value)
		if strings.ContainsAny(value+comment, "\r\n\x00") || openQuote().MatchString(value) || strings.TrimSpace(value) != value || strings.TrimSpace(comment) != comment {
			return
		}
		x := &setting{key: "k", value: value, comment: &comment}
		l, ok := parseLine(x.text())
		if !ok || l.value != value || comment != "absent" && l.comment != comment || !slices.Contains([]string{"k"}, l.key) {
			t.Errorf("%q %q: %q %+v", value, comment, x.text(), l)
		}
	})
}
