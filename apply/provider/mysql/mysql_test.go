package mysql

import (
	"context"
	"strings"
	"testing"

	"bolt/apply/provider/providertest"
	"bolt/apply/provider/purge"
	"bolt/apply/resource"
)

const (
	someUser     = `Mysql_user[a@b] {"ensure":"present","password_hash":{"sensitive":"*SECRET"}}`
	someGrant    = `Mysql_grant[a@b/c.*] {"ensure":"present","privileges":["SELECT"],"table":"c.*","user":"a@b"}`
	someDatabase = `Mysql_database[c] {"ensure":"present"}`
	columnsText  = "Host\tUser\tPassword\tssl_type\tssl_cipher\tx509_issuer\tx509_subject\tmax_questions\tmax_updates\tmax_connections\tmax_user_connections\tplugin\tauthentication_string\n"
)

func answer(begin, text string) providertest.Answer {
	return providertest.Answer{Begin: begin, Out: resource.Output{Stdout: []byte(text)}}
}

func TestCredentials(t *testing.T) {
	m := providertest.Scripted(t, "mariadb", types)
	m.Apply(true, someDatabase)
	if got := strings.Join(m.Argv, "\n"); !strings.HasPrefix(got, "mariadb -NB < SET NAMES") {
		t.Error(got)
	}
	m.Write("root/.my.cnf", "", 0o600)
	m.Write("root/.mylogin.cnf", "", 0o600)
	var env []string
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		env = c.Env
		return run(ctx, c)
	}
	m.Apply(true, someDatabase)
	if got := strings.Join(m.Argv, "\n"); !strings.HasPrefix(got, "mariadb -NB < ") || env[len(env)-1] != "MYSQL_TEST_LOGIN_FILE=/root/.mylogin.cnf" {
		t.Error(got, env)
	}
}

// A hash is neither an argument nor in a message.
func TestSecrets(t *testing.T) {
	m := providertest.Scripted(t, "mysql", types, answer("mysql -B", columnsText), providertest.Answer{Begin: "mysql -NB",
		Out: resource.Output{Code: 1, Stderr: []byte("ERROR 1064 (42000) at line 3: You have an error near '*SECRET'\n")}})
	m.Want("refused", m.Apply(false, someUser), "Mysql_user[a@b] failed mysql_user_created: change of ensure from absent to present failed: mysql: error 1064. The message is not shown, because the statement has a secret")
	if got := m.Argv[len(m.Argv)-1]; strings.Contains(strings.SplitN(got, " < ", 2)[0], "SECRET") || !strings.Contains(got, "AS '*SECRET'") {
		t.Error(got)
	}
}

func TestFailures(t *testing.T) {
	m := providertest.Scripted(t, "", types)
	const missing = " failed: the program mysql is missing. Install the client of MySQL or MariaDB on the target"
	m.Want("no client", m.Apply(false, someUser, someDatabase, `Mysql_plugin[p]`),
		"Mysql_database[c]"+missing+"\nMysql_plugin[p]"+missing+"\nMysql_user[a@b]"+missing)
	m.Want("no client", m.Apply(false, someGrant), "Mysql_grant[a@b/c.*]"+missing)
	m.Want("no server", m.Apply(false, `Mysql_datadir[/none]`),
		"Mysql_datadir[/none] failed mysql_datadir_created: change of ensure from absent to present failed: the program mysqld is missing. Install the server of MySQL or MariaDB on the target")

	m = providertest.Scripted(t, "mysql", types, answer("mysql", "\x00\xff\x1b[31m\nx\ty\tz\tw\n"))
	for _, r := range []string{someUser, someGrant, someDatabase} {
		if got := m.Apply(false, r); !strings.Contains(got, " failed: ") || strings.ContainsAny(got, "\x00\x1b") {
			t.Errorf("%q", got)
		}
	}
	m = providertest.Scripted(t, "mysql", types, answer("mysql -B", "User\tHost\n"))
	if got := m.Apply(false, someUser); !strings.Contains(got, "no column plugin. The types need MySQL 5.7.6 or MariaDB 10.2") {
		t.Error(got)
	}
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, someDatabase), "Mysql_database[c] failed: mysql: timed out")
}

// Users without grants are read like users that do not exist; other errors of SHOW GRANTS fail.
func TestGrantsThatCannotBeRead(t *testing.T) {
	read := func(code string) string {
		m := providertest.Scripted(t, "mysql", types, answer("mysql -NB < ", "a\tb\n"), providertest.Answer{Begin: "mysql -NB --force",
			Out: resource.Output{Code: 1, Stderr: []byte("ERROR " + code + " (42000) at line 3: There is no such grant\x1b\n")}})
		return m.Apply(true, someGrant)
	}
	if got := read("1141"); got != "Mysql_grant[a@b/c.*] noop mysql_grant_created" {
		t.Error(got)
	}
	if got := read("1142"); got != "Mysql_grant[a@b/c.*] failed: mysql: ERROR 1142 (42000): There is no such grant" {
		t.Errorf("%q", got)
	}
	if got := read("2013"); !strings.Contains(got, "failed: mysql: ERROR 2013") {
		t.Error(got)
	}
}

