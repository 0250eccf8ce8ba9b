// Package nativessh is the transport through the system's own ssh program, one
// for each command.
//
// It is for what package transport/ssh cannot do: a security key, a smart card, a
// proxy, a wrapper around ssh that an organisation has. All that ssh_config says
// counts, ControlPath too: where a master connection runs, commands go through it
// without a connection of their own.
//
// ssh tells less than the protocol does: a command that was killed by a signal
// has status 255, as a command that has exited with it.
package nativessh

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/transport"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// Options are the Dialer's. The zero value is ready.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Dialer reaches machines through ssh. It is safe for concurrent use.
type Dialer struct{ log *slog.Logger }

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dialer{o.Logger}
}

// Dial returns a Conn without having connected: each command connects for
// itself, and fails for itself.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	switch {
	case ctx.Err() != nil:
		return nil, connectError(transport.ClassCancelled, to.Host, context.Cause(ctx), "it was cancelled", "")
	case to.Host == "" || strings.HasPrefix(to.Host, "-") || strings.ContainsAny(to.Host, "\x00\n "):
		return nil, connectError(transport.ClassResolve, to.Host, nil, "it is no name of a host", "")
	case strings.HasPrefix(to.User, "-") || strings.ContainsAny(to.User, "\x00\n"):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, fmt.Sprintf("%q is no name of a user", to.User), "")
	}
	program, _ := to.Options.(Program)
	s := &starter{to: to, program: program, words: program.SSH.List(), log: d.log}
	if s.words == nil {
		s.words = []string{"ssh"}
	}
	var err error
	if s.path, err = exec.LookPath(s.words[0]); err != nil {
		return nil, s.noProgram(s.words[0], err)
	}
	user := to.User
	if user == "" || to.ConnectTimeout <= 0 {
		c := s.configured(ctx)
		user = cmp.Or(user, c.user)
		s.to.ConnectTimeout = cmp.Or(max(to.ConnectTimeout, 0), c.connectTimeout, connectTimeout)
	}
	o := shell.Options{Host: to.Host, User: user, DownloadCode: "COPY_ERROR", Proof: new(shell.Proof), Logger: d.log}
	return &Conn{Conn: shell.NewConn(s, o), starter: s, opts: o}, nil
}

// options are those that ssh and scp share.
func (s *starter) options() []string {
	var o []string
	set := func(name, value string) { o = append(o, "-o", name+"="+value) }
	if s.program.Batch {
		set("BatchMode", "yes")
	}
	if s.to.Port != 0 {
		set("Port", strconv.Itoa(s.to.Port))
	}
	if s.to.User != "" {
		set("User", s.to.User)
	}
	switch s.to.HostKeyCheck {
	case transport.CheckStrict:
		set("StrictHostKeyChecking", "yes")
	case transport.CheckNone:
		set("StrictHostKeyChecking", "no")
	}
	switch s.to.ForwardAgent {
	case transport.ChoiceYes:
		set("ForwardAgent", "yes")
	case transport.ChoiceNo:
		set("ForwardAgent", "no")
	}
	if t := s.to.ConnectTimeout; t > 0 { // but for the question what it is
		set("ConnectTimeout", strconv.Itoa(int((t+time.Second-1)/time.Second)))
	}
	if s.to.PrivateKey != "" {
		o = append(o, "-i", s.to.PrivateKey)
	}
	return o
}

// asks is how long ssh may take to read its configuration.
const asks = 10 * time.Second

// connectTimeout is that of connections of which neither the caller nor
// ssh_config says anything: ssh itself would wait for ever for a machine that
// takes the connection and is silent.
const connectTimeout = 10 * time.Second

// A configuration is what ssh says that it would do.
type configuration struct {
	user           string
	connectTimeout time.Duration // 0: none
}

// configured asks ssh for its configuration. What it does not say is zero.
func (s *starter) configured(ctx context.Context) (c configuration) {
	ctx, cancel := context.WithTimeout(ctx, asks)
	defer cancel()
	args := append(append(slices.Clone(s.words), s.options()...), "-G", "--", s.to.Host)
	out, _, err := process.Output(ctx, process.Options{Path: s.path, Args: args})
	if err != nil {
		s.log.Debug("ssh -G", "target", s.to.Host, "err", err)
		return c
	}
	return parseConfiguration(out)
}

// parseConfiguration reads what "ssh -G" prints: a name and a value in each
// line, times in seconds or "none".
func parseConfiguration(out string) (c configuration) {
	for line := range strings.Lines(out) {
		switch name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), " "); name {
		case "user":
			c.user = value
		case "connecttimeout":
			if n, err := strconv.ParseUint(value, 10, 31); err == nil {
				c.connectTimeout = time.Duration(n) * time.Second
			}
		}
	}
	return c
}

// connectError is a machine that was not reached.
func connectError(class transport.Class, host string, cause error, why, hint string) *transport.Error {
	return &transport.Error{Class: class, Code: "CONNECT_ERROR", Err: cause, Hint: hint,
		Msg: fmt.Sprintf("Failed to connect to %s: %s", host, why)}
}

func (s *starter) noProgram(name string, err error) *transport.Error {
	why := fmt.Sprintf("the program %s is not to be found on PATH", name)
	if !errors.Is(err, exec.ErrNotFound) {
		why = fmt.Sprintf("the program %s cannot be run: %v", name, err)
	}
	return connectError(transport.ClassConnect, s.to.Host, err, why, "Install it, name another one with ssh-command or copy-command, or take native-ssh out of the configuration.")
}
