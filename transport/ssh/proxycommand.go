package ssh

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"bolt/internal/safetext"
	"bolt/transport"
)

// A commandConn is a ProxyCommand as a net.Conn. Its standard input and output
// are the stream (ssh_config(5)).
type commandConn struct {
	command string
	in      io.WriteCloser
	out     io.ReadCloser
	errors  *safetext.Tail
	grace   time.Duration

	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been waited for
	closed sync.Once
}

// startCommand starts a command in its own process group. An environ of nil
// means the environment of this process.
func startCommand(ctx context.Context, command, dir string, environ []string, grace time.Duration) (stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir, cmd.Env = dir, environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c := &commandConn{command: command, errors: &safetext.Tail{}, grace: grace, cmd: cmd, exited: make(chan struct{})}
	cmd.Stderr = c.errors
	// Other processes may keep standard error open. Only the exit of the
	// command matters.
	cmd.WaitDelay = grace
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("proxy command %q: %w", command, err)
	}
	return c, nil
}

func (c *commandConn) Read(p []byte) (int, error)  { return c.out.Read(p) }
func (c *commandConn) Write(p []byte) (int, error) { return c.in.Write(p) }

// Close ends the process and its children: it closes the input and sends TERM,
// and KILL after the grace time.
func (c *commandConn) Close() error {
	c.closed.Do(func() {
		c.in.Close()
		syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
		kill := time.AfterFunc(c.grace, func() { syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		c.out.Close()
		c.cmd.Wait() // Close has ended it, so its status does not matter
		close(c.exited)
	})
	<-c.exited
	return nil
}

// explain adds the command's error output to the error of a failed handshake.
func (c *commandConn) explain(e *endpoint, err error, w *wire) error {
	t := asError(err, e.to.Host)
	if w.greeted() || t.Class != transport.ClassConnect {
		return err
	}
	c.Close()
	said := c.errors.String()
	if said == "" {
		said = c.cmd.ProcessState.String()
	}
	return connectError(transport.ClassConnect, e.to.Host, caused{fmt.Sprintf("proxy command %q ended: %s", c.command, said), err},
		"Run the command by hand to see why it does not connect.")
}

func (c *commandConn) LocalAddr() net.Addr  { return commandAddr{} }
func (c *commandConn) RemoteAddr() net.Addr { return commandAddr{} }

func (c *commandConn) SetDeadline(time.Time) error      { return net.ErrClosed }
func (c *commandConn) SetReadDeadline(time.Time) error  { return net.ErrClosed }
func (c *commandConn) SetWriteDeadline(time.Time) error { return net.ErrClosed }

// commandAddr stands for an address that only the command knows. It can be
// parsed as an address, because the known_hosts code of x/crypto requires that.
type commandAddr struct{}

func (commandAddr) Network() string { return "tcp" }
func (commandAddr) String() string  { return "0.0.0.0:0" }
