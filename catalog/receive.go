package catalog

import (
	"fmt"
	"strings"

	"bolt/format/ordered"
)

// RecvParam is the parameter of a resource whose other parameters get values from resources that are applied before it.
// It is a hash of the names of parameters to hashes with the keys kind, name and key:
//
//	recv => { 'content' => { 'kind' => 'password', 'name' => 'db', 'key' => 'password' } }
const RecvParam = "recv"

// A Receipt is a parameter that gets its value, on the node, from another resource.
type Receipt struct {
	Param string
	From  Ref
	Key   string // the name of a value that From sends
}

// Receives returns the receipts of a resource in the order of its parameter recv; none for a container. The error begins with the
// name of the parameter.
func (r *Resource) Receives() (list []Receipt, err error) {
	v, given := r.Params.Get(RecvParam)
	if !given || v == nil || r.Container() {
		return nil, nil
	}
	m, is := v.(*ordered.Map)
	if !is {
		return nil, fmt.Errorf("%s must be a hash of parameters to the values that they receive", RecvParam)
	}
	for param, from := range m.All() {
		fields, is := from.(*ordered.Map)
		if !is {
			return nil, fmt.Errorf("%s: %s must be a hash with the keys kind, name and key", RecvParam, param)
		}
		var texts [3]string
		for i, field := range []string{"kind", "name", "key"} {
			if texts[i], _ = fields.Value(field).(string); texts[i] == "" {
				return nil, fmt.Errorf("%s: %s of %s must be a string that is not empty", RecvParam, field, param)
			}
		}
		if fields.Len() > len(texts) {
			return nil, fmt.Errorf("%s: %s can have the keys kind, name and key only", RecvParam, param)
		}
		list = append(list, Receipt{param, Ref{Capitals(TypeOfKind(texts[0])), texts[1]}, texts[2]})
	}
	return list, nil
}

// TypeOfKind returns the name of the type for a kind of mgmt. A colon between two words becomes an underscore:
// http_check for http:check. The names of Puppet's types stay as they are, also web::vhost.
func TypeOfKind(kind string) string {
	parts := strings.Split(kind, "::")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(p, ":", "_")
	}
	return strings.Join(parts, "::")
}
