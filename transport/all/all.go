// Package all is the list of transports: a new transport is added here and
// nowhere else.
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
	"bolt/transport/local"
	"bolt/transport/nativessh"
	"bolt/transport/ssh"
	"bolt/transport/winrm"
)

// SSH is the protocol that the pool daemon can take over: see Dialer.Through.
const SSH = "ssh"

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

// A Dialer is the transport.Dialer of all protocols. It is safe for concurrent use.
type Dialer struct {
	byProtocol map[string]transport.Dialer
	direct     *ssh.Dialer
	through    Closer // nil without
}

// A Closer is a dialer that keeps something.
type Closer interface {
	transport.Dialer
	io.Closer
}

// New makes a Dialer. It connects to nothing.
func New(o Options) (*Dialer, error) {
	direct, err := ssh.NewDialer(ssh.Options{
		Caller: ssh.Caller{Home: o.Home, Dir: o.Dir, Environ: o.Environ, AgentSocket: o.AgentSocket, Passphrase: o.Passphrase, Warn: o.Warn},
		Logger: o.Logger,
	})
	if err != nil {
		return nil, err
	}
	d := &Dialer{direct: direct, byProtocol: map[string]transport.Dialer{
		SSH:          direct,
		"winrm":      winrm.NewDialer(),
		"local":      local.NewDialer(local.Options{Logger: o.Logger}),
		"native-ssh": nativessh.NewDialer(nativessh.Options{Logger: o.Logger}),
	}}
	containers := container.NewDialer(container.Options{Environ: o.Environ, Logger: o.Logger})
	for _, protocol := range container.Protocols() {
		d.byProtocol[protocol] = containers
	}
	return d, nil
}

// Through has ssh targets reached by the dialer that wrap returns. wrap gets the
// transport's own dialer; Close closes what it returns. Through must be called
// before the first Dial, at most once.
func (d *Dialer) Through(wrap func(direct transport.Dialer) Closer) {
	d.through = wrap(d.direct)
	d.byProtocol[SSH] = d.through
}

// Close ends the connections that are kept.
func (d *Dialer) Close() error {
	var err error
	if d.through != nil {
		err = d.through.Close()
	}
	return errors.Join(err, d.direct.Close())
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
