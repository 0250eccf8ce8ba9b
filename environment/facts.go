package environment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/valuedata"
	"bolt/format/yaml"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// ReadFacts reads a file of facts, JSON or YAML.
func ReadFacts(ctx context.Context, name string) (*value.Hash, error) {
	text, err := yaml.Read(ctx, name, "facts")
	if err != nil {
		return nil, err
	}
	data, err := yaml.DecodeMap(text, name, "facts")
	if err != nil {
		return nil, err
	}
	facts, err := Hash(data)
	if err != nil {
		at := ""
		if e, ok := errors.AsType[*valuedata.Error](err); ok {
			if line, column := yaml.Locate(text, e.Path...); line > 0 {
				at = fmt.Sprintf(", line %d, column %d", line, column)
			}
		}
		return nil, fault.File(name, err, "The facts of '%s' cannot be used%s: %v", name, at, err)
	}
	return facts, nil
}

// Hash makes a hash of data; nil is an empty hash. The error is a *valuedata.Error.
func Hash(data *ordered.Map) (*value.Hash, error) {
	if data == nil {
		return value.NewHash(), nil
	}
	v, err := valuedata.Of(data)
	if err != nil {
		return nil, err
	}
	return v.(*value.Hash), nil
}

// Local returns the node for facts that the user supplies. Each fact is also a variable.
// $trusted is made from these facts alone.
func Local(facts *value.Hash) Node {
	net := value.NewHash()
	if v, ok := facts.GetString("networking"); ok {
		if h, ok := v.(*value.Hash); ok {
			net = h
		}
	}
	get := func(name string) value.Value {
		if v, ok := net.GetString(name); ok {
			return v
		}
		return value.Undef{}
	}
	return Node{
		Facts:     facts,
		Trusted:   trusted(get("fqdn"), get("hostname"), get("domain")),
		Variables: facts.With(value.String("environment"), value.String(Name)),
	}
}

// Certified returns the node with a certname, for which a catalog is compiled. Each fact
// is a variable. PuppetDB has $trusted as the fact trusted; without that fact, $trusted
// contains only the name. server is $server_facts; each of these is a variable, too.
func Certified(certname string, facts, server *value.Hash) Node {
	host, domain, qualified := strings.Cut(certname, ".")
	var in value.Value = value.Undef{}
	if qualified {
		in = value.String(domain)
	}
	proven := trusted(value.String(certname), value.String(host), in).With(value.String("authenticated"), value.String("remote"))
	if v, _ := facts.GetString("trusted"); v != nil {
		if h, is := v.(*value.Hash); is {
			proven, facts = h, facts.Without(value.String("trusted"))
		}
	}
	variables := facts.Merge(server)
	if _, is := facts.GetString("clientcert"); !is { // an agent adds this fact
		variables = variables.With(value.String("clientcert"), value.String(certname))
	}
	return Node{Facts: facts, Trusted: proven, Server: server, Variables: variables}
}

// A Target is a machine of the inventory.
type Target struct {
	Name        string
	Facts, Vars *ordered.Map      // either may be nil
	Given       map[string]string // variables of the command line
	Plan        *value.Hash       // variables of a plan; nil for none
}

// Odd lists problems with the variables of a target. They are not errors.
type Odd struct {
	Overridden []string // sentences about overridden variables
	Refused    []error  // about left-out variables of the inventory or of a plan, whose names are invalid
}

// Logs returns the problems as warnings.
func (o *Odd) Logs() []eval.Log {
	var list []eval.Log
	for _, text := range o.Overridden {
		list = append(list, eval.Log{Level: eval.Warning, Kind: "variable-overridden", Msg: text})
	}
	for _, err := range o.Refused {
		list = append(list, eval.Log{Level: eval.Warning, Kind: "variable-refused", Msg: err.Error()})
	}
	return list
}

