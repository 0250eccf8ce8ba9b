package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/remote"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/run"
)

// KindState is the kind of the error for resources whose state is not known.
const KindState = "bolt/resource-state-error"

// Showable are the types whose resources States shows.
func Showable() []string {
	return []string{"cron", "file", "group", "host", "mount", "package", "service", "ssh_authorized_key", "sshkey", "user"}
}

// States is the action of showing the states of resources. Its value has them as code of the Puppet language
// (_output), or as data: {"resources": [{"type": ..., "title": ..., "parameters": {...}}, ...]}.
type States struct {
	Delivery *Delivery
	Type     string // capitalized
	Title    string // "" for all resources
	AsCode   bool
}

// Name makes it an Action.
func (s *States) Name() string { return "task" }

// Object is the task of Puppet Bolt that returns states.
func (s *States) Object() string { return "apply_helpers::query_resources" }

// Do finds the states on one target.
func (s *States) Do(ctx context.Context, site *run.Site) error {
	list, err := remote.State(ctx, site.Conn, s.Delivery.Target(site), s.Type, s.Title)
	if e, is := errors.AsType[*remote.FailedError](err); is {
		site.Result.Err = &event.Error{Kind: KindState, Class: event.ClassFailed, Msg: e.Error(), Details: &ordered.Map{}}
		return nil
	}
	if err != nil {
		return err
	}
	if s.AsCode {
		var b strings.Builder
		for _, x := range list {
			writeCode(&b, s.Type, x.Title, x.Params)
		}
		if len(list) == 0 {
			fmt.Fprintf(&b, "There are no resources of the type %s.\n", strings.ToLower(s.Type))
		}
		site.Result.Value = ordered.Of("_output", b.String())
		return nil
	}
	resources := make([]any, len(list))
	for i, x := range list {
		resources[i] = ordered.Of("type", s.Type, "title", x.Title, "parameters", x.Params)
	}
	site.Result.Value = ordered.Of("resources", resources)
	return nil
}

// writeCode writes a resource as "puppet resource" does: ensure first, the other parameters by name.
func writeCode(b *strings.Builder, typ, title string, params *ordered.Map) {
	width := 0
	for name := range params.All() {
		width = max(width, len(name))
	}
	b.WriteString(strings.ToLower(typ) + " { " + quoted(title) + ":\n")
	line := func(name string, v any) {
		b.WriteString("  " + name + strings.Repeat(" ", width-len(name)) + " => " + code(v) + ",\n")
	}
	if v, has := params.Get("ensure"); has {
		line("ensure", v)
	}
	for _, name := range slices.Sorted(slices.Values(params.Keys())) {
		if name != "ensure" {
			line(name, params.Value(name))
		}
	}
	b.WriteString("}\n")
}

func quoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

// code is a value as a literal.
func code(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case []any:
		list := make([]string, len(v))
		for i, x := range v {
			list[i] = code(x)
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return "undef"
}
