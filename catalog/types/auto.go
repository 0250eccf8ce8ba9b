package types

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"bolt/catalog"
	"bolt/catalog/order"
	"bolt/internal/lazyregexp"
)

// Order returns the resources on which the resources of a catalog depend because of their types: Puppet's autorequires. A resource
// that a graph declares itself has the automatic edges of graphs in their place: an edge that would make a cycle is left out.
// Resources with autoedge => false in Meta have neither.
func Order(c *catalog.Catalog) order.Options {
	a := auto{c: c}
	free := c.Free()
	required := func(r *catalog.Resource) []catalog.Ref {
		a.refs = nil
		if f := autos[r.Type]; f != nil && autoedge(r) {
			f(&a, r)
		}
		return a.refs
	}
	if !c.Graph {
		return order.Options{Auto: required}
	}
	return order.Options{
		Auto: func(r *catalog.Resource) []catalog.Ref {
			if free(r) {
				return nil
			}
			return required(r)
		},
		Soft: func(r *catalog.Resource) []catalog.Ref {
			if !free(r) || !autoedge(r) {
				return nil
			}
			return append(required(r), a.edges(r)...)
		},
	}
}

// An auto collects references of one resource.
type auto struct {
	c      *catalog.Catalog
	paths  map[string]catalog.Ref   // of files, by path; nil before it is needed
	mounts map[string]catalog.Ref   // of mounts, by path; nil before it is needed
	gids   map[int64]catalog.Ref    // of groups; nil before it is needed
	owners map[string][]catalog.Ref // packages by the names of their files, services and programs; nil before it is needed
	// accounts are the users of databases of MongoDB, by the database; nil before it is needed.
	accounts map[string][]catalog.Ref
	refs     []catalog.Ref
}

// autos are the rules of the types that have rules.
var autos = map[string]func(*auto, *catalog.Resource){
	"Alternatives":                 (*auto).alternative,
	"Apt_key":                      func(a *auto, r *catalog.Resource) { a.named(r, "source") },
	"Archive":                      (*auto).archive,
	"Concat_file":                  (*auto).file, // the rules of the file that it makes
	"Dhparam":                      directory,
	"Cron":                         func(a *auto, r *catalog.Resource) { a.user(r, "user") },
	"Exec":                         (*auto).exec,
	"File":                         (*auto).file,
	"File_line":                    func(a *auto, r *catalog.Resource) { a.named(r, "path") },
	"Filesystem":                   (*auto).filesystem,
	"Firewall":                     (*auto).rule,
	"Firewallchain":                func(a *auto, _ *catalog.Resource) { a.iptables() },
	"Firewalld_port":               (*auto).inZone,
	"Firewalld_rich_rule":          (*auto).inZone,
	"Firewalld_service":            (*auto).inZone,
	"Firewalld_zone":               func(a *auto, _ *catalog.Resource) { a.add("Service", "firewalld") },
	"Ini_setting":                  (*auto).setting,
	"Logical_volume":               (*auto).volume,
	"Java_ks":                      (*auto).keystore,
	"Loginctl_user":                func(a *auto, r *catalog.Resource) { a.add("User", nameOf(r)) },
	"Mongodb_database":             (*auto).mongodbDatabase,
	"Mongodb_user":                 func(a *auto, _ *catalog.Resource) { a.mongodb() },
	"Mount":                        (*auto).mount,
	"Mysql_database":               func(a *auto, _ *catalog.Resource) { a.at(mysqlDefaults) },
	"Mysql_datadir":                func(a *auto, _ *catalog.Resource) { a.add("Package", "mysql-server") },
	"Mysql_grant":                  (*auto).mysqlGrant,
	"Mysql_plugin":                 func(a *auto, _ *catalog.Resource) { a.at(mysqlDefaults) },
	"Mysql_user":                   func(a *auto, _ *catalog.Resource) { a.at(mysqlDefaults) },
	"Package":                      (*auto).pkg,
	"Postgresql_psql":              (*auto).postgresql,
	"Selinux_fcontext":             (*auto).semanage,
	"Selinux_fcontext_equivalence": (*auto).semanage,
	"Selinux_permissive":           (*auto).semanage,
	"Selinux_port":                 (*auto).semanage,
	"Selmodule":                    (*auto).selmodule,
	"Ssh_authorized_key":           func(a *auto, r *catalog.Resource) { a.user(r, "user") },
	"Ssl_pkey":                     directory,
	"Sysctl":                       func(a *auto, r *catalog.Resource) { a.named(r, "target") },
	"User":                         (*auto).groups,
	"Volume_group":                 (*auto).volumeGroup,
	"Vcsrepo":                      (*auto).repository,
	"Rabbitmq_policy":              func(a *auto, r *catalog.Resource) { a.rabbitmq(r, strings.LastIndexByte) },
	"Rabbitmq_user":                func(a *auto, _ *catalog.Resource) { a.add("Service", rabbitmqService) },
	"Rabbitmq_user_permissions":    (*auto).rabbitmqPermissions,
	"Rabbitmq_vhost":               func(a *auto, _ *catalog.Resource) { a.add("Service", rabbitmqService) },
	"X509_cert":                    (*auto).certificate,
	"X509_request":                 (*auto).request,
}

