package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"bolt/inventory"
	"bolt/pool/client"
	"bolt/project"
	"bolt/transport"
	"bolt/transport/container"
	"bolt/transport/local"
	"bolt/transport/nativessh"
	"bolt/transport/ssh"
	"bolt/transport/winrm"
)

// dialers is the transport.Dialer of an invocation: each destination goes to
// the transport that it names.
type dialers struct {
	byProtocol map[string]transport.Dialer
	close      func()
}

// dialer wires the transports.
func (a *app) dialer() (*dialers, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("working directory: %w", err)
	}
	direct, err := ssh.NewDialer(ssh.Options{
		Caller: ssh.Caller{
			Home:        home(a.sys),
			Dir:         dir,
			Environ:     a.sys.environ(),
			AgentSocket: a.sys.env("SSH_AUTH_SOCK"),
			Passphrase:  a.passphrase,
			Warn:        a.logs.WarnEach,
		},
		Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	d := &dialers{
		byProtocol: map[string]transport.Dialer{
			"ssh":               direct,
			"winrm":             winrm.NewDialer(),
			"local":             local.NewDialer(local.Options{Logger: a.log}),
			inventory.NativeSSH: nativessh.NewDialer(nativessh.Options{Logger: a.log}),
		},
		close: func() { _ = direct.Close() },
	}
	containers := container.NewDialer(container.Options{Environ: a.sys.environ(), Logger: a.log})
	for _, protocol := range container.Protocols() {
		d.byProtocol[protocol] = containers
	}
	mode := a.config.Pool.Mode
	if mode == project.PoolOff {
		return d, nil
	}
	daemon, _, err := a.poolClient(true)
	if err != nil {
		return nil, err
	}
	p := &pooled{daemon: daemon}
	if mode == project.PoolAuto {
		p.direct, p.warn = direct, a.logs.WarnOnce
	}
	d.byProtocol["ssh"] = p
	d.close = func() {
		_ = daemon.Close()
		_ = direct.Close()
	}
	return d, nil
}

// Dial makes it a transport.Dialer.
func (d *dialers) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	t, ok := d.byProtocol[to.Protocol]
	if !ok {
		return nil, &transport.Error{Class: transport.ClassUnsupported,
			Msg:  fmt.Sprintf("The transport %s is not built into this program.", to.Protocol),
			Hint: "It reaches targets by " + strings.Join(slices.Sorted(maps.Keys(d.byProtocol)), ", ") + "."}
	}
	return t.Dial(ctx, to)
}

// pooled dials through the daemon, and past it when there is none to be had.
type pooled struct {
	daemon *client.Client
	direct transport.Dialer // nil: the daemon is required
	warn   func(id, text string)

	past atomic.Bool // there is no daemon

	mu      sync.Mutex
	checked bool // the daemon sees the network that we see
}

// Dial makes it a transport.Dialer.
func (p *pooled) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	if p.past.Load() {
		return p.direct.Dial(ctx, to)
	}
	var c transport.Conn
	err := p.check(ctx)
	if err == nil {
		c, err = p.daemon.Dial(ctx, to)
	}
	u, absent := errors.AsType[*client.Unavailable](err)
	switch {
	case !absent:
		return c, err
	case p.direct == nil:
		return nil, &transport.Error{Class: transport.ClassUnsupported, Err: err, Hint: u.Hint,
			Msg: fmt.Sprintf("The pool daemon is required and not to be had: %v", u)}
	}
	text := fmt.Sprintf("Connecting without the pool daemon: %v", u)
	if u.Hint != "" {
		text += ". " + u.Hint
	}
	p.warn("pool_unavailable", text)
	p.past.Store(true)
	return p.direct.Dial(ctx, to)
}

// check sees, once, that the daemon's network is ours: in another network
// namespace (ip-netns(8)) an address may be another machine's.
func (p *pooled) check(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checked {
		return nil
	}
	if err := p.daemon.Connect(ctx); err != nil {
		return err
	}
	pid := p.daemon.Peer().PID
	ours, err := os.Readlink("/proc/self/ns/net")
	theirs, terr := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err == nil && terr == nil && ours != theirs {
		return &client.Unavailable{Reason: fmt.Sprintf("process %d is in another network namespace", pid),
			Hint: "Set BOLT_POOL_SOCKET for a daemon in this one, or BOLT_POOL=off."}
	}
	p.checked = true
	return nil
}

// passphrase asks for that of a key file.
func (a *app) passphrase(ctx context.Context, path string) (transport.Secret, error) {
	if rel, err := filepath.Rel(home(a.sys), path); err == nil && !strings.HasPrefix(rel, "..") {
		path = filepath.Join("~", rel)
	}
	return a.ask.secret(ctx, fmt.Sprintf("Passphrase for the key %s: ", path))
}
