package mysql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

type grants struct{}

// Grant returns the type mysql_grant.
func Grant() resource.Type { return grants{} }

// A grant is a mysql_grant: the privileges of a user for one object.
type grant struct {
	user       account
	table      string // the object: *.*, db.*, db.table, PROCEDURE db.p, FUNCTION db.f, or user@host for PROXY
	object     string // as SQL
	absent     bool
	privileges []string // sorted
	options    bool     // the parameter options is given
	withGrant  bool

	exists bool // the user
	found  *held
}

// held has the privileges of a user for one object.
type held struct {
	privileges []string // sorted
	withGrant  bool
}

// A key is a user and an object, such as db.*.
type key struct {
	user  account
	table string
}

// privilege is the form of a privilege, with columns of a table in brackets. Spaces around the privilege are removed before.
var privilege = lazyregexp.New(`^([A-Za-z_]+(?: +[A-Za-z_]+)*)\s*(?:\(([^()]+)\))?$`)

// New implements resource.Type.
func (grants) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &grant{absent: f.Text("ensure", "present") == "absent"}
	title := strings.ReplaceAll(f.Text("name", r.Title), "'", "")
	who, table := f.Text("user", ""), f.Text("table", "")
	if at := userEnd(title); x.absent && at > 0 {
		if who == "" {
			who = title[:at]
		}
		if table == "" {
			table = title[at+1:]
		}
	}
	ok := false
	if x.user, ok = parseAccount(who); !ok {
		f.RefuseValue("user", "must be a user and a host, such as user@localhost", who)
	}
	x.table = strings.ReplaceAll(table, "`", "")
	x.privileges = wanted(&f)
	x.object, ok = object(x.table, slices.Contains(x.privileges, "PROXY"))
	switch {
	case !ok:
		f.RefuseValue("table", "must be such as *.*, db.* or db.table; with PROXY, it must be a user and a host", table)
	case !x.absent && len(x.privileges) == 0:
		f.Refuse("privileges", "must be given")
	case len(x.privileges) > 1 && slices.Contains(x.privileges, "PROXY"):
		f.Refuse("privileges", "can have PROXY only without other privileges")
	case title != x.user.String()+"/"+x.table:
		f.RefuseValue("name", fmt.Sprintf("must be user@host/table, here %q", x.user.String()+"/"+x.table), title)
	}
	options := f.Texts("options")
	x.options = options != nil
	for _, o := range options {
		switch strings.ToUpper(o) {
		case "GRANT":
			x.withGrant = true
		case "NONE":
		default:
			f.RefuseValue("options", "must be GRANT or NONE", o)
		}
	}
	return x, f.Err
}

// userEnd returns the position of the slash after the host in a title; -1 if there is none. A host can have a slash, too, such
// as in 10.0.0.0/255.0.0.0, so the table begins after the last slash.
func userEnd(title string) int { return strings.LastIndexByte(title, '/') }

// wanted reads the privileges as the module does: in upper case and sorted, the columns of each sorted, and ALL alone. The list
// does not have the right to grant.
func wanted(f *resource.Fields) (list []string) {
	for _, text := range f.Texts("privileges") {
		m := privilege().FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			f.RefuseValue("privileges", "must be privileges, such as SELECT or SELECT (column)", text)
			continue
		}
		p := strings.Join(strings.Fields(strings.ToUpper(m[1])), " ")
		switch {
		case p == "ALL PRIVILEGES":
			p = "ALL"
		case p == "GRANT" || p == "GRANT OPTION":
			continue
		case m[2] != "":
			p += columns(m[2])
		}
		list = append(list, p)
	}
	return normal(list)
}

