package transporttest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/transport"
)

// evilLimits are the time limits of an evil target. They end a target that sends
// nothing.
const (
	evilConnect = 1500 * time.Millisecond
	evilCommand = 1500 * time.Millisecond
	evilGrace   = 100 * time.Millisecond
)

// TestEvil runs commands and copies on targets that violate their protocol
// (internal/sshtest.Evil), each on its own goroutine. At the same time, the good
// targets run a command repeatedly, through the same Dialer. Each command on a good
// target must succeed and print prints. Each evil target must end in time, with its
// own result.
//
// alive, if not nil, is called repeatedly and at the end. It must return an error if
// the process behind the Dialer (the daemon) has ended.
func TestEvil(t *testing.T, d transport.Dialer, good, evil []transport.Dest, prints string, alive func() error) {
	t.Helper()
	ctx := testContext(t)
	var work sync.WaitGroup
	over := make(chan struct{})
	for i, to := range good {
		work.Go(func() {
			for round := 0; ; round++ {
				if err := sayGood(ctx, d, to, prints); err != nil {
					t.Errorf("good target %d, round %d: %v", i, round, err)
					return
				}
				select {
				case <-over:
					return
				case <-time.After(250 * time.Millisecond): // leaves the processor to the evil targets
				}
			}
		})
	}
	var hostile sync.WaitGroup
	turns := make(chan struct{}, 40)
	for i, to := range evil {
		hostile.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if err := Provoke(ctx, d, to, t.TempDir()); err != nil {
				t.Errorf("evil target %d: %v", i, err)
			}
			if alive != nil && i%16 == 0 {
				if err := alive(); err != nil {
					t.Errorf("beside evil target %d: %v", i, err)
				}
			}
		})
	}
	hostile.Wait()
	close(over)
	work.Wait()
	if alive != nil {
		if err := alive(); err != nil {
			t.Errorf("at the end: %v", err)
		}
	}
}

// sayGood runs a command on a good target.
func sayGood(ctx context.Context, d transport.Dialer, to transport.Dest, prints string) error {
	conn, err := d.Dial(ctx, to)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	var out bytes.Buffer
	st, err := conn.Run(ctx, &transport.Cmd{Line: "good", Stdout: &out})
	if err != nil || !st.OK() || out.String() != prints {
		return fmt.Errorf("got %q, %+v, %w", out.String(), st, err)
	}
	return nil
}

// Provoke calls every method of a Conn to an evil target: commands of each form, an
// upload and a download. Any result is valid. Provoke returns an error if they took too
// long, or if their error blames something other than the target.
func Provoke(ctx context.Context, d transport.Dialer, to transport.Dest, dir string) error {
	to.ConnectTimeout = evilConnect
	for i, step := range evilSteps(dir) {
		began := time.Now()
		err := evilStep(ctx, d, to, step)
		if took := time.Since(began); took > time.Minute {
			return fmt.Errorf("step %d took %v: %v", i, took, err)
		}
		if err := blames(err); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// evilStep performs one action on the connection, or on a new one if it was lost.
func evilStep(ctx context.Context, d transport.Dialer, to transport.Dest, step func(context.Context, transport.Conn) error) error {
	conn, err := d.Dial(ctx, to)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, evilCommand)
	defer cancel()
	return step(ctx, conn)
}

func evilSteps(dir string) []func(context.Context, transport.Conn) error {
	run := func(cmd transport.Cmd) func(context.Context, transport.Conn) error {
		cmd.Grace = evilGrace
		return func(ctx context.Context, c transport.Conn) error {
			_, err := c.Run(ctx, &cmd)
			return err
		}
	}
	return []func(context.Context, transport.Conn) error{
		run(transport.Cmd{Line: "evil"}),
		run(transport.Cmd{Line: "evil", Stdin: []byte("in"), Env: []string{"A=b"}}),
		run(transport.Cmd{Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\n")}},
			RunAs: transport.RunAs{User: "other", Password: transport.NewSecret("pw")}}),
		func(ctx context.Context, c transport.Conn) error {
			return c.Get(ctx, "/etc/x", dir, transport.FileOptions{})
		},
		func(ctx context.Context, c transport.Conn) error {
			return c.Put(ctx, transport.Tree{Path: dir, Name: "tree"}, "/tmp/tree", transport.FileOptions{})
		},
	}
}

// blames returns an error if err has no class, or if it reports that the pool daemon was
// lost, because all targets would then be lost.
func blames(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if transport.ClassOf(err) == "" {
		return fmt.Errorf("an error without a class: %w", err)
	}
	for _, bad := range []string{"daemon was lost", "daemon broke the protocol", "nternal error", "panic", "cannot be read", "cannot be decoded", "cannot decode"} {
		if strings.Contains(text, bad) {
			return fmt.Errorf("not the target's own error: %w", err)
		}
	}
	return nil
}
