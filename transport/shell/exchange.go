package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/transport"
)

const (
	// streamBuffer is what one read of a stream may return, once firstBuffer
	// was not enough: most commands print little, and thousands run at once.
	streamBuffer = 32 << 10
	firstBuffer  = 1 << 10
	// smallPiece and lateStdout: a server sends what waits on stdout before
	// what waits on stderr, but two readers may be woken in the other order.
	// So a piece of stderr below smallPiece lets stdout pass for lateStdout.
	smallPiece = 16 << 10
	lateStdout = 3 * time.Millisecond
	// stderrFirst is how long stdout waits for the first of stderr under
	// sudo. Puppet Bolt looks for a password prompt for that long before it
	// reads stdout, so merged output begins with stderr there.
	stderrFirst = 500 * time.Millisecond
)

// An exchange is one session from its start to its end.
type exchange struct {
	what  string // for messages: "command", "upload"
	host  string
	line  string
	tty   bool
	token string // "": nothing on stderr is meant for us
	cut   string // is taken out of stderr

	escalation *escalation
	// send writes what the script reads; nil for nothing. It waits for the
	// began mark if afterBegan is set. Afterwards the session's stdin stays
	// open, for its end means "stop", unless sendsAll is set.
	send       func(io.Writer) error
	afterBegan bool
	sendsAll   bool
	// input is a stream that the session reads behind what send writes, from the
	// moment in which the script has begun; nil for none. Its end ends the session's
	// stdin, so stopBy stops the session instead.
	input  io.Reader
	stopBy func()
	// proof says that the script tells when it has begun; if it does not, an
	// exit status of 0 is some other program's.
	proof bool
	// twice says that the mark of the beginning comes on both streams, for one
	// of them may have been thrown away.
	twice bool
	// hangUp says that the session is stopped by closing it, not its stdin.
	hangUp bool

	stdout, stderr func([]byte) error // never nil
	stderrFirst    bool
	grace          time.Duration
	proven         *Proof // renewed when the script begins; nil for none
	log            *slog.Logger

	told
}

// told is what is known of a script beside its output and its status.
type told struct {
	failed   *failed // the step that failed
	unproven bool    // the session ended well, but the script did not begin
	asked    bool    // sudo has asked for the password, or would have
	hasBegun bool    // the script
}

// Give-up reasons of our own, beside the end of the context.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// A marker finds marks in a stream.
type marker interface {
	scan(text []byte, emit func(piece))
	end(emit func(piece))
}

// running is the state of an exchange that has started. All of it belongs to
// the goroutine of run; the others only read the streams and write stdin.
type running struct {
	*exchange
	sess    Session
	scan    marker
	scanOut marker // of stdout, as long as marks may come there: something may have joined stderr to it
	wg      sync.WaitGroup
	outbox  chan func(io.Writer) // nil until something is to be written
	quit    chan struct{}        // closed at the end
	sent    chan error           // of a send, or of the input, that failed by itself

	started time.Time
	taken   bool // the program that changes the user is about to start
	began   bool
	byErr   bool // the mark of the beginning has come on stderr
	byOut   bool // and on stdout
	prompts int
	answer  int              // where in said the last prompt was, -1 if it is not there any more
	byUser  int              // where in said the text of the program begins that changes the user
	said    []byte           // text before began
	foreign <-chan time.Time // there is a question that nobody will answer
	talked  bool             // stderr has said something
	giveUp  error            // why we stop, if not by ctx
	kill    <-chan time.Time
	late    <-chan time.Time // it ought to have begun, since data waits for it
}

// run starts the session and returns when it has ended and all of its
// goroutines have. Status and error are as transport.Conn's Run has them.
func (x *exchange) run(ctx context.Context, s Starter) (transport.Status, error) {
	if ctx.Err() != nil {
		return transport.Status{}, stopped(ctx, x.what, x.host, " before it started")
	}
	sess, err := s.Start(ctx, x.line, x.tty)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ErrMayRun) && transport.ClassOf(err) != transport.ClassLost {
			return transport.Status{}, stopped(ctx, x.what, x.host, " before it started")
		}
		return transport.Status{}, err
	}
	return x.runOn(ctx, sess)
}

