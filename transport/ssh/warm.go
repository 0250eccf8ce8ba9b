package ssh

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bolt/transport/shell"
	"golang.org/x/crypto/ssh"
)

// On an idle connection, bolt starts a ready shell for the next script in
// addition to the spare session (see package shell). A ready shell saves a
// round trip, so bolt starts none if round trips are short. It costs a process
// on the machine and the start of a session. So bolt starts one only if a
// command ran recently and the connection is idle, and ends it when places run
// short.
//
// A shell that waits has no goroutine of its own. If it has ended, that is
// detected when it is to be used.

const (
	// warmSettles is the time for which a connection must be idle before a
	// shell is started in advance. It is longer than the time between the
	// commands of one run over many machines.
	warmSettles = 75 * time.Millisecond
	// guessSettles is the same if no script has run recently: a script is
	// likely only after a pause.
	guessSettles = time.Second
	// readyPays is the shortest round trip for which ready shells are started.
	// A ready shell saves one round trip, but costs the machine and this
	// process more work than a session without it. That cost is noticeable if
	// many commands share a machine.
	readyPays = 10 * time.Millisecond
	// warmLasts is how long waiting sessions and shells stay after their last
	// use. After that, they occupy no process and no home directory of the
	// machine.
	warmLasts = time.Minute
	// warmStarts limits the time to start a shell in advance: start-up files
	// may wait for something.
	warmStarts = 10 * time.Second
	// maxWarmFailures is the number of failed shells in a row after which no
	// more are started. After failuresLast, new ones are tried, because the
	// cause may be gone.
	maxWarmFailures = 2
	failuresLast    = 10 * time.Minute
)

// warm holds the sessions and shells that were started in advance on a
// connection.
type warm struct {
	c     *Conn
	kept  bool // the connection is cached
	eager bool // start ready shells on fast links, too
	proof shell.Proof

	mu        sync.Mutex
	spare     chan opened   // the spare session, or nil
	running   int           // running commands
	idle      time.Time     // when the last of them ended
	roundTrip time.Duration // the shortest measured; 0 if none was measured
	over      bool
	timer     *time.Timer // calls tend; created when first needed
	due       time.Time   // when timer fires; zero: never
	ready     waiting
}

// waiting is the state of the ready shell.
type waiting struct {
	shell    *opened
	starting chan struct{} // a word in it cancels the shell that is being started; nil if none is
	wanted   time.Time     // time of the last command after which a shell would be useful
	used     time.Time     // time of the last command that asked for a shell
	failures int           // failures in a row
	failed   time.Time     // time of the latest failure
}

// fails adds n to the failures in a row. Old failures are forgotten.
func (s *waiting) fails(n int) {
	if time.Since(s.failed) >= failuresLast {
		s.failures = 0
	}
	s.failures += n
	s.failed = time.Now()
}

// hopeless reports whether too many shells have failed recently.
func (s *waiting) hopeless() bool {
	return s.failures >= maxWarmFailures && time.Since(s.failed) < failuresLast
}

// begin and end are called before and after each command.
func (w *warm) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
	if w.kept {
		w.ready.wanted = time.Now() // a script may follow any command
	}
}

// busy reports whether commands run.
func (w *warm) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running > 0
}

func (w *warm) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running > 0 {
		return
	}
	w.idle = time.Now()
	if w.lacks() {
		w.wake(w.settles())
	}
}

// took records the time of a round trip. The shortest one decides whether a
// ready shell is worth its cost. The first measurement may arrive after the
// command that wants a shell has ended, so took itself may wake tend.
func (w *warm) took(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.roundTrip == 0
	if first || d < w.roundTrip {
		w.roundTrip = d
	}
	if first && w.running == 0 && w.lacks() {
		w.wake(w.settles())
	}
}

// settles returns how long the connection must be idle before a shell is
// started.
func (w *warm) settles() time.Duration {
	if time.Since(w.ready.used) > warmLasts {
		return guessSettles
	}
	return warmSettles
}

// lacks reports whether a shell should be started.
func (w *warm) lacks() bool {
	s := &w.ready
	if !w.eager && w.roundTrip < readyPays {
		return false
	}
	return s.shell == nil && s.starting == nil && !s.hopeless() && !s.wanted.IsZero() && time.Since(s.wanted) < warmLasts
}

// early returns how much longer the start of a shell must wait. If a script has
// run recently, the start waits only until no command runs. Otherwise it waits
// for guessSettles.
func (w *warm) early() time.Duration {
	if w.settles() == warmSettles {
		return 0
	}
	return guessSettles - time.Since(w.idle)
}

// wake makes tend run after a time, or earlier. The caller must hold the lock.
func (w *warm) wake(after time.Duration) {
	due := time.Now().Add(after)
	if w.over || !w.due.IsZero() && w.due.Before(due) {
		return
	}
	w.due = due
	switch {
	case w.timer == nil:
		w.timer = time.AfterFunc(after, func() { w.c.work.start(w.tend) })
	default:
		w.timer.Reset(after)
	}
}

