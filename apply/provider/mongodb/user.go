package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

type users struct{}

// User returns the type mongodb_user.
func User() resource.Type { return users{} }

// A user is a mongodb_user.
type user struct {
	r              *resource.Resource
	title          string
	name, database string
	tries          int64
	roles          []role // sorted; nil if the list is empty, and then not compared, as in Puppet
	hash           string // of MongoDB for SCRAM-SHA-1; "" if not given
	password       string // with SCRAM-SHA-256; "" if not given
	sha256         bool   // the mechanism is SCRAM-SHA-256
	update         bool   // compare password
	absent         bool

	secondary bool
	is        *account // nil if the user does not exist
	rightPass bool
}

// An account is a user of the server.
type account struct {
	User, DB    string
	Roles       []role
	Credentials map[string]credential
}

// A role is a role of a database.
type role struct {
	Role string `json:"role"`
	DB   string `json:"db"`
}

// in returns the role as a resource of a database names it.
func (r role) in(database string) string {
	if r.DB == "" || r.DB == database {
		return r.Role
	}
	return r.Role + "@" + r.DB
}

func names(roles []role, database string) string {
	list := make([]string, len(roles))
	for i, r := range roles {
		list[i] = r.in(database)
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

func compareRoles(a, b role) int {
	return strings.Compare(a.DB+"\x00"+a.Role, b.DB+"\x00"+b.Role)
}

var (
	roleName = lazyregexp.New(`^\w+(@[\w-]+)?$`)
	hashText = lazyregexp.New(`^\w+$`)
)

// New implements resource.Type.
func (users) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &user{r: r, title: f.Text("name", r.Title), tries: tries(&f), database: f.Text("database", ""), hash: f.Text("password_hash", ""),
		password: f.Text("password", ""), update: f.Bool("update_password", false), absent: f.Text("ensure", "present") == "absent"}
	x.name = f.Text("username", x.title)
	switch mechanism := f.Text("auth_mechanism", "scram_sha_1"); mechanism {
	case "scram_sha_1":
	case "scram_sha_256":
		x.sha256 = true
	default:
		f.RefuseValue("auth_mechanism", "must be scram_sha_1 or scram_sha_256", mechanism)
	}
	switch {
	case x.name == "":
		f.Refuse("username", "must not be empty")
	case !databaseName().MatchString(x.database):
		f.RefuseValue("database", "must be given, and have only letters, digits, _ and -", x.database)
	case x.hash != "" && x.password != "":
		f.Refuse("password_hash", "cannot be used together with password")
	case x.hash != "" && x.sha256:
		f.Refuse("password_hash", "cannot be used with the mechanism scram_sha_256: use password")
	case x.hash != "" && !hashText().MatchString(x.hash):
		f.Refuse("password_hash", "must be a hash, as mongodb_password() returns it")
	case r.Params.Value("scram_credentials") != nil:
		f.Refuse("scram_credentials", "cannot be changed")
	}
	if x.password != "" && !x.sha256 {
		x.hash, x.password = passwordHash(x.name, x.password), ""
	}
	x.readRoles(&f)
	return x, f.Err
}

func (x *user) readRoles(f *resource.Fields) {
	list := f.Texts("roles")
	if list == nil {
		list = []string{"dbAdmin"}
	}
	for _, text := range list {
		if !roleName().MatchString(text) {
			f.RefuseValue("roles", "must be roles such as read or read@database", text)
		}
		name, db, is := strings.Cut(text, "@")
		if !is {
			db = x.database
		}
		x.roles = append(x.roles, role{name, db})
	}
	slices.SortFunc(x.roles, compareRoles)
	x.roles = slices.Compact(x.roles)
}

// Read implements resource.Item.
func (x *user) Read(ctx context.Context, h *resource.Host) error {
	return users{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. As in the module, a server on which the first user must still be made has no users.
func (users) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	var most int64
	for _, i := range items {
		most = max(most, i.(*user).tries)
	}
	res, err := query(ctx, h, items[0].(*user).r, "users", most)
	var f *failure
	switch {
	case errors.Is(err, errMissing):
		res, err = &result{Primary: true}, nil
	case errors.As(err, &f) && f.Code == unauthorized:
		if c, cerr := configuration(ctx, h); cerr == nil && c.auth {
			h.Logf(items[0].(*user).r.Ref, report.Warning, "The server does not allow bolt to read its users. bolt assumes that the first user must still be made")
			res, err = &result{Primary: true}, nil
		}
	}
	errs := slices.Repeat([]error{err}, len(items))
	if err != nil {
		return errs
	}
	for n, i := range items {
		x := i.(*user)
		x.is, x.secondary = nil, !res.Primary
		if x.secondary {
			onSecondary(h, x.r)
			continue
		}
		for _, a := range res.Users {
			if a.User == x.name && a.DB == x.database {
				errs[n] = x.take(&a)
			}
		}
	}
	return errs
}

// take stores the present state.
func (x *user) take(a *account) (err error) {
	for i := range a.Roles {
		if a.Roles[i].DB == "" {
			a.Roles[i].DB = x.database
		}
	}
	slices.SortFunc(a.Roles, compareRoles)
	x.is, x.rightPass = a, true
	switch {
	case x.absent:
	case x.hash != "":
		x.rightPass, err = a.hasHash(x.hash)
	case x.password != "" && x.update:
		x.rightPass, err = a.hasPassword(x.password)
	}
	return err
}

// Plan implements resource.Item.
func (x *user) Plan() (changes []resource.Change, err error) {
	switch {
	case x.secondary:
		return nil, nil
	case x.is == nil || x.absent:
		return resource.Ensure("mongodb_user", x.is != nil, x.absent), nil
	}
	if x.roles != nil && !slices.Equal(x.is.Roles, x.roles) {
		changes = append(changes, resource.Change{Property: "roles", Is: names(x.is.Roles, x.database), Should: names(x.roles, x.database)})
	}
	if !x.rightPass {
		property := "password_hash"
		if x.r.Params.Value("password") != nil {
			property = "password"
		}
		changes = append(changes, resource.Change{Property: property, Is: "[old password redacted]", Should: "[new password redacted]", Message: property + " has been changed"})
	}
	return changes, nil
}

// Do implements resource.Item.
func (x *user) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	return users{}.DoAll(ctx, h, []resource.Work{{Item: x, Changes: []resource.Change{*c}}})[0]
}

// DoAll implements resource.Doer.
func (users) DoAll(ctx context.Context, h *resource.Host, works []resource.Work) []error {
	jobs := make([]job, len(works))
	for i, w := range works {
		x := w.Item.(*user)
		for _, c := range w.Changes {
			x.add(&jobs[i], c.Property)
		}
	}
	return change(ctx, h, jobs)
}

// add adds the commands for the change of a property to a job. One command makes a new user, so that a run that is killed leaves no user without roles.
func (x *user) add(j *job, property string) {
	switch {
	case x.absent:
		x.command(j, "dropUser")
	case property == "ensure" && x.hash == "" && x.password == "":
		j.err = errors.New("a new user needs the parameter password_hash or password")
	case property == "ensure":
		m := x.command(j, "createUser")
		m.Set("customData", ordered.Of("createdBy", fmt.Sprintf("Puppet Mongodb_user['%s']", x.title)))
		m.Set("roles", without(x.roles, nil))
		x.credentials(m)
		j.secret = true
	case property == "roles":
		if list := without(x.roles, x.is.Roles); len(list) > 0 {
			x.command(j, "grantRolesToUser").Set("roles", list)
		}
		if list := without(x.is.Roles, x.roles); len(list) > 0 {
			x.command(j, "revokeRolesFromUser").Set("roles", list)
		}
	default:
		x.credentials(x.command(j, "updateUser"))
		j.secret = true
	}
}

// command adds a command about the user.
func (x *user) command(j *job, name string) *ordered.Map {
	m := ordered.Of(name, x.name)
	j.commands = append(j.commands, command{x.database, m})
	return m
}

// without returns the roles that others does not have.
func without(roles, others []role) []any {
	list := []any{}
	for _, r := range roles {
		if !slices.Contains(others, r) {
			list = append(list, r)
		}
	}
	return list
}

// credentials adds the password to a command.
func (x *user) credentials(m *ordered.Map) {
	pwd, mechanism := x.hash, sha1Name
	if x.sha256 {
		pwd, mechanism = x.password, sha256Name
	}
	m.Set("pwd", pwd)
	m.Set("digestPassword", x.sha256)
	m.Set("mechanisms", []any{mechanism})
}
