package client

import (
	"fmt"
	"sync/atomic"
	"time"

	"bolt/pool/wire"
)

// The last two must be multiples of the first.
const (
	// lookEvery is how often a session checks, while requests wait, whether the
	// daemon has sent anything.
	lookEvery = 2 * time.Second
	// quietTime is how long the daemon may send nothing before the session
	// sends a ping. Nearly every request gets a frame sooner.
	quietTime = 10 * time.Second
	// pongTime is how long the daemon may take to answer the ping. It answers
	// at once, unless the machine is overloaded.
	pongTime = 10 * time.Second
)

// A watch detects that the daemon is stopped (SIGSTOP) or hangs while requests
// wait. A request may take hours, but a ping may not. A watch costs a counter,
// and a timer that runs only while requests wait.
type watch struct {
	heard atomic.Uint64 // frames that arrived

	// Guarded by session.mu.
	timer   *time.Timer // calls session.look
	running bool
	last    uint64 // value of heard at the last look
	quiet   time.Duration
}

// waits reports whether a request waits for a machine; it must be called with
// the mutex held. Controls are left out: "stop" may take long and is answered
// last of all.
func (s *session) waits() bool {
	for _, r := range s.requests {
		if r.opens != wire.Control {
			return true
		}
	}
	return false
}

// beginWatch starts the timer if it does not run; it must be called with the
// mutex held.
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

// look checks the daemon once; the timer calls it.
func (s *session) look() {
	if !s.enter() {
		return
	}
	defer s.wg.Done()
	if s.listen() {
		s.ping()
	}
}

// listen records whether a frame has arrived, and reports whether the session
// must send a ping.
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
		// The reader closes the channel only after the session's end.
		select {
		case s.warnings <- &wire.Warning{ID: "pool_silent", Text: s.silence()}:
		default:
		}
	}
	return w.quiet == quietTime
}

func (s *session) silence() string {
	return fmt.Sprintf("The pool daemon (process %d) has not answered for %v: it may be stopped or hang. \"kill -CONT %[1]d\" lets it continue, \"kill -KILL %[1]d\" ends it.",
		s.peer.PID, quietTime+pongTime)
}

// ping sends a ping as a keepalive. Any frame is an answer to it, so no
// goroutine waits for this one.
func (s *session) ping() {
	r, err := s.begin(wire.Control)
	if err != nil {
		return
	}
	r.abandon()
	s.sendLater(wire.Control, r.id, []byte("ping"))
}

// silent reports whether the daemon was sent a ping and has sent nothing since.
func (s *session) silent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch.running && s.watch.quiet >= quietTime+pongTime && s.watch.heard.Load() == s.watch.last
}
