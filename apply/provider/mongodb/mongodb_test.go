package mongodb

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

const command1 = "mongosh mongodb://127.0.0.1:27017/admin --quiet --norc --file /proc/self/fd/3"

func TestUsers(t *testing.T) {
	m, s := newServer(t)
	s.noise = "a warning: bolt-result:{}\n\x1b[31m\xff\n"
	hash := passwordHash("dan", "secret1")
	m.Step([]string{"Mongodb_user[User dan on db shop] changed mongodb_user_created", "Mongodb_user[eve] changed mongodb_user_created", "Mongodb_user[kim] changed mongodb_user_created"},
		`Mongodb_user[User dan on db shop] {"username":"dan","database":"shop","password_hash":"`+hash+`","roles":["readWrite","read@other","dbAdmin@shop"]}`,
		`Mongodb_user[eve] {"database":"shop","password":{"sensitive":"secret2"}}`,
		`Mongodb_user[kim] {"database":"admin","password":{"sensitive":"secret3"},"auth_mechanism":"scram_sha_256","update_password":true,"roles":[]}`)
	if len(s.users) != 3 || s.users["shop.dan"].Credentials[sha1Name].StoredKey == "" || s.users["admin.kim"].Credentials[sha256Name].StoredKey == "" {
		t.Errorf("%v", s.users)
	}
	m.Want("roles", fmt.Sprint(s.users["shop.dan"].Roles, s.users["shop.eve"].Roles, s.users["admin.kim"].Roles), "[{read other} {dbAdmin shop} {readWrite shop}] [{dbAdmin shop}] []")
	m.Step([]string{"Mongodb_user[dan] changed roles_changed password_hash_changed", "Mongodb_user[eve] changed password_changed", "Mongodb_user[kim] changed password_changed"},
		`Mongodb_user[dan] {"database":"shop","password_hash":"abc","roles":["read","readWrite"]}`, `Mongodb_user[eve] {"database":"shop","password":"secret4"}`,
		`Mongodb_user[kim] {"database":"admin","password":"secret5","auth_mechanism":"scram_sha_256","update_password":true,"roles":[]}`)
	m.Want("roles", fmt.Sprint(s.users["shop.dan"].Roles), "[{readWrite shop} {read shop}]")
	m.Want("not compared", m.Apply(false, `Mongodb_user[kim] {"database":"admin","password":"other","auth_mechanism":"scram_sha_256","roles":[]}`, `Mongodb_user[dan] {"database":"shop","roles":[]}`),
		"Mongodb_user[dan] unchanged\nMongodb_user[kim] unchanged")
	m.Want("one query", strings.Join(m.Argv, "\n"), command1)
	m.Step([]string{"Mongodb_user[dan] changed mongodb_user_removed"}, `Mongodb_user[dan] {"database":"shop","ensure":"absent"}`)
	m.Want("no password", m.Apply(false, `Mongodb_user[new] {"database":"shop"}`), "Mongodb_user[new] failed mongodb_user_created: change of ensure from absent to present failed: a new user needs the parameter password_hash or password")
}

func TestDatabases(t *testing.T) {
	m, s := newServer(t)
	m.Step([]string{"Mongodb_database[a] changed mongodb_database_created", "Mongodb_database[b-2] changed mongodb_database_created"}, `Mongodb_database[a]`, `Mongodb_database[b-2] {"tries":3}`)
	m.Step([]string{"Mongodb_database[a] changed mongodb_database_removed"}, `Mongodb_database[a] {"ensure":"absent"}`)
	m.Want("databases", fmt.Sprint(s.databases), "map[admin:true b-2:true]")
	m.Want("command", s.scripts[len(s.scripts)-2], `var input = {"jobs":[[{"db":"a","command":{"dropDatabase":1}}]]};`)
}

// TestSecondary: only the primary member of a replica set can be changed.
func TestSecondary(t *testing.T) {
	m, s := newServer(t)
	s.secondary = true
	m.Want("result", m.Apply(false, `Mongodb_database[a]`, `Mongodb_user[u] {"database":"a","password":"p"}`), "Mongodb_database[a] unchanged\nMongodb_user[u] unchanged")
	const warning = " warning: The server is not the primary member of its replica set, so the resource is not compared"
	slices.Sort(m.Logs)
	m.Want("logs", strings.Join(m.Logs, "\n"), "Mongodb_database[a]"+warning+"\nMongodb_user[u]"+warning)
}

