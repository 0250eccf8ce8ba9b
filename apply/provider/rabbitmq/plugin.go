package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

type plugins struct{}

// Plugin returns the type rabbitmq_plugin.
func Plugin() resource.Type { return plugins{} }

// A plugin is a rabbitmq_plugin.
type plugin struct {
	r                 *resource.Resource
	name, mode, umask string
	absent, found     bool
}

var octal = lazyregexp.New(`^0?[0-7]{1,3}$`)

// New implements resource.Type.
func (plugins) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &plugin{r: r, name: word(&f), mode: f.Text("mode", "best"), umask: f.Text("umask", "0022"), absent: f.Text("ensure", "present") == "absent"}
	if !octal().MatchString(x.umask) {
		f.RefuseValue("umask", "must be an octal number", x.umask)
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *plugin) Read(ctx context.Context, h *resource.Host) error {
	return plugins{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader. A plugin that another plugin needs is enabled, too. A line with blanks is a message.
func (plugins) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	text, err := query(ctx, h, items[0].(*plugin).r, "rabbitmq-plugins", "list", "-e", "-m")
	if errors.Is(err, errMissing) {
		text, err = "", nil
	}
	enabled := make(map[string]bool)
	for line := range strings.Lines(text) {
		enabled[strings.TrimRight(line, "\r\n")] = true
	}
	for _, i := range items {
		i.(*plugin).found = enabled[i.(*plugin).name]
	}
	return slices.Repeat([]error{err}, len(items))
}

// Plan implements resource.Item.
func (x *plugin) Plan() ([]resource.Change, error) {
	changes, _ := existence("rabbitmq_plugin", x.absent, x.found)
	return changes, nil
}

// Do implements resource.Item. As in the module, the mode online has no effect if the server does not run.
func (x *plugin) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	argv := []string{"rabbitmq-plugins", "enable", x.name}
	switch {
	case x.absent:
		argv[1] = "disable"
	case x.mode == "offline":
		argv = append(argv, "--offline")
	case x.mode == "online":
		out, err := run(ctx, h, false, queryLimit, "", "rabbitmqctl", "-q", "status")
		if err != nil && !errors.Is(err, resource.ErrTimeout) {
			return err
		}
		if err == nil && out.Code == 0 {
			argv = append(argv, "--online")
		}
	}
	program := find(h, argv[0])
	if program == "" {
		return errMissing
	}
	argv[0] = program
	argv = append([]string{"/bin/sh", "-c", `umask "$0"; exec "$@"`, x.umask}, argv...)
	env, err := environ(ctx, h)
	if err != nil {
		return err
	}
	out, err := h.Run(ctx, &resource.Command{Argv: argv, Env: env, Dir: "/", Session: true, Timeout: limit})
	if err != nil {
		return fmt.Errorf("rabbitmq-plugins: %w", err)
	}
	return out.Failure("rabbitmq-plugins")
}
