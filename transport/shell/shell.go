// Package shell turns a transport.Cmd, a Put or a Get into one POSIX shell
// session: staging of files, run-as, cancellation, cleanup.
//
// It does not know how a session is started: a Starter (an SSH connection, the
// local machine) starts a line under a login shell and returns its streams.
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

// A Session is one started line with its streams, such as an SSH channel or a
// local process. Its methods can be called from several goroutines; each stream
// is used by one goroutine.
type Session interface {
	// Stdin is the input of the line. Close sends the end of file. It can be
	// called while a Write blocks: then the Write ends, or finishes first. A
	// second Close does nothing.
	Stdin() io.WriteCloser
	// Stdout and Stderr end with io.EOF when the session's output has ended.
	// With a tty, Stderr is an empty reader. Both must be drained. A *Stream is
	// used directly; any other reader gets a goroutine that reads it.
	Stdout() io.Reader
	Stderr() io.Reader
	// Done is closed when the line has ended, or Close was called.
	Done() <-chan struct{}
	// Wait returns how the line ended. It is called once, after both readers
	// have ended. Its error is a *transport.Error of ClassLost if the
	// connection ended without an exit status.
	Wait() (transport.Status, error)
	// Close closes the session on our side: readers, a blocked write and Wait
	// return soon. It is safe to call it at any time, and twice.
	Close() error
}

// A Starter starts sessions on one machine. It is safe for concurrent use.
type Starter interface {
	// Start runs line under the login shell of the machine, with a terminal on
	// its three streams if tty is set. ctx limits only the start: it does not
	// end a session that has started. The error is a *transport.Error. If the
	// line may run in spite of the error, it is of ClassLost or wraps
	// ErrMayRun.
	Start(ctx context.Context, line string, tty bool) (Session, error)
}

// ErrMayRun is wrapped by an error of Start if the line may run.
var ErrMayRun = errors.New("it may run")

// Options describe the machine. The zero value is a machine with a POSIX login
// shell.
type Options struct {
	// Host names the machine in messages.
	Host string
	// User is the login user, for which a RunAs changes nothing. Messages about
	// sudo also name it.
	User string
	// LoginShell is the kind of the login shell: "" or the name of a POSIX
	// shell (sh, bash, dash, ksh, zsh …), or "csh", "tcsh", "fish".
	// "powershell" is refused.
	LoginShell string
	// Local is set if commands start in the directory of this process. RunAs
	// then does not change into the home directory of the other user.
	Local bool
	// DownloadCode is the error code of a failed download; "" means
	// WRITE_ERROR.
	DownloadCode string
	// Proof records that the login shell has run a command. If that is long
	// ago, a plain line must print a new proof. If Proof is nil, no line must.
	Proof *Proof
	// Unasked records for which users sudo asks for no password. If it is nil,
	// the input of a script under sudo always waits until the script has begun.
	Unasked *Unasked
	// Logger receives warnings, for example if a private directory could not be
	// removed; nil discards them.
	Logger *slog.Logger
}

// unproven reports whether the login shell may not run the command. Then data
// must wait: a program that a start-up file has executed instead could take the
// data for commands.
func (o *Options) unproven() bool { return o.Proof != nil && !o.Proof.Fresh() }

// proofLasts is the time for which a proof of a login shell is valid: about as
// long as a burst of commands. Its start-up files may change.
const proofLasts = 5 * time.Second

// A Proof is the time at which a login shell last ran a command of bolt. The
// zero value means never.
type Proof struct {
	at     atomic.Pointer[time.Time]
	joined atomic.Bool // stderr was joined to stdout
}

// Fresh reports whether the proof is still valid.
func (p *Proof) Fresh() bool {
	at := p.at.Load()
	return at != nil && time.Since(*at) < proofLasts
}

// renew records that the login shell has run a command.
func (p *Proof) renew() {
	now := time.Now()
	p.at.Store(&now)
}