// TestFirstUser: the first user is made before anybody can log in.
func TestFirstUser(t *testing.T) {
	m, s := newServer(t)
	s.denied = true
	const user = `Mongodb_user[admin] {"database":"admin","password":"p"}`
	m.Want("without authorization", m.Apply(true, user), "Mongodb_user[admin] failed: MongoDB: error 13 (Unauthorized): Command find requires authentication")
	m.Write("etc/mongod.conf", "security:\n  authorization: enabled\n", 0o600)
	m.Want("first user", m.Apply(false, user), "Mongodb_user[admin] changed mongodb_user_created")
	m.Want("log", strings.Join(m.Logs, "\n"), "Mongodb_user[admin] warning: The server does not allow bolt to read its users. bolt assumes that the first user must still be made")
	m.Want("database", m.Apply(true, `Mongodb_database[a]`), "Mongodb_database[a] failed: MongoDB: error 13 (Unauthorized): Command find requires authentication")
}

// TestKilled: a run that is killed between two changes is completed by the next run.
func TestKilled(t *testing.T) {
	m, s := newServer(t)
	m.Apply(false, `Mongodb_user[u] {"database":"a","password":"p","roles":["read"]}`)
	const user = `Mongodb_user[u] {"database":"a","password":"q","roles":["readWrite"]}`
	s.dies = 1
	const failed = " failed: mongosh has failed. Its messages are not shown, because the command has a secret"
	m.Want("killed", m.Apply(false, user), "Mongodb_user[u] failed roles_changed: change of roles from read to readWrite"+failed)
	m.Want("roles", fmt.Sprint(s.users["a.u"].Roles), "[{read a} {readWrite a}]")
	m.Want("next run", m.Apply(false, user), "Mongodb_user[u] changed roles_changed password_changed")
	m.Want("again", m.Apply(false, user), "Mongodb_user[u] unchanged")
	m.Want("roles", fmt.Sprint(s.users["a.u"].Roles), "[{readWrite a}]")
}

// TestBatch: one script makes all changes, and a failure concerns one resource only.
func TestBatch(t *testing.T) {
	m, s := newServer(t)
	m.Want("result", m.Apply(false, `Mongodb_user[a] {"database":"x","password":"p"}`, `Mongodb_user[b] {"database":"x","password":"p","roles":["none"]}`, `Mongodb_user[c] {"database":"x"}`, `Mongodb_user[d] {"database":"x","password":"p"}`),
		`Mongodb_user[a] changed mongodb_user_created
Mongodb_user[b] failed mongodb_user_created: change of ensure from absent to present failed: MongoDB: error 31 (RoleNotFound). The message is not shown, because the command has a secret
Mongodb_user[c] failed mongodb_user_created: change of ensure from absent to present failed: a new user needs the parameter password_hash or password
Mongodb_user[d] changed mongodb_user_created`)
	m.Want("shells", fmt.Sprint(len(m.Argv), len(s.users)), "2 2")
}

// A server that has just started needs some time. The clock of the test does not wait.
func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := newServer(t)
		s.down = 3
		m.Want("later", m.Apply(true, `Mongodb_database[a]`), "Mongodb_database[a] noop mongodb_database_created")
		m.Want("tries", fmt.Sprint(len(m.Argv), len(m.Logs)), "4 3")
		s.down = 100
		m.Want("never", m.Apply(false, `Mongodb_user[u] {"database":"a","tries":4}`), "Mongodb_user[u] failed: mongosh: exit code 1: MongoNetworkError: connect ECONNREFUSED 127.0.0.1:27017")
		m.Want("tries", fmt.Sprint(len(m.Argv)), "4")
	})
}

