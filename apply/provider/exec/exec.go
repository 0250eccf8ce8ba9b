// Package exec applies resources of the type exec: commands that run unless checks prevent it, or only
// after another resource has changed.
//
// The command of a posix exec runs without a shell, unless the line has characters that only a shell
// understands. A list is never split or expanded. If the connection is lost, a command still runs to its
// end or timeout; checks end with the run.
package exec

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Type returns the type exec.
func Type() resource.Type { return execType{} }

type execType struct{}

// An item is one exec.
type item struct {
	r             *resource.Resource
	secret        bool // nothing of the commands and of their output is shown
	shell         bool // provider is shell
	windows       bool // provider is windows: the resource fails, as in Puppet
	command       command
	refresh       *command
	onlyif        []command
	unless        []command
	creates       []string
	refreshonly   bool
	returns       []string
	path          []string // nil if it is not given
	cwd           string
	user, group   string
	environment   []string // NAME=value
	umask         string
	timeout       time.Duration
	tries         int64
	pause         time.Duration
	logs, logsAll bool // output is logged: of failures, of all commands
	level         report.Level

	needed bool             // Read: the checks want the command to run
	ran    *resource.Output // of the last run of the command; nil if it did not run
}

// Independent implements resource.Independent: in a graph, a resource that needs a command has an edge from it.
func (*item) Independent() {}

// Read asks the checks.
func (x *item) Read(ctx context.Context, h *resource.Host) (err error) {
	if x.windows {
		return errors.New("the provider windows cannot be used on this host")
	}
	x.needed, err = x.wanted(ctx, h, false)
	return err
}

// wanted reports whether all checks want the command to run. The order is Puppet's.
func (x *item) wanted(ctx context.Context, h *resource.Host, refreshing bool) (bool, error) {
	if x.refreshonly && !refreshing {
		return false, nil
	}
	for _, path := range x.creates {
		if _, err := os.Stat(path); err == nil {
			return false, nil
		}
	}
	for _, c := range x.unless {
		if code, err := x.check(ctx, h, &c); err != nil || code == 0 || code == timedOut {
			return false, err
		}
	}
	for _, c := range x.onlyif {
		if code, err := x.check(ctx, h, &c); err != nil || code != 0 {
			return false, err
		}
	}
	return true, nil
}

// timedOut is the code of a check that ran too long. The command of the exec is then not run.
const timedOut = -1

func (x *item) check(ctx context.Context, h *resource.Host, c *command) (code int, err error) {
	out, err := x.run(ctx, h, c, true)
	if errors.Is(err, resource.ErrTimeout) {
		h.Logf(x.r.Ref, report.Err, "check %s timed out after %v, so the command is not run", x.shown(c), x.timeout)
		return timedOut, nil
	}
	if err != nil {
		return 0, fmt.Errorf("check %s: %w", x.shown(c), err)
	}
	x.log(h, report.Debug, out)
	return out.Code, nil
}

func (x *item) Plan() ([]resource.Change, error) {
	if !x.needed {
		return nil, nil
	}
	return []resource.Change{{Property: "returns", Name: "executed_command", Is: "notrun", Should: strings.Join(x.returns, ","),
		Message: "executed successfully"}}, nil
}

func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	return x.execute(ctx, h)
}

// Refresh runs the command again, or the one for refreshes, if the checks still want it.
func (x *item) Refresh(ctx context.Context, h *resource.Host, _ []resource.Change) error {
	wanted, err := x.wanted(ctx, h, true)
	if err != nil || !wanted {
		return err
	}
	if x.refresh == nil {
		return x.execute(ctx, h)
	}
	// Puppet does not look at the exit code of this command.
	if x.ran, err = x.run(ctx, h, x.refresh, false); err != nil {
		return fmt.Errorf("%s: %w", x.shown(x.refresh), err)
	}
	return nil
}

// execute runs the command until it ends with a code that is allowed.
func (x *item) execute(ctx context.Context, h *resource.Host) error {
	var out *resource.Output
	var good bool
	for try := int64(1); ; try++ {
		var err error
		if out, err = x.run(ctx, h, &x.command, false); errors.Is(err, resource.ErrTimeout) {
			return fmt.Errorf("%s timed out after %v", x.shown(&x.command), x.timeout)
		} else if err != nil {
			return fmt.Errorf("%s: %w", x.shown(&x.command), err)
		}
		good = out.Signal == 0 && slices.Contains(x.returns, fmt.Sprint(out.Code))
		if good || try == x.tries {
			break
		}
		if err := resource.Sleep(ctx, x.pause); err != nil {
			return fmt.Errorf("%s exited with code %d, and was not tried again: %w", x.shown(&x.command), out.Code, err)
		}
	}
	if x.logsAll || x.logs && !good {
		x.log(h, x.level, out)
	}
	if out.Signal != 0 {
		return fmt.Errorf("%s was ended by signal %d", x.shown(&x.command), out.Signal)
	}
	if !good {
		return fmt.Errorf("%s exited with code %d, not %s", x.shown(&x.command), out.Code, strings.Join(x.returns, " or "))
	}
	x.ran = out
	if out.Cut && len(x.r.Sends) > 0 {
		return fmt.Errorf("%s printed more than %d MiB, which cannot be sent", x.shown(&x.command), resource.OutputLimit>>20)
	}
	return nil
}

// log reports the output of a command, line by line.
func (x *item) log(h *resource.Host, level report.Level, out *resource.Output) {
	text := strings.TrimRight(string(printed(out)), "\n")
	if text == "" {
		return
	}
	if x.secret {
		h.Logf(x.r.Ref, level, "[output redacted]")
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		h.Logf(x.r.Ref, level, "%s", line)
	}
	if out.Cut {
		h.Logf(x.r.Ref, report.Warning, "the command printed more than %d MiB: the rest is left out. Redirect its output to a file to keep it", resource.OutputLimit>>20)
	}
}

// shown is a command as people may see it.
func (x *item) shown(c *command) string {
	if x.secret {
		return "[command redacted]"
	}
	return c.String()
}

// Watch implements resource.Watcher. The conditions of an exec are its state. Without conditions, it runs only when
// the catalog is applied as a whole.
func (e *item) Watch(context.Context, *resource.Host) []resource.Watch {
	if e.refreshonly {
		return nil
	}
	list := resource.Paths(e.creates...)
	if len(e.onlyif)+len(e.unless) > 0 {
		list = append(list, resource.Watch{Poll: true})
	}
	return list
}
