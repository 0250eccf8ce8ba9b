package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"bolt/internal/peercred"
	"bolt/pool/wire"
)

const (
	// greetTime bounds the wait for the daemon's greeting: it answers at once
	// unless it is stopped.
	greetTime = 3 * time.Second
	// leaveTime is how long a leaving daemon may take to end.
	leaveTime = 5 * time.Second
	// maxStarts is how often the Client starts a daemon that does not come up.
	// Once is not enough: another invocation may have been faster.
	maxStarts = 2
	// maxAttempts bounds the attempts while an old daemon ends; their pauses
	// add up to more than leaveTime.
	maxAttempts = 8
	// firstPause is the pause between the first two attempts. Each later pause
	// is twice as long.
	firstPause = 50 * time.Millisecond
)

// These are the reasons to try again.
var (
	errAbsent  = errors.New("none is running")
	errLeaving = errors.New("the running daemon is ending")
)

// killHint returns how to end a daemon that this program cannot talk to.
func killHint(pid int) string {
	return fmt.Sprintf("\"kill %d\" ends it; the next command starts another.", pid)
}

// connect returns a session with a daemon, which it starts if there is none.
func (c *Client) connect(ctx context.Context) (*session, error) {
	var startErr error
	starts, most := 0, maxStarts
	left := false // a daemon was there and is ending
	pause := firstPause
	for range maxAttempts {
		s, err := c.open(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return s, err
		case errors.Is(err, errLeaving) && !left:
			// Wait until it has released its lock. With socket activation, the
			// service manager that owns the socket starts the next daemon.
			left, most = true, maxAttempts
			continue
		case !errors.Is(err, errAbsent) && !errors.Is(err, errLeaving):
			return nil, err
		}
		if c.o.Start == nil {
			return nil, &Unavailable{Reason: errAbsent.Error(), Hint: "\"bolt pool start\" starts one.", Absent: true}
		}
		if starts == most {
			break
		}
		starts++
		if startErr = c.o.Start(ctx); startErr == nil {
			continue
		}
		c.log.Debug("pool daemon does not start", "err", startErr)
		select {
		case <-time.After(pause):
			pause *= 2
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if startErr == nil {
		return nil, &Unavailable{Reason: fmt.Sprintf("it was started, but nothing listens at %s", c.o.Socket)}
	}
	return nil, &Unavailable{Reason: startErr.Error(), Err: startErr}
}

// open connects to the listening daemon. The error is errAbsent, errLeaving, an
// *Unavailable, or ctx's.
func (c *Client) open(ctx context.Context) (*session, error) {
	if err := checkPlace(c.o.Socket); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: greetTime}
	conn, err := d.DialContext(ctx, "unix", c.o.Socket)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, errAbsent
	case errors.Is(err, syscall.EAGAIN):
		return nil, &Unavailable{Reason: "it does not accept connections", Hint: "It may be stopped; " + logsHint, Err: err}
	case err != nil:
		return nil, &Unavailable{Reason: err.Error(), Err: err}
	}
	s, err := c.greet(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	c.log.Debug("connected to the pool daemon", "pid", s.peer.PID, "build", s.peer.Build)
	return s, nil
}

// checkPlace refuses a socket that another user could have put there.
func checkPlace(socket string) error {
	refuse := func(format string, args ...any) error {
		return &Unavailable{Reason: fmt.Sprintf(format, args...), Hint: "Remove it, or set another path for the daemon's socket."}
	}
	dir := filepath.Dir(socket)
	for _, path := range []string{dir, socket} {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errAbsent
		case err != nil:
			return &Unavailable{Reason: err.Error(), Err: err}
		case path == dir && !info.IsDir():
			return refuse("%s is not a directory", path)
		case path == dir && info.Mode().Perm()&0o077 != 0:
			return refuse("other users have access to the directory %s (mode %04o)", path, info.Mode().Perm())
		case path == socket && info.Mode().Type() != fs.ModeSocket:
			return refuse("%s is not a socket", path)
		case peercred.Owner(info) != os.Geteuid():
			return refuse("%s belongs to user %d, and this process runs as user %d", path, peercred.Owner(info), os.Geteuid())
		}
	}
	return nil
}

