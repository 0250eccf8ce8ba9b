// Package shell turns a transport.Cmd, a Put or a Get into one POSIX shell
// session: staging of files, run-as, cancellation, cleanup.
//
// It knows nothing of how a session is started: a Starter (an SSH connection,
// the local machine) starts a line under a login shell and hands back its
// streams.
package shell

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"bolt/transport"
)

// A Session is one started line with its streams, as an SSH channel or a
// local process gives it. Its methods may be called from several goroutines;
// each stream is used by one.
type Session interface {
	// Stdin is what the line reads. Close sends the end of file and may be
	// called while a Write blocks, which then ends, or has its turn first;
	// a second Close does nothing.
	Stdin() io.WriteCloser
	// Stdout and Stderr end with io.EOF when the session's output has ended;
	// Stderr is an empty reader with a tty. Both must be drained. A *Stream is
	// taken as it is; any other reader gets a goroutine that reads it.
	Stdout() io.Reader
	Stderr() io.Reader
	// Done is closed when the line has ended, or Close was called.
	Done() <-chan struct{}
	// Wait is called once, after both readers have ended, and tells how the
	// line ended. Its error is a *transport.Error of ClassLost if the
	// connection ended without telling.
	Wait() (transport.Status, error)
	// Close gives the session up on our side: readers, a blocked write and
	// Wait return soon. It is safe to call at any time, and twice.
	Close() error
}

// A Starter starts sessions on one machine. It is safe for concurrent use.
type Starter interface {
	// Start runs line under the login shell of the machine, with a terminal
	// on its three streams if tty is set. ctx is for starting alone: it
	// does not end a session that has started. The error is a
	// *transport.Error, of ClassLost or wrapping ErrMayRun if the line may run
	// all the same.
	Start(ctx context.Context, line string, tty bool) (Session, error)
}

// ErrMayRun says of a Start that has failed that the line may run.
var ErrMayRun = errors.New("it may run")

// Options say what is known of the machine. The zero value is a machine with
// a POSIX login shell.
type Options struct {
	// Host names the machine in messages.
	Host string
	// User is the login user: a RunAs of that name needs no escalation. It
	// is also named in messages about sudo.
	User string
	// LoginShell is the family of the login shell: "" or a POSIX shell's name
	// (sh, bash, dash, ksh, zsh …), or "csh", "tcsh", "fish". "powershell" is
	// refused.
	LoginShell string
	// Local says that commands start where we are: RunAs does not change
	// into the home directory of the other user.
	Local bool
	// DownloadCode is the code of a download that fails; "" is WRITE_ERROR.
	DownloadCode string
	// Proof remembers that the login shell has run what it was given. When
	// that is long ago, a plain line is accompanied by a new one; with nil it
	// never is.
	Proof *Proof
	// Unasked remembers for whom sudo asks for nothing; with nil, what a script
	// under sudo reads always waits until it has begun.
	Unasked *Unasked
	// Logger gets what is odd but no failure, such as a private directory
	// that could not be removed; nil discards.
	Logger *slog.Logger
}

// unproven says that the login shell may not run what it is given: what bytes
// follow must wait, or what it became instead (exec in a start-up file) would
// take them for commands.
func (o *Options) unproven() bool { return o.Proof != nil && !o.Proof.Fresh() }

// proofLasts is how long a login shell is trusted to run what it is given: as
// long as a burst of commands. Its start-up files may change.
const proofLasts = 5 * time.Second

// A Proof is when a login shell was last seen to run what it was given. The
// zero value is never.
type Proof struct {
	at     atomic.Pointer[time.Time]
	joined atomic.Bool // its stderr came on stdout
}

// Fresh reports whether that was not long ago.
func (p *Proof) Fresh() bool {
	at := p.at.Load()
	return at != nil && time.Since(*at) < proofLasts
}

// renew notes that it has run something.
func (p *Proof) renew() {
	now := time.Now()
	p.at.Store(&now)
}
