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
	// streamBuffer is the maximum size of one read from a stream. The first
	// reads use firstBuffer, because most commands print little and thousands
	// run at once.
	streamBuffer = 32 << 10
	firstBuffer  = 1 << 10
	// smallPiece and lateStdout keep the order of output. A server sends
	// waiting stdout data before stderr data, but the two readers may wake in
	// the other order. So a piece of stderr smaller than smallPiece waits for
	// stdout for up to lateStdout.
	smallPiece = 16 << 10
	lateStdout = 3 * time.Millisecond
	// stderrFirst is the time for which stdout waits for the first stderr
	// output under sudo. Puppet Bolt waits that long for a password prompt
	// before it reads stdout, so its merged output begins with stderr.
	stderrFirst = 500 * time.Millisecond
)

// An exchange is one session from its start to its end.
type exchange struct {
	what  string // for messages: "command", "upload"
	host  string
	line  string
	tty   bool
	token string // "": the script sends no marks on stderr
	cut   string // text to remove from stderr

	escalation *escalation
	// send writes the script's input; nil if there is none. If afterBegan is
	// set, it waits for the began mark. After that, the session's stdin stays
	// open unless sendsAll is set, because its end means "stop".
	send       func(io.Writer) error
	afterBegan bool
	sendsAll   bool
	// input is a stream that the session reads after the data of send, as soon
	// as the script has begun; nil if there is none. The end of the stream ends
	// the session's stdin, so the session is stopped with stopBy.
	input  io.Reader
	stopBy func()
	// proof is set if the script prints a mark when it has begun. Without the
	// mark, an exit status of 0 comes from some other program.
	proof bool
	// twice is set if the began mark comes on both streams, because one of them
	// may have been discarded.
	twice bool
	// hangUp is set if closing the session stops it, instead of closing its
	// stdin.
	hangUp bool

	stdout, stderr func([]byte) error // never nil
	stderrFirst    bool
	grace          time.Duration
	proven         *Proof // renewed when the script begins; nil if not used
	log            *slog.Logger

	told
}

// told is the information about a script in addition to its output and status.
type told struct {
	failed   *failed // the step that failed
	unproven bool    // the session ended well, but the script did not begin
	asked    bool    // sudo has asked for the password, or would have asked
	hasBegun bool    // the script has begun
}

// sinkError is the reason for stopping an exchange if a writer of output
// failed.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }
func (e *sinkError) Unwrap() error { return e.err }

// A marker searches a stream for marks.
type marker interface {
	scan(text []byte, emit func(piece))
	end(emit func(piece))
}

// running is the state of a started exchange. Only the goroutine of run uses
// it; the other goroutines only read the streams and write stdin.
type running struct {
	*exchange
	sess    Session
	scan    marker
	scanOut marker // for stdout, while marks may come there because stderr may be joined to it
	wg      sync.WaitGroup
	outbox  chan func(io.Writer) // nil until the first write
	quit    chan struct{}        // closed at the end
	sent    chan error           // errors of send or of the input itself

	started time.Time
	taken   bool // the program that changes the user is about to start
	began   bool
	byErr   bool // the began mark has come on stderr
	byOut   bool // and on stdout
	prompts int
	answer  int              // position of the last prompt in said, -1 if it is not in there any more
	byUser  int              // position in said where the text of the program that switches the user begins
	said    []byte           // text before began
	foreign <-chan time.Time // fires if a prompt of another program stays unanswered
	talked  bool             // stderr has printed anything
	giveUp  error            // reason for stopping, other than ctx
	kill    <-chan time.Time
	late    <-chan time.Time // fires if the script has not begun in time to receive its data
}

// run starts the session and returns when the session and all its goroutines
// have ended. It returns status and error as transport.Conn's Run does.
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

// runOn runs the exchange in a session that has started.
func (x *exchange) runOn(ctx context.Context, sess Session) (transport.Status, error) {
	r := &running{exchange: x, sess: sess, quit: make(chan struct{}), sent: make(chan error, 2), started: time.Now()}
	r.scan = x.marker()
	if !x.tty && (x.token != "" && x.proof || x.cut != "" && x.proven != nil && x.proven.joined.Load()) {
		r.scanOut = x.marker()
	}
	return r.run(ctx)
}

// marker returns the marker for a stream of the exchange, or nil if none is
// needed.
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
	} else if (r.send != nil || r.input != nil) && r.escalation == nil { // sudo may wait for a second factor
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

// notProven returns the error for a session that ended with success and without
// the mark of its script.
func notProven(host string) *transport.Error {
	return &transport.Error{Class: transport.ClassBootstrap, Code: "EXEC_ERROR",
		Msg:  fmt.Sprintf("The login shell on %s reported success, but bolt has no proof that it ran the command: it may have run", host),
		Hint: "The account may have a shell that does not run commands, or a start-up file that exits or redirects output. If the shell is fish, csh or tcsh, set login-shell to its name."}
}

// beginsWithin is the time within which a login shell must start a script that
// waits for data. Start-up files may be slow, but the wait must end.
const beginsWithin = time.Minute

// notBegun returns the error for a session whose script has not begun in time,
// so that no data was sent.
func (r *running) notBegun() *transport.Error {
	return &transport.Error{Class: transport.ClassBootstrap, Code: "EXEC_ERROR",
		Msg:  fmt.Sprintf("The login shell on %s did not report within %v that the command has begun, so bolt sent no data", r.host, beginsWithin),
		Hint: "A start-up file may wait for something, or discard output."}
}

// ttySettles is longer than a busy server needs from its answer until the
// program runs on its terminal.
const ttySettles = 500 * time.Millisecond

// killSlack is the time to wait for the end of a session after KILL.
const killSlack = time.Second

// stop makes the machine end the session's processes. It may block.
func (r *running) stop() {
	if r.tty {
		// A process that is not on its terminal yet would not notice the end of
		// the terminal.
		time.Sleep(time.Until(r.started.Add(ttySettles)))
	}
	if r.stopBy != nil {
		r.stopBy()
		return
	}
	if r.tty || r.hangUp {
		r.sess.Close() // the server hangs up the terminal, or breaks the pipe
		return
	}
	r.sess.Stdin().Close()
}

func (r *running) startKill() {
	if r.kill == nil {
		r.kill = time.After(r.grace + killSlack)
	}
}

// stopError returns the error of an exchange that was stopped, by ctx or for
// another reason. err is the error of the session's Wait, if the session has
// ended.
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
		return r.stopped(ctx, " and its terminal was closed: processes that ignore SIGHUP may still be running there")
	case err != nil && !r.hangUp:
		return r.stopped(ctx, " while the connection was lost: it may still be running there")
	}
	return r.stopped(ctx, "; it has ended there")
}

