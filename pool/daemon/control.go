package daemon

import (
	"context"
	"encoding/json"
	"fmt"

	"bolt/pool/wire"
	"bolt/transport"
)

// control runs a command of bolt about the daemon.
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
		return c.reply(ctx, id, func() ([]byte, error) {
			before, err := json.Marshal(c.s.status())
			c.s.drain()
			return before, err
		})
	case "stop":
		c.stop(id)
		return nil
	}
	e := &transport.Error{Class: transport.ClassUnsupported, Msg: fmt.Sprintf("The pool daemon does not know the control %q", word)}
	return c.w.Send(wire.Failed, id, wire.EncodeError(e))
}

// reply answers a control in pieces.
func (c *client) reply(ctx context.Context, id uint32, body func() ([]byte, error)) error {
	return c.start(ctx, id, &request{control: true}, func(context.Context) answer {
		rest, err := body()
		if err != nil {
			return failed(err)
		}
		c.pieces(id, rest)
		return answer{kind: wire.Reply}
	})
}

// pieces sends a reply except its end. If the client has disconnected, its
// reader detects it.
func (c *client) pieces(id uint32, body []byte) {
	for len(body) > 0 {
		n := min(len(body), wire.MaxPiece)
		if c.w.Send(wire.Reply, id, body[:n]) != nil {
			return
		}
		body = body[n:]
	}
}

// stop ends the daemon. The answer is the status before the end. It is sent
// last of all, when the daemon has ended.
func (c *client) stop(id uint32) {
	if c.stops {
		return
	}
	c.stops = true
	before, err := json.Marshal(c.s.status())
	if err != nil {
		before = nil // the status does not matter now
	}
	c.s.last.Go(func() {
		<-c.s.stopped
		c.pieces(id, before)
		_ = c.w.Send(wire.Reply, id, nil) // an error means that the client has disconnected
		c.conn.Close()
	})
	c.s.life.end("stopped")
}

// drain lets nothing new begin. The next client finds no socket and starts a
// daemon of its own. This daemon ends when its running requests have ended. If
// the socket was inherited (socket activation), it stays, and clients are
// refused.
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
