package daemon

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"

	"bolt/pool/wire"
	"bolt/transport"
)

// errNoLease is the error of a request whose lease was never made or was given
// up.
var errNoLease = errors.New("the lease does not exist")

// guard turns a panic into the failure of one request.
func (c *client) guard(ctx context.Context, work func(ctx context.Context) answer) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a request panicked", "panic", p, "stack", string(debug.Stack()))
			a = failed(fmt.Errorf("panic: %v", p))
		}
	}()
	return work(ctx)
}

// failed returns the answer of a request that failed.
func failed(err error) answer {
	e, ok := errors.AsType[*transport.Error](err)
	switch {
	case ok:
	case errors.Is(err, context.DeadlineExceeded):
		e = &transport.Error{Class: transport.ClassTimeout, Msg: "Ran out of time in the pool daemon"}
	case errors.Is(err, context.Canceled):
		e = &transport.Error{Class: transport.ClassCancelled, Msg: "Was cancelled in the pool daemon"}
	default:
		e = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("Internal error of the pool daemon: %v", err)}
	}
	return answer{wire.Failed, wire.EncodeError(e)}
}

// misread answers a request whose body cannot be decoded. The client's other
// requests are not affected.
func (c *client) misread(ctx context.Context, f wire.Frame, err error) error {
	c.log.Warn("a request cannot be decoded", "type", f.Type, "err", err)
	e := &transport.Error{Class: transport.ClassProtocol, Err: err, Msg: fmt.Sprintf("The pool daemon cannot decode the request: %v", err),
		Hint: "Client and daemon may be different builds: run 'bolt pool drain', then try again."}
	return c.start(ctx, f.ID, new(request), func(context.Context) answer { return failed(e) })
}

// stoppedWith adds to a cancelled request's error that the daemon was stopped,
// because the client has not cancelled the request.
func stoppedWith(a answer) answer {
	e, err := wire.DecodeError(a.body)
	if err != nil || e.Class != transport.ClassCancelled {
		return a
	}
	e.Msg += ", because the pool daemon was stopped"
	return failed(e)
}

// dial leases a connection from the pool.
func (c *client) dial(ctx context.Context, f wire.Frame) error {
	to, err := wire.DecodeDest(f.Body)
	if err != nil {
		return c.misread(ctx, f, err)
	}
	id, r := f.ID, &request{dials: true}
	return c.start(ctx, id, r, func(ctx context.Context) answer {
		conn, err := c.dialer.Dial(ctx, to)
		c.sendWarnings() // before the answer that the warnings belong to
		if err != nil {
			return failed(err)
		}
		l := &lease{conn}
		c.s.life.add(0, 1)
		c.mu.Lock()
		released := r.released
		if !released {
			delete(c.requests, id) // from now on, the ID is the lease's
			c.leases[id] = l
		}
		c.mu.Unlock()
		if released {
			c.closeLease(l)
			return failed(context.Canceled)
		}
		return answer{kind: wire.Dialed}
	})
}

// release gives up a lease, or the dial that would make it. The lease's running
// requests end and are answered.
func (c *client) release(f wire.Frame) error {
	if len(f.Body) > 0 {
		return errors.New("a body in a frame that has none")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.leases[f.ID]; l != nil {
		delete(c.leases, f.ID)
		c.work.Go(func() { c.closeLease(l) })
	} else if r := c.requests[f.ID]; r != nil && r.dials {
		r.released = true
		r.cancel(context.Canceled)
	}
	return nil
}

// leased returns the connection of a lease.
func (c *client) leased(id uint32) (transport.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.leases[id]
	if l == nil {
		return nil, errNoLease
	}
	return l.conn, nil
}

// run runs a command.
func (c *client) run(ctx context.Context, f wire.Frame) error {
	q, err := wire.DecodeRun(f.Body)
	if err != nil {
		return c.misread(ctx, f, err)
	}
	conn, err := c.leased(q.Lease)
	if err != nil {
		return err
	}
	staged := q.Files
	if q.HasStdin {
		staged = append(staged, q.Stdin)
	}
	id, r := f.ID, &request{window: newWindow()}
	if q.HasInput {
		// If the client cannot be written to, its reader detects it.
		r.input = newInput(func(n int) { _ = c.w.Send(wire.Taken, id, wire.EncodeCredit(n)) })
	}
	for i := range staged {
		if err := c.uses(r, staged[i].Data, staged[i].Size); err != nil {
			c.letGo(r)
			return err
		}
	}
	return c.start(ctx, id, r, func(ctx context.Context) answer {
		cmd := &q.Cmd
		for i, h := range r.contents {
			data, release, err := h.bytes()
			if err != nil {
				return failed(err)
			}
			defer release()
			if q.HasStdin && i == len(staged)-1 {
				cmd.Stdin = data
			} else {
				cmd.Files = append(cmd.Files, transport.File{Name: staged[i].Name, Mode: staged[i].Mode, Data: data, Sum: hex.EncodeToString(staged[i].Data[:])})
			}
		}
		cmd.Stdout = &sink{c.w, id, wire.Stdout, r.window, ctx.Done()}
		cmd.Stderr = &sink{c.w, id, wire.Stderr, r.window, ctx.Done()}
		if r.input != nil {
			cmd.Input = r.input
			defer r.input.close()
		}
		status, err := conn.Run(ctx, cmd)
		if err != nil {
			return failed(err)
		}
		return answer{wire.Exited, wire.EncodeStatus(status)}
	})
}

// put copies a tree to a machine.
func (c *client) put(ctx context.Context, f wire.Frame) error {
	q, err := wire.DecodePut(f.Body)
	if err != nil {
		return c.misread(ctx, f, err)
	}
	conn, err := c.leased(q.Lease)
	if err != nil {
		return err
	}
	r := new(request)
	if err := c.uses(r, q.Tree, anySize); err != nil {
		return err
	}
	return c.start(ctx, f.ID, r, func(ctx context.Context) answer {
		tree, err := r.contents[0].tree(q.Source)
		if err != nil {
			return failed(err)
		}
		tree.Name = q.Name
		if err := conn.Put(ctx, tree, q.Dst, q.Options); err != nil {
			return failed(err)
		}
		return answer{kind: wire.Finished}
	})
}

// get sends a file or directory of a machine as a tar stream.
func (c *client) get(ctx context.Context, f wire.Frame) error {
	q, err := wire.DecodeGet(f.Body)
	if err != nil {
		return c.misread(ctx, f, err)
	}
	conn, err := c.leased(q.Lease)
	if err != nil {
		return err
	}
	id, r := f.ID, &request{window: newWindow()}
	return c.start(ctx, id, r, func(ctx context.Context) answer {
		a, ok := conn.(transport.Archiver)
		if !ok {
			return failed(&transport.Error{Class: transport.ClassUnsupported, Msg: "Downloads over this transport do not work through the pool daemon", Hint: "Use --pool off to connect without the daemon."})
		}
		if err := a.Archive(ctx, q.Src, &sink{c.w, id, wire.Stdout, r.window, ctx.Done()}, q.Options); err != nil {
			return failed(err)
		}
		return answer{kind: wire.Finished}
	})
}
