package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/remote"
	"bolt/catalog"
	"bolt/event"
	"bolt/format/ordered"
	"bolt/run"
)

// kindState is the kind of the error for resources whose state is not known.
const kindState = "bolt/resource-state-error"

// Showable returns the types whose resources States shows.
func Showable() []string {
	return []string{"cron", "file", "group", "host", "mount", "mysql_database", "mysql_grant", "mysql_user", "package", "service", "ssh_authorized_key", "sshkey", "user"}
}

// CanShow reports whether States shows a resource, or all of a type if the reference has no title.
func CanShow(ref catalog.Ref) bool {
	return slices.Contains(Showable(), strings.ToLower(ref.Type)) && (ref.Title != "" || ref.Type != "File")
}

// States is the action of showing the states of resources. Its value has the states as code of the Puppet
// language (_output), or as data: {"resources": [{"type": ..., "title": ..., "tags": [...], "exported": false,
// "parameters": {...}}, ...]}.
type States struct {
	Delivery *Delivery
	Of       []catalog.Ref // with capitalized types; all resources of a type without a title
	AsCode   bool
}

// Name implements run.Action.
func (s *States) Name() string { return "task" }

// Object returns the task of Puppet Bolt that returns states.
func (s *States) Object() string { return "apply_helpers::query_resources" }

// Do finds the states on one target.
func (s *States) Do(ctx context.Context, site *run.Site) error {
	var code strings.Builder
	resources := []any{}
	for _, ref := range s.Of {
		list, err := remote.State(ctx, site.Conn, s.Delivery.Target(site), ref.Type, ref.Title)
		if e, is := errors.AsType[*remote.FailedError](err); is {
			site.Result.Err = &event.Error{Kind: kindState, Class: event.ClassFailed, Msg: e.Error(), Details: &ordered.Map{}}
			return nil
		}
		if err != nil {
			return err
		}
		name := strings.ToLower(ref.Type)
		if len(list) == 0 {
			fmt.Fprintf(&code, "No resource of the type %s exists.\n", name)
		}
		for _, x := range list {
			writeCode(&code, ref.Type, x.Title, x.Params)
			resources = append(resources, ordered.Of("type", ref.Type, "title", x.Title, "tags", []any{name}, "exported", false, "parameters", x.Params))
		}
	}
	site.Result.Value = ordered.Of("resources", resources)
	if s.AsCode {
		site.Result.Value = ordered.Of("_output", code.String())
	}
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

// code returns a value as a literal of the Puppet language.
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
