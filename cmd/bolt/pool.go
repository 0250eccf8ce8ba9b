package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"bolt/format/fault"
	"bolt/output/listing"
	"bolt/pool/client"
	"bolt/pool/spawn"
	"bolt/pool/wire"
)

// poolKind is the kind of the errors about the daemon.
const poolKind = "bolt/pool-error"

// poolVariable is the environment variable that sets the use of the pool: auto,
// off or required.
const poolVariable = "BOLT_POOL"

// poolPlace is where the user's daemon has its files.
func (a *app) poolPlace() (spawn.Place, error) {
	return spawn.FindPlace(a.sys.env(spawn.SocketVariable), a.sys.env("XDG_RUNTIME_DIR"))
}

// poolClient is a client of the user's daemon. It starts one if start is set.
func (a *app) poolClient(start bool) (*client.Client, spawn.Place, error) {
	place, err := a.poolPlace()
	if err != nil {
		return nil, place, &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, place, fmt.Errorf("working directory: %w", err)
	}
	o := client.Options{
		Socket: place.Socket, Build: version, Made: spawn.Made(),
		Caller: wire.Caller{Home: home(a.sys), Dir: dir, AgentSocket: a.sys.env("SSH_AUTH_SOCK"), Env: a.sys.environ()},
		Warn:   a.logs.WarnEach, Logger: a.log, Passphrase: a.passphrase,
	}
	if start {
		o.Start = func(ctx context.Context) error {
			return spawn.Start(ctx, spawn.Options{Place: place, Project: a.project.Dir, LogLevel: a.global.logLevel.Text, Getenv: a.sys.lookup, Logger: a.log})
		}
	}
	return client.New(o), place, nil
}

// control connects to the daemon and sends it a command; running is false if
// there is none.
func (a *app) control(ctx context.Context, command string) (answer []byte, running bool, err error) {
	c, _, err := a.poolClient(false)
	if err != nil {
		return nil, false, err
	}
	defer c.Close()
	err = c.Connect(ctx)
	if u, ok := errors.AsType[*client.Unavailable](err); ok && u.Absent {
		return nil, false, nil
	}
	if err == nil {
		answer, err = c.Control(ctx, command)
	}
	if err != nil {
		return nil, true, poolFault(err)
	}
	return answer, true, nil
}

func poolFault(err error) error {
	if u, ok := errors.AsType[*client.Unavailable](err); ok && u.Hint != "" {
		return &fault.Error{Kind: poolKind, Msg: u.Error() + "\n" + u.Hint, Err: err}
	}
	return &fault.Error{Kind: poolKind, Msg: err.Error(), Err: err}
}

func runPoolStart(ctx context.Context, a *app) error {
	if _, running, err := a.control(ctx, "ping"); err != nil {
		return err
	} else if running {
		return a.say("The pool daemon runs already.")
	}
	c, place, err := a.poolClient(true)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Connect(ctx); err != nil {
		return poolFault(err)
	}
	return a.say("The pool daemon has started: pid %d, socket %s.", c.Peer().PID, place.Socket)
}

func runPoolStop(ctx context.Context, a *app) error {
	before, err := a.ending(ctx, "stop")
	if before == nil || err != nil {
		return err
	}
	text := fmt.Sprintf("The pool daemon (pid %d) has stopped; its connections are closed.", before.PID)
	if n := before.InFlight; n > 0 {
		text += fmt.Sprintf(" What it was doing (actions on targets: %d) was ended.", n)
	}
	return a.say("%s", text)
}

func runPoolDrain(ctx context.Context, a *app) error {
	before, err := a.ending(ctx, "drain")
	if before == nil || err != nil {
		return err
	}
	text := fmt.Sprintf("The pool daemon (pid %d) begins nothing new and has ended.", before.PID)
	if n := before.InFlight; n > 0 {
		text = fmt.Sprintf("The pool daemon (pid %d) begins nothing new, and ends with what it is doing (actions on targets: %d). To end it before: kill %d", before.PID, n, before.PID)
	}
	return a.say("%s", text)
}

// ending tells the daemon to end, in one way or another, and returns its
// status before; nil if there is none.
func (a *app) ending(ctx context.Context, command string) (*wire.Status, error) {
	data, running, err := a.control(ctx, command)
	if err != nil {
		return nil, err
	}
	if !running {
		return nil, a.say("No pool daemon runs.")
	}
	return decodeStatus(data)
}

func decodeStatus(data []byte) (*wire.Status, error) {
	s := new(wire.Status)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fault.New(poolKind, "The pool daemon's answer cannot be read: %v", err)
	}
	return s, nil
}

func runPoolStatus(ctx context.Context, a *app) error {
	data, running, err := a.control(ctx, "status")
	if err != nil {
		return err
	}
	place, err := a.poolPlace()
	if err != nil {
		return err
	}
	view := &listing.Pool{Socket: place.Socket, Now: time.Now()}
	if running {
		if view.Status, err = decodeStatus(data); err != nil {
			return err
		}
	}
	if err := listing.PrintPool(a.sys.out, a.listOptions(), view); err != nil {
		return written(err)
	}
	if !running {
		return errPrinted
	}
	return nil
}

func runPoolMetrics(ctx context.Context, a *app) error {
	data, running, err := a.control(ctx, "metrics")
	if err != nil {
		return err
	}
	if !running {
		data = []byte("# HELP bolt_pool_up Whether the pool daemon runs.\n# TYPE bolt_pool_up gauge\nbolt_pool_up 0\n")
	}
	_, err = a.sys.out.Write(data)
	return written(err)
}

func runPoolLogs(ctx context.Context, a *app) error {
	place, err := a.poolPlace()
	if err != nil {
		return err
	}
	// One that hangs may have said why.
	if data, running, err := a.control(ctx, "status"); running && err == nil {
		status, err := decodeStatus(data)
		if err != nil {
			return err
		}
		if status.Log == "" {
			return fault.New(poolKind, "The pool daemon (pid %d) logs to its standard error, where whoever started it reads it: under systemd, with journalctl --user -u bolt-pool.", status.PID)
		}
	}
	f, err := os.Open(place.Log)
	if errors.Is(err, fs.ErrNotExist) {
		return fault.New(poolKind, "There is no log of a pool daemon at %s.", place.Log)
	}
	if err != nil {
		return fault.File(place.Log, err, "The pool daemon's log '%s' is unreadable: %v", place.Log, fault.WithoutPath(err))
	}
	defer f.Close()
	if _, err := io.Copy(a.sys.out, f); err != nil {
		return written(err)
	}
	return nil
}
