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
	// maxOffers and maxHeld bound how many contents one client may offer at a
	// time, and how many the daemon keeps for it: each large content needs a
	// descriptor. The client's own limits are lower.
	maxOffers = 2 * wire.MaxOffers
	maxHeld   = 2 * wire.MaxHeld
	// anySize is the size of a content if the request does not contain it.
	anySize = -1
)

// A holding is a content that a client has offered, or the reason why it could
// not be stored.
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

// An offer is a content whose bytes are still being received.
type offer struct {
	*content
	came  int64
	known bool // the store has it already; the bytes are discarded
	keeps *store
	sum   hash.Hash
	err   error // of the disk; later bytes are discarded
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
			c.held[q.Content] = holding{content: there} // an earlier offer may have failed
		}
	}
	if o.known = there != nil; o.known && there.size != q.Size {
		return errors.New("the size differs from that of the stored content with this digest")
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

// errNoOffer is the error if a piece belongs to no offer.
var errNoOffer = errors.New("no content was offered")

// piece adds a piece to a content.
func (c *client) piece(f wire.Frame) error {
	o := c.offers[f.ID]
	switch {
	case o == nil:
		return errNoOffer
	case len(f.Body) == 0 || len(f.Body) > wire.MaxPiece:
		return fmt.Errorf("a piece of %d bytes", len(f.Body))
	}
	if o.came += int64(len(f.Body)); o.came > o.size {
		return errors.New("more bytes than the offer announced")
	}
	o.write(f.Body)
	return nil
}

// endOffer handles the end of a content. It keeps the content if its size and
// digest are right.
func (c *client) endOffer(f wire.Frame) error {
	o := c.offers[f.ID]
	switch {
	case o == nil:
		return errNoOffer
	case len(f.Body) > 0:
		return errors.New("a body in a frame that has none")
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
		c.s.contents.drop(got) // it was offered twice at the same time
	} else {
		c.held[o.digest] = holding{content: got}
	}
	return c.w.Send(wire.Finished, f.ID, nil)
}

// uses adds a content that the client has offered to a request.
func (c *client) uses(r *request, d wire.Digest, size int64) error {
	h, ok := c.held[d]
	switch {
	case !ok:
		return fmt.Errorf("content %v was not offered", d)
	case size != anySize && h.content != nil && h.content.size != size:
		return fmt.Errorf("content %v has %d bytes, not %d", d, h.content.size, size)
	}
	if h.content != nil {
		h.content = c.s.contents.use(d) // a use of its own: the client may send Forget
	}
	r.contents = append(r.contents, h)
	return nil
}

// letGo gives back the contents of a request.
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

// begin prepares the storage for the bytes.
func (o *offer) begin() {
	o.sum = sha256.New()
	if o.keeps.reserve(o.size) {
		o.data = []byte{}
		return
	}
	o.onDisk = true
	if o.file, o.err = os.CreateTemp(o.keeps.dir, "bolt-content-"); o.err == nil {
		o.err = os.Remove(o.file.Name()) // a file without a name cannot be left behind
	}
}

// write stores p, unless an error has occurred.
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

// end returns the content, or the reason why it is unusable.
func (o *offer) end() (*content, *transport.Error) {
	var failure *transport.Error
	switch {
	case o.err != nil:
		failure = spoolError("store", o.size, bare(o.err))
	case o.came != o.size:
		failure = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("The pool daemon received %[2]d of the %[1]d bytes of a content", o.size, o.came)}
	case wire.Digest(o.sum.Sum(nil)) != o.digest:
		failure = &transport.Error{Class: transport.ClassProtocol, Msg: fmt.Sprintf("The pool daemon received a content of %d bytes whose digest differs from the announced one", o.size),
			Hint: "The file has probably changed meanwhile. Try again."}
	default:
		return o.keeps.add(o.content), nil
	}
	o.abandon()
	return nil, failure
}

// abandon discards the received bytes.
func (o *offer) abandon() {
	if !o.known {
		o.keeps.abandon(o.content)
	}
}
