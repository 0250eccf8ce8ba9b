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
// addition to the spare session (see package shell). It saves a round trip, so
// there is none where that is short. It costs the machine a process, and us a
// session's start, so there is one only where the last command is not long ago,
// and it does not stand in the way of a command: it is started when the
// connection is idle, and given up when places run short.
//
// A shell that waits has no goroutine of its own: that it has ended is seen when it
// is to be used.

const (
	// warmSettles is how long a connection must be idle before a shell is
	// started ahead: longer than between the commands of one fan-out.
	warmSettles = 75 * time.Millisecond
	// guessSettles is the same if no script has run recently: a script is likely
	// only after a pause.
	guessSettles = time.Second
	// readyPays is how long a round trip must be for a ready shell: it saves one,
	// but is more work for the machine and for us than a session without it,
	// which shows where many commands share a machine.
	readyPays = 10 * time.Millisecond
	// warmLasts is how long waiting sessions and shells stay after their last use.
	// After that, they occupy no process and no home directory of the machine.
	warmLasts = time.Minute
	// warmStarts bounds the start of a shell ahead: there may be start-up
	// files that wait for something.
	warmStarts = 10 * time.Second
	// maxWarmFailures is how many shells may fail one after the other before
	// no more are started, until failuresLast after the latest: what was in
	// their way may have gone.
	maxWarmFailures = 2
	failuresLast    = 10 * time.Minute
)

// warm is what was started ahead on a connection.
type warm struct {
	c     *Conn
	kept  bool // the connection is to be kept
	eager bool // there are ready shells on short links, too
	proof shell.Proof

	mu        sync.Mutex
	spare     chan opened   // a session opened ahead, or nil
	running   int           // commands
	idle      time.Time     // when the last of them ended
	roundTrip time.Duration // the shortest that was seen; 0 for none
	over      bool
	timer     *time.Timer // wakes tend; made when first wanted
	due       time.Time   // when it does; zero: never
	ready     waiting
}

// waiting is the place of the shell that waits.
type waiting struct {
	shell    *opened
	starting chan struct{} // gets word when the one that is being started is given up; nil for none
	wanted   time.Time     // when there was last a command that it could be for
	used     time.Time     // when there was last one that it was for
	failures int           // in a row
	failed   time.Time     // when the latest of them was
}

// fails counts failures in a row. Old ones are forgotten.
func (s *waiting) fails(n int) {
	if time.Since(s.failed) >= failuresLast {
		s.failures = 0
	}
	s.failures += n
	s.failed = time.Now()
}

// hopeless reports whether too many shells have failed of late.
func (s *waiting) hopeless() bool {
	return s.failures >= maxWarmFailures && time.Since(s.failed) < failuresLast
}

// begin and end are around each command.
func (w *warm) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
	if w.kept {
		w.ready.wanted = time.Now() // whoever runs commands may run a script next
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

// took notes how long an answer took. The shortest counts, so the first alone
// can be what makes a ready shell worth its price, and the command that wants it
// may have ended by then.
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

// settles is how long the connection is to be idle before a shell is started.
func (w *warm) settles() time.Duration {
	if time.Since(w.ready.used) > warmLasts {
		return guessSettles
	}
	return warmSettles
}

// lacks reports whether a shell ought to be started.
func (w *warm) lacks() bool {
	s := &w.ready
	if !w.eager && w.roundTrip < readyPays {
		return false
	}
	return s.shell == nil && s.starting == nil && !s.hopeless() && !s.wanted.IsZero() && time.Since(s.wanted) < warmLasts
}

// early is how much longer a guess has to wait. A shell that is known to be
// wanted waits for a moment without a command, and not for a pause.
func (w *warm) early() time.Duration {
	if w.settles() == warmSettles {
		return 0
	}
	return guessSettles - time.Since(w.idle)
}

// wake has tend run in a while, or sooner; the caller holds the lock.
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

// tend starts what is wanted and ends what is not any more.
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

// start starts one shell and waits until it can be used, or is given up.
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
		w.c.log.Debug("no shell ahead", "target", w.c.e.to.Host, "err", err)
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

// errNoRoom says that places are short.
var errNoRoom = errors.New("no place for a session ahead")

// open runs a line in a session whose place is held, until it says that it
// waits.
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

// begin starts a line and reads the mark that it prints before anything else
// on each of its streams.
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
			return errors.New("it said something else")
		}
	}
	return nil
}

// drop ends a shell. Its place is free at once, before the server has closed
// it: OpenSSH's MaxSessions is two more than our places. If the limit is lower,
// the server refuses the session.
func (w *warm) drop(h *opened) {
	w.c.places.release()
	w.c.work.start(func() { w.c.abandon(*h) })
}

// take takes the shell out, if it is there, and notes that it was wanted.
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

// yieldIfShort is yield if somebody waits for a place: for who has just put a
// shell where yield did not see it.
func (w *warm) yieldIfShort() {
	if w.c.places.short() {
		w.yield()
	}
}

// yield ends what waits, because somebody needs the places.
func (w *warm) yield() {
	w.c.yieldSpare()
	w.mu.Lock()
	h := w.ready.shell
	w.ready.shell = nil
	select {
	case w.ready.starting <- struct{}{}:
	default: // none, or it has word
	}
	w.mu.Unlock()
	if h != nil {
		w.drop(h)
	}
}

// stop ends the timer; what waits ends with the connection.
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

// learn notes how a shell did.
func (w *warm) learn(well bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if well {
		w.ready.failures = 0
	} else {
		w.ready.fails(1)
	}
}
