package mysql

import (
	"slices"
	"strings"

	"bolt/apply/resource"
)

// A purge compares the catalog with the objects of the server. It must not remove a resource that the catalog
// has in another form, so names that some servers take for the same have the same identity.

// systemAccounts are the accounts that MySQL, MariaDB or Debian's packages make and need.
var systemAccounts = []account{
	{"root", "localhost"}, {"mysql", "localhost"}, {"mysql.sys", "localhost"}, {"mysql.session", "localhost"},
	{"mysql.infoschema", "localhost"}, {"mariadb.sys", "localhost"}, {"debian-sys-maint", "localhost"},
}

// systemDatabases are the databases that each server has.
var systemDatabases = []string{"mysql", "sys", "information_schema", "performance_schema"}

// Identity returns the account.
func (users) Identity(r *resource.Resource) string {
	f := resource.Fields{R: r}
	text := f.Text("name", r.Title)
	if a, ok := parseAccount(text); ok {
		return a.String()
	}
	return text
}

// Spared reports whether a user must stay. A user whose name has quotes cannot be named by a title, so it stays, too.
func (users) Spared(r *resource.Resource) bool {
	a, ok := parseAccount(r.Title)
	return !ok || a.String() != r.Title || slices.Contains(systemAccounts, a)
}

// Identity returns the account and the object. The object is in lower case: servers with lower_case_table_names print it so.
func (grants) Identity(r *resource.Resource) string {
	f := resource.Fields{R: r}
	title := f.Text("name", r.Title)
	who, table := f.Text("user", ""), f.Text("table", "")
	if at := userEnd(title); at > 0 {
		if who == "" {
			who = title[:at]
		}
		if table == "" {
			table = title[at+1:]
		}
	}
	if a, ok := parseAccount(who); ok {
		who = a.String()
	}
	return who + "/" + strings.ToLower(unquoted.Replace(table))
}

var unquoted = strings.NewReplacer("`", "", "'", "", `"`, "")

// Spared reports whether a purge must keep a grant, because its user must stay.
func (grants) Spared(r *resource.Resource) bool {
	who := r.Params.Value("user").(string) // List sets it
	a, ok := parseAccount(who)
	return !ok || a.String() != who || slices.Contains(systemAccounts, a)
}

// Identity returns the name in lower case: servers with lower_case_table_names print it so.
func (databases) Identity(r *resource.Resource) string {
	f := resource.Fields{R: r}
	return strings.ToLower(f.Text("name", r.Title))
}

// Spared reports whether a database must stay.
func (databases) Spared(r *resource.Resource) bool {
	return slices.Contains(systemDatabases, strings.ToLower(r.Title))
}