// A purge keeps all objects that the catalog has in any form, and all objects that the server needs.
func TestPurge(t *testing.T) {
	row := func(host, user string) string {
		return host + "\t" + user + strings.Repeat("\t", 6) + strings.Repeat("0\t", 4) + "mysql_native_password\t\n"
	}
	system := []string{"root", "mysql", "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "debian-sys-maint"}
	accounts, names, held := columnsText, "", ""
	for _, user := range system {
		accounts += row("localhost", user)
		names += user + "\tlocalhost\n"
		held += "GRANT ALL PRIVILEGES ON *.* TO `" + user + "`@`localhost`\n"
	}
	accounts += row("localhost", "web-app") + row("web01.example.com", "u") + row("localhost", "'q'") + row("%", "root")
	names += "web-app\tlocalhost\nu\tweb01.example.com\n"
	held += "GRANT USAGE ON *.* TO `web-app`@`localhost`\nGRANT SELECT ON `mydb`.* TO `web-app`@`localhost`\n" +
		"GRANT SELECT ON `other`.* TO `web-app`@`localhost`\nGRANT PROCESS ON *.* TO `u`@`web01.example.com`\n"
	m := providertest.Scripted(t, "mysql", map[string]resource.Type{"Mysql_user": User(), "Mysql_database": Database(), "Mysql_grant": Grant()},
		answer("mysql -NB --force", held), answer("mysql -B ", accounts))
	m.Types["Resources"] = purge.Type(m.Types)
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if strings.Contains(string(c.Stdin), "SCHEMATA") {
			return &resource.Output{Stdout: []byte("mysql\tx\tx\nsys\tx\tx\ninformation_schema\tx\tx\nperformance_schema\tx\tx\nmydb\tutf8mb3\tutf8mb3_general_ci\nold\tx\tx\n")}, nil
		}
		if strings.Contains(string(c.Stdin), "SELECT User, Host") {
			return &resource.Output{Stdout: []byte(names)}, nil
		}
		return run(ctx, c)
	}
	for name, c := range map[string]struct {
		declared []string
		want     string // the lines about resources that are not declared
	}{
		"mysql_user":     {[]string{`Mysql_user['web-app'@localhost] {}`, `Mysql_user[x] {"name":"u@Web01.Example.com"}`}, "Mysql_user[root@%] noop mysql_user_removed"},
		"mysql_database": {[]string{`Mysql_database[MyDB] {}`}, "Mysql_database[old] noop mysql_database_removed"},
		"mysql_grant": {[]string{
			`Mysql_grant['web-app'@'localhost'/MyDB.*] {"user":"'web-app'@localhost","table":"MyDB.*","privileges":"SELECT"}`,
			`Mysql_grant[u@web01.example.com/*.*] {"user":"u@Web01.Example.com","table":"*.*","privileges":"PROCESS"}`,
		}, "Mysql_grant[web-app@localhost/other.*] noop mysql_grant_removed"},
	} {
		var removed []string
		for line := range strings.Lines(m.Apply(true, append(c.declared, `Resources[`+name+`] {"purge":true}`)...)) {
			if strings.HasSuffix(strings.TrimSpace(line), "_removed") || strings.Contains(line, "refused") || strings.Contains(line, "failed") {
				removed = append(removed, strings.TrimSpace(line))
			}
		}
		m.Want(name, strings.Join(removed, "\n"), c.want)
	}
}

// MySQL 8 prints all privileges instead of ALL PRIVILEGES, in two lines. As recorded from its documentation.
func TestAllOfMySQL8(t *testing.T) {
	lines := "GRANT " + strings.Join(statics, ", ") + " ON *.* TO `a`@`b` WITH GRANT OPTION\nGRANT APPLICATION_PASSWORD_ADMIN,AUDIT_ADMIN ON *.* TO `a`@`b` WITH GRANT OPTION\n"
	m := providertest.Scripted(t, "mysql", types, answer("mysql -NB < ", "a\tb\n"), answer("mysql -NB --force", lines))
	m.Want("all", m.Apply(false, `Mysql_grant[a@b/*.*] {"ensure":"present","privileges":["ALL"],"options":["GRANT"],"table":"*.*","user":"a@b"}`), "Mysql_grant[a@b/*.*] unchanged")
}

// MySQL makes a data directory with the server itself.
func TestDatadirOfMySQL(t *testing.T) {
	m := providertest.Scripted(t, "mysqld", types, answer("mysqld --version", "mysqld  Ver 8.0.40 for Linux on x86_64 (MySQL Community Server - GPL)\n"))
	m.Write("etc/x.cnf", "", 0o644)
	m.Want("created", m.Apply(false, `Mysql_datadir[/d] {"defaults_extra_file":"/etc/x.cnf","log_error":"/l","insecure":false}`), "Mysql_datadir[/d] changed mysql_datadir_created")
	m.Want("command", m.Argv[1], "mysqld --defaults-extra-file=/etc/x.cnf --datadir=/d --user=mysql --log-error=/l --initialize")
}