// runOn is run in a session that has started.
func (x *exchange) runOn(ctx context.Context, sess Session) (transport.Status, error) {
	r := &running{exchange: x, sess: sess, quit: make(chan struct{}), sent: make(chan error, 2), started: time.Now()}
	r.scan = x.marker()
	if !x.tty && (x.token != "" && x.proof || x.cut != "" && x.proven != nil && x.proven.joined.Load()) {
		r.scanOut = x.marker()
	}
	return r.run(ctx)
}

// marker is what a stream of the exchange goes through; nil for nothing.
func (x *exchange) marker() marker {
	switch {
	case x.token != "" && x.cut != "":
		return &scanCutter{scanner{token: []byte(x.token), begun: !x.proof}, cutter{text: []byte(x.cut), keep: 1}}
	case x.token != "":
		return &scanner{token: []byte(x.token), begun: !x.proof}
	case x.cut != "":
		return &cutter{text: []byte(x.cut), keep: 1}
	}
	return nil
}

func (r *running) run(ctx context.Context) (transport.Status, error) {
	stdout, stderr := r.read(r.sess.Stdout()), r.read(r.sess.Stderr())
	stopping := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(stopping)
		r.stop()
	})
	defer func() {
		if !unhook() {
			<-stopping
		}
		r.wg.Wait()
	}()
	defer r.sess.Close()
	defer stdout.Close()
	defer stderr.Close()
	defer close(r.quit)

	if r.send != nil && !r.afterBegan {
		r.queueSend()
	} else if (r.send != nil || r.input != nil) && r.escalation == nil { // sudo may wait for somebody's second factor
		late := time.NewTimer(beginsWithin)
		defer late.Stop()
		r.late = late.C
	}
	if !r.deliver(ctx, stdout, stderr) {
		return transport.Status{}, r.stopError(ctx, false, nil)
	}
	for done := ctx.Done(); ; {
		select {
		case err := <-r.sent:
			r.sendFailed(err)
		case <-r.sess.Done():
			status, err := r.sess.Wait()
			if r.input == nil { // a command that has ended needs no more input
				r.lateSendError()
			}
			if r.giveUp != nil || ctx.Err() != nil {
				return transport.Status{}, r.stopError(ctx, true, err)
			}
			if err == nil && status.OK() && r.proof && !r.began && r.failed == nil {
				r.unproven = true
				return transport.Status{}, notProven(r.host)
			}
			return status, err
		case <-done:
			done = nil
			r.startKill()
		case <-r.kill:
			return transport.Status{}, r.stopError(ctx, false, nil)
		}
	}
}

// notProven is the error for a session that ended well and gave no proof of
// having done anything.
func notProven(host string) *transport.Error {
	return &transport.Error{Class: transport.ClassBootstrap, Code: "EXEC_ERROR",
		Msg:  fmt.Sprintf("The login shell on %s reported success, but did not run what it was given, or hid all sign of it: it may have run", host),
		Hint: "The account may have a shell that runs nothing, or a start-up file that exits or redirects output. If the shell is fish, csh or tcsh, set login-shell to that."}
}

// beginsWithin is how long a login shell may take to begin with what waits for
// data: start-up files may be slow, but nobody is to wait for ever.
const beginsWithin = time.Minute

// notBegun is the error for a session that did not say in time that it has
// begun, and so was sent nothing.
func (r *running) notBegun() *transport.Error {
	return &transport.Error{Class: transport.ClassBootstrap, Code: "EXEC_ERROR",
		Msg:  fmt.Sprintf("The login shell on %s gave no sign within %v of running what it was given, and was sent none of the data", r.host, beginsWithin),
		Hint: "A start-up file may wait for something, or throw away what is printed."}
}

// ttySettles is more than a busy server needs from the answer to a request to
// the program on its terminal.
const ttySettles = 500 * time.Millisecond

// killSlack is how long after KILL the end of a session is waited for.
const killSlack = time.Second

// stop makes the machine end the session's processes. It may block.
func (r *running) stop() {
	if r.tty {
		// A process that is not yet on its terminal would miss its end.
		time.Sleep(time.Until(r.started.Add(ttySettles)))
	}
	if r.stopBy != nil {
		r.stopBy()
		return
	}
	if r.tty || r.hangUp {
		r.sess.Close() // the server hangs the terminal up, or breaks the pipe
		return
	}
	r.sess.Stdin().Close()
}

func (r *running) startKill() {
	if r.kill == nil {
		r.kill = time.After(r.grace + killSlack)
	}
}

