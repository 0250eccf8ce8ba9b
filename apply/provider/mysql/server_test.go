package mysql

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
	"bolt/internal/roottest"
)

var types = map[string]resource.Type{
	"Mysql_user": User(), "Mysql_database": Database(), "Mysql_grant": Grant(), "Mysql_plugin": Plugin(), "Mysql_datadir": Datadir(),
}

// datadirResource is the data directory of the server of the tests.
const datadirResource = `Mysql_datadir[/srv/data] {"ensure":"present","user":"mysql","basedir":"/usr"}`

// server starts MariaDB in a disposable root. The data directory is a resource of mysql_datadir.
func server(t *testing.T) *providertest.Machine {
	t.Helper()
	m := providertest.New(t, "/", "mkdir -p /run/mysqld /srv/data; chown mysql /run/mysqld /srv/data; rm -f /root/.my.cnf; printf '[client]\nuser=root\n' >/root/.my.cnf", types)
	m.Want("noop", m.Apply(true, datadirResource), "Mysql_datadir[/srv/data] noop mysql_datadir_created")
	m.Want("created", m.Apply(false, datadirResource), "Mysql_datadir[/srv/data] changed mysql_datadir_created")
	m.Want("again", m.Apply(false, datadirResource), "Mysql_datadir[/srv/data] unchanged")
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	// O_DIRECT and native asynchronous writes do not exist in the memory file system of the root.
	cmd := exec.CommandContext(t.Context(), "chroot", m.Root, "/usr/sbin/mariadbd", "--no-defaults", "--user=mysql", "--datadir=/srv/data", "--skip-networking",
		"--socket=/run/mysqld/mysqld.sock", "--innodb-flush-method=fsync", "--innodb-use-native-aio=0", "--skip-name-resolve", "--plugin-dir=/usr/lib/mysql/plugin")
	cmd.Env, cmd.Stdout, cmd.Stderr = roottest.Env(), log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it can have ended by itself
		<-done
	})
	for {
		select {
		case <-done:
			done <- nil
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("mariadbd ended:\n%s", text)
		case <-time.After(50 * time.Millisecond):
		}
		ping := exec.CommandContext(t.Context(), "chroot", m.Root, "mariadb", "-NBe", "SELECT 1")
		ping.Env, ping.Stderr = roottest.Env(), io.Discard
		if ping.Run() == nil {
			return m
		}
	}
}

// sql runs a query as root of the server.
func sql(m *providertest.Machine, text string) string {
	return strings.TrimSpace(m.Shell("mariadb -NB <<'END'\n" + text + "\nEND\n"))
}

const (
	hashA = "*2470C0C06DEE42FD1618BBB99005ADCA2EC9D1E0"
	hashB = "*5D2E19393CC5EF67C88A4FE3B0C5B0E0E0C0A5D7"
)

// TestServer applies the types to a real server of MariaDB.
func TestServer(t *testing.T) {
	m := server(t)
	t.Run("databases", func(t *testing.T) { databaseSteps(t, m) })
	t.Run("users", func(t *testing.T) { userSteps(t, m) })
	t.Run("grants", func(t *testing.T) { grantSteps(t, m) })
	t.Run("killed", func(t *testing.T) { killedSteps(t, m) })
	t.Run("plugins", func(t *testing.T) { pluginSteps(t, m) })
	t.Run("purge", func(t *testing.T) { purgeSteps(t, m) })
	t.Run("refused", func(t *testing.T) { refusedSteps(t, m) })
}