func TestRefused(t *testing.T) {
	m := providertest.Scripted(t, "mysql", types)
	for text, want := range map[string]string{
		`Mysql_user[joe]`: "name must be a user and a host",
		`Mysql_user[a@b] {"max_updates_per_hour":"1 x"}`:                                     "max_updates_per_hour must be a whole number",
		`Mysql_user[a@b] {"plugin":"x'y"}`:                                                   "plugin must be a word",
		`Mysql_user[a@b] {"tls_options":["SSL","X509"]}`:                                     "tls_options can have NONE, SSL or X509 only",
		`Mysql_user[a@b] {"tls_options":["CIPHER 'a' OR 1"]}`:                                "tls_options must be NONE",
		`Mysql_user[a@b] {"tls_options":["ISSUER 'a\\'"]}`:                                   "tls_options must be NONE",
		`Mysql_user[a@b] {"password_hash":{"sensitive":"x\u0000y"}}`:                         "password_hash must not have a NUL character",
		`Mysql_database[d] {"charset":"utf8; DROP"}`:                                         "charset must be a word",
		`Mysql_database[d] {"collate":"a b"}`:                                                "collate must be a word",
		`Mysql_database[d] {"name":""}`:                                                      "name must be the name of a database",
		`Mysql_grant[x] {"privileges":"ALL","table":"a.*","user":"u@h"}`:                     `name must be user@host/table, here "u@h/a.*"`,
		`Mysql_grant[u@h/a] {"privileges":"ALL","table":"a","user":"u@h"}`:                   "table must be such as",
		`Mysql_grant[u@h/*.a] {"privileges":"ALL","table":"*.a","user":"u@h"}`:               "table must be such as",
		`Mysql_grant[u@h/a.*] {"table":"a.*","user":"u@h"}`:                                  "privileges must be given",
		`Mysql_grant[u@h/a.*] {"privileges":["SELECT; DROP"],"table":"a.*","user":"u@h"}`:    "privileges must be privileges",
		`Mysql_grant[u@h/a@b] {"privileges":["PROXY","SELECT"],"table":"a@b","user":"u@h"}`:  "privileges can have PROXY only",
		`Mysql_grant[u@h/a.*] {"privileges":"ALL","table":"a.*","user":"u@h","options":"X"}`: "options must be GRANT or NONE",
		`Mysql_plugin[a b]`:                              "name must be a word",
		`Mysql_plugin[a] {"soname":"../x.so"}`:           "soname must be the name of a library",
		`Mysql_datadir[data]`:                            "datadir must be an absolute path",
		`Mysql_datadir[/d] {"ensure":"absent"}`:          "ensure cannot be absent",
		`Mysql_datadir[/d] {"defaults_extra_file":"/x"}`: "defaults_extra_file must end with .cnf",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, "refused: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAccounts(t *testing.T) {
	for text, want := range map[string]string{
		"joe@LocalHost":          "`joe`@`localhost`",
		"@localhost":             "``@`localhost`",
		"a@b@10.0.0.0/255.0.0.0": "`a@b`@`10.0.0.0/255.0.0.0`",
		"'a b'@%":                "`a b`@`%`",
		"`a-b`@h":                "`a-b`@`h`",
		"a-b@h":                  "`a-b`@`h`",
		"joe":                    "",
		"'a@h":                   "",
		"a@":                     "",
		"a\n@h":                  "",
	} {
		a, ok := parseAccount(text)
		got := name(a.user) + "@" + name(a.host)
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzGrant reads lines as SHOW GRANTS prints them.
func FuzzGrant(f *testing.F) {
	f.Add("GRANT SELECT (`a`, b), UPDATE ON `d``x`.`t` TO 'u''v'@'%' WITH GRANT OPTION")
	f.Add("GRANT PROXY ON ''@'%' TO \"root\"@localhost")
	f.Add("GRANT `r` TO `u`@`h`")
	f.Fuzz(func(t *testing.T, line string) {
		k, have, ok := parseGrant(line)
		if ok && strings.Contains(k.table, "`") {
			t.Errorf("%q: %+v %+v", line, k, have)
		}
		parse([]byte(line))
	})
}

// FuzzQuote checks that a quoted string is one string.
func FuzzQuote(f *testing.F) {
	f.Add(`a'b\c`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "\x00") {
			return
		}
		if part, rest, ok := quotedPart(str(text)); !ok || rest != "" || part != text {
			t.Errorf("%q: %q %q", text, part, rest)
		}
		if part, rest, ok := quotedPart(name(text)); !ok || rest != "" || part != text {
			t.Errorf("%q: %q %q", text, part, rest)
		}
	})
}