func (a *auto) add(typ, title string) { a.refs = append(a.refs, catalog.Ref{Type: typ, Title: title}) }

// at adds the file at a path, if the catalog has one.
func (a *auto) at(path string) bool {
	if a.paths == nil {
		a.paths = make(map[string]catalog.Ref, len(a.c.Resources()))
		for _, r := range a.c.Resources() {
			if r.Type == "File" && !r.Virtual {
				a.paths[pathOf(r)] = r.Ref
			}
		}
	}
	ref, ok := a.paths[trimSlash(path)]
	if ok {
		a.refs = append(a.refs, ref)
	}
	return ok
}

// mounted adds the mount at a path, if the catalog has one.
func (a *auto) mounted(path string) {
	if a.mounts == nil {
		a.mounts = make(map[string]catalog.Ref)
		for _, r := range a.c.Resources() {
			if r.Type == "Mount" && !r.Virtual {
				a.mounts[pathOf(r)] = r.Ref
			}
		}
	}
	if ref, ok := a.mounts[path]; ok {
		a.refs = append(a.refs, ref)
	}
}

// selmodule depends on the file from which the module is loaded.
func (a *auto) selmodule(r *catalog.Resource) {
	file, is := r.Params.Value("selmodulepath").(string)
	if !is {
		dir, is := r.Params.Value("selmoduledir").(string)
		if !is {
			dir = "/usr/share/selinux/targeted"
		}
		name, is := r.Params.Value("name").(string)
		if !is {
			name = r.Title
		}
		file = dir + "/" + name + ".pp"
	}
	a.at(file)
}

// named adds the file whose path is the value of a parameter.
func (a *auto) named(r *catalog.Resource, param string) {
	if file, is := r.Params.Value(param).(string); is {
		a.at(file)
	}
}

// pathOf returns the path of a resource that has one: a file, a mount or an archive.
func pathOf(r *catalog.Resource) string {
	for _, param := range []string{"path", "name"} {
		if p, is := r.Params.Value(param).(string); is {
			return trimSlash(p)
		}
	}
	return trimSlash(r.Title)
}

func trimSlash(p string) string {
	if len(p) > 1 {
		return p[:1+len(strings.TrimRight(p[1:], "/"))]
	}
	return p
}

