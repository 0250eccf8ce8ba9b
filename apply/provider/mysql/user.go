package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

type users struct{}

// User returns the type mysql_user.
func User() resource.Type { return users{} }

// limits are the properties of a user that are numbers, with the columns of mysql.user.
var limits = [...]struct{ param, column string }{
	{"max_user_connections", "max_user_connections"},
	{"max_connections_per_hour", "max_connections"},
	{"max_queries_per_hour", "max_questions"},
	{"max_updates_per_hour", "max_updates"},
}

// A user is a mysql_user.
type user struct {
	account
	absent bool
	secret bool
	want   state
	given  map[string]bool

	is    state
	found bool
}

// A state has the properties of a user.
type state struct {
	hash, plugin string
	limits       [len(limits)]string
	tls          []string // sorted
}

var number = lazyregexp.New(`^\d+$`)

// New implements resource.Type.
func (users) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &user{absent: f.Text("ensure", "present") == "absent", given: make(map[string]bool), secret: r.Secret("password_hash")}
	text, ok := f.Text("name", r.Title), false
	if x.account, ok = parseAccount(text); !ok {
		f.RefuseValue("name", "must be a user and a host, such as user@localhost", text)
	}
	for _, param := range []string{"password_hash", "plugin", "tls_options"} {
		_, x.given[param] = r.Params.Get(param)
	}
	x.want.hash, x.want.plugin = f.Text("password_hash", ""), f.Text("plugin", "mysql_native_password")
	if !pluginName().MatchString(x.want.plugin) {
		f.RefuseValue("plugin", "must be a word", x.want.plugin)
	}
	for i, l := range limits {
		_, x.given[l.param] = r.Params.Get(l.param)
		if x.want.limits[i] = f.Text(l.param, "0"); !number().MatchString(x.want.limits[i]) {
			f.RefuseValue(l.param, "must be a whole number", x.want.limits[i])
		}
	}
	x.want.tls = x.options(&f)
	return x, f.Err
}

var (
	pluginName = lazyregexp.New(`^\w+$`)
	tlsOption  = lazyregexp.New(`(?i)^(CIPHER|ISSUER|SUBJECT)\s+'((?:[^'\\\x00]|'')*)'$`)
)

// options reads tls_options.
func (x *user) options(f *resource.Fields) (list []string) {
	for _, text := range f.Texts("tls_options") {
		if slices.Contains([]string{"NONE", "SSL", "X509"}, text) {
			list = append(list, text)
			continue
		}
		m := tlsOption().FindStringSubmatch(text)
		if m == nil {
			f.RefuseValue("tls_options", "must be NONE, SSL, X509, or a list of CIPHER 'x', ISSUER 'x' and SUBJECT 'x'", text)
			continue
		}
		list = append(list, strings.ToUpper(m[1])+" "+str(strings.ReplaceAll(m[2], "''", "'")))
	}
	for _, alone := range []string{"NONE", "SSL", "X509"} {
		if len(list) > 1 && slices.Contains(list, alone) {
			f.Refuse("tls_options", "can have NONE, SSL or X509 only without other options")
		}
	}
	if len(list) == 0 {
		list = []string{"NONE"}
	}
	slices.Sort(list)
	return list
}

// Read implements resource.Item.
func (x *user) Read(ctx context.Context, h *resource.Host) error { return readOne(ctx, h, users{}, x) }

