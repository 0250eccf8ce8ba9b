package ssh

import (
	"context"
	"fmt"
	"time"

	"bolt/transport"
)

const (
	// aliveSlack is added to the keepalive interval: only after a longer
	// silence does Check query the peer. It allows for the time of an answer.
	aliveSlack = 5 * time.Second
	// checkTakes is the time for which Check waits for an answer.
	checkTakes = 5 * time.Second
)

// Done implements transport.Link.
func (c *Conn) Done() <-chan struct{} { return c.ended }

// Check implements transport.Link. The error has the class of a host key
// failure, or ClassConnect if the connection has ended or does not answer. A
// connection that does not answer is closed, unless ServerAliveCountMax in
// ssh_config is 0.
func (c *Conn) Check(ctx context.Context) error {
	if c.isOver() || c.failing() {
		return c.lostError("")
	}
	for hop := c; hop != nil; hop = hop.via {
		if err := hop.trust.still(); err != nil {
			return err
		}
	}
	if c.wire.silence() <= c.e.keepalive+aliveSlack {
		return nil
	}
	before := c.wire.received.Load()
	wait := time.NewTimer(checkTakes)
	defer wait.Stop()
	select {
	case <-c.ask():
	case <-wait.C:
	case <-ctx.Done():
		return c.interrupted(ctx, "waiting for the answer to a keepalive")
	}
	if c.wire.received.Load() != before {
		return nil
	}
	silent := fmt.Errorf("no answer to a keepalive in %v", checkTakes)
	if c.e.keepaliveMisses >= 0 {
		c.doom(silent)
		c.work.start(func() { c.wire.Close() }) // if start fails, Close has closed the wire
		return c.lostError("")
	}
	return &transport.Error{Class: transport.ClassConnect, Code: codeConnect, Err: silent,
		Msg: fmt.Sprintf("Connection to %s does not answer: %v", c.e.to.Host, silent)}
}

// failing reports whether the connection is about to end.
func (c *Conn) failing() bool {
	if c.wire.down.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause != nil
}

// Stats implements transport.Link.
func (c *Conn) Stats() transport.LinkStats {
	return transport.LinkStats{Peer: c.peer, Sessions: c.places.free(), Sent: c.wire.sent.Load(), Received: c.wire.received.Load()}
}