// tend starts a needed shell and ends an unneeded one.
func (w *warm) tend() {
	w.mu.Lock()
	w.due = time.Time{}
	s := &w.ready
	var unused *opened
	var yielded chan struct{}
	left, early := warmLasts-time.Since(s.wanted), w.early()
	switch {
	case s.shell != nil && left <= 0:
		unused, s.shell = s.shell, nil
	case s.shell != nil:
		w.wake(left)
	case w.running > 0 || w.over || !w.lacks():
	case early > 0:
		w.wake(early)
	default:
		yielded = make(chan struct{}, 1)
		s.starting = yielded
	}
	w.mu.Unlock()
	if unused != nil {
		w.drop(unused)
	}
	if yielded != nil {
		w.start(yielded)
	}
}

// start starts one shell. It returns when the shell is ready or was cancelled.
func (w *warm) start(yielded <-chan struct{}) {
	token := "bolt%" + rand.Text()
	s := &w.ready
	h, err := w.open(yielded, shell.ReadyLine(token), shell.ReadyMark(token))
	w.mu.Lock()
	s.starting = nil
	switch {
	case errors.Is(err, errNoRoom):
	case err != nil:
		s.fails(maxWarmFailures)
		w.c.log.Debug("no shell started in advance", "target", w.c.e.to.Host, "err", err)
	case w.over:
	default:
		s.shell, h = h, nil
		w.wake(warmLasts - time.Since(s.wanted))
	}
	w.mu.Unlock()
	if h != nil {
		w.drop(h)
	}
	w.yieldIfShort()
}

// errNoRoom is the error if there are not enough places.
var errNoRoom = errors.New("no free session for a shell in advance")

// open takes a place and runs a line in a new session. It returns when the line
// has printed its mark.
func (w *warm) open(yielded <-chan struct{}, line, mark string) (*opened, error) {
	c := w.c
	if !c.places.hold() {
		return nil, errNoRoom
	}
	o := c.openWatched()
	if o.err != nil {
		c.noneAhead(o.err)
		return nil, fmt.Errorf("open a session: %w", o.err)
	}
	h := &o
	late := time.NewTimer(warmStarts)
	defer late.Stop()
	begun := make(chan error, 1)
	if !c.work.start(func() { begun <- h.begin(c, line, mark) }) {
		begun <- c.lostError("")
	}
	var err error
	select {
	case err = <-begun:
	case <-yielded:
		err = errNoRoom
	case <-late.C: // the server may never close it
		err = fmt.Errorf("it did not start in %v", warmStarts)
	}
	if err != nil {
		w.drop(h)
		return nil, err
	}
	return h, nil
}

// begin starts a line and reads the mark that the line prints first on each of
// its streams.
func (h *opened) begin(c *Conn, line, mark string) error {
	if err := c.askForwarding(h.ch); err != nil {
		return err
	}
	if err := c.sendEnv(h.ch); err != nil {
		return err
	}
	ok, err := h.ch.SendRequest("exec", true, ssh.Marshal(&struct{ Line string }{line}))
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("the server refuses it")
	}
	said := make([]byte, len(mark))
	for _, stream := range []io.Reader{h.ch, h.ch.Stderr()} {
		if _, err := io.ReadFull(stream, said); err != nil {
			return err
		}
		if string(said) != mark {
			return errors.New("it printed an unexpected line")
		}
	}
	return nil
}

// drop ends a shell. Its place is free at once, before the server has closed
// the session: OpenSSH's MaxSessions exceeds the number of places by two. If
// the server's limit is lower, it refuses the next session.
func (w *warm) drop(h *opened) {
	w.c.places.release()
	w.c.work.start(func() { w.c.abandon(*h) })
}

// take removes and returns the shell, or nil, and records that a shell was
// wanted.
func (w *warm) take() *opened {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &w.ready
	s.wanted = time.Now()
	s.used = s.wanted
	h := s.shell
	s.shell = nil
	return h
}

// yieldIfShort calls yield if a request waits for a place. It is for callers
// that have stored a shell after the last yield.
func (w *warm) yieldIfShort() {
	if w.c.places.short() {
		w.yield()
	}
}

// yield ends the waiting session and shell, because a request needs their
// places.
func (w *warm) yield() {
	w.c.yieldSpare()
	w.mu.Lock()
	h := w.ready.shell
	w.ready.shell = nil
	select {
	case w.ready.starting <- struct{}{}:
	default: // none is being started, or it was cancelled already
	}
	w.mu.Unlock()
	if h != nil {
		w.drop(h)
	}
}

// stop stops the timer. Waiting sessions end with the connection.
func (w *warm) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Ready implements shell.Warmer.
func (c *Conn) Ready() (shell.Session, func(bool)) {
	if !c.warm.kept {
		return nil, nil
	}
	h := c.warm.take()
	if h == nil {
		return nil, nil
	}
	s := c.adopt(*h)
	if s == nil {
		return nil, nil
	}
	return s, c.warm.learn
}

// learn records whether a shell worked.
func (w *warm) learn(well bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if well {
		w.ready.failures = 0
	} else {
		w.ready.fails(1)
	}
}
