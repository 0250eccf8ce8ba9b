package input

import (
	"context"
	"encoding/json"
	"strings"

	"bolt/cli"
	"bolt/format/ordered"
)

// Params are the parameters of a task or plan on the command line.
type Params struct {
	Pairs  []string // NAME=VALUE
	object cli.Optional
}

// Bind reads the flag, and the arguments after the first one.
func (o *Params) Bind(b *cli.Binder) {
	b.Rest(1, &o.Pairs)
	b.Optional("params", &o.object)
}

// Object returns the object of --params, or nil if it is not given. It cannot be
// combined with pairs.
func (o *Params) Object(ctx context.Context, in *Input) (*ordered.Map, error) {
	if !o.object.Given {
		return nil, nil
	}
	if len(o.Pairs) > 0 {
		return nil, cli.Errorf("Parameters must be specified through either the --params option or param=value pairs, not both")
	}
	return in.Object(ctx, "params", o.object.Text)
}

// CheckPairs rejects arguments that are not NAME=VALUE. of is "task" or "plan".
func CheckPairs(words []string, of string) error {
	var rest []string
	for _, arg := range words {
		if name, _, ok := strings.Cut(arg, "="); !ok || name == "" {
			rest = append(rest, arg)
		}
	}
	if rest != nil {
		return cli.Hinted(cli.Errorf("Unknown argument(s) %s", strings.Join(rest, ", ")), "parameters of the %s are NAME=VALUE", of)
	}
	return nil
}

// Ordered returns parameters of a strategy in the form for tasks and plans. The log of a rollout contains them
// as JSON.
func Ordered(params map[string]any) (*ordered.Map, error) {
	m := &ordered.Map{}
	text, err := json.Marshal(params)
	if err != nil || params == nil {
		return m, err
	}
	return m, m.UnmarshalJSON(text)
}
