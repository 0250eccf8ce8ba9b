package process

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// MaxOutput is the maximum output on each stream, in bytes.
const MaxOutput = 64 << 10

// ErrTooLong is the error if a program has printed more than MaxOutput.
var ErrTooLong = errors.New("it prints too much")

// dies is the time for which children of an ended program may keep its output
// open.
const dies = time.Second

// Output runs a program to its end, with empty input, and returns its output.
// If ctx ends, the program and its process group are killed, and the error is
// the cause of ctx. Other errors are those of package os/exec, and ErrTooLong.
func Output(ctx context.Context, o Options) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, o.Path)
	cmd.Args, cmd.Env = o.Args, o.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: o.Credential}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = dies
	var out, errs bounded
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case out.full || errs.full:
		err = ErrTooLong
	case errors.Is(err, exec.ErrWaitDelay): // it has ended well, but a child holds its output open
		err = nil
	}
	return out.String(), errs.String(), err
}

// bounded stores output up to a limit and then returns an error.
type bounded struct {
	strings.Builder
	full bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.full = b.full || b.Len()+len(p) > MaxOutput; b.full {
		return 0, ErrTooLong
	}
	return b.Builder.Write(p)
}
