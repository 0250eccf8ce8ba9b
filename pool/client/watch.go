package client

import (
	"fmt"
	"sync/atomic"
	"time"

	"bolt/pool/wire"
)

// The last two are multiples of the first.
const (
	// lookEvery is how often a session looks whether the daemon has said
	// anything, while requests wait.
	lookEvery = 2 * time.Second
	// quietTime is how long nothing may come before we ask: nearly everything
	// says something sooner.
	quietTime = 10 * time.Second
	// pongTime is how long the daemon may take to answer then, which it does at
	// once unless the machine is out of breath.
	pongTime = 10 * time.Second
)

// A watch notices that the daemon is stopped (SIGSTOP) or hangs while requests
// wait: what they wait for may take hours, but not a ping. It costs a counter,
// and a timer that runs only while requests wait.
type watch struct {
	heard atomic.Uint64 // frames that came

	// Guarded by session.mu.
	timer   *time.Timer // calls session.look
	running bool
	last    uint64 // of heard, at the last look
	quiet   time.Duration
}

// waits reports whether a request waits for what a machine does; the mutex is
// held. "stop" may take long and is answered last of all.
func (s *session) waits() bool {
	for _, r := range s.requests {
		if r.opens != wire.Control {
			return true
		}
	}
	return false
}

// beginWatch has a look later, if nobody does so yet; the mutex is held.
func (s *session) beginWatch() {
	w := &s.watch
	if w.running {
		return
	}
	w.running, w.last, w.quiet = true, w.heard.Load(), 0
	if w.timer == nil {
		w.timer = time.AfterFunc(lookEvery, s.look)
	} else {
		w.timer.Reset(lookEvery)
	}
}

// look is called by the timer.
func (s *session) look() {
	if !s.enter() {
		return
	}
	defer s.wg.Done()
	if s.listen() {
		s.ping()
	}
}

// listen notes whether anything was heard, and reports whether to ask.
func (s *session) listen() (ask bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &s.watch
	if s.err != nil || !s.waits() {
		w.running = false
		return false
	}
	w.timer.Reset(lookEvery)
	if n := w.heard.Load(); n != w.last {
		w.last, w.quiet = n, 0
		return false
	}
	w.quiet += lookEvery
	if w.quiet == quietTime+pongTime && s.warnings != nil {
		// The reader closes the channel after the session's end alone.
		select {
		case s.warnings <- &wire.Warning{ID: "pool_silent", Text: s.silence()}:
		default:
		}
	}
	return w.quiet == quietTime
}

func (s *session) silence() string {
	return fmt.Sprintf("The pool daemon (process %d) has not answered for %v: it may be stopped or hang. \"kill -CONT %[1]d\" lets it go on, \"kill -KILL %[1]d\" gives it up.",
		s.peer.PID, quietTime+pongTime)
}

// ping asks for a sign of life. Any frame is one, so nobody waits for this.
func (s *session) ping() {
	r, err := s.begin(wire.Control)
	if err != nil {
		return
	}
	r.abandon()
	s.sendLater(wire.Control, r.id, []byte("ping"))
}

// silent reports whether the daemon was asked for a sign of life and has given
// none.
func (s *session) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch.running && s.watch.quiet >= quietTime+pongTime && s.watch.heard.Load() == s.watch.last
}
