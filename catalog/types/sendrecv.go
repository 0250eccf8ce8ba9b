package types

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"bolt/catalog"
)

// A ValueKind is a set of kinds of values that resources send to others.
type ValueKind uint8

// The kinds of values.
const (
	Text ValueKind = 1 << iota
	Integer
	Boolean
	Data // lists, hashes and floats

	anyValue = Text | Integer | Boolean | Data
)

func (k ValueKind) String() string {
	var names []string
	for i, name := range []string{"a string", "an integer", "a boolean", "a list, a hash or a float"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return alternatives(names)
}

// KindOf returns the kind of a plain value (catalog.Plain).
func KindOf(v any) ValueKind {
	switch v.(type) {
	case string:
		return Text
	case int64, *big.Int:
		return Integer
	case bool:
		return Boolean
	}
	return Data
}

// sends are the keys of the values that resources of a type send. The keys of exec, password and value come from mgmt.
// So does content of http_check, which mgmt's kind http:client sends.
var sends = map[string]map[string]ValueKind{
	"Exec":       {"output": Text, "stdout": Text, "stderr": Text},
	"Http_check": {"content": Text, "status": Integer},
	"Kv":         {"value": Text},
	"Password":   {"password": Text},
	"Value":      {"any": anyValue},
}

// A receiver is a parameter that can receive.
type receiver struct {
	accepts ValueKind
	// example stands for the value until it is received. With it, the type can check the other parameters.
	example string
}

var receivers = map[string]map[string]receiver{
	"Cron": {
		"command": {Text, "/bin/true"}, "user": {Text, "root"},
		"minute": {Text | Integer, "0"}, "hour": {Text | Integer, "0"}, "monthday": {Text | Integer, "1"},
		"month": {Text | Integer, "1"}, "weekday": {Text | Integer, "0"},
	},
	"File":   {"content": {Text, "received"}, "mode": {Text, "0600"}, "owner": {Text | Integer, "root"}, "group": {Text | Integer, "root"}},
	"Kv":     {"value": {Text, "0"}},
	"Notify": {"message": {anyValue, "received"}},
	"Value":  {"any": {anyValue, "received"}},
}

// Received returns the value that stands for a parameter until it is received; nil if the parameter cannot receive.
func Received(typ, param string) any {
	if to, is := receivers[typ][param]; is {
		return to.example
	}
	return nil
}

// Receivable returns the problem of a value that a parameter receives; "" if there is none.
func Receivable(typ, param string, v any) string {
	if to := receivers[typ][param]; to.accepts&KindOf(v) == 0 {
		return fmt.Sprintf("must be %s, and received %s", to.accepts, KindOf(v))
	}
	return ""
}

// CheckRecv returns errors for the values that resources receive from others. The other resource must be in the catalog and must
// send this value. The parameter must be able to receive a value of this kind. A resource that is not applied
// is not checked.
func CheckRecv(c *catalog.Catalog) (errs []*ValueError) {
	for _, r := range c.Resources() {
		if r.Virtual {
			continue
		}
		bad := func(format string, a ...any) {
			errs = append(errs, &ValueError{r, catalog.RecvParam, fmt.Sprintf(format, a...)})
		}
		list, err := r.Receives()
		if err != nil {
			bad("is wrong: %v", err)
			continue
		}
		for _, x := range list {
			if problem := checkReceipt(c, r, x); problem != "" {
				bad("%s", problem)
			}
		}
	}
	return errs
}

func checkReceipt(c *catalog.Catalog, r *catalog.Resource, x catalog.Receipt) (problem string) {
	to, can := receivers[r.Type][x.Param]
	from := c.Find(x.From)
	keys := sends[x.From.Type]
	switch {
	case receivers[r.Type] == nil:
		return fmt.Sprintf("cannot be used: resources of the type %s do not receive values; only %s do", r.Type, alternatives(sortedKeys(receivers)))
	case !can:
		return fmt.Sprintf("names %s, which cannot receive a value; %s can", x.Param, alternatives(sortedKeys(receivers[r.Type])))
	case r.Params.Value(x.Param) != nil:
		return fmt.Sprintf("names %s, which already has a value; remove one of them", x.Param)
	case keys == nil:
		return fmt.Sprintf("names %s, but resources of its type do not send values; only %s do", x.From, alternatives(sortedKeys(sends)))
	case from == nil || from.Virtual:
		return fmt.Sprintf("names %s, which the catalog does not have", x.From)
	case from == r:
		return "names the resource itself"
	case keys[x.Key] == 0:
		return fmt.Sprintf("names %s of %s, which it does not send; it sends %s", x.Key, x.From, alternatives(sortedKeys(keys)))
	}
	sent := keys[x.Key]
	if v := from.Params.Value("any"); from.Type == "Value" && v != nil {
		if plain, err := catalog.Plain(v); err == nil {
			sent = KindOf(plain)
		}
	}
	if sent&to.accepts == 0 {
		return fmt.Sprintf("gives %s %s, which must be %s", x.Param, sent, to.accepts)
	}
	return ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// mgmtKinds are the types that stand for kinds of mgmt. No Puppet has them.
func mgmtKinds() []Type {
	return []Type{
		row("http_check", "url", "", "method headers status contains timeout tries try_sleep cacert insecure"),
		row("kv", "key", "value", "skiplessthan skipcmpstyle"),
		row("password", "name", "", "length saved check_recovery"),
		row("timer", "name", "", "interval"),
		row("value", "name", "", "any"),
	}
}
