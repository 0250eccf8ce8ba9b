// Package rabbitmq applies resources of the module puppet-rabbitmq: rabbitmq_plugin, rabbitmq_user, rabbitmq_vhost,
// rabbitmq_user_permissions and rabbitmq_policy.
//
// The rules come from version 15.0 of the module. The server is read and changed with rabbitmqctl(8) and rabbitmq-plugins(8), version 3.8 or
// newer. Passwords are standard input of rabbitmqctl, because every user of the host can see arguments. Each program
// starts a virtual machine of Erlang, so one query reads all resources of a type, or of a virtual host.
package rabbitmq

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// A server can need some time after its start until it answers. As in the module, a query is tried again.
const (
	tries      = 30
	pause      = 6 * time.Second
	queryLimit = 10 * time.Second
	limit      = 10 * time.Minute // of a change
)

// directory has the programs that are not in PATH.
const directory = "/usr/lib/rabbitmq/bin"

// errMissing is the error for a host without RabbitMQ. There, nothing exists.
var errMissing = errors.New("the program rabbitmqctl is missing. Install the server of RabbitMQ on the target")

// find returns the path of a program of RabbitMQ, or "".
func find(h *resource.Host, name string) string {
	if program := h.Find(name); program != "" {
		return program
	}
	path := directory + "/" + name
	if _, err := os.Stat(h.Path(path)); err != nil {
		return ""
	}
	return path
}

// run runs a program of RabbitMQ.
func run(ctx context.Context, h *resource.Host, changes bool, timeout time.Duration, stdin string, argv ...string) (*resource.Output, error) {
	program := find(h, argv[0])
	if program == "" {
		return nil, errMissing
	}
	env, err := environ(ctx, h)
	if err != nil {
		return nil, err
	}
	return h.Run(ctx, &resource.Command{Argv: append([]string{program}, argv[1:]...), Env: env, Dir: "/", Stdin: []byte(stdin), Session: changes, Timeout: timeout})
}

// noVhost matches the failure of a query about a virtual host that does not exist.
var noVhost = lazyregexp.New(`(?i)(virtual host|vhost)[^\n]*(does not exist|not found)|no_such_vhost`)

// query runs a program that changes nothing, until it succeeds. It returns "" for a virtual host that does not exist.
func query(ctx context.Context, h *resource.Host, r *resource.Resource, argv ...string) (string, error) {
	var err error
	for try := range tries {
		if try > 0 {
			h.Logf(r.Ref, report.Info, "%s. The next try is in %s", err, pause)
			if err := resource.Sleep(ctx, pause); err != nil {
				return "", err
			}
		}
		var out *resource.Output
		if out, err = run(ctx, h, false, queryLimit, "", argv...); err != nil {
			if errors.Is(err, resource.ErrTimeout) {
				err = fmt.Errorf("%s: %w", argv[0], err)
				continue
			}
			return "", err
		}
		if out.Cut {
			return "", fmt.Errorf("%s printed too much", argv[0])
		}
		if err = out.Failure(argv[0]); err == nil {
			return string(out.Stdout), nil
		}
		if noVhost().Match(out.Stderr) || noVhost().Match(out.Stdout) {
			return "", nil
		}
	}
	return "", err
}

// list runs a list command of rabbitmqctl. On a host without RabbitMQ, the list is empty.
func list[T any](ctx context.Context, h *resource.Host, r *resource.Resource, args ...string) (rows []T, err error) {
	args = append(append([]string{"rabbitmqctl", "-q"}, args...), "--formatter", "json")
	text, err := query(ctx, h, r, args...)
	if errors.Is(err, errMissing) || err == nil && strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, fmt.Errorf("rabbitmqctl %s printed a list that is not understood", args[2])
	}
	return rows, nil
}

// change runs rabbitmqctl. stdin is a password, or "".
func change(ctx context.Context, h *resource.Host, stdin string, args ...string) error {
	out, err := run(ctx, h, true, limit, stdin, append([]string{"rabbitmqctl", "-q"}, args...)...)
	if errors.Is(err, errMissing) {
		return err
	}
	if err != nil {
		return fmt.Errorf("rabbitmqctl: %w", err)
	}
	return out.Failure("rabbitmqctl")
}

// word reads the name of a resource, which becomes an argument.
func word(f *resource.Fields) string {
	text := f.Text("name", f.R.Title)
	if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, " \t\r\n\x00") {
		f.RefuseValue("name", "must have no blanks, and must not begin with -", text)
	}
	return text
}

// words reads a list of words without blanks and commas.
func words(f *resource.Fields, param string) (list []string, given bool) {
	list = f.Texts(param)
	for _, text := range list {
		if text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, ", \t\r\n\x00") {
			f.RefuseValue(param, "must be words without blanks and commas", text)
		}
	}
	return list, list != nil
}

// existence returns the change of ensure of a resource, and whether the properties have to be compared.
func existence(typ string, absent, found bool) (changes []resource.Change, compare bool) {
	switch {
	case absent && found:
		return resource.Removed(typ), false
	case !absent && !found:
		return resource.Created(typ), false
	}
	return nil, found && !absent
}
