package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/ownfile"
)

// How "pool serve" tells whoever started it that it listens: it writes to the
// descriptor that this variable names, readyText or why it could not, and
// closes it.
const (
	readyVariable = "BOLT_POOL_READY_FD"
	readyText     = "ready"

	// spawnLimit is more than a start takes on a machine that is on its knees.
	spawnLimit = 15 * time.Second
)

// spawnPool starts a daemon in a session of its own and returns when it
// listens. It has nothing of ours but a few variables, so that it is the same
// whoever started it.
func (a *app) spawnPool(ctx context.Context, place poolPlace) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if err := os.Mkdir(place.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	log, err := ownfile.OpenOwn(place.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	args := []string{"pool", "serve", "--project", a.project.Dir}
	if a.values.has("log-level") {
		args = append(args, "--log-level", a.values.last("log-level"))
	}
	cmd := exec.Command(program, args...)
	cmd.Args[0] = "bolt"
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = log, log // for the stack of a panic
	cmd.ExtraFiles = []*os.File{tell}
	cmd.Env = a.poolEnvironment(place)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := closeOnExec(); err != nil {
		return fmt.Errorf("keep our open files from the daemon: %w", err)
	}
	a.log.Debug("starting the pool daemon", "program", program, "socket", place.socket)
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
		return fmt.Errorf("the pool daemon did not start: %w (see %s)", err, place.log)
	case said == "":
		return fmt.Errorf("the pool daemon ended as it started (see %s)", place.log)
	}
	return errors.New(said)
}

// closeOnExec keeps what whoever called us left open (a lock, the end of a
// pipe) from the daemon, which would hold it for hours. Our own files are
// marked anyway.
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

// readReady reads what a starting daemon says.
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

// poolEnvironment is what the daemon inherits. What belongs to an invocation,
// and may be secret, it gets from that invocation when it dials.
func (a *app) poolEnvironment(place poolPlace) []string {
	env := []string{readyVariable + "=3", poolSocketVariable + "=" + place.socket}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "PATH", "TZ", "LANG", "GODEBUG", "GOGC", "GOMEMLIMIT", "GOMAXPROCS"} {
		if v, ok := a.sys.lookup(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// maxPoolLog is when the daemon's log is begun anew; the old one stays beside
// it until then.
const maxPoolLog = 4 << 20

// A poolLog is the daemon's log file. Writes come one at a time.
type poolLog struct {
	path string
	f    *os.File
	size int64
}

// openPoolLog opens the log to append to.
func openPoolLog(path string) (*poolLog, error) {
	f, err := ownfile.OpenOwn(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &poolLog{path: path, f: f, size: info.Size()}, nil
}

func (l *poolLog) Write(p []byte) (int, error) {
	if l.size+int64(len(p)) > maxPoolLog {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.f.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *poolLog) rotate() error {
	if err := os.Rename(l.path, l.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	next, err := openPoolLog(l.path)
	if err != nil {
		return err
	}
	l.f.Close()
	*l = *next
	return nil
}

// tellReady answers whoever waits for our start; outcome nil means that we
// listen.
func tellReady(sys system, outcome error) {
	if sys.env(readyVariable) != "3" {
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
	_, _ = io.WriteString(f, text) // who has gone need not be told
	f.Close()
}
