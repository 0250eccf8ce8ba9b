package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

type databases struct{}

// Database returns the type mysql_database.
func Database() resource.Type { return databases{} }

// A database is a mysql_database.
type database struct {
	name             string
	absent           bool
	charset, collate string

	found                bool
	isCharset, isCollate string
}

var charsetName = lazyregexp.New(`^\w+$`)

// New implements resource.Type.
func (databases) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &database{
		name:    f.Text("name", r.Title),
		absent:  f.Text("ensure", "present") == "absent",
		charset: f.Text("charset", "utf8"),
		collate: f.Text("collate", "utf8_general_ci"),
	}
	if x.name == "" || strings.ContainsAny(x.name, "\x00\n") {
		f.RefuseValue("name", "must be the name of a database", x.name)
	}
	if !charsetName().MatchString(x.charset) {
		f.RefuseValue("charset", "must be a word", x.charset)
	}
	if !charsetName().MatchString(x.collate) {
		f.RefuseValue("collate", "must be a word", x.collate)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *database) Read(ctx context.Context, h *resource.Host) error {
	return readOne(ctx, h, databases{}, x)
}

// ReadAll implements resource.Reader.
func (databases) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	rows, err := schemata(ctx, h)
	if err == nil {
		for _, i := range items {
			x := i.(*database)
			x.found = false
			for _, row := range rows {
				if row[0] == x.name {
					x.found, x.isCharset, x.isCollate = true, row[1], row[2]
				}
			}
		}
	}
	return slices.Repeat([]error{err}, len(items))
}

// schemata reads the names, character sets and collations of all databases.
func schemata(ctx context.Context, h *resource.Host) ([][]string, error) {
	rows, _, err := query{sql: "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA;"}.run(ctx, h)
	for _, row := range rows {
		if len(row) != 3 {
			return nil, errors.New("mysql printed databases in a form that is not understood")
		}
	}
	return rows, err
}

// same compares names of character sets or collations. New servers print utf8mb3 for utf8.
func same(a, b string) bool {
	long := func(text string) string {
		if rest, is := strings.CutPrefix(text, "utf8"); is && (rest == "" || rest[0] == '_') {
			return "utf8mb3" + rest
		}
		return text
	}
	return strings.EqualFold(long(a), long(b))
}

// Plan implements resource.Item.
func (x *database) Plan() (changes []resource.Change, err error) {
	switch {
	case x.absent && x.found:
		return resource.Removed("mysql_database"), nil
	case x.absent:
		return nil, nil
	case !x.found:
		return resource.Created("mysql_database"), nil
	}
	if !same(x.isCharset, x.charset) {
		changes = append(changes, resource.Change{Property: "charset", Is: x.isCharset, Should: x.charset})
	}
	if !same(x.isCollate, x.collate) {
		changes = append(changes, resource.Change{Property: "collate", Is: x.isCollate, Should: x.collate})
	}
	return changes, nil
}

// Do implements resource.Item. A change of the character set alone would reset the collation, so both are changed together.
func (x *database) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	sql := name(x.name) + " CHARACTER SET " + x.charset + " COLLATE " + x.collate
	switch {
	case c.Property != "ensure":
		sql = "ALTER DATABASE " + sql
	case x.absent:
		sql = "DROP DATABASE IF EXISTS " + name(x.name)
	default:
		sql = "CREATE DATABASE IF NOT EXISTS " + sql
	}
	return change(ctx, h, false, sql)
}

// List implements resource.Lister.
func (databases) List(ctx context.Context, h *resource.Host) (res []*resource.Resource, err error) {
	rows, err := schemata(ctx, h)
	for _, row := range rows {
		res = append(res, &resource.Resource{Ref: catalog.Ref{Type: "Mysql_database", Title: row[0]},
			Params: ordered.Of("ensure", "present", "charset", row[1], "collate", row[2])})
	}
	return res, err
}
