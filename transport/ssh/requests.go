package ssh

import (
	"encoding/binary"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport"
)

// requests are the server's requests on one channel, and its status at the end.
//
// Requests must be read at all times. sshd sends keepalives (sshd_config(5),
// ClientAliveInterval) on the first open channel, and x/crypto stops reading
// from the connection when sixteen requests are unread. A running session has
// its own goroutine for it. The channels that wait for a session share
// Conn.serve; claim takes them over from it.
type requests struct {
	in      <-chan *ssh.Request
	watched bool // Conn.serve may read it; set before any other goroutine has it

	// Only the reader uses these.
	status transport.Status
	told   bool // status is known
}

// note handles one request (RFC 4254 6.10).
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

// drain handles requests until the server closes the channel.
func (q *requests) drain() {
	for r := range q.in {
		_ = q.note(r) // the end of the connection is detected elsewhere
	}
}

// maxWatched is the number of channels that Conn.serve reads at a time: the
// spare session, the two shells, and a channel that is being claimed or closed.
const maxWatched = 4

// watch makes Conn.serve read the requests as soon as it has room. It must be
// called before any other goroutine has the channel.
func (c *Conn) watch(q *requests) {
	select {
	case c.watching <- q:
		q.watched = true
	case <-c.ended:
	}
}

// claim takes requests over from Conn.serve. After that, the caller is their
// only reader.
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

// openWatched opens a session for later use.
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

// A watchList holds the requests that Conn.serve reads in addition to those of
// the connection itself.
type watchList [maxWatched]*requests

// in returns the channel with the requests of one entry, or nil for an empty
// entry.
func (w *watchList) in(i int) <-chan *ssh.Request {
	if w[i] == nil {
		return nil
	}
	return w[i].in
}

// replace replaces the entry old with by; nil stands for an empty entry. It
// returns false if old is not in the list.
func (w *watchList) replace(old, by *requests) bool {
	for i := range w {
		if w[i] == old {
			w[i] = by
			return true
		}
	}
	return false
}

// full reports whether the list has no empty entry.
func (w *watchList) full() bool {
	for _, q := range w {
		if q == nil {
			return false
		}
	}
	return true
}