// ReadAll implements resource.Reader.
func (users) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	found, err := list(ctx, h)
	if err == nil {
		for _, i := range items {
			x := i.(*user)
			x.is, x.found = found[x.account]
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// list reads all users. The columns of mysql.user are named by a header, because they depend on the version.
func list(ctx context.Context, h *resource.Host) (map[account]state, error) {
	rows, _, err := query{sql: "SELECT * FROM mysql.user;", headers: true}.run(ctx, h)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("mysql printed no users")
	}
	column := make(map[string]int)
	for i, name := range rows[0] {
		column[strings.ToLower(name)] = i
	}
	for _, name := range strings.Fields("user host plugin authentication_string ssl_type ssl_cipher x509_issuer x509_subject " +
		"max_user_connections max_connections max_questions max_updates") {
		if _, has := column[name]; !has {
			return nil, fmt.Errorf("the table mysql.user has no column %s. The types need MySQL 5.7.6 or MariaDB 10.2, or newer", name)
		}
	}
	found := make(map[account]state)
	for _, row := range rows[1:] {
		if len(row) != len(rows[0]) {
			return nil, errors.New("mysql printed users in a form that is not understood")
		}
		at := func(name string) string {
			if i, has := column[name]; has {
				return row[i]
			}
			return ""
		}
		if at("host") == "" { // a role
			continue
		}
		s := state{hash: at("authentication_string"), plugin: at("plugin")}
		if s.hash == "" || s.hash == "NULL" { // MariaDB before 10.4 has the hash here
			s.hash = strings.TrimPrefix(at("password"), "NULL")
		}
		for i, l := range limits {
			s.limits[i] = at(l.column)
		}
		s.tls = tls(at("ssl_type"), at("ssl_cipher"), at("x509_issuer"), at("x509_subject"))
		found[account{at("user"), strings.ToLower(at("host"))}] = s
	}
	return found, nil
}

// tls returns the options of TLS as the parameter tls_options has them.
func tls(kind, cipher, issuer, subject string) (list []string) {
	switch kind {
	case "ANY":
		return []string{"SSL"}
	case "X509":
		return []string{"X509"}
	case "SPECIFIED":
		for _, o := range [][2]string{{"CIPHER", cipher}, {"ISSUER", issuer}, {"SUBJECT", subject}} {
			if o[1] != "" && o[1] != "NULL" {
				list = append(list, o[0]+" "+str(o[1]))
			}
		}
		return list
	}
	return []string{"NONE"}
}

// Plan implements resource.Item.
func (x *user) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && x.found:
		return resource.Removed("mysql_user"), nil
	case x.absent:
		return nil, nil
	case !x.found:
		return resource.Created("mysql_user"), nil
	}
	if x.given["password_hash"] && x.is.hash != x.want.hash {
		changes = append(changes, resource.Change{Property: "password_hash", Is: "[old password hash redacted]", Should: "[new password hash redacted]", Message: "changed password"})
	}
	if x.given["plugin"] && x.is.plugin != x.want.plugin {
		changes = append(changes, resource.Change{Property: "plugin", Is: x.is.plugin, Should: x.want.plugin})
	}
	for i, l := range limits {
		if x.given[l.param] && x.is.limits[i] != x.want.limits[i] {
			changes = append(changes, resource.Change{Property: l.param, Is: x.is.limits[i], Should: x.want.limits[i]})
		}
	}
	if x.given["tls_options"] && !slices.Equal(x.is.tls, x.want.tls) {
		changes = append(changes, resource.Change{Property: "tls_options", Is: strings.Join(x.is.tls, " AND "), Should: strings.Join(x.want.tls, " AND ")})
	}
	return changes, nil
}

// Do implements resource.Item. A user is created by one statement, so that no user without a password or limits remains if
// the run is killed.
func (x *user) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	hash := x.want.hash
	alter := "ALTER USER " + x.sql() + " "
	switch c.Property {
	case "ensure":
		if x.absent {
			return change(ctx, h, false, "DROP USER IF EXISTS "+x.sql())
		}
		with := "CREATE USER " + x.sql() + x.identified()
		with += " REQUIRE " + strings.Join(x.want.tls, " AND ") + " WITH"
		for i, l := range limits {
			with += " " + strings.ToUpper(l.param) + " " + x.want.limits[i]
		}
		return change(ctx, h, hash != "", with)
	case "password_hash", "plugin":
		if c.Property == "password_hash" && x.want.plugin == "mysql_native_password" && hash != "" && !strings.HasPrefix(hash, "*") {
			return errors.New("the password hash of mysql_native_password must begin with *")
		}
		return change(ctx, h, hash != "", alter+x.identified())
	case "tls_options":
		return change(ctx, h, false, alter+"REQUIRE "+strings.Join(x.want.tls, " AND "))
	}
	return change(ctx, h, false, alter+"WITH "+strings.ToUpper(c.Property)+" "+c.Should)
}

// identified is the clause with the plugin and the hash. A user without a plugin in the catalog has a password.
func (x *user) identified() string {
	text := " IDENTIFIED WITH " + name(x.want.plugin)
	if x.given["password_hash"] || !x.given["plugin"] {
		text += " AS " + str(x.want.hash)
	}
	return text
}

// List implements resource.Lister. Hashes of passwords are not listed.
func (users) List(ctx context.Context, h *resource.Host) (res []*resource.Resource, err error) {
	found, err := list(ctx, h)
	for a, s := range found {
		p := ordered.Of("ensure", "present", "plugin", s.plugin)
		for i, l := range limits {
			p.Set(l.param, s.limits[i])
		}
		tls := make([]any, len(s.tls))
		for i, o := range s.tls {
			tls[i] = o
		}
		p.Set("tls_options", tls)
		res = append(res, &resource.Resource{Ref: catalog.Ref{Type: "Mysql_user", Title: a.String()}, Params: p})
	}
	return res, err
}