// Node returns the node of a target, as Bolt compiles for it: the target's name is the
// name of the certificate and of the environment. Facts override the variables in Given
// and those of a plan, which override the inventory's variables.
func (t *Target) Node() (n Node, odd Odd, err error) {
	facts, err := Hash(t.Facts)
	if err != nil {
		return Node{}, odd, fmt.Errorf("the facts of the inventory cannot be used: %w", err)
	}
	vars, odd, err := t.Variables(facts)
	if err != nil {
		return Node{}, odd, err
	}
	name := value.String(t.Name)
	host, domain, qualified := strings.Cut(t.Name, ".")
	var in value.Value = value.Undef{}
	if qualified {
		in = value.String(domain)
	}
	return Node{
		Facts: facts, Variables: facts.With(value.String("environment"), name).Merge(vars), Trusted: trusted(name, value.String(host), in),
		Server: value.NewHash(value.Entry{Key: value.String("environment"), Value: name}),
	}, odd, nil
}

// Variables returns the variables of the target that facts do not override, and that are not facts themselves.
func (t *Target) Variables(facts *value.Hash) (top *value.Hash, odd Odd, err error) {
	vars, err := Hash(t.Vars)
	if err != nil {
		return nil, odd, fmt.Errorf("the variables of the inventory cannot be used: %w", err)
	}
	var b value.HashBuilder
	put := func(what, k string, v value.Value) error {
		if _, is := facts.GetString(k); is {
			odd.Overridden = append(odd.Overridden, fmt.Sprintf("%s $%s is overridden by the fact of the same name", what, k))
			return nil
		}
		if err := CheckVariable(k); err != nil {
			return err
		}
		b.Put(value.String(k), v)
		return nil
	}
	for k, v := range vars.All() {
		k := value.RubyShown(k)
		if _, is := t.Given[k]; is {
			odd.Overridden = append(odd.Overridden, fmt.Sprintf("The inventory's variable $%s is overridden by the one of the command line", k))
			continue
		}
		if t.Plan != nil {
			if _, is := t.Plan.GetString(k); is {
				odd.Overridden = append(odd.Overridden, fmt.Sprintf("The inventory's variable $%s is overridden by the one of the plan", k))
				continue
			}
		}
		if err := put("The inventory's variable", k, v); err != nil {
			odd.Refused = append(odd.Refused, err)
		}
	}
	if t.Plan != nil {
		for k, v := range t.Plan.All() {
			if err := put("The plan's variable", value.ToString(k), v); err != nil {
				odd.Refused = append(odd.Refused, err)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(t.Given)) {
		if err := put("The variable", k, value.String(t.Given[k])); err != nil {
			return nil, odd, err
		}
	}
	return b.Build(), odd, nil
}

// Plan returns the node of a plan: it has no facts, only variables of the command line.
func Plan(given map[string]string) Node {
	var h value.HashBuilder
	for _, k := range slices.Sorted(maps.Keys(given)) {
		h.Put(value.String(k), value.String(given[k]))
	}
	return Node{Variables: h.Build(), Plans: true}
}

// CheckVariable returns an error if name is not valid for a variable.
func CheckVariable(name string) error {
	switch name {
	case "facts", "trusted", "server_facts", "environment":
		return fault.New("bolt/pal-error", "The variable '%s' cannot be set: the language itself sets it. Choose another name.", name)
	}
	if !isVariable(name) {
		return fault.New("bolt/pal-error", "'%s' cannot be the name of a variable: it must begin with a lower case letter or _, and have only letters, digits and _.", name)
	}
	return nil
}

// isVariable reports whether name is valid for a variable. It may be qualified.
func isVariable(name string) bool {
	segments := strings.Split(strings.TrimPrefix(name, "::"), "::")
	for i, s := range segments {
		last := i == len(segments)-1
		if s == "" || s[0] == '_' && !last || s[0] != '_' && (s[0] < 'a' || s[0] > 'z') {
			return false
		}
		for j := range len(s) {
			if c := s[j]; c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
				return false
			}
		}
	}
	return true
}

// trusted returns the value of $trusted.
func trusted(certname, hostname, domain value.Value) *value.Hash {
	entry := func(k string, v value.Value) value.Entry { return value.Entry{Key: value.String(k), Value: v} }
	return value.NewHash(
		entry("authenticated", value.String("local")), entry("certname", certname), entry("hostname", hostname), entry("domain", domain),
		entry("extensions", value.NewHash()), entry("external", value.NewHash()),
	)
}