// normal sorts privileges and removes duplicates. If the list has ALL, it returns ALL only.
func normal(list []string) []string {
	if slices.Contains(list, "ALL") {
		return []string{"ALL"}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// columns returns the columns of a privilege in one form: sorted, without quotes.
func columns(text string) string {
	var list []string
	for c := range strings.SplitSeq(text, ",") {
		list = append(list, strings.Trim(strings.TrimSpace(c), "`\"'"))
	}
	slices.Sort(list)
	return " (" + strings.Join(list, ", ") + ")"
}

// privilegeSQL returns a privilege as SQL.
func privilegeSQL(list []string) string {
	var parts []string
	for _, p := range list {
		word, cols, has := strings.Cut(p, " (")
		switch {
		case p == "ALL":
			word = "ALL PRIVILEGES"
		case has:
			var names []string
			for c := range strings.SplitSeq(strings.TrimSuffix(cols, ")"), ", ") {
				names = append(names, name(c))
			}
			word += " (" + strings.Join(names, ", ") + ")"
		}
		parts = append(parts, word)
	}
	return strings.Join(parts, ", ")
}

// object returns an object of a grant as SQL.
func object(table string, proxy bool) (sql string, ok bool) {
	if strings.ContainsAny(table, "\x00\n") {
		return "", false
	}
	if proxy {
		a, ok := parseAccount(table)
		return a.sql(), ok
	}
	kind := ""
	for _, k := range []string{"FUNCTION ", "PROCEDURE "} {
		if rest, is := strings.CutPrefix(table, k); is {
			kind, table = k, rest
		}
	}
	dot := strings.LastIndexByte(table, '.')
	if dot <= 0 || dot == len(table)-1 {
		return "", false
	}
	db, rest := table[:dot], table[dot+1:]
	if db == "*" && rest != "*" {
		return "", false
	}
	if db != "*" {
		db = name(db)
	}
	if rest != "*" {
		rest = name(rest)
	}
	return kind + db + "." + rest, true
}

// Read implements resource.Item.
func (x *grant) Read(ctx context.Context, h *resource.Host) error {
	return readOne(ctx, h, grants{}, x)
}

// ReadAll implements resource.Reader. It needs two processes for any number of grants. The first process lists the users. The second
// prints the grants of the users that the items name.
func (grants) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	need := make(map[account]bool)
	for _, i := range items {
		need[i.(*grant).user] = true
	}
	exist, found, err := readGrants(ctx, h, func(a account) bool { return need[a] })
	if err == nil {
		for _, i := range items {
			x := i.(*grant)
			x.exists, x.found = exist[x.user], found[key{x.user, x.table}]
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// readGrants reads the users of the server, and the grants of the users for which of returns true.
func readGrants(ctx context.Context, h *resource.Host, of func(account) bool) (exist map[account]bool, found map[key]*held, err error) {
	rows, _, err := query{sql: "SELECT User, Host FROM mysql.user;"}.run(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	exist, found = make(map[account]bool), make(map[key]*held)
	var sql strings.Builder
	for _, row := range rows {
		if len(row) != 2 {
			return nil, nil, fmt.Errorf("mysql printed users in a form that is not understood")
		}
		a := account{row[0], strings.ToLower(row[1])}
		exist[a] = true
		if of(a) && row[1] != "" {
			sql.WriteString("SHOW GRANTS FOR " + account{row[0], row[1]}.sql() + ";\n")
		}
	}
	if sql.Len() == 0 {
		return exist, found, nil
	}
	rows, errs, err := query{sql: sql.String(), force: true}.run(ctx, h)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range errs {
		if e.code != noGrants { // a user that the server has in its table and does not know yet
			return nil, nil, fmt.Errorf("mysql: %s", e.text)
		}
	}
	for _, row := range rows {
		k, have, ok := parseGrant(strings.Join(row, "\t"))
		if !ok { // roles and others that have no object
			continue
		}
		if before := found[k]; before != nil {
			have.privileges = append(have.privileges, before.privileges...)
			have.withGrant = have.withGrant || before.withGrant
		}
		have.privileges = normal(have.privileges)
		found[k] = &have
	}
	for k, have := range found {
		if k.table == "*.*" && everything(have.privileges) {
			have.privileges = []string{"ALL"}
		}
	}
	return exist, found, nil
}

// noGrants is the error code of SHOW GRANTS for such a user.
const noGrants = "1141"

// statics are the privileges that MySQL 8 prints for a user that has all of them. MariaDB prints ALL PRIVILEGES.
var statics = strings.Split("ALTER,ALTER ROUTINE,CREATE,CREATE ROLE,CREATE ROUTINE,CREATE TABLESPACE,CREATE TEMPORARY TABLES,CREATE USER,CREATE VIEW,DELETE,DROP,"+
	"DROP ROLE,EVENT,EXECUTE,FILE,INDEX,INSERT,LOCK TABLES,PROCESS,REFERENCES,RELOAD,REPLICATION CLIENT,REPLICATION SLAVE,SELECT,SHOW DATABASES,SHOW VIEW,"+
	"SHUTDOWN,SUPER,TRIGGER,UPDATE", ",")

// everything reports whether a list has all privileges of statics.
func everything(list []string) bool {
	for _, p := range statics {
		if !slices.Contains(list, p) {
			return false
		}
	}
	return true
}

// parseGrant reads a line of SHOW GRANTS: GRANT privileges ON object TO 'user'@'host' options.
func parseGrant(line string) (k key, have held, ok bool) {
	rest, is := strings.CutPrefix(line, "GRANT ")
	privileges, rest, hasObject := cut(rest, " ON ")
	object, rest, hasUser := cut(rest, " TO ")
	if !is || !hasObject || !hasUser {
		return k, have, false
	}
	var who string
	if who, rest, ok = quotedPart(rest); !ok || !strings.HasPrefix(rest, "@") {
		return k, have, false
	}
	k.user.user = who
	if k.user.host, rest, ok = quotedPart(rest[1:]); !ok {
		return k, have, false
	}
	k.user.host = strings.ToLower(k.user.host)
	k.table = plain(object)
	_, _, have.withGrant = cut(rest+" ", " GRANT OPTION ")
	for privileges != "" {
		var p string
		p, privileges, _ = cut(privileges, ",")
		p = strings.TrimSpace(p)
		if word, cols, has := strings.Cut(p, "("); has {
			p = strings.ToUpper(strings.TrimSpace(word)) + columns(strings.TrimSuffix(cols, ")"))
		}
		if p == "ALL PRIVILEGES" {
			p = "ALL"
		}
		have.privileges = append(have.privileges, p)
	}
	return k, have, true
}

// cut is strings.Cut for a separator outside of quotes and brackets.
func cut(text, sep string) (before, after string, found bool) {
	depth := 0
	var quote byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == 0 && depth == 0 && strings.HasPrefix(text[i:], sep):
			return text[:i], text[i+len(sep):], true
		case quote == '\'' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '`' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
	}
	return text, "", false
}

// quotedPart reads a name in quotes, or a word, at the beginning of a text.
func quotedPart(text string) (part, rest string, ok bool) {
	if text == "" {
		return "", "", false
	}
	quote := text[0]
	if quote != '\'' && quote != '`' && quote != '"' {
		end := strings.IndexAny(text, "@ ")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote && i+1 < len(text) && text[i+1] == quote:
			i++
		case c == quote:
			return b.String(), text[i+1:], true
		case c == '\\' && quote == '\'' && i+1 < len(text):
			i++
			c = text[i]
		}
		b.WriteByte(c)
	}
	return "", "", false
}

// plain removes the quotes of an object, as the names of resources have it.
func plain(object string) string {
	var b strings.Builder
	for object != "" {
		if c := object[0]; c == '`' || c == '"' || c == '\'' {
			part, rest, ok := quotedPart(object)
			if !ok {
				break
			}
			b.WriteString(strings.ReplaceAll(part, "`", ""))
			object = rest
			continue
		}
		b.WriteByte(object[0])
		object = object[1:]
	}
	return b.String()
}

// nothing reports whether a user has nothing for an object. Each user has USAGE, which stays for *.* when all is revoked.
func (have *held) nothing() bool {
	return have == nil || slices.Equal(have.privileges, []string{"USAGE"}) && !have.withGrant
}

// Plan implements resource.Item.
func (x *grant) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && !x.found.nothing():
		return resource.Removed("mysql_grant"), nil
	case x.absent:
		return nil, nil
	case x.found == nil:
		return resource.Created("mysql_grant"), nil
	}
	if !slices.Equal(x.found.privileges, x.privileges) {
		changes = append(changes, resource.Change{Property: "privileges", Is: strings.Join(x.found.privileges, ", "), Should: strings.Join(x.privileges, ", ")})
	}
	if x.options && x.found.withGrant != x.withGrant {
		changes = append(changes, resource.Change{Property: "options", Is: option(x.found.withGrant), Should: option(x.withGrant)})
	}
	return changes, nil
}

func option(withGrant bool) string {
	if withGrant {
		return "GRANT"
	}
	return "NONE"
}

// Do implements resource.Item.
func (x *grant) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	if !x.absent && !x.exists {
		return fmt.Errorf("the user %s does not exist", x.user)
	}
	var sql []string
	switch {
	case x.absent:
		sql = x.revokeAll(x.found)
	case c.Property == "ensure":
		sql = []string{x.grant(x.privileges, x.withGrant)}
	case c.Property == "privileges":
		sql = x.exchange()
	case x.withGrant:
		sql = []string{x.grant(x.privileges, true)}
	default:
		sql = []string{"REVOKE GRANT OPTION ON " + x.object + " FROM " + x.user.sql()}
	}
	return change(ctx, h, false, sql...)
}