func databaseSteps(t *testing.T, m *providertest.Machine) {
	const odd = "Mysql_database[q`x'\\y\"é]"
	m.Step([]string{"Mysql_database[a-b] changed mysql_database_created", odd + " changed mysql_database_created", "Mysql_database[plain] changed mysql_database_created"},
		`Mysql_database[a-b] {"ensure":"present"}`, odd+` {"ensure":"present","charset":"utf8mb4","collate":"utf8mb4_bin"}`,
		`Mysql_database[plain] {"ensure":"present","charset":"utf8mb4","collate":"utf8mb4_general_ci"}`)
	if len(m.Argv) != 1 || !strings.HasPrefix(m.Argv[0], "mysql --defaults-extra-file=/root/.my.cnf -NB < ") {
		t.Errorf("%q", m.Argv)
	}
	m.Want("databases", sql(m, "SET NAMES utf8mb4; SELECT schema_name, default_collation_name FROM information_schema.schemata WHERE schema_name IN ('a-b','plain') OR schema_name LIKE 'q%' ORDER BY 1"),
		"a-b\tutf8mb3_general_ci\nplain\tutf8mb4_general_ci\nq`x'\\\\y\"é\tutf8mb4_bin")
	m.Step([]string{"Mysql_database[plain] changed charset_changed collate_changed"}, `Mysql_database[plain] {"ensure":"present","charset":"latin1","collate":"latin1_bin"}`)
	m.Step([]string{odd + " changed mysql_database_removed"}, odd+` {"ensure":"absent"}`)
	// A server with another mode still gets the names.
	sql(m, "SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
	m.Step([]string{odd + " changed mysql_database_created"}, odd+` {"ensure":"present"}`)
	sql(m, "SET GLOBAL sql_mode = DEFAULT")
	m.Step([]string{odd + " changed mysql_database_removed"}, odd+` {"ensure":"absent"}`)
}

func userSteps(t *testing.T, m *providertest.Machine) {
	joe := `Mysql_user[joe@LocalHost] {"ensure":"present","password_hash":{"sensitive":"` + hashA + `"}`
	odd := "Mysql_user[a'b\\@c@%]"
	m.Step([]string{"Mysql_user[joe@LocalHost] changed mysql_user_created", odd + " changed mysql_user_created", "Mysql_user[ed@localhost] changed mysql_user_created"},
		joe+"}", odd+` {"ensure":"present","max_user_connections":3,"max_queries_per_hour":"4","tls_options":["SUBJECT '/CN=x\"'","ISSUER '/C=a''b'"]}`,
		`Mysql_user[ed@localhost] {"ensure":"present","plugin":"unix_socket"}`)
	query := "SELECT user, host, plugin, authentication_string, max_user_connections, max_questions, ssl_type, x509_issuer, x509_subject FROM mysql.user WHERE user IN ('joe','ed') OR user LIKE 'a%' ORDER BY 1"
	m.Want("users", sql(m, query), "a'b\\\\@c\t%\tmysql_native_password\t\t3\t4\tSPECIFIED\t/C=a'b\t/CN=x\"\ned\tlocalhost\tunix_socket\t\t0\t0\t\t\t\njoe\tlocalhost\tmysql_native_password\t"+hashA+"\t0\t0\t\t\t")
	m.Step([]string{"Mysql_user[joe@localhost] changed password_hash_changed max_updates_per_hour_changed tls_options_changed"},
		`Mysql_user[joe@localhost] {"ensure":"present","password_hash":"`+hashB+`","max_updates_per_hour":7,"tls_options":"SSL"}`)
	m.Step([]string{"Mysql_user[joe@localhost] changed password_hash_changed plugin_changed tls_options_changed"},
		`Mysql_user[joe@localhost] {"ensure":"present","password_hash":"","plugin":"unix_socket","tls_options":"NONE"}`)
	m.Step([]string{"Mysql_user[joe@localhost] changed password_hash_changed plugin_changed"},
		`Mysql_user[joe@localhost] {"ensure":"present","password_hash":"`+hashA+`","plugin":"mysql_native_password"}`)
	m.Step([]string{odd + " changed mysql_user_removed"}, odd+` {"ensure":"absent"}`)
}

func grantSteps(t *testing.T, m *providertest.Machine) {
	sql(m, "CREATE DATABASE IF NOT EXISTS my; CREATE TABLE my.t (a INT, b INT); CREATE PROCEDURE my.p() SELECT 1; CREATE USER u@localhost; CREATE USER v@localhost; CREATE ROLE r; GRANT r TO v@localhost")
	const to = `,"user":"u@localhost"}`
	m.Step([]string{
		"Mysql_grant[u@localhost/my.*] changed mysql_grant_created", "Mysql_grant[u@localhost/my.t] changed mysql_grant_created",
		"Mysql_grant[u@localhost/*.*] changed privileges_changed options_changed", "Mysql_grant[u@localhost/PROCEDURE my.p] changed mysql_grant_created",
		"Mysql_grant[u@localhost/v@localhost] changed mysql_grant_created", `Mysql_grant[u@localhost/o\_d-d.*] changed mysql_grant_created`,
	},
		`Mysql_grant[u@localhost/my.*] {"ensure":"present","privileges":["select","UPDATE","GRANT"],"table":"my.*"`+to,
		"Mysql_grant[u@localhost/my.t] {\"ensure\":\"present\",\"privileges\":[\"insert(b, a)\",\"SELECT (b)\",\"DELETE\"],\"table\":\"`my`.t\""+to,
		`Mysql_grant[u@localhost/*.*] {"ensure":"present","privileges":["ALL","SELECT"],"options":["GRANT"],"table":"*.*"`+to,
		`Mysql_grant[u@localhost/PROCEDURE my.p] {"ensure":"present","privileges":"EXECUTE","table":"PROCEDURE my.p"`+to,
		`Mysql_grant[u@localhost/v@localhost] {"ensure":"present","privileges":"PROXY","table":"v@localhost"`+to,
		`Mysql_grant[u@localhost/o\_d-d.*] {"ensure":"present","privileges":"ALL","table":"o\\_d-d.*"`+to)
	if len(m.Argv) != 2 {
		t.Errorf("%q", m.Argv)
	}
	m.Want("grants", sql(m, "SHOW GRANTS FOR u@localhost"), "GRANT ALL PRIVILEGES ON *.* TO `u`@`localhost` WITH GRANT OPTION\n"+
		"GRANT SELECT, UPDATE ON `my`.* TO `u`@`localhost`\nGRANT ALL PRIVILEGES ON `o\\\\_d-d`.* TO `u`@`localhost`\n"+
		"GRANT SELECT (`b`), INSERT (`a`, `b`), DELETE ON `my`.`t` TO `u`@`localhost`\nGRANT EXECUTE ON PROCEDURE `my`.`p` TO `u`@`localhost`\nGRANT PROXY ON 'v'@'localhost' TO 'u'@'localhost'")
	m.Step([]string{"Mysql_grant[u@localhost/my.*] changed privileges_changed options_changed", "Mysql_grant[u@localhost/*.*] changed privileges_changed options_changed",
		"Mysql_grant[u@localhost/my.t] changed privileges_changed"},
		`Mysql_grant[u@localhost/my.*] {"ensure":"present","privileges":["SELECT","INSERT"],"options":["GRANT"],"table":"my.*"`+to,
		`Mysql_grant[u@localhost/*.*] {"ensure":"present","privileges":["SHUTDOWN"],"options":"NONE","table":"*.*"`+to,
		`Mysql_grant[u@localhost/my.t] {"ensure":"present","privileges":["INSERT (a)","SELECT"],"table":"my.t"`+to)
	m.Want("grants", sql(m, "SHOW GRANTS FOR u@localhost"), "GRANT SHUTDOWN ON *.* TO `u`@`localhost`\nGRANT SELECT, INSERT ON `my`.* TO `u`@`localhost` WITH GRANT OPTION\n"+
		"GRANT ALL PRIVILEGES ON `o\\\\_d-d`.* TO `u`@`localhost`\nGRANT SELECT, INSERT (`a`) ON `my`.`t` TO `u`@`localhost`\nGRANT EXECUTE ON PROCEDURE `my`.`p` TO `u`@`localhost`\nGRANT PROXY ON 'v'@'localhost' TO 'u'@'localhost'")
	m.Step([]string{"Mysql_grant[u@localhost/my.*] changed mysql_grant_removed", "Mysql_grant[u@localhost/*.*] changed mysql_grant_removed", "Mysql_grant[u@localhost/v@localhost] changed mysql_grant_removed"},
		`Mysql_grant[u@localhost/my.*] {"ensure":"absent","privileges":["SELECT"],"table":"my.*"`+to, `Mysql_grant[u@localhost/*.*] {"ensure":"absent"}`,
		`Mysql_grant[u@localhost/v@localhost] {"ensure":"absent","privileges":"PROXY","table":"v@localhost"`+to)
	m.Want("no user", m.Apply(false, `Mysql_grant[none@localhost/my.*] {"ensure":"present","privileges":["SELECT"],"table":"my.*","user":"none@localhost"}`),
		"Mysql_grant[none@localhost/my.*] failed mysql_grant_created: change of ensure from absent to present failed: the user none@localhost does not exist")
	m.Want("none", sql(m, "SELECT COUNT(*) FROM mysql.user WHERE user = 'none'"), "0")
}

// killedSteps stops a change of several statements before the last statement, as a run that is killed does. The next run completes it.
func killedSteps(t *testing.T, m *providertest.Machine) {
	sql(m, "CREATE USER k@localhost; GRANT ALL ON my.* TO k@localhost WITH GRANT OPTION")
	const params = `"table":"my.*","user":"k@localhost"}`
	ref := "Mysql_grant[k@localhost/my.*]"
	run := m.Host.Run
	kill := func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if !c.Session {
			return run(ctx, c)
		}
		cut := *c
		statements := strings.SplitAfter(strings.TrimSpace(string(c.Stdin)), ";\n")
		if len(statements) < 4 { // the first two prepare
			t.Errorf("%q", statements)
		}
		cut.Stdin = []byte(strings.Join(statements[:len(statements)-1], ""))
		if _, err := run(ctx, &cut); err != nil {
			return nil, err
		}
		return nil, context.Canceled
	}
	for want, params := range map[string]string{
		"GRANT USAGE ON *.* TO `k`@`localhost`\nGRANT SELECT ON `my`.* TO `k`@`localhost` WITH GRANT OPTION": `{"ensure":"present","privileges":["SELECT"],` + params,
		"GRANT USAGE ON *.* TO `k`@`localhost`": `{"ensure":"absent",` + params,
	} {
		sql(m, "GRANT ALL ON my.* TO k@localhost WITH GRANT OPTION")
		m.Host.Run = kill
		if got := m.Apply(false, ref+" "+params); !strings.Contains(got, "failed") {
			t.Error(got)
		}
		m.Host.Run = run
		if got := m.Apply(false, ref+" "+params); !strings.Contains(got, "changed") {
			t.Error(got)
		}
		m.Want("again", m.Apply(false, ref+" "+params), ref+" unchanged")
		m.Want("grants", sql(m, "SHOW GRANTS FOR k@localhost"), want)
	}
}

