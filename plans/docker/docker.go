// Package docker runs containers with the program docker of this machine.
//
// The program gets a list of arguments; no shell parses them. The containers
// belong to docker's daemon, so a cancelled container is ended through the
// daemon, too.
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

// program is the name of the program on PATH.
const program = "docker"

// A Container is one run of an image.
type Container struct {
	Image   string
	Command []string // replaces the image's own command, unless it is empty
	Env     []Variable
	Volumes []Volume
	Ports   []Port
	Workdir string // in the container; "" for the image's own
	Remove  bool   // after it has ended
}

// A Variable is an environment variable of the container. The value of a secret
// variable does not appear in this machine's list of processes.
type Variable struct {
	Name, Value string
	Secret      bool
}

// A Volume mounts a directory or a file of this machine in the container.
type Volume struct{ Host, Container string }

// A Port maps a port of this machine to a port of the container.
type Port struct{ Host, Container int64 }

// An Outcome is the result of a container, or of docker's attempt to run it.
// Exit codes from 125 on may be docker's own.
type Outcome struct {
	Stdout, Stderr []byte
	ExitCode       int
}

const (
	// maxOutput limits each stream that is kept, as for the result of a task.
	maxOutput = 16 << 20
	// patience is how long a container may take to end when it is asked to.
	patience = 5 * time.Second
)

// Run runs a container until it ends. If ctx ends, Run ends the container and
// returns the cause. Other errors are the reason why the outcome is unknown.
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
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // docker forwards it to the container
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
		return nil, fmt.Errorf("the program %s was not found on this machine. Install it: bolt runs containers with it", program)
	case err != nil && !ran:
		return nil, fmt.Errorf("%s could not be run: %w", program, err)
	case ran && !exit.Exited():
		return nil, fmt.Errorf("%s was ended by a signal (%v)", program, exit)
	}
	return &Outcome{stdout.b.Bytes(), stderr.b.Bytes(), cmd.ProcessState.ExitCode()}, nil
}

// kill ends a container that has not ended when it was asked to. Most containers
// have ended, and then docker does not find them.
func kill(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	_ = exec.CommandContext(ctx, program, "kill", name).Run()
}

// arguments returns the arguments of docker. docker reads the value of a secret
// variable from its own environment.
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

// An output stores a stream. If the stream is too long, it ends the container.
type output struct {
	b    bytes.Buffer
	full context.CancelCauseFunc
}

func (o *output) Write(p []byte) (int, error) {
	if o.b.Len()+len(p) > maxOutput {
		o.full(fmt.Errorf("it printed more than the limit of %d MiB for a result and was ended. Let it write to a volume", maxOutput>>20))
		return len(p), nil
	}
	return o.b.Write(p)
}
