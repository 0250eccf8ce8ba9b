// Package all is the list of transports: a new transport is a package with a table
// of its options and a dialer, and one line of List.
//
// A Dialer gives each destination to the transport that its protocol names. It
// owns the connections that its transports keep; Close ends them.
package all

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"bolt/transport"
	"bolt/transport/container"
	"bolt/transport/foreign"
	"bolt/transport/local"
	"bolt/transport/nativessh"
	"bolt/transport/option"
	"bolt/transport/ssh"
	"bolt/transport/winrm"
)

// An Entry is one transport: how it is configured, and what dials it.
type Entry struct {
	option.Transport
	// Dialer makes what dials it. nil: targets can have it, but nothing dials it.
	Dialer func(Options) (transport.Dialer, error)
}

// Options say on whose behalf targets are reached. The zero value is useful only
// for transports without files of a user.
type Options struct {
	Home        string   // of the user
	Dir         string   // working directory
	Environ     []string // environment of the user
	AgentSocket string   // of the ssh agent; "" for none
	// Passphrase asks for that of a key file.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	// Warn gets warnings that hold for each caller alone.
	Warn   func(id, text string)
	Logger *slog.Logger // nil discards
}

// List returns the transports. The first is that of targets that name none; the
// order is that of the help.
func List() []Entry {
	return slices.Concat(
		entries(dialSSH, ssh.Transport()),
		entries(dialWinRM, winrm.Transport()),
		entries(dialLocal, local.Transport()),
		entries(dialContainers, container.Transports()...),
		entries(dialNative, nativessh.Transport()),
		entries(nil, foreign.Transports()...),
	)
}

func entries(dialer func(Options) (transport.Dialer, error), transports ...option.Transport) []Entry {
	list := make([]Entry, len(transports))
	for i, t := range transports {
		list[i] = Entry{t, dialer}
	}
	return list
}

func dialSSH(o Options) (transport.Dialer, error) {
	return ssh.NewDialer(ssh.Options{
		Caller: ssh.Caller{Home: o.Home, Dir: o.Dir, Environ: o.Environ, AgentSocket: o.AgentSocket, Passphrase: o.Passphrase, Warn: o.Warn},
		Logger: o.Logger,
	})
}

func dialWinRM(Options) (transport.Dialer, error) { return winrm.NewDialer(), nil }

func dialLocal(o Options) (transport.Dialer, error) {
	return local.NewDialer(local.Options{Logger: o.Logger}), nil
}

func dialContainers(o Options) (transport.Dialer, error) {
	return container.NewDialer(container.Options{Environ: o.Environ, Logger: o.Logger}), nil
}

func dialNative(o Options) (transport.Dialer, error) {
	return nativessh.NewDialer(nativessh.Options{Logger: o.Logger}), nil
}

// Tables returns how the transports of a list are configured.
func Tables(list []Entry) []option.Transport {
	tables := make([]option.Transport, len(list))
	for i, e := range list {
		tables[i] = e.Transport
	}
	return tables
}

// A Dialer is the transport.Dialer of all protocols. It is safe for concurrent use.
type Dialer struct {
	byProtocol map[string]transport.Dialer
	closers    []io.Closer // the later first
}

// A Closer is a dialer that keeps something.
type Closer interface {
	transport.Dialer
	io.Closer
}

// New makes a Dialer for the transports of a list. It connects to nothing.
func New(list []Entry, o Options) (*Dialer, error) {
	d := &Dialer{byProtocol: make(map[string]transport.Dialer)}
	for _, e := range list {
		if e.Dialer == nil {
			continue
		}
		dialer, err := e.Dialer(o)
		if err != nil {
			return nil, errors.Join(err, d.Close())
		}
		d.add(e.Name, dialer)
	}
	return d, nil
}

func (d *Dialer) add(protocol string, dialer transport.Dialer) {
	d.byProtocol[protocol] = dialer
	if c, ok := dialer.(io.Closer); ok {
		d.closers = slices.Insert(d.closers, 0, c)
	}
}

// Through has ssh targets reached by the dialer that wrap returns. wrap gets the
// transport's own dialer; Close closes what it returns. Through must be called
// before the first Dial, at most once.
func (d *Dialer) Through(wrap func(direct transport.Dialer) Closer) {
	d.add(ssh.Protocol, wrap(d.byProtocol[ssh.Protocol]))
}

// Close ends the connections that are kept.
func (d *Dialer) Close() error {
	var errs []error
	for _, c := range d.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Dial implements transport.Dialer.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	t, ok := d.byProtocol[to.Protocol]
	if !ok {
		return nil, &transport.Error{Class: transport.ClassUnsupported,
			Msg:  fmt.Sprintf("The transport %s is not built into this program.", to.Protocol),
			Hint: "It reaches targets by " + strings.Join(slices.Sorted(maps.Keys(d.byProtocol)), ", ") + "."}
	}
	return t.Dial(ctx, to)
}