func pluginSteps(t *testing.T, m *providertest.Machine) {
	const ref = "Mysql_plugin[simple_password_check]"
	m.Step([]string{ref + " changed mysql_plugin_created"}, ref+` {"ensure":"present"}`)
	m.Want("library", m.Apply(false, ref+` {"soname":"other.so"}`), ref+" failed: the plugin is installed from the library simple_password_check.so. Remove it with ensure => absent first")
	m.Step([]string{ref + " changed mysql_plugin_removed"}, ref+` {"ensure":"absent"}`)
	if got := m.Apply(false, `Mysql_plugin[p] {"soname":"nothing.so"}`); !strings.Contains(got, "mysql: ERROR 1126 (HY000): Can't open shared library") {
		t.Error(got)
	}
}

// purgeSteps checks the lists of the server's users, databases and grants.
func purgeSteps(t *testing.T, m *providertest.Machine) {
	for name, want := range map[string]string{"Mysql_user": "joe@localhost", "Mysql_database": "plain", "Mysql_grant": `u@localhost/o\_d-d.*`} {
		list, err := m.Types[name].(resource.Lister).List(t.Context(), m.Host)
		if err != nil || !slices.ContainsFunc(list, func(r *resource.Resource) bool {
			removed := *r
			removed.Params = r.Params.Clone()
			removed.Params.Set("ensure", "absent")
			_, err := m.Types[name].New(&removed)
			return r.Title == want && err == nil
		}) {
			t.Errorf("%s: %v, %v", name, list, err)
		}
	}
}

