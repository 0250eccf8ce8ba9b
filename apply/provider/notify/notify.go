// Package notify applies resources of the type notify: messages in the log of the run. A notify is a
// change in every run, as in Puppet.
package notify

import (
	"context"
	"encoding/json"
	"fmt"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type notify.
func Type() resource.Type { return notifyType{} }

type notifyType struct{}

type item struct {
	r       *resource.Resource
	message string
	path    bool
	level   report.Level
}

func (notifyType) New(r *resource.Resource) (resource.Item, error) {
	n := &item{r: r, message: r.Title}
	for _, param := range []string{"name", "message"} {
		v := r.Params.Value(param)
		if list, is := v.([]any); is && len(list) > 0 { // of a list, Puppet logs the first
			v = list[0]
		}
		if v == nil {
			continue
		}
		if m, is := v.(json.Marshaler); is { // Puppet logs it in the syntax of Ruby
			data, err := json.Marshal(m)
			if err != nil {
				return nil, err
			}
			v = string(data)
		}
		n.message = fmt.Sprint(v)
	}
	var err error
	if n.path, err = r.Bool("withpath", false); err != nil {
		return nil, err
	}
	n.level, err = r.LogLevel()
	return n, err
}

func (n *item) Read(context.Context, *resource.Host) error { return nil }

func (n *item) Plan() ([]resource.Change, error) {
	return []resource.Change{{Property: "message", Name: "message_changed", Is: "absent", Should: n.message, Message: "message was logged"}}, nil
}

// Do logs the message.
func (n *item) Do(_ context.Context, h *resource.Host, _ *resource.Change) error {
	message, path := n.message, ""
	if n.r.Secret("message") {
		message = "[message redacted]"
	}
	if n.path {
		path = n.r.Ref.String() + ": "
	}
	h.Logf(n.r.Ref, n.level, "%s%s", path, message)
	return nil
}

// Watch implements resource.Watcher: a message has no state. It is sent when the catalog is applied as a whole.
func (*item) Watch(context.Context, *resource.Host) []resource.Watch { return nil }
