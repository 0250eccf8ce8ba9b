package resource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"bolt/apply/report"
	"bolt/catalog"
)

// A Host is the machine that resources are applied to. Its functions are safe for
// concurrent use.
type Host struct {
	// Root is put in front of the paths of system files, such as /etc/passwd, that a type
	// reads or writes itself; "" on a real machine. Tests set it. Paths of parameters are
	// used as they are.
	Root string
	// Run runs a program and waits for it. Tests replace it; NewHost sets Exec.
	Run func(ctx context.Context, c *Command) (*Output, error)
	// Content opens a content of the catalog (catalog.FileMeta.Sum without its prefix). The
	// error is fs.ErrNotExist if the content was not sent.
	Content func(sha256 string) (io.ReadCloser, error)
	// Declared returns all resources of a type in the catalog, in their order. The type is capitalized,
	// such as "Concat_fragment".
	Declared func(typ string) []*Resource
	// State is a directory of the helper in which types keep data of their resources, such as passwords; "" if the host does not
	// have one. No other user can read or write it.
	State string
	// Backup keeps a copy of a regular file before it is replaced or removed.
	Backup func(path string) error
	// Log takes messages that are not changes; nil discards them.
	Log func(r catalog.Ref, level report.Level, text string)
	// Env is the environment in which programs are run, "NAME=value".
	Env []string
	// Diffs is set if diffs of contents are reported.
	Diffs bool
	Now   func() time.Time
}

// NewHost returns a Host for this machine, without contents and with an empty catalog.
func NewHost() *Host {
	return &Host{
		Run:      Exec,
		Content:  func(string) (io.ReadCloser, error) { return nil, fs.ErrNotExist },
		Declared: func(string) []*Resource { return nil },
		Backup:   func(string) error { return nil },
		Now:      time.Now,
	}
}

// Path returns the path of a system file.
func (h *Host) Path(name string) string {
	if h.Root == "" {
		return name
	}
	return filepath.Join(h.Root, name)
}

// A Command is a program to run on the host.
type Command struct {
	Argv []string
	Env  []string // all of the environment; nil for that of the process
	Dir  string
	// Stdin is the standard input of the program, which can be empty.
	Stdin []byte
	// Session is for programs that must not be interrupted, such as package managers: ctx
	// does not end them. Every program runs in a session of its own, so that it is not killed
	// together with the helper and cannot read from a terminal.
	Session bool
	// Output is a file that gets the standard output of the program instead of Output.Stdout; nil for none.
	Output *os.File
	// Keep are files that the program has open, from descriptor 3 on.
	Keep []*os.File
	// Timeout ends the program, also one with Session; 0 for no limit. The error is then ErrTimeout.
	Timeout time.Duration
	// As is the identity that the program gets; nil for that of the process.
	As *Identity
	// Combined adds the standard error of the program to Output.Stdout, in the order of
	// printing.
	Combined bool
	// Both keeps Output.Stdout and Output.Stderr apart, and adds Output.Both. Its order is the order in which the
	// output arrives, which can differ a little from the order in which it was printed.
	Both bool
}

// An Identity is the user and the groups of a process.
type Identity struct {
	UID, GID uint32
	// Groups are the supplementary groups; nil for those of the process.
	Groups []uint32
}

// Limits of programs for which no other limit is known. Puppet has none, so a program that hangs stops its run for ever.
const (
	QueryLimit  = 10 * time.Minute // of programs that read, some of them from servers
	ChangeLimit = 2 * time.Hour    // of programs that change the host, such as package managers
)

// ErrTimeout is the error of a program that ran longer than its Timeout.
var ErrTimeout = errors.New("timed out")

// An Output is the output and the exit code of a program.
type Output struct {
	Stdout, Stderr []byte // each up to OutputLimit bytes
	Both           []byte // with Command.Both: both of them, up to OutputLimit bytes
	Cut            bool   // the program printed more than that
	Code           int    // of exit; 128 + N if signal N ended it
	Signal         int    // the number of that signal; 0 if the program exited by itself
}

// OutputLimit is the number of bytes that are kept of one output stream.
const OutputLimit = 16 << 20

// Exec runs a program. An error means that the program was not started, or that ctx ended: then the
// process group of the program has been killed. A program that fails is not an error.
func Exec(ctx context.Context, c *Command) (*Output, error) {
	if c.Session {
		ctx = context.WithoutCancel(ctx)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, ErrTimeout)
		defer cancel()
	}
	cmd := exec.CommandContext(ctx, c.Argv[0], c.Argv[1:]...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = c.Env, c.Dir, c.Keep
	ownSession(cmd, c.As)
	// A child that the program leaves behind can hold its output open.
	cmd.WaitDelay = time.Second
	var out, errs limited
	cmd.Stdout, cmd.Stderr = &out, &errs
	if c.Output != nil {
		cmd.Stdout = c.Output
	}
	if c.Combined {
		cmd.Stderr = &out
	}
	var both limited
	if c.Both {
		var mu sync.Mutex // os/exec copies the two streams from two goroutines
		cmd.Stdout, cmd.Stderr = &shared{&mu, io.MultiWriter(&out, &both)}, &shared{&mu, io.MultiWriter(&errs, &both)}
	}
	if len(c.Stdin) > 0 {
		cmd.Stdin = bytes.NewReader(c.Stdin)
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("the program %s is missing", c.Argv[0])
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return nil, err
	}
	state := cmd.ProcessState
	return &Output{Stdout: out.b.Bytes(), Stderr: errs.b.Bytes(), Both: both.b.Bytes(), Cut: out.cut || errs.cut || both.cut, Code: ExitCode(state), Signal: Signal(state)}, nil
}

// Sleep waits. The error is the cause of the end of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// shared is a writer for several goroutines.
type shared struct {
	mu *sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// limited keeps the first bytes that are written to it.
type limited struct {
	b   bytes.Buffer
	cut bool // there were more
}

func (l *limited) Write(p []byte) (int, error) {
	room := OutputLimit - l.b.Len()
	l.cut = l.cut || len(p) > room
	l.b.Write(p[:min(len(p), room)])
	return len(p), nil
}