// stopError is the error of an exchange that was given up, by ctx or by us.
// err is what the session's Wait said, if it ended.
func (r *running) stopError(ctx context.Context, ended bool, err error) error {
	var sink *sinkError
	switch {
	case errors.As(r.giveUp, &sink):
		return sinkFailed(r.what, r.host, sink.err)
	case r.giveUp != nil:
		return r.giveUp
	case !ended:
		return r.stopped(ctx, fmt.Sprintf(", but did not end within %v: it may still be running there", r.grace+killSlack))
	case r.tty:
		return r.stopped(ctx, " and its terminal was hung up: what ignores that is still running there")
	case err != nil && !r.hangUp:
		return r.stopped(ctx, " while the connection was lost: it may still be running there")
	}
	return r.stopped(ctx, "; it has ended there")
}

// stopped is the error of an exchange that ctx ended.
func (r *running) stopped(ctx context.Context, fate string) error {
	e := stopped(ctx, r.what, r.host, fate)
	if e.Class == transport.ClassTimeout && r.proof && !r.began && r.escalation == nil {
		e.Hint = "There was no sign that it has begun: a start-up file of the login shell may wait for something."
	}
	return e
}

// sinkFailed is the error for output that was not taken from us.
func sinkFailed(what, host string, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("%s on %s was ended because its output could not be stored: %v", what, host, err)}
}

// read returns a reader as a Stream.
func (r *running) read(from io.Reader) *Stream {
	if s, ok := from.(*Stream); ok {
		return s
	}
	s := NewStream()
	r.wg.Go(func() { _ = s.Carry(from) }) // how the session ended is Wait's to tell
	return s
}

// post has the writer's goroutine do something; it starts with the first.
func (r *running) post(f func(io.Writer)) {
	if r.outbox == nil {
		r.outbox = make(chan func(io.Writer), 3)
		r.wg.Go(r.write)
	}
	r.outbox <- f
}

// write is the one goroutine that writes to the session's stdin.
func (r *running) write() {
	for {
		select {
		case f := <-r.outbox:
			f(r.sess.Stdin())
		case <-r.quit:
			return
		}
	}
}

// copyInput writes the input to the session's stdin, and its end. The reader's
// goroutine outlives the exchange if the reader does not return.
func (r *running) copyInput(w io.Writer) {
	s := NewStream()
	defer s.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Carry(r.input) }() // Close has its end, or that of the reader
	for {
		select {
		case p, ok := <-s.pieces:
			if ok {
				if _, err := w.Write(p); err != nil {
					return // the command takes no more
				}
				continue
			}
			if err := <-ended; errors.Is(err, io.EOF) {
				r.sess.Stdin().Close()
			} else if err != nil {
				r.sent <- r.inputFailed(err)
			}
			return
		case <-r.quit:
			return
		}
	}
}

// inputFailed is the error for input that could not be read.
func (r *running) inputFailed(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("%s on %s was ended because its input could not be read: %v", strings.ToUpper(r.what[:1])+r.what[1:], r.host, err)}
}

// queueSend hands the payload to the writer. That the session did not take it
// is no error of its own: the session's end says why.
func (r *running) queueSend() {
	r.post(func(w io.Writer) {
		ww := &writeErrors{w: w}
		err := r.send(ww)
		if err != nil && ww.err == nil {
			r.sent <- err // before the script can end because of it
		}
		if r.sendsAll || err != nil {
			r.sess.Stdin().Close()
		}
	})
}

// sendFailed gives the exchange up because of data that could not be had. Without a
// stream of input, the session's stdin is closed already.
func (r *running) sendFailed(err error) {
	if r.giveUp == nil {
		r.giveUp = err
	}
	r.startKill()
	if r.stopBy != nil {
		r.wg.Go(r.stop)
	}
}

// lateSendError takes an error that came together with the session's end.
func (r *running) lateSendError() {
	select {
	case err := <-r.sent:
		if r.giveUp == nil {
			r.giveUp = err
		}
	default:
	}
}

// writeErrors remembers that it was the writer that failed.
type writeErrors struct {
	w   io.Writer
	err error
}

