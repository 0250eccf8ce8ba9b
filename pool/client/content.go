package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"sync"

	"bolt/pool/wire"
	"bolt/transport"
)

// stage offers the contents that a command needs and lists them in its request.
func (c *Client) stage(ctx context.Context, s *session, u *uses, cmd *transport.Cmd, req *wire.RunRequest) error {
	req.Files = req.Files[:0]
	for i := range cmd.Files {
		f := &cmd.Files[i]
		staged, err := c.offerBytes(ctx, s, u, f.Data)
		if err != nil {
			return err
		}
		staged.Name, staged.Mode = f.Name, f.Mode.Perm()
		req.Files = append(req.Files, staged)
	}
	if !req.HasStdin {
		return nil
	}
	var err error
	req.Stdin, err = c.offerBytes(ctx, s, u, cmd.Stdin)
	return err
}

func (c *Client) offerBytes(ctx context.Context, s *session, u *uses, data []byte) (wire.StagedFile, error) {
	digest := c.sums.of(data)
	err := s.offer(ctx, u, digest, int64(len(data)), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	return wire.StagedFile{Size: int64(len(data)), Data: digest}, err
}

// offer returns when the daemon has a content, or will have it before any frame
// that is sent later. The daemon keeps the content until u is done. write
// writes the content; it is not called if the daemon has the content.
func (s *session) offer(ctx context.Context, u *uses, digest wire.Digest, size int64, write func(io.Writer) error) error {
	for !s.contents.has(digest, u) {
		_, err := s.contents.offering.do(ctx, digest, func() (struct{}, error) {
			var mine uses // other callers have uses of their own
			defer func() { s.contents.done(mine) }()
			if s.contents.has(digest, &mine) {
				return struct{}{}, nil
			}
			err := s.push(ctx, &mine, &wire.OfferRequest{Content: digest, Size: size, Pushed: size <= wire.MaxPushed}, write)
			return struct{}{}, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// push sends a content if the daemon wants it.
func (s *session) push(ctx context.Context, u *uses, o *wire.OfferRequest, write func(io.Writer) error) error {
	if err := s.contents.place(ctx); err != nil {
		return err
	}
	defer s.contents.leave()
	r, err := s.register(&request{opens: wire.Offer, content: o.Content})
	if err != nil {
		return err
	}
	p := &pieces{stop: func() error { return context.Cause(ctx) }, s: s, r: r, send: s.w.Send}
	if o.Pushed {
		// The offer is written together with the request that needs it. If the
		// daemon does not take it, that request fails.
		p.send = s.w.Queue
	}
	s.contents.forgetting.RLock()
	err = p.send(wire.Offer, r.id, o.Encode())
	s.contents.forgetting.RUnlock()
	if err != nil {
		s.fail(err)
		return err
	}
	if !o.Pushed {
		if err := r.awaitWanted(ctx); err != nil {
			return s.takeBack(r, err)
		}
	}
	if !r.answered() {
		err := write(p)
		if err == nil {
			err = p.flush()
		}
		switch {
		case errors.Is(err, errAnswered):
		case err != nil:
			return s.takeBack(r, err)
		default:
			if err := p.send(wire.End, r.id, nil); err != nil {
				s.fail(err)
				return err
			}
		}
	}
	if o.Pushed {
		s.hold(o.Content, u)
		if _, a := r.next(); a != nil && a.err != nil {
			s.contents.refused(o.Content) // the reader called refused too early
			return a.err
		}
		return nil
	}
	if err := r.await(ctx); err != nil {
		return s.takeBack(r, err)
	}
	switch _, a := r.next(); {
	case a.lost != nil:
		return a.lost
	case a.err != nil:
		return a.err
	}
	s.hold(o.Content, u)
	return nil
}

// takeBack cancels an offer.
func (s *session) takeBack(r *request, why error) error {
	r.abandon()
	s.sendLater(wire.Cancel, r.id, (&wire.CancelRequest{}).Encode())
	return why
}

// awaitWanted waits until the daemon wants an offered content or has answered
// the offer.
func (r *request) awaitWanted(ctx context.Context) error {
	for !r.isWanted() && !r.answered() {
		select {
		case <-r.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// errAnswered stops the sending of a content whose offer was already answered:
// the daemon could not take it, or has ended.
var errAnswered = errors.New("the content is not wanted any more")

// pieces is a writer that sends its data as the pieces of an offer.
type pieces struct {
	stop func() error // why it must stop, or nil
	s    *session
	r    *request
	send func(wire.Type, uint32, []byte) error
	buf  []byte // less than a piece
}

func (p *pieces) Write(data []byte) (int, error) {
	n := len(data)
	for len(data) > 0 {
		if len(p.buf) == 0 && len(data) >= wire.MaxPiece {
			if err := p.piece(data[:wire.MaxPiece]); err != nil {
				return 0, err
			}
			data = data[wire.MaxPiece:]
			continue
		}
		room := min(wire.MaxPiece-len(p.buf), len(data))
		p.buf = append(p.buf, data[:room]...)
		data = data[room:]
		if len(p.buf) == wire.MaxPiece {
			if err := p.flush(); err != nil {
				return 0, err
			}
		}
	}
	return n, nil
}

func (p *pieces) flush() error {
	if len(p.buf) == 0 {
		return nil
	}
	err := p.piece(p.buf)
	p.buf = p.buf[:0]
	return err
}

func (p *pieces) piece(data []byte) error {
	if err := p.stop(); err != nil {
		return err
	}
	if p.r.answered() {
		return errAnswered
	}
	err := p.send(wire.Piece, p.r.id, data)
	if err != nil {
		p.s.fail(err)
	}
	return err
}

// quickSum is the size up to which computing a digest is faster than looking it
// up.
const quickSum = 4 << 10

// sums caches the digests of byte slices while commands hold the slices. During
// that time nothing changes the slices.
type sums struct {
	mu sync.Mutex
	m  map[sumKey]*sum
}

type sumKey struct {
	first *byte
	size  int
}

type sum struct {
	users  int // guarded by sums.mu
	once   sync.Once
	digest wire.Digest
}

// hold begins to cache the digests of a command's contents.
func (x *sums) hold(cmd *transport.Cmd) {
	x.each(cmd, func(k sumKey) {
		if x.m == nil {
			x.m = make(map[sumKey]*sum)
		}
		if x.m[k] == nil {
			x.m[k] = new(sum)
		}
		x.m[k].users++
	})
}

// release undoes a hold.
func (x *sums) release(cmd *transport.Cmd) {
	x.each(cmd, func(k sumKey) {
		s := x.m[k]
		if s.users--; s.users == 0 {
			delete(x.m, k)
		}
	})
}

func (x *sums) each(cmd *transport.Cmd, f func(sumKey)) {
	if len(cmd.Files) == 0 && len(cmd.Stdin) <= quickSum {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range cmd.Files {
		if b := cmd.Files[i].Data; len(b) > quickSum {
			f(sumKey{&b[0], len(b)})
		}
	}
	if b := cmd.Stdin; len(b) > quickSum {
		f(sumKey{&b[0], len(b)})
	}
}

// of returns the digest of a slice that is held or small.
func (x *sums) of(b []byte) wire.Digest {
	if len(b) <= quickSum {
		return sha256.Sum256(b)
	}
	x.mu.Lock()
	s := x.m[sumKey{&b[0], len(b)}]
	x.mu.Unlock()
	s.once.Do(func() { s.digest = sha256.Sum256(b) })
	return s.digest
}