func TestSecrets(t *testing.T) {
	m, s := newServer(t)
	for _, user := range []string{`Mongodb_user[u] {"database":"a","password":{"sensitive":"s3cret"},"auth_mechanism":"scram_sha_256","roles":["none"]}`, `Mongodb_user[u] {"database":"a","password_hash":{"sensitive":"s3cret"},"roles":["none"]}`} {
		got := m.Apply(false, user)
		m.Want("refused", got, "Mongodb_user[u] failed mongodb_user_created: change of ensure from absent to present failed: MongoDB: error 31 (RoleNotFound). The message is not shown, because the command has a secret")
		if strings.Contains(strings.Join(m.Argv, "")+strings.Join(m.Logs, ""), "s3cret") || !strings.Contains(s.scripts[len(s.scripts)-1], "s3cret") {
			t.Errorf("%q %q", m.Argv, m.Logs)
		}
	}
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if c.Session {
			return &resource.Output{Code: 1, Stderr: []byte("SyntaxError: s3cret")}, nil
		}
		return run(ctx, c)
	}
	m.Want("a failure of the shell", m.Apply(false, `Mongodb_user[u] {"database":"a","password_hash":"s3cret"}`),
		"Mongodb_user[u] failed mongodb_user_created: change of ensure from absent to present failed: mongosh has failed. Its messages are not shown, because the command has a secret")
}