func (w *writeErrors) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// deliver hands all output on and reports whether both streams have ended; if
// not, there was no more sense in waiting.
func (r *running) deliver(ctx context.Context, stdout, stderr *Stream) bool {
	outs, errs := stdout.pieces, stderr.pieces
	var held []byte // of stdout, waiting for stderr's first word
	var holdEnds <-chan time.Time
	if r.stderrFirst {
		holdEnds = time.After(stderrFirst)
	}
	release := func() {
		holdEnds = nil
		if held != nil {
			r.onStdout(held)
			held, outs = nil, stdout.pieces
		}
	}
	takeOut := func(p []byte) {
		if holdEnds != nil && errs != nil {
			held, outs = p, nil
			return
		}
		r.onStdout(p)
	}
	takeErr := func(p []byte) {
		if holdEnds == nil && len(p) < smallPiece && r.mayBeLater(p) {
			outs = r.letPass(outs)
		}
		r.onStderr(p)
		if r.talked || r.prompts > 0 {
			release()
		}
	}
	// A ready shell's mark may have come together with output.
	if len(stdout.rest) > 0 {
		takeOut(stdout.rest)
	}
	if len(stderr.rest) > 0 {
		takeErr(stderr.rest)
	}
	for done := ctx.Done(); outs != nil || errs != nil; {
		select {
		case p, ok := <-outs:
			if ok {
				takeOut(p)
				break
			}
			outs = nil
			r.endStdout()
		case p, ok := <-errs:
			if ok {
				takeErr(p)
				break
			}
			errs = nil
			if !r.tty {
				r.endMarks()
			}
			release()
		case <-holdEnds:
			release()
		case <-r.foreign:
			if r.giveUp == nil {
				r.refuse(r.escalation.foreign(r.said))
			}
		case <-r.late:
			if !r.began && r.giveUp == nil {
				r.giveUp = r.notBegun()
				r.startKill()
				r.wg.Go(r.stop)
			}
		case err := <-r.sent:
			r.sendFailed(err)
		case <-done:
			done = nil
			r.startKill()
		case <-r.kill:
			return false
		}
	}
	r.endSaid()
	return true
}

// mayBeLater reports whether a piece of stderr may have been printed after
// something that stdout has not brought yet. Before it has begun, stdout is
// silent; the mark of the beginning may have more behind it.
func (r *running) mayBeLater(p []byte) bool {
	if r.byErr || !r.proof {
		return true
	}
	_, more, begun := bytes.Cut(p, []byte(r.token+"!\n"))
	return begun && len(more) > 0
}

// letPass delivers what stdout has, or gets within a moment. It returns nil if stdout
// has ended.
func (r *running) letPass(outs chan []byte) chan []byte {
	if outs == nil {
		return nil
	}
	moment := time.NewTimer(lateStdout)
	defer moment.Stop()
	for {
		select {
		case p, ok := <-outs:
			if !ok {
				r.endStdout()
				return nil
			}
			r.onStdout(p)
		case <-moment.C:
			return outs
		}
	}
}

func (r *running) onStdout(p []byte) {
	if r.tty && r.scan != nil {
		r.scan.scan(p, r.onPiece)
		return
	}
	if r.scanOut != nil {
		r.scanOut.scan(p, r.onMerged)
		return
	}
	r.toStdout(p)
}

// onMerged is output of a stdout that may hold marks.
func (r *running) onMerged(p piece) {
	switch p.mark {
	case noMark:
		r.toStdout(p.text)
	case beganMark:
		r.byOut = true
		r.onBegan()
	default:
		r.onPiece(p)
	}
}

func (r *running) onStderr(p []byte) {
	if !r.tty && r.scan != nil {
		r.scan.scan(p, r.onPiece)
		if r.scanOut != nil && r.byErr && (r.byOut || !r.twice) {
			r.endStdout() // no more marks there
		}
		return
	}
	r.toStderr(p)
}

func (r *running) endStdout() {
	if r.tty {
		r.endMarks()
	}
	if r.scanOut != nil {
		r.scanOut.end(r.onMerged)
		r.scanOut = nil
	}
}

func (r *running) endMarks() {
	if r.scan != nil {
		r.scan.end(r.onPiece)
	}
}

// onPiece is output of the stream that may hold marks.
func (r *running) onPiece(p piece) {
	switch {
	case p.mark == stepMark:
		r.onStep(parseFailed(p.text))
	case p.mark == beganMark:
		r.byErr = true
		r.onBegan()
	case p.mark == takenMark:
		r.taken = true
		r.byUser = len(r.said)
	case p.mark == promptMark:
		r.onPrompt()
	case r.escalation != nil && !r.began:
		r.onSaid(p.text)
	default:
		r.output(p.text)
	}
}