// stopped returns the error of an exchange that ctx has ended.
func (r *running) stopped(ctx context.Context, fate string) error {
	e := stopped(ctx, r.what, r.host, fate)
	if e.Class == transport.ClassTimeout && r.proof && !r.began && r.escalation == nil {
		e.Hint = "The command may not have begun: a start-up file of the login shell may wait for something."
	}
	return e
}

// sinkFailed returns the error for output that could not be written.
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
	r.wg.Go(func() { _ = s.Carry(from) }) // Wait returns how the session ended
	return s
}

// post makes the writer's goroutine call f. The first call starts the
// goroutine.
func (r *running) post(f func(io.Writer)) {
	if r.outbox == nil {
		r.outbox = make(chan func(io.Writer), 3)
		r.wg.Go(r.write)
	}
	r.outbox <- f
}

// write is the only goroutine that writes to the session's stdin.
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

// copyInput copies the input to the session's stdin, and its end. If the reader
// blocks, its goroutine outlives the exchange.
func (r *running) copyInput(w io.Writer) {
	s := NewStream()
	defer s.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.Carry(r.input) }() // ends after Close or with the reader
	for {
		select {
		case p, ok := <-s.pieces:
			if ok {
				if _, err := w.Write(p); err != nil {
					return // the command reads no more
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

// inputFailed returns the error for input that could not be read.
func (r *running) inputFailed(err error) *transport.Error {
	return &transport.Error{Class: transport.ClassCancelled, Err: err,
		Msg: fmt.Sprintf("%s on %s was ended because its input could not be read: %v", strings.ToUpper(r.what[:1])+r.what[1:], r.host, err)}
}

// queueSend passes the data to the writer. An error of writing to the session
// is ignored, because the end of the session explains it.
func (r *running) queueSend() {
	r.post(func(w io.Writer) {
		ww := &writeErrors{w: w}
		err := r.send(ww)
		if err != nil && ww.err == nil {
			r.sent <- err // before the script can end for this reason
		}
		if r.sendsAll || err != nil {
			r.sess.Stdin().Close()
		}
	})
}

// sendFailed stops the exchange because its data could not be read. Without an
// input stream, the session's stdin is closed already.
func (r *running) sendFailed(err error) {
	if r.giveUp == nil {
		r.giveUp = err
	}
	r.startKill()
	if r.stopBy != nil {
		r.wg.Go(r.stop)
	}
}

// lateSendError handles an error that came together with the session's end.
func (r *running) lateSendError() {
	select {
	case err := <-r.sent:
		if r.giveUp == nil {
			r.giveUp = err
		}
	default:
	}
}

// writeErrors records the error of its writer.
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

// deliver passes all output on. It returns true when both streams have ended,
// and false if it stopped waiting for them.
func (r *running) deliver(ctx context.Context, stdout, stderr *Stream) bool {
	outs, errs := stdout.pieces, stderr.pieces
	var held []byte // of stdout, waiting for the first stderr output
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
	// The streams may hold output that came together with a ready shell's mark.
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
// output that stdout has not delivered yet. Before the script has begun, stdout
// is silent. Output may follow directly after the began mark.
func (r *running) mayBeLater(p []byte) bool {
	if r.byErr || !r.proof {
		return true
	}
	_, more, begun := bytes.Cut(p, []byte(r.token+"!\n"))
	return begun && len(more) > 0
}

// letPass delivers the output that stdout has, or gets within lateStdout. It
// returns nil if stdout has ended.
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

// onMerged handles output of a stdout that may hold marks.
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
			r.endStdout() // stdout holds no more marks
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

// onPiece handles output of the stream that may hold marks.
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
		return // the mark comes twice
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
	if r.escalation.sudo() { // only sudo has a prompt set by bolt
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

// onSaid collects the text before the script begins: a refusal, or output.
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

// endSaid handles the text before the script began, when the script has begun
// or can no longer begin.
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

// behindPrompt removes the rest of a prompt from the output after the answer: a
// late space and, on a terminal, the line end that the program prints because
// the terminal did not echo the answer.
func (r *running) behindPrompt(said []byte) []byte {
	if r.escalation.asksInWords() {
		said = bytes.TrimPrefix(said, []byte(" "))
	}
	if r.tty {
		said = bytes.TrimPrefix(said, []byte("\r\n"))
	}
	return said
}

// refuse ends a session in which sudo refuses.
func (r *running) refuse(err *transport.Error) {
	if r.giveUp == nil {
		r.giveUp = err
	}
	r.sess.Close()
}

// output handles output of the command on the stream that may hold marks.
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

// toSink writes output, unless a sink has failed before.
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