func (x *grant) grant(list []string, withGrant bool) string {
	sql := "GRANT " + privilegeSQL(list) + " ON " + x.object + " TO " + x.user.sql()
	if withGrant {
		sql += " WITH GRANT OPTION"
	}
	return sql
}

func (x *grant) revoke(list []string) string {
	return "REVOKE " + privilegeSQL(list) + " ON " + x.object + " FROM " + x.user.sql()
}

// revokeAll revokes the right to grant first, because ALL PRIVILEGES does not include it.
func (x *grant) revokeAll(is *held) []string {
	if slices.Contains(is.privileges, "PROXY") {
		return []string{x.revoke([]string{"PROXY"})}
	}
	var sql []string
	if is.withGrant {
		sql = append(sql, "REVOKE GRANT OPTION ON "+x.object+" FROM "+x.user.sql())
	}
	return append(sql, x.revoke([]string{"ALL"}))
}

// exchange changes the privileges. It grants the missing privileges before it revokes unwanted privileges. So the user always keeps the
// privileges that both lists have, except if ALL is revoked. The privileges that replace ALL are granted before and after that: if
// the server refuses a misspelled privilege or a missing table, the user keeps ALL. As in the module, the right to grant stays.
func (x *grant) exchange() (sql []string) {
	is, want := single(x.found.privileges), single(x.privileges)
	switch {
	case slices.Contains(is, "ALL"):
		grant := x.grant(x.privileges, false)
		return []string{grant, x.revoke([]string{"ALL"}), grant}
	case slices.Contains(want, "ALL"):
		return []string{x.grant(x.privileges, false)}
	}
	without := func(a, b []string) []string {
		return slices.DeleteFunc(slices.Clone(a), func(p string) bool { return slices.Contains(b, p) })
	}
	if add := without(want, is); len(add) > 0 {
		sql = append(sql, x.grant(add, false))
	}
	if remove := without(is, want); len(remove) > 0 {
		sql = append(sql, x.revoke(remove))
	}
	return sql
}

// single splits privileges for several columns, so that a change of one column does not revoke the privilege for other columns.
func single(list []string) (parts []string) {
	for _, p := range list {
		word, cols, has := strings.Cut(p, " (")
		if !has {
			parts = append(parts, p)
			continue
		}
		for c := range strings.SplitSeq(strings.TrimSuffix(cols, ")"), ", ") {
			parts = append(parts, word+" ("+c+")")
		}
	}
	return parts
}

// List implements resource.Lister.
func (grants) List(ctx context.Context, h *resource.Host) (res []*resource.Resource, err error) {
	_, found, err := readGrants(ctx, h, func(account) bool { return true })
	for k, have := range found {
		if have.nothing() { // it cannot be removed
			continue
		}
		var privileges []any
		for _, p := range have.privileges {
			privileges = append(privileges, p)
		}
		res = append(res, &resource.Resource{Ref: catalog.Ref{Type: "Mysql_grant", Title: k.user.String() + "/" + k.table},
			Params: ordered.Of("ensure", "present", "privileges", privileges, "table", k.table, "user", k.user.String(), "options", []any{option(have.withGrant)})})
	}
	return res, err
}