func (r *running) onStep(f *failed) {
	if f.step == stepClean {
		r.log.Warn("private directory could not be removed", "target", r.host, "reason", f.reason())
		return
	}
	if r.failed == nil {
		r.failed = f
	}
}

func (r *running) onBegan() {
	if r.proven != nil {
		r.proven.renew()
		if !r.twice {
			r.proven.joined.Store(r.byOut)
		}
	}
	if r.began {
		return // it is told twice
	}
	r.began, r.hasBegun = true, true
	r.endSaid()
	if r.send != nil && r.afterBegan {
		r.queueSend()
	}
	if r.input != nil {
		r.post(r.copyInput)
	}
}

func (r *running) onPrompt() {
	if r.escalation.sudo() { // no other program was given a prompt
		r.answerPrompt()
	}
}

// answerPrompt sends the password, once.
func (r *running) answerPrompt() {
	r.prompts++
	r.asked = true
	r.foreign = nil
	r.answer = len(r.said)
	password := r.escalation.as.Password
	switch {
	case !password.IsSet():
		r.refuse(r.escalation.noPassword())
	case r.prompts > 1:
		r.refuse(r.escalation.badPassword())
	default:
		r.post(func(w io.Writer) {
			_, _ = io.WriteString(w, password.Reveal()+"\n") // if the program has ended, its status gives the reason
		})
	}
}

// onSaid keeps what is said before the script begins: a refusal, or output.
func (r *running) onSaid(text []byte) {
	room := maxSaid - len(r.said)
	if room < len(text) {
		r.endSaid()
		r.output(text)
		return
	}
	r.said = append(r.said, text...)
	r.foreign = nil
	if r.taken && r.escalation.asksInWords() {
		if at := promptIn(r.said[r.byUser:]); at >= 0 {
			r.said = r.said[:r.byUser+at]
			r.byUser = len(r.said)
			r.answerPrompt()
			return
		}
	}
	if r.escalation.as.Method() != transport.MethodCommand && asks(r.said) {
		r.foreign = time.After(foreignPrompt)
	}
}

// endSaid decides about what was said before the script began, when it has
// begun or never will.
func (r *running) endSaid() {
	r.foreign = nil
	said, answer := r.said, r.answer
	r.said, r.byUser, r.answer = nil, 0, -1
	if len(said) == 0 {
		return
	}
	if !r.began && r.giveUp == nil {
		if r.escalation.silent && refusedSilence().Match(said) {
			r.asked = true
			return
		}
		if refusal := r.escalation.refusal(said); refusal != nil {
			r.giveUp = refusal
		}
	}
	if r.prompts > 0 && answer >= 0 && (r.tty || r.escalation.asksInWords()) {
		said = slices.Concat(said[:answer], r.behindPrompt(said[answer:]))
	}
	if r.giveUp == nil && len(said) > 0 {
		r.output(said)
	}
}

// behindPrompt removes the rest of a prompt from the output after the answer: a late
// blank and, on a terminal, the line end that the program prints because the terminal
// did not echo the answer.
func (r *running) behindPrompt(said []byte) []byte {
	if r.escalation.asksInWords() {
		said = bytes.TrimPrefix(said, []byte(" "))
	}
	if r.tty {
		said = bytes.TrimPrefix(said, []byte("\r\n"))
	}
	return said
}

// refuse ends a session in which sudo will not have us.
func (r *running) refuse(err *transport.Error) {
	if r.giveUp == nil {
		r.giveUp = err
	}
	r.sess.Close()
}

// output is what the command printed on the stream that may hold marks.
func (r *running) output(p []byte) {
	if r.tty {
		r.toStdout(p)
		return
	}
	r.toStderr(p)
}

func (r *running) toStdout(p []byte) {
	if len(p) > 0 {
		r.toSink(r.stdout, p)
	}
}

func (r *running) toStderr(p []byte) {
	r.talked = true
	r.toSink(r.stderr, p)
}

// toSink hands output on, unless a sink has failed.
func (r *running) toSink(sink func([]byte) error, p []byte) {
	if r.giveUp != nil {
		return
	}
	if err := sink(p); err != nil {
		r.giveUp = &sinkError{err}
		r.startKill()
		r.wg.Go(r.stop)
	}
}
