package shell

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"bolt/transport"
)

// A command whose standard input is a stream reads the session's own stdin
// directly. So a message costs one write, and the end of the stream is the end
// of the session's input. That end can then not signal a lost connection. If
// the command does not read, unread data also hides a lost connection. So the
// command has a second session, its lifeline. The lifeline is a shell of the
// login user that holds a FIFO open for writing as long as it can read its own
// stdin. The watcher waits for the end of that FIFO, instead of the end of the
// session's stdin.
//
// Other users can open the FIFO only for reading, and it never contains data.
// So the watcher also works for a command under run-as.

// A lifeline is the second session of a command.
type lifeline struct {
	fifo string
	cut  context.CancelFunc // ends the lifeline; the watcher then ends the command
	over chan struct{}      // closed when the session has ended; err is set
	err  error

	begun chan struct{} // closed when the FIFO exists
	once  sync.Once     // closes begun
	done  chan struct{} // closed when the command has ended
}

// tie starts the lifeline of a plan's command and waits until its FIFO exists.
func (p *plan) tie(ctx context.Context, s Starter) (*lifeline, error) {
	dir := transport.PrivateDir(p.c.TmpDir, "")
	l := &lifeline{fifo: dir + "/alive", over: make(chan struct{}), begun: make(chan struct{}), done: make(chan struct{})}
	x := &exchange{
		what: "command", host: p.o.Host, token: newToken(), proof: true, twice: true, grace: p.grace, proven: p.o.Proof, log: logger(&p.o),
		stdout: sink(nil), stderr: sink(nil), input: l,
	}
	staged := p.dir()
	if p.c.KeepFiles {
		staged = ""
	}
	x.line = p.shell.underSh(l.script(x.token, dir, staged))
	ctx, l.cut = context.WithCancel(ctx)
	go func() { // ends when over is closed
		defer close(l.over)
		if _, l.err = x.run(ctx, s); l.err == nil && x.failed != nil {
			l.err = stagingError(x.failed, transport.ClassBootstrap, dir, p.o.Host)
		}
	}()
	select {
	case <-l.begun:
		return l, nil
	case <-l.over:
		l.cut()
		if l.err == nil {
			l.err = notProven(p.o.Host)
		}
		return nil, l.err
	}
}

// script creates the FIFO and holds it open until stdin ends. Then it waits
// until the watcher has removed the private directory of the command. So
// nothing is left when the command is over.
func (l *lifeline) script(token, dir, staged string) string {
	steps := []string{
		ownInput(token),
		`umask 077; m=$( { mkdir -m 711 -- ` + Quote(dir) + ` && mkfifo -m 644 -- ` + Quote(l.fifo) + `; } 2>&1) || { ` + failure(token, stepMkdir, "$m", "2") + `; exit 1; }`,
		`exec 9<>` + Quote(l.fifo), // opening for reading and writing never blocks
		beganTwice(token),
		`TMOUT=; while read -r l; do :; done`,
		// In this order, because opening a FIFO that has no writer blocks.
		`rm -rf -- ` + Quote(dir) + `; exec 9>&-`,
	}
	if staged != "" {
		steps = append(steps, `n=100; while [ -e `+Quote(staged)+` ] && [ "$n" -gt 0 ]; do n=$((n-1)); sleep 0.05 || { sleep 1; n=$((n-19)); }; done`)
	}
	return strings.Join(append(steps, "exit 0"), "; ")
}

// ownInput fails if a start-up file has taken the session's stdin away. The
// shell must copy the descriptor, because bash, dash and busybox do nothing for
// "<&0" even if descriptor 0 is closed.
func ownInput(token string) string {
	return `{ true 3<&0 && ! [ /dev/fd/0 -ef /dev/null ] && ! [ -f /dev/fd/0 ]; } 2>/dev/null || { ` + failure(token, stepInput, "", "2") + `; exit 1; }`
}

// Read makes the lifeline the input of its own session. The first call signals
// that the script has begun. Read blocks until the command has ended and
// returns no data.
func (l *lifeline) Read([]byte) (int, error) {
	l.once.Do(func() { close(l.begun) })
	select {
	case <-l.done:
	case <-l.over:
	}
	return 0, io.EOF
}

// lifelineEnds is the time limit for the end of a lifeline. It is longer than
// the time for which a lifeline waits for the watcher of an ended command.
const lifelineEnds = 10 * time.Second

// end ends the lifeline of a command that has ended, and waits for it.
func (l *lifeline) end() {
	close(l.done)
	late := time.AfterFunc(lifelineEnds, l.cut)
	<-l.over
	late.Stop()
	l.cut()
}
