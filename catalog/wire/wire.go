// Package wire writes catalogs in PuppetDB's form: the payload of the command "replace catalog",
// version 9. catalog.Parse reads this form.
//
// PuppetDB stores less than a catalog contains. Sensitive parameters are left out. Values that JSON
// does not have are strings. Exported resources are stored even if no node has collected them.
// Relations are edges, too.
//
// Source: https://www.puppet.com/docs/puppetdb (catalog wire format, version 9), and the recorded
// command of Puppet's own client in testdata.
package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/catalog"
	"bolt/catalog/types"
	"bolt/format/ordered"
	"bolt/puppet/value"
)

// The command whose payload Catalog writes.
const (
	Command = "replace_catalog"
	Version = 9
)

// Options describe the sender of a catalog.
type Options struct {
	Producer string    // the certname of the compiler; "" for none
	Produced time.Time // PuppetDB ignores a catalog that is older than its stored catalog
}

// timestamp is the format of times.
const timestamp = "2006-01-02T15:04:05.000Z"

// Catalog returns the payload of the command. An error names the relation whose resource
// the catalog does not have.
func Catalog(c *catalog.Catalog, o Options) (*ordered.Map, error) {
	sent := stored(c)
	resources := make([]any, 0, len(sent))
	for _, r := range sent {
		m := ordered.Of("type", r.Type, "title", r.Title, "tags", ordered.Strings(r.Tags))
		if r.File != "" {
			m.Set("file", r.File)
		}
		if r.Line != 0 {
			m.Set("line", int64(r.Line))
		}
		m.Set("exported", r.Exported)
		if r.Kind != "" {
			m.Set("kind", string(r.Kind))
		}
		if r.Params == nil {
			m.Set("parameters", &ordered.Map{})
		} else {
			m.Set("parameters", r.Params)
		}
		resources = append(resources, m)
	}
	edges, err := edges(c, sent)
	if err != nil {
		return nil, err
	}
	return ordered.Of(
		"certname", c.Name, "version", c.Version, "environment", c.Environment,
		"transaction_uuid", ordered.Optional(c.UUID), "catalog_uuid", ordered.Optional(c.UUID), "code_id", ordered.Optional(c.CodeID), "job_id", nil,
		"producer", ordered.Optional(o.Producer), "producer_timestamp", o.Produced.UTC().Format(timestamp),
		"resources", resources, "edges", edges), nil
}

// Exported returns the exported resources of a catalog as PuppetDB stores them. The catalog may
// have been read from this form.
func Exported(c *catalog.Catalog) (list []*catalog.Resource) {
	for _, r := range c.Resources() {
		if r.Exported {
			list = append(list, stripped(r))
		}
	}
	return list
}

// stored returns the resources that PuppetDB stores: all except virtual resources that are not
// exported.
func stored(c *catalog.Catalog) (list []*catalog.Resource) {
	for _, r := range c.Resources() {
		if r.Exported || !r.Virtual {
			list = append(list, stripped(r))
		}
	}
	return list
}

// unordered are the parameters whose order has no meaning. PuppetDB compares catalogs, and
// they must not differ by this order.
var unordered = []string{"alias", "audit", "before", "check", "notify", "require", "subscribe", "tag"}

// stripped returns a copy of a resource with parameters as PuppetDB stores them.
func stripped(r *catalog.Resource) *catalog.Resource {
	made := *r
	made.Params, made.Sensitive = nil, nil
	params := &ordered.Map{}
	for name, v := range r.Params.All() {
		if v != nil && !slices.Contains(r.Sensitive, name) {
			params.Set(name, Stringify(v))
		}
	}
	if names := aliases(r); len(names) > 0 {
		params.Set("alias", names)
	}
	for _, name := range unordered {
		if l, is := params.Value(name).([]any); is {
			l = slices.Clone(l)
			slices.SortStableFunc(l, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			params.Set(name, l)
		}
	}
	if params.Len() > 0 {
		made.Params = params
	}
	return &made
}

// aliases returns the names besides the title by which others can refer to a resource: the
// parameter alias, and the value of the parameter that names the resource.
func aliases(r *catalog.Resource) (names []any) {
	switch v := r.Params.Value("alias").(type) {
	case nil:
	case []any:
		names = append(names, v...)
	default:
		names = append(names, v)
	}
	key, alone := "name", true
	if t := types.Find(strings.ToLower(r.Type)); t != nil {
		key, alone = t.Key, t.Unique
	}
	name := r.Params.Value(key)
	if name == nil || !alone || slices.Contains(r.Sensitive, key) || slices.Contains(names, name) {
		return names
	}
	// Puppet's title of the first stage and of the top class is not a string.
	if name != any(r.Title) || r.Title == "main" && (r.Type == "Class" || r.Type == "Stage") {
		names = append(names, name)
	}
	return names
}

// Stringify returns a value without rich data: each value that JSON does not have becomes a string, as in
// Puppet.
func Stringify(v any) any {
	switch v := v.(type) {
	case []any:
		made := make([]any, len(v))
		for i, x := range v {
			made[i] = Stringify(x)
		}
		return made
	case *ordered.Map:
		made := &ordered.Map{}
		if _, rich := v.Get("__ptype"); !rich {
			for k, x := range v.All() {
				made.Set(k, Stringify(x))
			}
			return made
		}
		if pairs, is := v.Value("__pvalue").([]any); is && v.Value("__ptype") == "Hash" {
			for i := 0; i+1 < len(pairs); i += 2 {
				made.Set(fmt.Sprint(Stringify(pairs[i])), Stringify(pairs[i+1]))
			}
			return made
		}
		return text(v)
	}
	return v
}

// text returns the string of a value of rich data.
func text(v *ordered.Map) string {
	of, _ := v.Value("__pvalue").(string)
	switch name, _ := v.Value("__ptype").(string); name {
	case "Sensitive":
		return "Sensitive [value redacted]"
	case "Regexp":
		return "/" + of + "/"
	case "SemVer", "SemVerRange", "Timespan", "Timestamp", "Binary", "URI":
		return of
	}
	if data, err := v.MarshalJSON(); err == nil {
		if known, err := value.UnmarshalRich(data); err == nil {
			return value.ToString(known)
		}
	}
	parts := &ordered.Map{} // for an unknown type
	for k, x := range v.All() {
		parts.Set(k, Stringify(x))
	}
	data, _ := parts.MarshalJSON() // parts contains only data
	return string(data)
}
