// Package nativessh is the transport that uses the system's ssh program, one
// process for each command.
//
// It is for features that package transport/ssh does not support: a security
// key, a smart card, a proxy, or an organisation's wrapper around ssh. All
// settings of ssh_config apply, including ControlPath: if a master connection
// exists, commands use it instead of their own connections.
//
// ssh reports less than the protocol does: a command that was killed by a
// signal has status 255, the same as a command that exits with 255.
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

// Options are the options of a Dialer. The zero value can be used.
type Options struct {
	Logger *slog.Logger // nil discards
}

// Dialer connects to machines with ssh. It is safe for concurrent use.
type Dialer struct{ log *slog.Logger }

// NewDialer returns a Dialer.
func NewDialer(o Options) *Dialer {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Dialer{o.Logger}
}

// Dial returns a Conn without connecting. Each command makes its own
// connection, and returns its own errors.
func (d *Dialer) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	switch {
	case ctx.Err() != nil:
		return nil, connectError(transport.ClassCancelled, to.Host, context.Cause(ctx), "it was cancelled", "")
	case to.Host == "" || strings.HasPrefix(to.Host, "-") || strings.ContainsAny(to.Host, "\x00\n "):
		return nil, connectError(transport.ClassResolve, to.Host, nil, "it is not a host name", "")
	case strings.HasPrefix(to.User, "-") || strings.ContainsAny(to.User, "\x00\n"):
		return nil, connectError(transport.ClassUnsupported, to.Host, nil, fmt.Sprintf("%q is not a user name", to.User), "")
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

// options returns the options that ssh and scp have in common.
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
	if t := s.to.ConnectTimeout; t > 0 { // except for "ssh -G"
		set("ConnectTimeout", strconv.Itoa(int((t+time.Second-1)/time.Second)))
	}
	if s.to.PrivateKey != "" {
		o = append(o, "-i", s.to.PrivateKey)
	}
	return o
}

// asks is the time limit for ssh to read its configuration.
const asks = 10 * time.Second

// connectTimeout is the default if neither the caller nor ssh_config sets a
// timeout. ssh itself would wait forever for a machine that accepts the
// connection and sends nothing.
const connectTimeout = 10 * time.Second

// A configuration holds settings that ssh reports.
type configuration struct {
	user           string
	connectTimeout time.Duration // 0: no timeout
}

// configured queries ssh for its configuration. Settings that ssh does not
// print are zero.
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

// parseConfiguration parses the output of "ssh -G": a name and a value in each
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

// connectError returns the error for a machine that could not be reached.
func connectError(class transport.Class, host string, cause error, why, hint string) *transport.Error {
	return &transport.Error{Class: class, Code: "CONNECT_ERROR", Err: cause, Hint: hint,
		Msg: fmt.Sprintf("Failed to connect to %s: %s", host, why)}
}

func (s *starter) noProgram(name string, err error) *transport.Error {
	why := fmt.Sprintf("the program %s was not found on PATH", name)
	if !errors.Is(err, exec.ErrNotFound) {
		why = fmt.Sprintf("the program %s cannot be run: %v", name, err)
	}
	return connectError(transport.ClassConnect, s.to.Host, err, why, "Install it, set another program with ssh-command or copy-command, or remove native-ssh from the configuration.")
}