// refusedSteps are changes that the server refuses. Messages about statements with a hash are not shown.
func refusedSteps(t *testing.T, m *providertest.Machine) {
	sql(m, "CREATE USER w@localhost; GRANT ALL ON my.* TO w@localhost")
	if got := m.Apply(false, `Mysql_grant[w@localhost/my.*] {"ensure":"present","privileges":["SELEKT"],"table":"my.*","user":"w@localhost"}`); !strings.Contains(got, "mysql: ERROR 1064") {
		t.Error(got)
	}
	m.Want("all rights stay", sql(m, "SHOW GRANTS FOR w@localhost"), "GRANT USAGE ON *.* TO `w`@`localhost`\nGRANT ALL PRIVILEGES ON `my`.* TO `w`@`localhost`")
	got := m.Apply(false, `Mysql_user[bad@localhost] {"ensure":"present","password_hash":"*not a hash"}`)
	if !strings.Contains(got, "mysql: error 1372. The message is not shown") || strings.Contains(got, "not a hash") {
		t.Error(got)
	}
	if got = m.Apply(false, `Mysql_database[d] {"ensure":"present","charset":"none"}`); !strings.Contains(got, "Unknown character set: 'none'") {
		t.Error(got)
	}
	m.Write("root/.my.cnf", "[client]\nuser=root\nsocket=/none\n", 0o600)
	if got = m.Apply(false, `Mysql_grant[u@localhost/my.*] {"ensure":"present","privileges":["SELECT"],"table":"my.*","user":"u@localhost"}`); !strings.Contains(got, "mysql: ERROR 2002 (HY000): Can't connect") {
		t.Error(got)
	}
}

// dump returns the databases, users and grants of a server that the tests make.
func dump(m *providertest.Machine) string {
	text := sql(m, "SELECT schema_name, default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name IN ('a-b', 'plain') ORDER BY 1;"+
		"SELECT user, host, plugin, authentication_string, max_user_connections, max_questions, ssl_type, x509_issuer, x509_subject FROM mysql.user WHERE user IN ('joe', 'ed', 'a@b') ORDER BY 1")
	for _, user := range []string{"joe", "ed"} {
		text += "\n" + sql(m, "SHOW GRANTS FOR "+user+"@localhost")
	}
	return text
}
