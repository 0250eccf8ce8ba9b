// Package all contains the list of transports. A new transport is a package
// with a table of its options and a dialer, and one line in List.
//
// A Dialer passes each destination to the transport for its protocol. It owns
// the connections that its transports keep open; Close closes them.
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
	"sync"

	"bolt/transport"
	"bolt/transport/container"
	"bolt/transport/foreign"
	"bolt/transport/local"
	"bolt/transport/nativessh"
	"bolt/transport/option"
	"bolt/transport/ssh"
	"bolt/transport/winrm"
)

// An Entry is one transport: its configuration and its dialer.
type Entry struct {
	option.Transport
	// Dialer makes the transport's dialer. If it is nil, targets can be configured
	// with the transport, but bolt cannot connect to them.
	Dialer func(Options) (transport.Dialer, error)
}

// Options describe the user who connects to targets. The zero value works only
// for transports that read no files of a user.
type Options struct {
	Home        string   // home directory of the user
	Dir         string   // working directory
	Environ     []string // environment of the user
	AgentSocket string   // socket of the ssh agent; "" for none
	// Passphrase prompts for the passphrase of a key file.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)
	// Warn receives warnings that apply to one caller only.
	Warn   func(id, text string)
	Logger *slog.Logger // nil discards
}

// Dialed returns the names of the transports that a user can choose to connect with.
func Dialed(list []Entry) []string {
	var names []string
	for _, e := range list {
		if e.Dialer != nil && e.VariantOf == "" {
			names = append(names, e.Name)
		}
	}
	return names
}

// List returns the transports in the order in which the help lists them. The
// first one is the default.
func List() []Entry { return slices.Clone(list()) }

// list is created once, because each start of bolt needs it several times.
var list = sync.OnceValue(func() []Entry {
	return slices.Concat(
		entries(dialSSH, ssh.Transport()),
		entries(dialWinRM, winrm.Transport()),
		entries(dialLocal, local.Transport()),
		entries(dialContainers, container.Transports()...),
		entries(dialNative, nativessh.Transport()),
		entries(nil, foreign.Transports()...),
	)
})

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

// Tables returns the configurations of the transports in a list.
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
	closers    []io.Closer // the last added first
}

// New returns a Dialer for the transports of a list. It does not connect to
// anything.
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

// Through makes d connect to ssh targets with the dialer that wrap returns.
// wrap gets the transport's own dialer. Close also closes the returned dialer.
// Through must be called before the first Dial, at most once.
func (d *Dialer) Through(wrap func(direct transport.Dialer) transport.DialCloser) {
	d.add(ssh.Protocol, wrap(d.byProtocol[ssh.Protocol]))
}

// Close closes the connections of all transports.
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
			Hint: "Its transports are " + strings.Join(slices.Sorted(maps.Keys(d.byProtocol)), ", ") + "."}
	}
	return t.Dial(ctx, to)
}
