package rabbitmq

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/resource"
	"bolt/format/ordered"
)

type policies struct{}

// Policy returns the type rabbitmq_policy.
func Policy() resource.Type { return policies{} }

// numbers are the keys of a definition whose values are whole numbers.
var numbers = strings.Fields("consumer-timeout delivery-limit expires ha-sync-batch-size initial-cluster-size max-length max-length-bytes message-ttl " +
	"queue-version shards-per-node target-group-size")

// A policy is a rabbitmq_policy.
type policy struct {
	r                    *resource.Resource
	name, vhost          string
	pattern, applyTo     string
	definition, priority string // the definition as JSON
	absent               bool

	is   *policyRow // nil for none
	done bool       // Do has set the policy
}

type policyRow struct {
	Name, Pattern string
	ApplyTo       string          `json:"apply-to"`
	Definition    json.RawMessage // an object, or a string with it
	Priority      json.Number
}

// New implements resource.Type.
func (policies) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	name := word(&f)
	x := &policy{r: r, pattern: f.Text("pattern", ""), applyTo: f.Text("applyto", "all"), priority: f.Text("priority", "0"), absent: f.Text("ensure", "present") == "absent"}
	if at := strings.LastIndexByte(name, '@'); at > 0 && at < len(name)-1 && name[at+1] != '-' {
		x.name, x.vhost = name[:at], name[at+1:]
	} else {
		f.RefuseValue("name", "must be policy@vhost", name)
	}
	n, err := strconv.ParseUint(x.priority, 10, 31)
	if err != nil {
		f.RefuseValue("priority", "must be a whole number", x.priority)
	}
	x.priority = strconv.FormatUint(n, 10)
	for _, param := range []string{"pattern", "definition"} {
		switch {
		case r.Secret(param):
			f.Refuse(param, "cannot be Sensitive: it is an argument of rabbitmqctl, which all users of the target can see")
		case !x.absent && r.Params.Value(param) == nil:
			f.Refuse(param, "must be given")
		}
	}
	if v := r.Params.Value("definition"); v != nil && f.Err == nil {
		x.definition = definition(&f, v)
	}
	return x, f.Err
}

// definition returns a definition as JSON. As in the module, some values are numbers there that are strings in Puppet.
func definition(f *resource.Fields, v any) string {
	m, is := v.(*ordered.Map)
	if !is {
		f.Refuse("definition", "must be a hash")
		return ""
	}
	out := &ordered.Map{}
	for key, value := range m.All() {
		text, isText := value.(string)
		_, isList := value.([]any)
		number := slices.Contains(numbers, key) || key == "ha-params" && m.Value("ha-mode") == "exactly"
		switch {
		case number:
			n, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
			if err != nil {
				f.Refuse("definition", "must have a whole number for "+key)
			}
			value = n
		case isText:
			value = text
		case !isList:
			f.Refuse("definition", "must have a string for "+key)
		}
		out.Set(key, value)
	}
	data, err := json.Marshal(out)
	if err != nil {
		f.Refuse("definition", "must be a hash of strings")
	}
	return string(data)
}

// Read implements resource.Item.
func (x *policy) Read(ctx context.Context, h *resource.Host) error {
	return policies{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. There is one query for each virtual host.
func (policies) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return byVhost(items, func(i resource.Item) string { return i.(*policy).vhost }, func(vhost string) ([]policyRow, error) {
		return list[policyRow](ctx, h, items[0].(*policy).r, "list_policies", "-p", vhost)
	}, func(i resource.Item, rows []policyRow) {
		x := i.(*policy)
		x.is, x.done = nil, false
		for _, row := range rows {
			if row.Name == x.name {
				row.Definition = object(row.Definition)
				x.is = &row
			}
		}
	})
}

// object returns the JSON object of a definition, which can be in a string.
func object(data json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return json.RawMessage(text)
	}
	return data
}

// same compares two JSON texts by their values.
func same(a, b []byte) bool {
	value := func(data []byte) (v any, ok bool) {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		return v, d.Decode(&v) == nil
	}
	x, okX := value(a)
	y, okY := value(b)
	return okX && okY && reflect.DeepEqual(x, y)
}

// Plan implements resource.Item.
func (x *policy) Plan() ([]resource.Change, error) {
	changes, compare := existence("rabbitmq_policy", x.absent, x.is != nil)
	if !compare {
		return changes, nil
	}
	if !same(x.is.Definition, []byte(x.definition)) {
		changes = append(changes, resource.Change{Property: "definition", Is: string(x.is.Definition), Should: x.definition})
	}
	for _, p := range [][3]string{{"pattern", x.is.Pattern, x.pattern}, {"applyto", x.is.ApplyTo, x.applyTo}, {"priority", x.is.Priority.String(), x.priority}} {
		if p[1] != p[2] {
			changes = append(changes, resource.Change{Property: p[0], Is: p[1], Should: p[2]})
		}
	}
	return changes, nil
}

// Do implements resource.Item. One command sets the whole policy.
func (x *policy) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	switch {
	case x.absent:
		return change(ctx, h, "", "clear_policy", "-p", x.vhost, x.name)
	case x.done:
		return nil
	}
	err := change(ctx, h, "", "set_policy", "-p", x.vhost, "--priority", x.priority, "--apply-to", x.applyTo, x.name, x.pattern, x.definition)
	x.done = err == nil
	return err
}
