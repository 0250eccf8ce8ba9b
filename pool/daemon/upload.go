package daemon

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"os"

	"bolt/pool/wire"
	"bolt/transport"
)

const (
	// maxOffers and maxHeld bound what one client may offer at a time, and have
	// us hold: large contents have a descriptor each. The client's own limits
	// are lower.
	maxOffers = 2 * wire.MaxOffers
	maxHeld   = 2 * wire.MaxHeld
	// anySize is the size of a content that the request does not know.
	anySize = -1
)

// A holding is a content that a client has offered, or why it is not there.
type holding struct {
	content *content
	failure *transport.Error
}

// release gives the content back.
func (h holding) release(s *store) {
	if h.content != nil {
		s.drop(h.content)
	}
}

func (h holding) bytes() (data []byte, release func(), err error) {
	if h.failure != nil {
		return nil, nil, h.failure
	}
	return h.content.bytes()
}

func (h holding) tree(source string) (transport.Tree, error) {
	if h.failure != nil {
		return transport.Tree{}, h.failure
	}
	return h.content.asTree(source)
}

// An offer is one whose bytes are still to come.
type offer struct {
	*content
	came  int64
	known bool // it is here already, and the bytes are thrown away
	keeps *store
	sum   hash.Hash
	err   error // of the disk; the rest is thrown away
}

// offer answers an Offer.
func (c *client) offer(f wire.Frame) error {
	q, err := wire.DecodeOffer(f.Body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	_, leased := c.leases[f.ID]
	_, working := c.requests[f.ID]
	c.mu.Unlock()
	switch {
	case leased || working || c.offers[f.ID] != nil:
		return errInUse
	case len(c.offers) == maxOffers || len(c.held) == maxHeld:
		return errors.New("too many contents")
	}
	o := &offer{content: &content{digest: q.Content, size: q.Size}, keeps: c.s.contents}
	there := c.held[q.Content].content
	if there == nil {
		if there = c.s.contents.use(q.Content); there != nil {
			c.held[q.Content] = holding{content: there} // it may have failed before
		}
	}
	if o.known = there != nil; o.known && there.size != q.Size {
		return errors.New("another size than the content of this digest has")
	}
	switch {
	case q.Pushed:
	case o.known:
		return c.w.Send(wire.Had, f.ID, nil)
	default:
		if err := c.w.Send(wire.Wanted, f.ID, nil); err != nil {
			return err
		}
	}
	if !o.known {
		o.begin()
	}
	c.offers[f.ID] = o
	return nil
}

// errNoOffer is a piece of nothing.
var errNoOffer = errors.New("no content was offered")

// piece takes a part of a content.
func (c *client) piece(f wire.Frame) error {
	o := c.offers[f.ID]
	switch {
	case o == nil:
		return errNoOffer
	case len(f.Body) == 0 || len(f.Body) > wire.MaxPiece:
		return fmt.Errorf("a piece of %d bytes", len(f.Body))
	}
	if o.came += int64(len(f.Body)); o.came > o.size {
		return errors.New("more bytes than were announced")
	}
	o.write(f.Body)
	return nil
}

// endOffer takes the end of a content, which is kept if it is what it should be.
func (c *client) endOffer(f wire.Frame) error {
	o := c.offers[f.ID]
	switch {
	case o == nil:
		return errNoOffer
	case len(f.Body) > 0:
		return errors.New("a body where none belongs")
	}
	delete(c.offers, f.ID)
	if o.known {
		return c.w.Send(wire.Finished, f.ID, nil)
	}
	got, failure := o.end()
	if failure != nil {
		c.log.Warn("a content was not kept", "digest", o.digest, "err", failure)
		if c.held[o.digest].content == nil {
			c.held[o.digest] = holding{failure: failure}
		}
		return c.w.Send(wire.Failed, f.ID, wire.EncodeError(failure))
	}
	if c.held[o.digest].content != nil {
		c.s.contents.drop(got) // it was offered twice at a time
	} else {
		c.held[o.digest] = holding{content: got}
	}
	return c.w.Send(wire.Finished, f.ID, nil)
}

// uses gives a request a content that the client has offered.
func (c *client) uses(r *request, d wire.Digest, size int64) error {
	h, ok := c.held[d]
	switch {
	case !ok:
		return fmt.Errorf("content %v was not offered", d)
	case size != anySize && h.content != nil && h.content.size != size:
		return fmt.Errorf("content %v has %d bytes, not %d", d, h.content.size, size)
	}
	if h.content != nil {
		h.content = c.s.contents.use(d) // for itself: the client may forget it
	}
	r.contents = append(r.contents, h)
	return nil
}

// letGo gives back what a request used.
func (c *client) letGo(r *request) {
	for _, h := range r.contents {
		h.release(c.s.contents)
	}
	r.contents = nil
}

// forget gives back a content that the client has offered.
func (c *client) forget(f wire.Frame) error {
	d, err := wire.DecodeForget(f.Body)
	if err != nil {
		return err
	}
	c.held[d].release(c.s.contents)
	delete(c.held, d)
	return nil
}

// begin makes room for the bytes.
func (o *offer) begin() {
	o.sum = sha256.New()
	if o.keeps.reserve(o.size) {
		o.data = []byte{}
		return
	}
	o.onDisk = true
	if o.file, o.err = os.CreateTemp(o.keeps.dir, "bolt-content-"); o.err == nil {
		o.err = os.Remove(o.file.Name()) // what nobody can name, nobody leaves behind
	}
}

// write keeps p, unless something has failed before.
func (o *offer) write(p []byte) {
	switch {
	case o.known || o.err != nil:
		return
	case !o.onDisk:
		o.data = append(o.data, p...)
	default:
		if _, o.err = o.file.Write(p); o.err != nil {
			return
		}
	}
	o.sum.Write(p)
}

// end returns the content, or why there is none.
func (o *offer) end() (*content, *transport.Error) {
	var failure *transport.Error
	switch {
	case o.err != nil:
		failure = spoolError("store", o.size, bare(o.err))
	case o.came != o.size:
		failure = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("A content of %d bytes reached the pool daemon with %d", o.size, o.came)}
	case wire.Digest(o.sum.Sum(nil)) != o.digest:
		failure = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("A content of %d bytes reached the pool daemon with other bytes than announced", o.size),
			Hint: "The file was probably changed meanwhile. Try again."}
	default:
		return o.keeps.add(o.content), nil
	}
	o.abandon()
	return nil, failure
}

// abandon throws away what came.
func (o *offer) abandon() {
	if !o.known {
		o.keeps.abandon(o.content)
	}
}
