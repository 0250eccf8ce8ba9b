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
		return c.reply(ctx, id, func() ([]byte, error) {
			before, err := json.Marshal(c.s.status())
			c.s.drain()
			return before, err
		})
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
		c.pieces(id, rest)
		return answer{kind: wire.Reply}
	})
}

// pieces sends all of a reply but its end. That the client has gone is for its
// reader to find.
func (c *client) pieces(id uint32, body []byte) {
	for len(body) > 0 {
		n := min(len(body), wire.MaxPiece)
		if c.w.Send(wire.Reply, id, body[:n]) != nil {
			return
		}
		body = body[n:]
	}
}

// stop ends the daemon. The answer, which is the status before, comes last of
// all, when it has ended.
func (c *client) stop(id uint32) {
	if c.stops {
		return
	}
	c.stops = true
	before, err := json.Marshal(c.s.status())
	if err != nil {
		before = nil // what it would have told does not matter now
	}
	c.s.last.Go(func() {
		<-c.s.stopped
		c.pieces(id, before)
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