// file depends on the nearest managed directory above it, on all mounts above it, on the
// target of a link, and on its owner and group if they are names.
func (a *auto) file(r *catalog.Resource) {
	for p := path.Dir(pathOf(r)); p != "/" && p != "."; p = path.Dir(p) {
		a.mounted(p)
	}
	for p := pathOf(r); p != "/" && p != "." && p != ""; {
		p = path.Dir(p)
		if a.at(p) {
			break
		}
	}
	a.named(r, "target")
	if target, is := r.Params.Value("ensure").(string); is && strings.HasPrefix(target, "/") {
		a.at(target) // a link
	}
	a.user(r, "owner")
	if group, is := r.Params.Value("group").(string); is && !isNumber(group) {
		a.add("Group", group)
	}
}

// user adds the user that is the value of a parameter.
func (a *auto) user(r *catalog.Resource, param string) {
	if user, is := r.Params.Value(param).(string); is && !isNumber(user) {
		a.add("User", user)
	}
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

// Paths in a command line: the program, or a string in double quotes, at the beginning of a
// line.
var (
	programs = lazyregexp.New(`(?m)^(/\S+)`)
	quoted   = lazyregexp.New(`(?m)^"([^"]+)"`)
)

// exec depends on its directory, on the programs of its command and checks, and on its
// user.
func (a *auto) exec(r *catalog.Resource) {
	a.named(r, "cwd")
	command := r.Title
	switch v := r.Params.Value("command").(type) {
	case string:
		command = v
	case []any:
		command = ""
		if len(v) > 0 {
			command, _ = v[0].(string)
		}
	}
	a.programs(command, programs())
	a.programs(command, quoted())
	for _, check := range []string{"onlyif", "unless"} {
		switch v := r.Params.Value(check).(type) {
		case string:
			a.programs(v, programs())
		case []any:
			for _, line := range v {
				if list, is := line.([]any); is && len(list) > 0 {
					line = list[0]
				}
				if text, is := line.(string); is {
					a.programs(text, programs())
				}
			}
		}
	}
	a.user(r, "user")
}

func (a *auto) programs(line string, pattern *regexp.Regexp) {
	for _, m := range pattern.FindAllStringSubmatch(line, -1) {
		a.at(m[1])
	}
}

// pkg depends on the files from which it is installed.
func (a *auto) pkg(r *catalog.Resource) {
	for _, param := range []string{"responsefile", "adminfile", "source"} {
		if file, is := r.Params.Value(param).(string); is && strings.HasPrefix(file, "/") {
			a.at(file)
		}
	}
}

// mount depends on the mounts above it.
func (a *auto) mount(r *catalog.Resource) {
	for p := pathOf(r); p != "/" && p != "." && p != ""; {
		p = path.Dir(p)
		a.add("Mount", p)
	}
}

// groups adds the groups of a user: the primary group, by name or number, and the others.
func (a *auto) groups(r *catalog.Resource) {
	switch gid := r.Params.Value("gid").(type) {
	case string:
		if n, err := strconv.ParseInt(gid, 10, 64); err == nil {
			a.gid(n)
		} else {
			a.add("Group", gid)
		}
	case int64:
		a.gid(gid)
	}
	switch groups := r.Params.Value("groups").(type) {
	case string:
		a.add("Group", groups)
	case []any:
		for _, g := range groups {
			if name, is := g.(string); is {
				a.add("Group", name)
			}
		}
	}
}

// gid adds the group with a number.
func (a *auto) gid(n int64) {
	if a.gids == nil {
		a.gids = make(map[int64]catalog.Ref)
		for _, r := range a.c.Resources() {
			if r.Type != "Group" || r.Virtual {
				continue
			}
			switch gid := r.Params.Value("gid").(type) {
			case int64:
				a.gids[gid] = r.Ref
			case string:
				if n, err := strconv.ParseInt(gid, 10, 64); err == nil {
					a.gids[n] = r.Ref
				}
			}
		}
	}
	if ref, ok := a.gids[n]; ok {
		a.refs = append(a.refs, ref)
	}
}

// archive depends on its directory, on the directory in which it is extracted, and on the
// programs and credentials for downloads from clouds.
func (a *auto) archive(r *catalog.Resource) {
	a.at(path.Dir(pathOf(r)))
	a.named(r, "extract_path")
	a.at("/root/.aws/config")
	a.at("/root/.aws/credentials")
	a.add("Exec", "install_aws_cli")
	a.add("Exec", "install_gsutil")
}

// setting depends on the directory of its file. Puppet has no such rule for the file.
func (a *auto) setting(r *catalog.Resource) {
	if file, is := r.Params.Value("path").(string); is {
		a.at(path.Dir(file))
	}
}

// repository depends on the packages of version control systems.
func (a *auto) repository(*catalog.Resource) {
	for _, name := range []string{"git", "git-core", "mercurial", "subversion"} {
		a.add("Package", name)
	}
}

// mysqlDefaults is the file with the credentials of the client of MySQL. The types of the module also name the class
// mysql::server, but Puppet ignores classes in autorequires.
const mysqlDefaults = "/root/.my.cnf"

// mysqlGrant depends on the credentials of the client and on its user.
func (a *auto) mysqlGrant(r *catalog.Resource) {
	a.at(mysqlDefaults)
	if user, is := r.Params.Value("user").(string); is {
		a.add("Mysql_user", user)
	}
}

// alternative depends on the entries that make its path one of the choices.
func (a *auto) alternative(r *catalog.Resource) {
	file, is := r.Params.Value("path").(string)
	if !is {
		return
	}
	for _, e := range a.c.Resources() {
		if e.Type != "Alternative_entry" || e.Virtual {
			continue
		}
		name, is := e.Params.Value("name").(string)
		if !is {
			name, _, _ = strings.Cut(e.Title, ":")
		}
		if name == file {
			a.refs = append(a.refs, e.Ref)
		}
	}
}

// postgresql depends on the end of the start of its server.
func (a *auto) postgresql(r *catalog.Resource) {
	instance, is := r.Params.Value("instance").(string)
	if !is {
		instance = "main"
	}
	a.add("Anchor", "postgresql::server::service::end::"+instance)
}

// mongodb depends on the shell and on the server.
func (a *auto) mongodb() {
	a.add("Package", "mongodb_client")
	a.add("Service", "mongodb")
	a.add("Service", "mongod")
}

// mongodbDatabase also depends on the users of the database. In Puppet, the users have this edge (autobefore).
func (a *auto) mongodbDatabase(r *catalog.Resource) {
	a.mongodb()
	if a.accounts == nil {
		a.accounts = make(map[string][]catalog.Ref)
		for _, u := range a.c.Resources() {
			if db, is := u.Params.Value("database").(string); is && u.Type == "Mongodb_user" && !u.Virtual {
				a.accounts[db] = append(a.accounts[db], u.Ref)
			}
		}
	}
	a.refs = append(a.refs, a.accounts[nameOf(r)]...)
}

const rabbitmqService = "rabbitmq-server"

// rabbitmq depends on the server, and on the virtual host after the @ of the name. It returns the part before.
func (a *auto) rabbitmq(r *catalog.Resource, find func(string, byte) int) string {
	a.add("Service", rabbitmqService)
	name := nameOf(r)
	at := find(name, '@')
	if at < 0 {
		return ""
	}
	a.add("Rabbitmq_vhost", name[at+1:])
	return name[:at]
}

// rabbitmqPermissions depends on the server, the virtual host and the user.
func (a *auto) rabbitmqPermissions(r *catalog.Resource) {
	if user := a.rabbitmq(r, strings.IndexByte); user != "" {
		a.add("Rabbitmq_user", user)
	}
}

// rule depends on the chain that contains it, on the chain to which it jumps, and on the packages of iptables.
func (a *auto) rule(r *catalog.Resource) {
	text := func(param, without string) string {
		if v, is := r.Params.Value(param).(string); is {
			return v
		}
		return without
	}
	protocol := "IPv4"
	switch text("protocol", text("provider", "")) {
	case "IPv6", "ip6tables":
		protocol = "IPv6"
	}
	for _, chain := range []string{text("chain", "INPUT"), text("jump", ""), text("goto", "")} {
		if chain != "" {
			a.add("Firewallchain", chain+":"+text("table", "filter")+":"+protocol)
		}
	}
	a.iptables()
}

func (a *auto) iptables() {
	for _, name := range []string{"iptables", "iptables-persistent", "iptables-services"} {
		a.add("Package", name)
	}
}

// semanage depends on the packages that have the program semanage.
func (a *auto) semanage(*catalog.Resource) {
	for _, name := range []string{"policycoreutils", "policycoreutils-python", "policycoreutils-python-utils", "python3-policycoreutils", "selinux-policy-dev", "selinux-policy-devel"} {
		a.add("Package", name)
	}
}

// inZone depends on the zone or the policy of an entry, and on the service firewalld.
func (a *auto) inZone(r *catalog.Resource) {
	for _, param := range []string{"zone", "policy"} {
		if name, is := r.Params.Value(param).(string); is {
			a.add("Firewalld_"+param, name)
		}
	}
	a.add("Service", "firewalld")
}

// volumeGroup depends on its physical volumes.
func (a *auto) volumeGroup(r *catalog.Resource) {
	list, is := r.Params.Value("physical_volumes").([]any)
	if !is {
		list = []any{r.Params.Value("physical_volumes")}
	}
	for _, v := range list {
		if name, is := v.(string); is {
			a.add("Physical_volume", name)
		}
	}
}

// volume depends on its volume group and on its thin pool.
func (a *auto) volume(r *catalog.Resource) {
	if group, is := r.Params.Value("volume_group").(string); is {
		a.add("Volume_group", group)
	}
	if pool, is := r.Params.Value("thinpool").(string); is {
		a.add("Logical_volume", pool)
	}
}

// filesystem depends on the logical volume of its device, /dev/GROUP/VOLUME.
func (a *auto) filesystem(r *catalog.Resource) {
	name, is := r.Params.Value("name").(string)
	if !is {
		name = r.Title
	}
	a.add("Logical_volume", name)
	if strings.HasPrefix(name, "/dev/") {
		a.add("Logical_volume", path.Base(name))
	}
}

// directory depends on the directory of a file.
func directory(a *auto, r *catalog.Resource) { a.at(path.Dir(pathOf(r))) }

// certificate depends on its template, on its private key, and on its directory.
func (a *auto) certificate(r *catalog.Resource) {
	if template, is := r.Params.Value("template").(string); is {
		a.at(template)
	} else {
		a.at(withoutExtension(pathOf(r)) + ".cnf")
	}
	key := privateKey(r)
	a.add("Ssl_pkey", key)
	a.at(key)
	directory(a, r)
}

// request depends on its private key and on its directory. As in Puppet, it also depends on a certificate
// that has the path of the key without an extension.
func (a *auto) request(r *catalog.Resource) {
	key := privateKey(r)
	a.add("X509_cert", withoutExtension(key))
	a.at(key)
	directory(a, r)
}

func privateKey(r *catalog.Resource) string {
	if key, is := r.Params.Value("private_key").(string); is {
		return key
	}
	return withoutExtension(pathOf(r)) + ".key"
}

func withoutExtension(file string) string {
	if base := path.Base(file); base != path.Ext(base) {
		return strings.TrimSuffix(file, path.Ext(file))
	}
	return file
}

// keystore depends on the files of its entry, and on the directory of the keystore, which the title can have.
func (a *auto) keystore(r *catalog.Resource) {
	for _, param := range []string{"private_key", "certificate", "chain"} {
		a.named(r, param)
	}
	target := ""
	if at := strings.LastIndex(r.Title, ":"); at >= 0 {
		target = r.Title[at+1:]
	}
	if text, is := r.Params.Value("target").(string); is {
		target = text
	}
	if target != "" {
		a.at(path.Dir(target))
	}
}
