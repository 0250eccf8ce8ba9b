package firewalld

import (
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

// A writer makes a rich rule of the parameters of a resource.
type writer struct {
	f     *resource.Fields
	words []string
}

// pair adds NAME="VALUE" if there is a value.
func (w *writer) pair(param, name string, value any) {
	if value == nil {
		return
	}
	text := fmt.Sprint(value)
	if strings.ContainsAny(text, "\"\r\n") {
		w.f.Refuse(param, "must have no quotes and no ends of lines")
	}
	w.words = append(w.words, name+`="`+text+`"`)
}

// fields returns a parameter that is a hash, or a string that stands for one of its values.
func (w *writer) fields(param, single string) *ordered.Map {
	switch v := w.f.R.Params.Value(param).(type) {
	case nil:
		return nil
	case *ordered.Map:
		return v
	default:
		return ordered.Of(single, v)
	}
}

// elements are the parameters of which a rule has one at most.
var elements = strings.Fields("service port protocol icmp_block icmp_type masquerade forward_port")

// richRule returns the rule of a resource in the language of firewalld.richlanguage(5).
func richRule(f *resource.Fields) string {
	if raw := f.Text("raw_rule", ""); raw != "" {
		if strings.ContainsAny(raw, "\r\n") {
			f.Refuse("raw_rule", "must be one line")
		}
		return raw
	}
	w := &writer{f: f, words: []string{"rule"}}
	family := f.Text("family", "ipv4")
	if !slices.Contains([]string{"ipv4", "ipv6", "eb"}, family) {
		f.RefuseValue("family", "must be ipv4, ipv6 or eb", family)
	}
	if n, err := f.R.Int("priority", 0); err != nil || n < -32768 || n > 32767 {
		f.Refuse("priority", "must be a number from -32768 to 32767")
	} else if f.R.Params.Value("priority") != nil {
		w.pair("priority", "priority", n)
	}
	w.pair("family", "family", family)
	w.end("source", "source")
	w.end("dest", "destination")
	w.element()
	if log := f.R.Params.Value("log"); log != nil && log != false && log != "false" {
		w.words = append(w.words, "log")
		if m, is := log.(*ordered.Map); is {
			w.pair("log", "prefix", m.Value("prefix"))
			w.pair("log", "level", m.Value("level"))
			w.pair("log", "limit value", m.Value("limit"))
		}
	}
	if audit := f.R.Params.Value("audit"); audit != nil && audit != false && audit != "false" {
		w.words = append(w.words, "audit")
		if m, is := audit.(*ordered.Map); is {
			w.pair("audit", "limit value", m.Value("limit"))
		}
	}
	if m := w.fields("action", "action"); m != nil {
		action := fmt.Sprint(m.Value("action"))
		if !slices.Contains([]string{"accept", "reject", "drop", "mark"}, action) {
			f.Refuse("action", "must be accept, reject, drop or mark, or a hash with action and type")
		}
		w.words = append(w.words, action)
		w.pair("action", "type", m.Value("type"))
	}
	return strings.Join(w.words, " ")
}

// end adds the source or the destination.
func (w *writer) end(param, name string) {
	m := w.fields(param, "address")
	if m == nil {
		return
	}
	if m.Value("address") != nil && m.Value("ipset") != nil {
		w.f.Refuse(param, "must have an address or an ipset, not both")
	}
	if invert := m.Value("invert"); invert != nil && invert != false {
		name += " NOT"
	}
	w.words = append(w.words, name)
	w.pair(param, "address", m.Value("address"))
	w.pair(param, "ipset", m.Value("ipset"))
}

// element adds the element of the rule.
func (w *writer) element() {
	found := ""
	for _, param := range elements {
		v := w.f.R.Params.Value(param)
		switch {
		case v == nil || v == false:
			continue
		case found != "":
			w.f.Refuse(param, "cannot be used together with "+found)
		}
		found = param
		w.words = append(w.words, strings.ReplaceAll(param, "_", "-"))
		switch param {
		case "protocol":
			w.pair(param, "value", v)
		case "service", "icmp_block", "icmp_type":
			w.pair(param, "name", v)
		case "port", "forward_port":
			m, is := v.(*ordered.Map)
			if !is {
				w.f.Refuse(param, "must be a hash with port and protocol")
				continue
			}
			w.pair(param, "port", m.Value("port"))
			w.pair(param, "protocol", m.Value("protocol"))
			if param == "forward_port" {
				w.pair(param, "to-port", m.Value("to_port"))
				w.pair(param, "to-addr", m.Value("to_addr"))
			}
		}
	}
}
