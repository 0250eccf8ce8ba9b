package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"bolt/pool/wire"
	"bolt/transport"
)

// control does what bolt's own commands about the daemon ask for.
func (c *client) control(ctx context.Context, f wire.Frame) error {
	id, word := f.ID, string(f.Body)
	switch word {
	case "ping":
		return c.w.Send(wire.Reply, id, nil)
	case "status":
		return c.reply(ctx, id, func() ([]byte, error) { return json.Marshal(c.s.status()) })
	case "metrics":
		return c.reply(ctx, id, func() ([]byte, error) { return metrics(c.s.status()), nil })
	case "drain":
		c.s.drain()
		return c.w.Send(wire.Reply, id, nil)
	case "stop":
		c.stop(id)
		return nil
	}
	e := &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("The pool daemon knows no control %q", word)}
	return c.w.Send(wire.Failed, id, wire.EncodeError(e))
}

// reply answers a control in pieces.
func (c *client) reply(ctx context.Context, id uint32, body func() ([]byte, error)) error {
	return c.start(ctx, id, &request{control: true}, func(context.Context) answer {
		rest, err := body()
		if err != nil {
			return failed(err)
		}
		for len(rest) > 0 {
			n := min(len(rest), wire.MaxPiece)
			if c.w.Send(wire.Reply, id, rest[:n]) != nil {
				break // the reader finds out
			}
			rest = rest[n:]
		}
		return answer{kind: wire.Reply}
	})
}

// stop ends the daemon. The answer comes last of all, when it has ended.
func (c *client) stop(id uint32) {
	if c.stops {
		return
	}
	c.stops = true
	c.s.last.Go(func() {
		<-c.s.stopped
		_ = c.w.Send(wire.Reply, id, nil) // or it has gone
		c.conn.Close()
	})
	c.s.life.end("stopped")
}

// drain lets nothing new begin: the next client finds no socket, and starts a
// daemon of its own; this one ends with what is under way. A socket that was
// handed to us stays, and clients are refused.
func (s *Server) drain() {
	s.log.Info("pool daemon drains")
	if s.socket.lock != nil {
		if err := s.socket.close(); err != nil {
			s.log.Warn("close the socket", "err", err)
		}
	}
	s.o.Pool.Drain()
	s.life.drain()
}