// greet exchanges the greetings.
func (c *Client) greet(ctx context.Context, conn net.Conn) (*session, error) {
	uid, pid, err := peercred.Of(conn)
	switch {
	case err != nil:
		return nil, &Unavailable{Reason: fmt.Sprintf("the user who listens at %s is unknown: %v", c.o.Socket, err), Err: err}
	case uid != os.Geteuid():
		return nil, &Unavailable{Reason: fmt.Sprintf("user %d listens at %s, and this process runs as user %d", uid, c.o.Socket, os.Geteuid())}
	}
	if err := conn.SetReadDeadline(time.Now().Add(greetTime)); err != nil {
		return nil, &Unavailable{Reason: err.Error(), Err: err}
	}
	unhook := context.AfterFunc(ctx, func() { conn.Close() })
	w, r := wire.NewWriter(steady{conn}), wire.NewReader(conn)
	hello := wire.Greeting{Version: wire.Version, Build: c.o.Build, Made: c.o.Made, PID: os.Getpid(), Caller: c.o.Caller}
	peer, err := c.hello(w, r, &hello, pid)
	if errors.Is(err, errLeaving) {
		c.awaitEnd(conn, r)
	}
	if !unhook() && err == nil { // conn is closed, or about to be
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return nil, &Unavailable{Reason: err.Error(), Err: err}
	}
	return newSession(conn, w, r, *peer, c.o.Warn, c.log), nil
}

// hello sends our greeting and reads the daemon's.
func (c *Client) hello(w *wire.Writer, r *wire.Reader, hello *wire.Greeting, pid int) (*wire.Greeting, error) {
	body := hello.Encode()
	if len(body) > wire.MaxFrame {
		return nil, &Unavailable{Reason: fmt.Sprintf("the environment is larger than the %d bytes that it accepts", wire.MaxFrame)}
	}
	err := w.Send(wire.Hello, 0, body)
	var f wire.Frame
	if err == nil || isHungUp(err) { // it may have sent a Refused
		f, err = r.Next()
	}
	switch {
	case err != nil && isHungUp(err):
		return nil, fmt.Errorf("%w: %w", errLeaving, err) // it had just decided to end
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, &Unavailable{Reason: fmt.Sprintf("process %d listens at %s, but does not answer", pid, c.o.Socket),
			Hint: fmt.Sprintf("If it is stopped, \"kill -CONT %d\" lets it continue and \"kill -KILL %d\" ends it.", pid, pid)}
	case err != nil:
		return nil, strange(pid, err)
	case f.Type == wire.Refused && f.ID == 0:
		return nil, c.refused(pid, f.Body)
	case f.Type != wire.Welcome || f.ID != 0:
		return nil, strange(pid, fmt.Errorf("frame of type %d instead of a greeting", f.Type))
	}
	peer, err := wire.DecodeGreeting(f.Body)
	switch {
	case err != nil:
		return nil, strange(pid, err)
	case peer.Version != wire.Version:
		return nil, &Unavailable{Hint: killHint(pid),
			Reason: fmt.Sprintf("its build %s speaks version %d of the protocol, and this program speaks version %d", printable(peer.Build), peer.Version, wire.Version)}
	}
	return peer, nil
}

func strange(pid int, err error) error {
	return &Unavailable{Reason: "the process that listens there does not answer as a pool daemon should: " + printable(err.Error()), Hint: killHint(pid), Err: err}
}

func (c *Client) refused(pid int, body []byte) error {
	r, err := wire.DecodeRefusal(body)
	switch {
	case err != nil:
		return strange(pid, err)
	case r.Leaving:
		c.log.Info("replacing the pool daemon", "build", r.Build, "reason", r.Reason)
		return errLeaving
	}
	return &Unavailable{Reason: "it refuses: " + printable(r.Reason)}
}

// isHungUp reports whether the peer has closed the connection.
func isHungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// awaitEnd waits until the leaving daemon has closed the connection.
func (c *Client) awaitEnd(conn net.Conn, r *wire.Reader) {
	if conn.SetReadDeadline(time.Now().Add(leaveTime)) == nil {
		_, _ = r.Next()
	}
}