func TestFailures(t *testing.T) {
	const missing = "the program mongosh is missing. Install the package mongodb-mongosh on the target"
	m := providertest.Scripted(t, "", types)
	resources := []string{`Mongodb_database[a]`, `Mongodb_user[u] {"database":"b","password":"p"}`}
	m.Want("noop without a shell", m.Apply(true, resources...), "Mongodb_database[a] noop mongodb_database_created\nMongodb_user[u] noop mongodb_user_created")
	m.Want("without a shell", m.Apply(false, resources...), "Mongodb_database[a] failed mongodb_database_created: change of ensure from absent to present failed: "+missing+
		"\nMongodb_user[u] failed mongodb_user_created: change of ensure from absent to present failed: "+missing)
	for want, out := range map[string]resource.Output{
		"mongosh printed no result":                          {Stdout: []byte("\x00\x1b[31m{")},
		"mongosh printed a result that is not understood":    {Stdout: []byte(resultPrefix + "{")},
		"mongosh printed too much":                           {Stdout: []byte(resultPrefix + "{}\n"), Cut: true},
		"mongosh: exit code 2: bad [31m":                     {Stderr: []byte("bad\x00 \x1b[31m"), Code: 2},
		"MongoDB: error 7 (N [1m): a message":                {Stdout: []byte(resultPrefix + `{"error":{"code":7,"name":"N \u001b[1m","message":"a\nmessage"}}`)},
		"the server has credentials that are not understood": {Stdout: []byte(resultPrefix + `{"primary":true,"users":[{"user":"u","db":"a","credentials":{"SCRAM-SHA-1":{"iterationCount":99999999}}}]}`)},
	} {
		m := providertest.Scripted(t, "mongosh", types, providertest.Answer{Begin: "mongosh", Out: out})
		if got := m.Apply(false, `Mongodb_user[u] {"database":"a","password":"p"}`); got != "Mongodb_user[u] failed: "+want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	m, _ = newServer(t)
	run := m.Host.Run
	m.Host.Run = func(ctx context.Context, c *resource.Command) (*resource.Output, error) {
		if !c.Session {
			return run(ctx, c)
		}
		c.Argv, c.Timeout = []string{"sh", "-c", "sleep 1000 & sleep 1000"}, 1
		return resource.Exec(ctx, c)
	}
	m.Want("hanging", m.Apply(false, resources...), "Mongodb_database[a] failed mongodb_database_created: change of ensure from absent to present failed: mongosh: timed out"+
		"\nMongodb_user[u] failed mongodb_user_created: change of ensure from absent to present failed: mongosh: timed out")
}

// TestShell checks the arguments, with the configuration of the server and the file that can log in.
func TestShell(t *testing.T) {
	m, s := newServer(t)
	m.Write("etc/mongod.conf", "net:\n  port: 27018\n  bindIp: '::,10.0.0.1'\n  ipv6: true\n  tls:\n    mode: requireTLS\n    certificateKeyFile: /c.pem\n    CAFile: /ca.pem\n    allowInvalidHostnames: true\n", 0o600)
	m.Write("root/.mongoshrc.js", "", 0o600)
	m.Apply(true, `Mongodb_database[a]`)
	m.Want("command", strings.Join(m.Argv, "\n"), "mongosh mongodb://[::1]:27018/admin --quiet --norc --ipv6 --tls --tlsCertificateKeyFile /c.pem --tlsCAFile /ca.pem --tlsAllowInvalidHostnames --file /proc/self/fd/3")
	m.Want("script", s.scripts[0], `var input = {"rc":"/root/.mongoshrc.js","read":"databases"};`)
	m.Write("etc/mongod.conf", "- x", 0o600)
	m.Want("malformed", m.Apply(false, `Mongodb_database[a]`), "Mongodb_database[a] failed: /etc/mongod.conf is not a mapping")
	m = providertest.Scripted(t, "mongo", types)
	m.Apply(true, `Mongodb_database[a]`)
	m.Want("older shell", strings.Join(m.Argv, "\n"), "mongo mongodb://127.0.0.1:27017/admin --quiet --norc /proc/self/fd/3")
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "mongodb://127.0.0.1:27017/admin [] false",
		"# only a comment\n":                   "mongodb://127.0.0.1:27017/admin [] false",
		"net.port: 5\nnet.bindIp: 0.0.0.0":     "mongodb://127.0.0.1:5/admin [] false",
		"net: {bindIp: '10.1.2.3, 127.0.0.1'}": "mongodb://10.1.2.3:27017/admin [] false",
		"net: {bindIp: /tmp/s.sock}":           "mongodb://127.0.0.1:27017/admin [] false",
		"net: {bindIp: '[::0]'}":               "mongodb://[::1]:27017/admin [] false",
		"net: {bindIp: db.example.com}":        "mongodb://db.example.com:27017/admin [] false",
		"sharding: {clusterRole: shardsvr}":    "mongodb://127.0.0.1:27018/admin [] false",
		"sharding.clusterRole: configsvr":      "mongodb://127.0.0.1:27019/admin [] false",
		"security: {authorization: enabled}":   "mongodb://127.0.0.1:27017/admin [] true",
		"net: {tls: {mode: disabled}}":         "mongodb://127.0.0.1:27017/admin [] false",
		"net: {port: x}":                       "/etc/mongod.conf: net.port is not a port",
		"net: {port: 99999}":                   "/etc/mongod.conf: net.port is not a port",
		"net: {bindIp: 'a b'}":                 "/etc/mongod.conf: net.bindIp has an address that is not understood",
		"net: {bindIp: 'u:p@h/x'}":             "/etc/mongod.conf: net.bindIp has an address that is not understood",
	} {
		got := ""
		if c, err := parseConfig([]byte(text)); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(c.url(), " ", c.args, " ", c.auth)
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// TestCredentials has the example of RFC 7677, a result of the module's code in Ruby, and a user of FerretDB 1.24.
func TestCredentials(t *testing.T) {
	c := credential{4096, "W22ZaJ0SNY7soEsUEjb6gQ==", "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=", "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="}
	if ok, err := c.fits(sha256.New, "pencil"); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := c.fits(sha256.New, "pen"); ok || err != nil {
		t.Error(ok, err)
	}
	c = credential{10000, "MDEyMzQ1Njc4OWFiY2RlZg==", "oIr4HwGoMJL0G0hRfgm8srk2xAs=", "zXf/O7EsTipVrIQj923HP9LV2m0="}
	if ok, err := c.fits(sha1.New, "2c26b46b68ffc68ff99b453c1d304134"); !ok || err != nil {
		t.Error(ok, err)
	}
	a := account{Credentials: map[string]credential{
		sha1Name:   {10000, "F96opS38qUTRQMAnr2IqVw==", "tYU34NpIEVddKk5E8/mKEGIGCOA=", "wiXoq/TOtT/UcK6qL2X890DOLsE="},
		sha256Name: {15000, "aj5q+I1TFFDgTW53dZ++/MdlxX1VLG6osNofIg==", "2kbtwJ26D3W3Ino1gcHT87/MEORo5XP638B/i/YBsTo=", "b85hm6pSt2OME/xMpewb9jKiXWUVAHIHHOzRFNHRvxw="},
	}}
	if ok, err := a.hasHash(passwordHash("root", "rootpw")); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := a.hasPassword("rootpw"); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := a.hasPassword("rootpw\u00e9"); ok || err != nil {
		t.Error(ok, err)
	}
	if got := passwordHash("user", "pencil"); got != "1c33006ec1ffd90f9cadcbcc0e118200" {
		t.Error(got)
	}
}

func TestValidator(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	m := providertest.Scripted(t, "", types)
	m.Want("answers", m.Apply(false, `Mongodb_conn_validator[`+address+`]`, `Mongodb_conn_validator[m] {"server":["127.0.0.1","192.0.2.1"],"port":"`+port+`"}`), "Mongodb_conn_validator["+address+"] unchanged\nMongodb_conn_validator[m] unchanged")
	listener.Close()
	const silent = "127.0.0.1:1" // another program can take the port of the listener
	m.Want("does not answer", m.Apply(false, `Mongodb_conn_validator[`+silent+`] {"timeout":0}`), "Mongodb_conn_validator["+silent+"] failed mongodb_conn_validator_created: change of ensure from absent to present failed: cannot connect to the MongoDB server "+silent)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		x := &validator{r: &resource.Resource{}, server: silent, timeout: 10 * time.Second}
		start := time.Now()
		if err := x.Read(ctx, resource.NewHost()); err != nil || x.answers || time.Since(start) != 12*time.Second {
			t.Error(err, x.answers, time.Since(start))
		}
	})
}

