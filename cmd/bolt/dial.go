package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"bolt/transport"
	"bolt/transport/local"
	"bolt/transport/ssh"
)

// dialers is the transport.Dialer of an invocation: each destination goes to
// the transport that it names.
type dialers struct {
	byProtocol map[string]transport.Dialer
	close      func()
}

// dialer wires the transports.
func (a *app) dialer() (*dialers, error) {
	home := home(a.sys)
	s, err := ssh.NewDialer(ssh.Options{
		Home:        home,
		Env:         a.sys.lookup,
		AgentSocket: a.sys.env("SSH_AUTH_SOCK"),
		Passphrase: func(ctx context.Context, path string) (transport.Secret, error) {
			if rel, err := filepath.Rel(home, path); err == nil && !strings.HasPrefix(rel, "..") {
				path = filepath.Join("~", rel)
			}
			return a.ask.secret(ctx, fmt.Sprintf("Passphrase for the key %s: ", path))
		},
		Warn:   a.logs.WarnOnce,
		Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	return &dialers{
		byProtocol: map[string]transport.Dialer{"ssh": s, "local": local.NewDialer(local.Options{Logger: a.log})},
		close:      func() { _ = s.Close() },
	}, nil
}

// Dial makes it a transport.Dialer.
func (d *dialers) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	t, ok := d.byProtocol[to.Protocol]
	if !ok {
		return nil, &transport.Error{Class: transport.ClassUnsupported,
			Msg:  fmt.Sprintf("The transport %s is not built into this program.", to.Protocol),
			Hint: "It reaches targets by ssh and local."}
	}
	return t.Dial(ctx, to)
}
