package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bolt/apply/resource"
)

// A guard is a process of the helper between it and a program that must not be interrupted. If the helper
// is killed, the guard takes the output of the program, which would otherwise die of a broken pipe, and holds the
// lock of the node until the program has ended. The program itself does not have the
// lock, because a daemon that it starts would keep it.

// guarded runs a program under a guard. lock is the file of the lock.
func guarded(ctx context.Context, words []string, lock *os.File, c *resource.Command) (*resource.Output, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	g := *c
	g.Argv = slices.Concat(words, []string{identity(c.As), strconv.FormatBool(c.Combined), c.Timeout.String(), strconv.Itoa(len(c.Keep)), "--"}, c.Argv)
	g.As, g.Combined = nil, false
	g.Keep = slices.Concat([]*os.File{lock, w}, c.Keep)
	out, err := resource.Exec(ctx, &g)
	w.Close()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxMessages))
	if err != nil || len(data) == 0 {
		return out, err
	}
	var e ending
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, fmt.Errorf("what the guard of a program says cannot be read: %w", err)
	}
	if e.Problem != "" {
		return nil, &e
	}
	out.Signal = e.Signal
	return out, nil
}

// An ending has the details that are not in the exit code of a guard: a start error, or the signal that ended the program.
type ending struct {
	Problem string
	Errno   syscall.Errno
	Signal  int
}

func (e *ending) Error() string { return e.Problem }

func (e *ending) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

// identity returns an identity as an argument of a guard: "-", or UID:GID, or UID:GID:GROUP,...
func identity(as *resource.Identity) string {
	if as == nil {
		return "-"
	}
	text := fmt.Sprintf("%d:%d", as.UID, as.GID)
	for i, g := range as.Groups {
		text += string(":,"[min(i, 1)]) + strconv.FormatUint(uint64(g), 10)
	}
	if as.Groups != nil && len(as.Groups) == 0 {
		text += ":"
	}
	return text
}

func parseIdentity(text string) (*syscall.Credential, error) {
	if text == "-" {
		return nil, nil
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return nil, fmt.Errorf("%q is not an identity", text)
	}
	numbers := parts[:2]
	if len(parts) == 3 && parts[2] != "" {
		numbers = slices.Concat(numbers, strings.Split(parts[2], ","))
	}
	ids := make([]uint32, len(numbers))
	for i, n := range numbers {
		id, err := strconv.ParseUint(n, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is not an identity", text)
		}
		ids[i] = uint32(id)
	}
	return &syscall.Credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:], NoSetGroups: len(parts) == 2}, nil
}

// A Guard has the streams of a guard. Lock and Ending are open until the program has ended, and are not
// passed to it.
type Guard struct {
	Stdin          *os.File
	Stdout, Stderr io.Writer
	Lock           io.Closer
	// Kept opens the files of resource.Command.Keep, by their index. They must be close-on-exec.
	Kept   func(i int) *os.File
	Ending io.WriteCloser // takes the reason why the program was not started, or the signal that ended it
}

// late is how much later than the helper a guard ends a program.
const late = 500 * time.Millisecond

// Hold is the work of a guard. words are the arguments that guarded puts behind Machine.Guard. Hold returns
// the exit code of the program.
func (g *Guard) Hold(ctx context.Context, words []string) int {
	defer g.Lock.Close()
	defer g.Ending.Close()
	code, sig, err := g.run(ctx, words)
	if err == nil && sig == 0 {
		return code
	}
	e := ending{Signal: sig}
	if err != nil {
		code, e.Problem = ExitRefused, err.Error()
		errors.As(err, &e.Errno)
	}
	_ = json.NewEncoder(g.Ending).Encode(e) // nobody else can hear of it
	return code
}

func (g *Guard) run(ctx context.Context, words []string) (code, sig int, err error) {
	if len(words) < 6 || words[4] != "--" {
		return 0, 0, errors.New("the arguments do not name a program to run")
	}
	kept, err := strconv.Atoi(words[3])
	if err != nil {
		return 0, 0, err
	}
	timeout, err := time.ParseDuration(words[2])
	if err != nil {
		return 0, 0, err
	}
	if timeout > 0 { // the helper ends both after it, if it is not killed itself
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout+late)
		defer cancel()
	}
	as, err := parseIdentity(words[0])
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.CommandContext(ctx, words[5], words[6:]...)
	for i := range kept {
		cmd.ExtraFiles = append(cmd.ExtraFiles, g.Kept(i))
	}
	cmd.Cancel = func() error {
		if syscall.Getpgrp() == os.Getpid() {
			_ = syscall.Kill(0, syscall.SIGKILL) // the program, what it has started, and this process
		}
		return cmd.Process.Kill()
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	cmd.Stdin = g.Stdin
	cmd.Stdout, cmd.Stderr = &draining{w: g.Stdout}, &draining{w: g.Stderr}
	if words[1] == "true" {
		cmd.Stderr = cmd.Stdout
	}
	cmd.WaitDelay = time.Second // as in resource.Exec: a child can hold the output open
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return 0, 0, err
	}
	return resource.ExitCode(cmd.ProcessState), resource.Signal(cmd.ProcessState), nil
}

// draining takes everything, also when its writer does not.
type draining struct {
	w    io.Writer
	lost bool
}

func (d *draining) Write(p []byte) (int, error) {
	if !d.lost {
		_, err := d.w.Write(p)
		d.lost = err != nil
	}
	return len(p), nil
}
