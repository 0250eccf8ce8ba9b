package process

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// MaxOutput is how much of each stream Output takes, in bytes.
const MaxOutput = 64 << 10

// ErrTooLong says that a program has printed more than MaxOutput.
var ErrTooLong = errors.New("it prints too much")

// dies is how long the children of a program that has ended may keep its output
// open.
const dies = time.Second

// Output runs a program to its end, with nothing to read, and returns what it
// prints. When ctx ends, so does the program with its process group; the error
// is then the cause. Others are those of package os/exec, and ErrTooLong.
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
	case errors.Is(err, exec.ErrWaitDelay): // it has ended well, and left somebody behind
		err = nil
	}
	return out.String(), errs.String(), err
}

// bounded keeps so much, and then refuses.
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
