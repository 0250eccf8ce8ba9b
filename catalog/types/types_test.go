package types_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/catalog/types"
)

func parse(t *testing.T, resources ...string) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Parse([]byte(`{"resources":[` + strings.Join(resources, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func resource(ref, params string) string {
	r, _ := catalog.ParseRef(ref)
	return fmt.Sprintf(`{"type":%q,"title":%q,"parameters":{%s}}`, r.Type, r.Title, params)
}

func TestFind(t *testing.T) {
	f := types.Find("file")
	if f == nil || f.Key != "path" || !f.Unique || !f.Has("content") || !f.Has("path") || !f.Has("require") || f.Has("contents") || !slices.Contains(f.Properties, "mode") {
		t.Errorf("file is %+v", f)
	}
	if types.Find("concat") != nil || types.Find("File") != nil {
		t.Error("a type is known that is not Puppet's")
	}
	for name, key := range map[string]string{
		"anchor": "name", "archive": "path", "concat_file": "path", "concat_fragment": "name", "file_line": "name", "ini_setting": "name",
		"ini_subsetting": "name", "sysctl": "name", "vcsrepo": "path", "mysql_user": "name", "mysql_database": "name", "mysql_grant": "name", "mysql_plugin": "name", "mysql_datadir": "datadir",
		"postgresql_psql": "name", "postgresql_conf": "name", "rabbitmq_policy": "name",
		"ssl_pkey": "path", "x509_cert": "path", "x509_request": "path", "dhparam": "path", "cert_file": "path",
	} {
		if f := types.Find(name); f == nil || f.Key != key || !f.Unique || f.Has("contents") {
			t.Errorf("%s is %+v", name, f)
		}
	}
	for _, name := range []string{"exec", "java_ks", "package", "sshkey", "tidy"} {
		if types.Find(name).Unique {
			t.Errorf("the key alone must not be unique in %s", name)
		}
	}
}

// TestAuto checks the dependencies by type: each resource that is declared first
// waits for the resources on which its type depends.
func TestAuto(t *testing.T) {
	for name, k := range map[string]struct {
		list []string
		want string
	}{
		"directories":                {[]string{resource("File[/a/b/c]", ""), resource("File[/a/b/c/d/e]", ""), resource("File[/a]", ""), resource("File[/]", "")}, "/ /a /a/b/c /a/b/c/d/e"},
		"another title":              {[]string{resource("File[x]", `"path":"/a/b/"`), resource("File[y]", `"path":"/a/"`)}, "y x"},
		"a link":                     {[]string{resource("File[/l]", `"ensure":"link","target":"/t"`), resource("File[/t]", "")}, "/t /l"},
		"a link by ensure":           {[]string{resource("File[/l]", `"ensure":"/t"`), resource("File[/t]", "")}, "/t /l"},
		"an owner":                   {[]string{resource("File[/x]", `"owner":"u","group":"g"`), resource("User[u]", ""), resource("Group[g]", "")}, "u g /x"},
		"a number as owner":          {[]string{resource("File[/x]", `"owner":"10","group":10`), resource("User[10]", ""), resource("Group[10]", "")}, "/x 10 10"},
		"a user under another title": {[]string{resource("File[/x]", `"owner":"u"`), resource("User[the user]", `"name":"u"`)}, "the user /x"},
		"a command": {[]string{resource("Exec[/bin/x -a]", `"cwd":"/c","user":"u","unless":["/bin/y","test -e /z"]`), resource("File[/c]", ""), resource("File[/bin/x]", ""), resource("File[/bin/y]", ""), resource("User[u]", ""), resource("File[/z]", "")},
			"/c /bin/x /bin/y u /bin/x -a /z"},
		"a command as a list":      {[]string{resource("Exec[e]", `"command":["/bin/x","/bin/y"],"onlyif":[["/bin/z","a"]]`), resource("File[/bin/x]", ""), resource("File[/bin/z]", ""), resource("File[/bin/y]", "")}, "/bin/x /bin/z e /bin/y"},
		"a quoted command":         {[]string{resource("Exec[e]", `"command":"\"/o p/x\" a"`), resource("File[/o p/x]", "")}, "/o p/x e"},
		"a package":                {[]string{resource("Package[p]", `"source":"/p.deb"`), resource("File[/p.deb]", "")}, "/p.deb p"},
		"groups":                   {[]string{resource("User[u]", `"gid":"100","groups":["a","b"]`), resource("Group[a]", ""), resource("Group[c]", `"gid":100`), resource("Group[d]", `"gid":"101"`)}, "a c u d"},
		"mounts":                   {[]string{resource("Mount[/a/b]", ""), resource("Mount[/a]", "")}, "/a /a/b"},
		"a line":                   {[]string{resource("File_line[l]", `"path":"/f","line":"x"`), resource("File[/f]", "")}, "/f l"},
		"a setting":                {[]string{resource("Ini_setting[s]", `"path":"/d/f"`), resource("File[/d/f]", ""), resource("File[/d]", "")}, "/d s /d/f"},
		"a kernel parameter":       {[]string{resource("Sysctl[k]", `"target":"/f"`), resource("File[/f]", "")}, "/f k"},
		"a made file":              {[]string{resource("Concat_file[c]", `"path":"/d/e/f","owner":"u"`), resource("File[/d]", ""), resource("User[u]", "")}, "/d u c"},
		"an archive":               {[]string{resource("Archive[/d/a.tgz]", `"extract_path":"/e"`), resource("File[/d]", ""), resource("File[/e]", ""), resource("Exec[install_gsutil]", "")}, "/d /e install_gsutil /d/a.tgz"},
		"a repository":             {[]string{resource("Vcsrepo[/r]", ""), resource("Package[git]", ""), resource("Package[x]", "")}, "git /r x"},
		"a database":               {[]string{resource("Mysql_database[d]", ""), resource("File[/root/.my.cnf]", ""), resource("Class[Mysql::Server]", "")}, "/root/.my.cnf d"},
		"a user of a database":     {[]string{resource("Mysql_user[u@h]", ""), resource("Mysql_plugin[p]", ""), resource("File[x]", `"path":"/root/.my.cnf"`)}, "x u@h p"},
		"a grant":                  {[]string{resource("Mysql_grant[u@h/d.*]", `"user":"u@h"`), resource("Mysql_user[u@h]", "")}, "u@h u@h/d.*"},
		"a statement":              {[]string{resource("Postgresql_psql[s]", `"instance":"x"`), resource("Anchor[postgresql::server::service::end::x]", ""), resource("Postgresql_psql[t]", "")}, "postgresql::server::service::end::x s t"},
		"permissions":              {[]string{resource("Rabbitmq_user_permissions[u@v]", ""), resource("Rabbitmq_vhost[v]", ""), resource("Rabbitmq_user[u]", ""), resource("Service[rabbitmq-server]", "")}, "rabbitmq-server v u u@v"},
		"a policy":                 {[]string{resource("Rabbitmq_policy[p@q@v]", ""), resource("Rabbitmq_vhost[v]", ""), resource("Rabbitmq_vhost[q@v]", "")}, "v p@q@v q@v"},
		"a database and its users": {[]string{resource("Mongodb_database[d]", ""), resource("Mongodb_user[u]", `"database":"d"`), resource("Mongodb_user[v]", `"database":"e"`), resource("Service[mongod]", ""), resource("Package[mongodb_client]", "")}, "mongod mongodb_client u d v"},
		"a data directory":         {[]string{resource("Mysql_datadir[/d]", ""), resource("Package[mysql-server]", "")}, "mysql-server /d"},
		"an alternative":           {[]string{resource("Alternatives[a]", `"path":"/o/x"`), resource("Alternative_entry[/o/x:/bin/a]", ""), resource("Alternative_entry[/o/y]", "")}, "/o/x:/bin/a a /o/y"},
		"a rule":                   {[]string{resource("Firewall[100 a]", `"chain":"A","jump":"B","protocol":"IPv6"`), resource("Firewallchain[B:filter:IPv6]", ""), resource("Firewallchain[A:filter:IPv6]", ""), resource("Firewallchain[A:filter:IPv4]", ""), resource("Package[iptables]", "")}, "iptables B:filter:IPv6 A:filter:IPv6 100 a A:filter:IPv4"},
		"volumes":                  {[]string{resource("Filesystem[/dev/g/v]", ""), resource("Logical_volume[v]", `"volume_group":"g"`), resource("Volume_group[g]", `"physical_volumes":["/dev/a"]`), resource("Physical_volume[/dev/a]", "")}, "/dev/a g v /dev/g/v"},
		"a private key":            {[]string{resource("Ssl_pkey[/d/a.key]", ""), resource("Dhparam[/d/dh]", ""), resource("File[/d]", "")}, "/d /d/a.key /d/dh"},
		"a certificate":            {[]string{resource("X509_cert[/d/a.b.crt]", ""), resource("File[/d/a.b.cnf]", ""), resource("Ssl_pkey[/d/a.b.key]", ""), resource("File[/d]", "")}, "/d /d/a.b.cnf /d/a.b.key /d/a.b.crt"},
		"a key elsewhere":          {[]string{resource("X509_cert[/d/a.crt]", `"private_key":"/k","template":"/t"`), resource("Ssl_pkey[/k]", ""), resource("File[/t]", "")}, "/k /t /d/a.crt"},
		"a request":                {[]string{resource("X509_request[/d/a.csr]", `"private_key":"/d/k.key"`), resource("X509_cert[/d/k]", ""), resource("File[/d/k.key]", "")}, "/d/k.key /d/k /d/a.csr"},
		"a keystore":               {[]string{resource("Java_ks[a:/d/ks]", `"certificate":"/c","private_key":"/k"`), resource("Java_ks[b]", `"target":"/e/ks"`), resource("File[/e]", ""), resource("File[/d]", ""), resource("File[/c]", ""), resource("File[/k]", "")}, "/e b /d /c /k a:/d/ks"},
		"a lingering user":         {[]string{resource("Loginctl_user[u]", ""), resource("User[the user]", `"name":"u"`)}, "the user u"},
		"a cron job":               {[]string{resource("Cron[c]", `"user":"u"`), resource("User[u]", "")}, "u c"},
	} {
		c := parse(t, k.list...)
		list, err := order.Of(c, types.Order(c))
		var got []string
		for _, r := range list {
			got = append(got, r.Title)
		}
		if err != nil || strings.Join(got, " ") != k.want {
			t.Errorf("%s: %q, %v, want %q", name, strings.Join(got, " "), err, k.want)
		}
	}
}

// TestAutoOfClass checks that a user of MySQL does not wait for the class of its server: Puppet ignores classes in
// autorequires. With the module, the class waits for the user.
func TestAutoOfClass(t *testing.T) {
	c := parse(t, resource("Class[Mysql::Server]", `"require":"Mysql_user[u@h]"`), resource("Mysql_user[u@h]", ""), resource("Mysql_database[d]", ""))
	if _, err := order.Of(c, types.Order(c)); err != nil {
		t.Error(err)
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		resource("File[/x]", `"ensure":"/target","recurse":true,"links":"follow"`): "",
		resource("File[x]", ""): `The parameter path of File[x] must be an absolute path, and is "x"`,
		resource("File[/x]", `"links":"no","recurse":"yes"`): "The parameter links of File[/x] cannot be \"no\": it can be follow or manage\n" +
			`The parameter recurse of File[/x] cannot be "yes": it can be true, false or remote`,
		resource("Service[x]", `"ensure":{"__ptype":"Deferred","name":"f"}`):                                "",
		`{"type":"Service","title":"x","parameters":{"ensure":"secret"},"sensitive_parameters":["ensure"]}`: "The parameter ensure of Service[x] has a secret value that it cannot have: it can be stopped, running, true or false",
		resource("Concat_file[x]", `"order":"any","format":"json-array"`): "The parameter path of Concat_file[x] must be an absolute path, and is \"x\"\n" +
			`The parameter order of Concat_file[x] cannot be "any": it can be alpha or numeric`,
		resource("File_line[x]", `"path":"f","multiple":"yes"`): "The parameter path of File_line[x] must be an absolute path, and is \"f\"\n" +
			`The parameter multiple of File_line[x] cannot be "yes": it can be true or false`,
		resource("Vcsrepo[/r]", `"ensure":"newest"`): `The parameter ensure of Vcsrepo[/r] cannot be "newest": it can be present, bare, mirror, absent or latest`,
		resource("File[C:/x]", ""):                   "",
		resource("Exec[x]", `"path":"bin"`):          "",
		resource("File[/x]", `"loglevel":"loud"`):    `The parameter loglevel of File[/x] cannot be "loud": it can be debug, info, notice, warning, err, alert, emerg, crit or verbose`,
		resource("File[/x]", `"audit":["mode","a"]`): `The parameter audit of File[/x] names "a", which is not a parameter of the type file`,
		resource("File[/x]", `"audit":"all"`):        "",
		resource("Other[x]", `"audit":"x"`):          "",
		resource("Other[x]", `"ensure":"whatever"`):  "",
	} {
		var got []string
		for _, err := range types.Check(parse(t, text).Resources()[0]) {
			got = append(got, err.Error())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "\n"), want)
		}
	}
}

func TestCheckForms(t *testing.T) {
	for text, want := range map[string]string{
		resource("Cron[x]", `"minute":["*/5",59],"hour":24,"month":"Jan","special":"absent"`):             `The parameter hour of Cron[x] must be an hour from 0 to 23, a range, a step such as */2, or a list of these, and is "24"`,
		resource("Cron[x]", `"special":"daily","minute":1`):                                               "The parameter special of Cron[x] cannot be used together with minute",
		resource("Yumrepo[x]", `"enabled":2,"baseurl":"http://a/b","cost":"absent","priority":"-1"`):      `The parameter enabled of Yumrepo[x] must be 1, 0, true, false, yes, no or absent, and is "2"`,
		resource("Yumrepo[x]", `"baseurl":"a/b"`):                                                         `The parameter baseurl of Yumrepo[x] must be URLs with file, http, https or ftp, and is "a/b"`,
		resource("Augeas[x]", `"incl":"/x"`):                                                              "The parameter incl of Augeas[x] cannot be used without lens",
		resource("Augeas[x]", `"lens":"X.lns"`):                                                           "The parameter lens of Augeas[x] cannot be used without incl",
		resource("Archive[/x]", `"source":"x","url":"http://x"`):                                          "The parameter source of Archive[/x] must be a URL or an absolute path, and is \"x\"\nThe parameter url of Archive[/x] cannot be used together with source",
		resource("Archive[/x]", `"source":"C:/x","checksum":"abcdef"`):                                    "",
		resource("Filebucket[x]", `"path":"x"`):                                                           `The parameter path of Filebucket[x] must be an absolute path, or false, and is "x"`,
		resource("Filebucket[x]", `"path":false`):                                                         "",
		resource("Host[a b]", `"ip":"1.2.3.400"`):                                                         "The parameter ip of Host[a b] must be an IP address, and is \"1.2.3.400\"\nThe parameter name of Host[a b] must be a host name, and is \"a b\"",
		resource("Host[a]", `"ip":"::1","name":"b.c"`):                                                    "",
		resource("File[/x]", `"mode":"u=rwx,go=rx","content":"x"`):                                        "",
		resource("File[/x]", `"mode":"999","content":"x","source":"/y"`):                                  "The parameter mode of File[/x] must be an octal number, or symbolic such as u=rw,go=r, and is \"999\"\nThe parameter content of File[/x] cannot be used together with source",
		resource("File[/x]", `"recurse":"remote"`):                                                        "The parameter recurse of File[/x] cannot be remote without source",
		resource("File[/x]", `"noop":"x"`):                                                                `The parameter noop of File[/x] cannot be "x": it can be true or false`,
		resource("File_line[x]", `"line":"a"`):                                                            "The parameter path of File_line[x] must be given",
		resource("File_line[x]", `"path":"/f"`):                                                           "The parameter line of File_line[x] must be given, unless lines that match are made absent",
		resource("File_line[x]", `"path":"/f","ensure":"absent","match":"x","match_for_absence":true`):    "",
		resource("Concat_fragment[x]", `"content":"a"`):                                                   "The parameter target of Concat_fragment[x] must be given, or tag",
		resource("Concat_fragment[x]", `"target":"a"`):                                                    "The parameter content of Concat_fragment[x] must be given, or source",
		resource("Concat_fragment[x]", `"target":"a","content":"a","source":"/b"`):                        "The parameter source of Concat_fragment[x] cannot be used together with content",
		resource("Exec[ls]", ""):                                                                          "The parameter command of Exec[ls] must begin with an absolute path, because path is not given",
		resource("Exec[ls]", `"path":"/bin"`):                                                             "",
		resource("Exec[ls]", `"provider":"shell"`):                                                        "",
		resource("Exec[/bin/ls]", `"onlyif":["/bin/true",["test"]],"tries":0`):                            "The parameter tries of Exec[/bin/ls] must be an integer of at least 1, and is \"0\"\nThe parameter onlyif of Exec[/bin/ls] must begin with an absolute path, because path is not given",
		resource("Package[x]", `"ensure":"absent","mark":"hold"`):                                         "The parameter mark of Package[x] cannot be used for a package that is removed",
		resource("Ssh_authorized_key[x]", `"type":"rsa","key":"AAAA"`):                                    "The parameter user of Ssh_authorized_key[x] must be given, or target",
		resource("Sshkey[x]", `"type":"rsa3"`):                                                            `The parameter type of Sshkey[x] must be a type of keys, such as ssh-ed25519, and is "rsa3"`,
		resource("Tidy[/x]", `"age":"1y","matches":"*"`):                                                  "The parameter age of Tidy[/x] must be a number of days, or a number with a unit such as 2w, and is \"1y\"\nThe parameter matches of Tidy[/x] cannot be used without recurse",
		resource("Ssl_pkey[/x]", `"mode":"rw","size":"big"`):                                              "The parameter mode of Ssl_pkey[/x] must be an octal number such as 0644, and is \"rw\"\nThe parameter size of Ssl_pkey[/x] must be a number, and is \"big\"",
		resource("X509_cert[/x]", `"template":"t","days":1`):                                              `The parameter template of X509_cert[/x] must be an absolute path, and is "t"`,
		resource("Vcsrepo[/x]", `"revision":"","umask":"022"`):                                            `The parameter revision of Vcsrepo[/x] must have no spaces, and not be empty, and is ""`,
		resource("Schedule[x]", `"range":["2 - 4","5-6:30"],"weekday":"Tues"`):                            "",
		resource("Schedule[x]", `"range":"25 - 26"`):                                                      `The parameter range of Schedule[x] must be a range of times, such as 2:00 - 4:00, and is "25 - 26"`,
		`{"type":"User","title":"x","parameters":{"password":"a:b"},"sensitive_parameters":["password"]}`: "The parameter password of User[x] must have no colon; its value is secret",
		resource("User[x]", `"groups":["a","b,c"]`):                                                       `The parameter groups of User[x] must be a list of names, and is "b,c"`,
		resource("Cron[x]", `"minute":{"__ptype":"Deferred","name":"f"}`):                                 "",
	} {
		var got []string
		for _, err := range types.CheckForms(parse(t, text).Resources()[0]) {
			got = append(got, err.Error())
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s\n got %s\nwant %s", text, strings.Join(got, "\n"), want)
		}
	}
}
