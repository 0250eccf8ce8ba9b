// Package spawn starts the pool daemon in the background and defines the paths
// of its files.
//
// Start runs this program again as "pool serve" in a session of its own, and waits
// until that daemon calls TellReady. Package spawn reads no environment: callers
// pass in the values of the variables that it names.
package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/ownfile"
)

const (
	// ReadyVariable is the environment variable with the descriptor for TellReady.
	// Through it, "pool serve" reports to its parent process that it listens.
	ReadyVariable = "BOLT_POOL_READY_FD"

	readyText = "ready"

	// spawnLimit is longer than a start takes on an overloaded machine.
	spawnLimit = 15 * time.Second
)

// Options are the settings of Start. Place, Project and Getenv are required.
type Options struct {
	Place    Place
	Project  string // directory, whose configuration sets the limits of the pool
	LogLevel string // "" for the level of the configuration
	Getenv   func(name string) (value string, ok bool)
	Logger   *slog.Logger // nil discards
}

// Start starts a daemon in a session of its own and returns when it listens.
// The daemon inherits only a few variables, so that it does not depend on the
// process that started it.
func Start(ctx context.Context, o Options) error {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	place := o.Place
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := os.Mkdir(place.Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	log, err := ownfile.OpenOwn(place.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	args := []string{"pool", "serve", "--project", o.Project}
	if o.LogLevel != "" {
		args = append(args, "--log-level", o.LogLevel)
	}
	cmd := exec.Command(program, args...)
	cmd.Args[0] = "bolt"
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log // for the stack of a panic
	cmd.ExtraFiles = []*os.File{tell}
	cmd.Env = environment(o)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("keep the open files of this process from the daemon: %w", err)
	}
	o.Logger.Debug("starting the pool daemon", "program", program, "socket", place.Socket)
	err = cmd.Start()
	tell.Close()
	if err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	said, err := readReady(ctx, ready)
	if err == nil && said == readyText {
		return cmd.Process.Release()
	}
	_ = cmd.Process.Kill() // it did not start, or hangs
	_ = cmd.Wait()
	switch {
	case err != nil:
		return fmt.Errorf("the pool daemon did not start: %w (see %s)", err, place.Log)
	case said == "":
		return fmt.Errorf("the pool daemon ended while it was starting (see %s)", place.Log)
	}
	return errors.New(said)
}

// closeOnExec marks all inherited descriptors close-on-exec. Otherwise, the
// daemon would hold descriptors of bolt's parent (a lock, an end of a pipe) for
// hours. Files that this program opens are marked already.
func closeOnExec() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

// readReady reads the report of a starting daemon.
func readReady(ctx context.Context, ready *os.File) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, spawnLimit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Now()) })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(ready, 4<<10))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(bytes.TrimSpace(text)), err
}

// environment returns the environment of the daemon. Values that belong to an
// invocation, and can be secret, come with the dial requests of that
// invocation.
func environment(o Options) []string {
	env := []string{ReadyVariable + "=3", SocketVariable + "=" + o.Place.Socket}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "PATH", "TZ", "LANG", "GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		if v, ok := o.Getenv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// TellReady reports the outcome of this daemon's start to the waiting program;
// nil means that the daemon listens. fd is the value of ReadyVariable.
func TellReady(fd string, outcome error) {
	if fd != "3" {
		return
	}
	f := os.NewFile(3, "ready")
	if f == nil {
		return
	}
	text := readyText
	if outcome != nil {
		text = strings.TrimSpace(outcome.Error())
	}
	_, _ = io.WriteString(f, text) // if the program has ended, it needs no answer
	f.Close()
}

// Made returns the time of the last change of this program's file, in
// nanoseconds since 1970; 0 if it is unknown. It distinguishes builds of one
// version.
func Made() int64 {
	path, err := os.Executable()
	if err != nil {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}
