package ssh

import (
	"encoding/binary"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport"
)

// requests are what the server asks for on one channel, and tells of its end.
//
// Somebody has to read them all the time: sshd asks for signs of life
// (sshd_config(5), ClientAliveInterval) on the first open channel, and x/crypto
// reads nothing more from the connection when sixteen of them lie there. Where
// a session runs its own goroutine reads; the channels that wait for one share
// Conn.serve, and are handed over by claim.
type requests struct {
	in      <-chan *ssh.Request
	watched bool // by Conn.serve, maybe; set before anybody else has it

	// By whoever reads.
	status transport.Status
	told   bool // status is known
}

// note takes one request (RFC 4254 6.10).
func (q *requests) note(r *ssh.Request) error {
	switch r.Type {
	case "exit-status":
		if len(r.Payload) >= 4 {
			q.status, q.told = transport.Status{Code: int(binary.BigEndian.Uint32(r.Payload))}, true
		}
	case "exit-signal":
		var sig struct {
			Name       string
			CoreDumped bool
			Message    string
			Language   string
		}
		if err := ssh.Unmarshal(r.Payload, &sig); err == nil {
			q.status, q.told = transport.Status{Code: -1, Signal: safetext.Message(strings.TrimPrefix(sig.Name, "SIG"))}, true
		}
	}
	if !r.WantReply {
		return nil
	}
	return r.Reply(false, nil)
}

// drain takes requests until the server closes the channel.
func (q *requests) drain() {
	for r := range q.in {
		_ = q.note(r) // that the connection has ended is seen elsewhere
	}
}

// maxWatched is how many channels Conn.serve reads at a time: the spare
// session, the two shells, and one that is being claimed or given up.
const maxWatched = 4

// watch has Conn.serve read requests, as soon as it has room. It is called
// before anybody else knows of the channel.
func (c *Conn) watch(q *requests) {
	select {
	case c.watching <- q:
		q.watched = true
	case <-c.ended:
	}
}

// claim takes requests over from Conn.serve: after it the caller is their only
// reader.
func (c *Conn) claim(q *requests) {
	if !q.watched {
		return
	}
	select {
	case c.claiming <- q:
	case <-c.ended:
	}
}

// abandon closes a channel and reads its requests until the server has closed
// it, too.
func (c *Conn) abandon(o opened) {
	o.ch.Close()
	c.claim(o.reqs)
	o.reqs.drain()
}

// openWatched opens a session to be used later.
func (c *Conn) openWatched() opened {
	asked := time.Now()
	ch, reqs, err := c.openOn("session", nil)
	if err != nil {
		return opened{err: err}
	}
	c.warm.took(time.Since(asked))
	q := &requests{in: reqs}
	c.watch(q)
	return opened{ch: ch, reqs: q}
}

// A watch list is what Conn.serve reads beside the connection's own requests.
type watchList [maxWatched]*requests

// in is where requests of one entry come from; nil, and so never, for none.
func (w *watchList) in(i int) <-chan *ssh.Request {
	if w[i] == nil {
		return nil
	}
	return w[i].in
}

// replace puts one entry in the place of another; nil is none. It returns
// false if the other is not there.
func (w *watchList) replace(old, by *requests) bool {
	for i := range w {
		if w[i] == old {
			w[i] = by
			return true
		}
	}
	return false
}

// full reports whether there is no room for another.
func (w *watchList) full() bool {
	for _, q := range w {
		if q == nil {
			return false
		}
	}
	return true
}
