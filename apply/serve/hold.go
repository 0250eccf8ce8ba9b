package serve

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"bolt/apply/resource"
)

// A Held is a program that must not be interrupted, and that runs under a guard: a helper that may be killed meanwhile is not
// its parent.
type Held struct {
	Argv     []string
	As       *resource.Identity // of the program; the guard keeps that of the helper
	Combined bool
}

// args are the arguments of a guard; ParseHeld reads them.
func (h *Held) args() []string {
	var args []string
	if h.Combined {
		args = append(args, "--combined")
	}
	if h.As != nil {
		groups := "-"
		if h.As.Groups != nil {
			groups = strings.Trim(strings.ReplaceAll(fmt.Sprint(h.As.Groups), " ", ","), "[]")
		}
		args = append(args, "--as", fmt.Sprintf("%d:%d:%s", h.As.UID, h.As.GID, groups))
	}
	return append(append(args, "--"), h.Argv...)
}

// ParseHeld reads the arguments of a guard.
func ParseHeld(args []string) (*Held, error) {
	h := &Held{}
	fs := flag.NewFlagSet("hold", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&h.Combined, "combined", false, "")
	fs.Func("as", "", func(text string) error {
		fields := strings.Split(text, ":")
		if len(fields) != 3 {
			return errors.New("not UID:GID:GROUPS")
		}
		ids := fields[:2]
		if fields[2] != "-" && fields[2] != "" {
			ids = append(ids, strings.Split(fields[2], ",")...)
		}
		var numbers []uint32
		for _, id := range ids {
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				return err
			}
			numbers = append(numbers, uint32(n))
		}
		h.As = &resource.Identity{UID: numbers[0], GID: numbers[1]}
		if fields[2] != "-" {
			h.As.Groups = append([]uint32{}, numbers[2:]...)
		}
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if h.Argv = fs.Args(); len(h.Argv) == 0 {
		return nil, errors.New("there is no program to run")
	}
	return h, nil
}

// Run runs the program: its output is read to its end even if nobody takes it. keep is open until the
// program has ended, and is not passed to it.
func (h *Held) Run(ctx context.Context, keep, stdin *os.File, stdout, stderr io.Writer) (code int, err error) {
	defer keep.Close()
	out, errs := &draining{w: stdout}, &draining{w: stderr}
	if h.Combined { // with one pipe, the order stays
		errs = out
	}
	run := func(argv []string) (*os.ProcessState, error) {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, out, errs
		if h.As != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.As.Credential()}
		}
		cmd.WaitDelay = time.Second // as in resource.Exec: a child can hold the output open
		err := cmd.Run()
		return cmd.ProcessState, err
	}
	state, err := run(h.Argv)
	if errors.Is(err, syscall.ENOEXEC) { // a script without an interpreter line, as in package exec
		state, err = run(append([]string{"/bin/sh"}, h.Argv...))
	}
	if state == nil {
		return 0, err
	}
	return resource.ExitCode(state), nil
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
