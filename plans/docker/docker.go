// Package docker runs containers with the program docker of this machine.
//
// The program gets a list of arguments; there is no shell between. Its daemon
// owns the containers, so one that is given up is ended through the daemon, too.
//
// Source: docker-run(1), docker-kill(1).
package docker

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// program is looked for on PATH.
const program = "docker"

// A Container is one run of an image.
type Container struct {
	Image   string
	Command []string // instead of the image's own; empty: that
	Env     []Variable
	Volumes []Volume
	Ports   []Port
	Workdir string // in the container; "": the image's own
	Remove  bool   // once it has ended
}

// A Variable is one of the container's environment. A secret one is not seen in
// the list of processes of this machine.
type Variable struct {
	Name, Value string
	Secret      bool
}

// A Volume is a directory or a file of this machine in the container.
type Volume struct{ Host, Container string }

// A Port of this machine leads to one of the container.
type Port struct{ Host, Container int64 }

// An Outcome is what came of a container that has run, or of docker's attempt to
// run it: exit codes from 125 on may be docker's own.
type Outcome struct {
	Stdout, Stderr []byte
	ExitCode       int
}

const (
	// maxOutput is how much is kept of each stream, as of the result of a task.
	maxOutput = 16 << 20
	// patience is how long a container has to end when it is asked to.
	patience = 5 * time.Second
)

// Run runs a container to its end. If ctx ends, so does the container, and the
// error is the cause. Other errors say why it is not known what came of it.
func Run(ctx context.Context, c *Container) (*Outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	name := "bolt-" + strings.ToLower(rand.Text()[:12])
	cmd := exec.CommandContext(ctx, program, c.arguments(name)...)
	for _, v := range c.Env {
		if v.Secret {
			cmd.Env = append(cmd.Environ(), v.Name+"="+v.Value)
		}
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // docker hands it on
	cmd.WaitDelay = patience
	stdout, stderr := &output{full: stop}, &output{full: stop}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		kill(ctx, name)
		return nil, context.Cause(ctx)
	}
	exit, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("the program %s was not found on this machine: install it, containers are run by it", program)
	case err != nil && !ran:
		return nil, fmt.Errorf("%s could not be run: %w", program, err)
	case ran && !exit.Exited():
		return nil, fmt.Errorf("%s was ended by a signal (%v)", program, exit)
	}
	return &Outcome{stdout.b.Bytes(), stderr.b.Bytes(), cmd.ProcessState.ExitCode()}, nil
}

// kill ends a container that has not ended when it was asked to. Most have, and
// then docker does not find it.
func kill(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = exec.CommandContext(ctx, program, "kill", name).Run()
}

// arguments are those of docker. The value of a secret variable comes from
// docker's own environment.
func (c *Container) arguments(name string) []string {
	args := []string{"run", "--name", name}
	for _, v := range c.Env {
		if v.Secret {
			args = append(args, "--env", v.Name)
		} else {
			args = append(args, "--env", v.Name+"="+v.Value)
		}
	}
	for _, v := range c.Volumes {
		args = append(args, "-v", v.Host+":"+v.Container)
	}
	for _, p := range c.Ports {
		args = append(args, "-p", fmt.Sprintf("%d:%d", p.Host, p.Container))
	}
	if c.Remove {
		args = append(args, "--rm")
	}
	if c.Workdir != "" {
		args = append(args, "-w", c.Workdir)
	}
	args = append(args, c.Image)
	return append(args, c.Command...)
}

// An output keeps a stream. What is too much ends the container.
type output struct {
	b    bytes.Buffer
	full context.CancelCauseFunc
}

func (o *output) Write(p []byte) (int, error) {
	if o.b.Len()+len(p) > maxOutput {
		o.full(fmt.Errorf("it printed more than the %d MiB that a result may have, and was ended: let it write to a volume", maxOutput>>20))
		return len(p), nil
	}
	return o.b.Write(p)
}