func TestRefused(t *testing.T) {
	m := providertest.Scripted(t, "mongosh", types)
	for text, want := range map[string]string{
		`Mongodb_user[u]`:                                                                       "database must be given",
		`Mongodb_user[u] {"database":"a b"}`:                                                    "database must be given",
		`Mongodb_user[u] {"database":"a","roles":["x y"]}`:                                      "roles must be roles",
		`Mongodb_user[u] {"database":"a","password":"s3cret","password_hash":"b"}`:              "password_hash cannot be used together with password",
		`Mongodb_user[u] {"database":"a","password_hash":"b","auth_mechanism":"scram_sha_256"}`: "password_hash cannot be used with the mechanism",
		`Mongodb_user[u] {"database":"a","password_hash":"s3cret!"}`:                            "password_hash must be a hash",
		`Mongodb_user[u] {"database":"a","auth_mechanism":"x"}`:                                 "auth_mechanism ",
		`Mongodb_user[u] {"database":"a","username":""}`:                                        "username must not be empty",
		`Mongodb_user[u] {"database":"a","scram_credentials":"x"}`:                              "scram_credentials cannot be changed",
		`Mongodb_user[u] {"database":"a","tries":"x"}`:                                          "tries must be a whole number",
		`Mongodb_database[a/b]`:                                                                 "name must have only letters",
		`Mongodb_conn_validator[m] {"ensure":"absent"}`:                                         "ensure cannot be absent",
		`Mongodb_conn_validator[m] {"port":0}`:                                                  "port must be a whole number from 1 to 65535",
		`Mongodb_conn_validator[m] {"server":""}`:                                               "server must not be empty",
	} {
		if got := m.Apply(false, text); !strings.Contains(got, "refused: ") || !strings.Contains(got, want) || strings.Contains(got, "s3cret") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzResult reads output as a broken shell prints it.
func FuzzResult(f *testing.F) {
	f.Add("x\n" + resultPrefix + `{"primary":true,"users":[{"user":"u","db":"a","roles":[{"role":"r"}],"credentials":{"SCRAM-SHA-1":{"iterationCount":1,"salt":"AA=="}}}]}`)
	f.Add(resultPrefix + `{"error":{"code":1}}`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parse(&resource.Output{Stdout: []byte(text)}, "mongosh")
		if err != nil {
			return
		}
		for _, a := range r.Users {
			for name, c := range a.Credentials {
				c.IterationCount = min(c.IterationCount, 10)
				a.Credentials[name] = c
			}
			x := &user{r: &resource.Resource{}, name: a.User, database: a.DB, roles: []role{{"r", "a"}}, hash: "h"}
			if x.take(&a) == nil {
				if _, err := x.Plan(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// FuzzConfig reads configuration files. An address has no characters that change the meaning of a URL.
func FuzzConfig(f *testing.F) {
	f.Add("net:\n  port: 1\n  bindIp: '::1, b'\n  tls: {mode: x, CAFile: /a}\n")
	f.Add("net.bindIp: fe80::1%a/b\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseConfig([]byte(text)); err == nil && (strings.ContainsAny(c.host+c.port, "/@?# ,\n") || c.host == "" || c.host[0] == '-') {
			t.Errorf("%q: %q", text, c.url())
		}
	})
}
