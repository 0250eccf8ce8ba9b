package winrm

import (
	"context"
	"errors"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/powershell"
)

// Conn is an open connection to one machine. It is a powershell.Starter.
type Conn struct {
	p    *peer
	life context.Context // context of Dial without its end
	poll time.Duration   // how long the server waits for output
	end  time.Duration   // time limit for the end of a command or a shell
	temp powershell.Temp

	mu     sync.Mutex
	free   []string // shells without a running command
	busy   map[string]bool
	closed bool
}

var _ transport.Conn = (*Conn)(nil)

// Run runs a command as transport.Conn's Run does.
func (c *Conn) Run(ctx context.Context, cmd *transport.Cmd) (transport.Status, error) {
	return powershell.Run(ctx, c, cmd, c.options())
}

// Put copies to the machine as transport.Conn's Put does.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	return powershell.Put(ctx, c, src, dst, o, c.options())
}

// Get copies from the machine as transport.Conn's Get does.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	return powershell.Get(ctx, c, src, dst, o, c.options())
}

func (c *Conn) options() powershell.Options {
	return powershell.Options{Host: c.p.host, User: c.p.user, Temp: &c.temp}
}

// Close removes the shells and ends their commands.
func (c *Conn) Close() error {
	c.mu.Lock()
	shells := c.free
	for id := range c.busy {
		shells = append(shells, id)
	}
	c.free, c.busy, c.closed = nil, nil, true
	c.mu.Unlock()
	var wg sync.WaitGroup
	for _, id := range shells {
		wg.Go(func() { c.remove(id) })
	}
	wg.Wait()
	c.p.close()
	return nil
}

// remove deletes a shell. If that fails, the server deletes the shell itself
// after it has not been used for a while.
func (c *Conn) remove(id string) error {
	ctx, cancel := context.WithTimeout(c.life, c.end)
	defer cancel()
	_, err := c.p.post(ctx, deleteShell(id, c.end))
	return err
}

// shell returns a shell without a running command, and whether it is new.
func (c *Conn) shell(ctx context.Context) (id string, isNew bool, err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return "", false, errClosed
	}
	if n := len(c.free); n > 0 {
		id = c.free[n-1]
		c.free = c.free[:n-1]
		c.busy[id] = true
		c.mu.Unlock()
		return id, false, nil
	}
	c.mu.Unlock()
	a, err := c.p.post(ctx, createShell(c.poll))
	if err != nil {
		return "", false, err
	}
	id = a.shellID()
	if id == "" {
		return "", false, errors.New("its answer does not name a shell")
	}
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.busy[id] = true
	}
	c.mu.Unlock()
	if closed {
		_ = c.remove(id)
		return "", false, errClosed
	}
	return id, true, nil
}

// done releases a shell. If keep is set, the shell can run another command.
func (c *Conn) done(id string, keep bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, id)
	if keep && !c.closed {
		c.free = append(c.free, id)
	}
}
