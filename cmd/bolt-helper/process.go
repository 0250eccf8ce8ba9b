package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"bolt/apply/resource"
	"bolt/apply/serve"
)

// When a connection ends, its process group is killed: transport/shell kills the group, and sshd kills
// the group of the terminal. So a child in its own session does the work, and the first process only
// passes signals on and waits.

// self returns a path of this program that stays valid when its file is renamed or replaced. Without /proc,
// as in many chroots, it returns the path of the file.
func self(file string) string {
	const link = "/proc/self/exe"
	if _, err := os.Stat(link); err == nil {
		return link
	}
	return file
}

// ending returns the signals that end the helper.
func ending() []os.Signal { return []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} }

// detach runs the helper, whose file is program, again in a session of its own, with the same streams.
func detach(program string, argv []string) (int, error) {
	cmd := exec.Command(self(program), slices.Concat([]string{"--own-session"}, withoutPlaced(argv))...)
	cmd.Args[0] = program
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, ending()...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	// Only the child has the streams, so that it alone decides when they end.
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		f.Close()
	}
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // otherwise it has already ended
			case <-done:
				return
			}
		}
	})
	err := cmd.Wait()
	close(done)
	wg.Wait()
	if cmd.ProcessState == nil {
		return 0, err
	}
	return resource.ExitCode(cmd.ProcessState), nil
}

// withoutPlaced removes the flag of a file that already has its final name.
func withoutPlaced(argv []string) []string {
	if at := slices.Index(argv, "--placed"); at >= 0 && at+2 <= len(argv) {
		return slices.Concat(argv[:at], argv[at+2:])
	}
	return argv
}

// closed returns a channel that is closed when the other end of a pipe or socket is closed.
func closed(f *os.File) <-chan struct{} {
	lost := make(chan struct{})
	// A broken pipe then is a write error, and does not end the process. Programs that are run get the
	// default handling again, because the signal is not ignored.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	fd := int32(f.Fd())
	go func() { // ends with the process
		for {
			fds := []unix.PollFd{{Fd: fd}}
			n, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			case err != nil:
				return
			case n > 0 && fds[0].Revents != 0:
				close(lost)
				return
			}
		}
	}()
	return lost
}

// signalled returns a channel that is closed when the process gets a signal to end.
func signalled() <-chan struct{} {
	ch := make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ending()...)
	go func() { // ends with the process
		<-signals
		close(ch)
	}()
	return ch
}

// The descriptors of a guard, as package serve passes them.
const (
	lockFD   = 3
	endingFD = 4
	keptFD   = 5 // and the ones after it
)

// hold is the guard of a program that must not be interrupted. It has its own session.
func hold(ctx context.Context, argv []string) int {
	signal.Notify(make(chan os.Signal, 1), append(ending(), syscall.SIGPIPE)...)
	unix.CloseOnExec(lockFD)
	unix.CloseOnExec(endingFD)
	g := &serve.Guard{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Lock: os.NewFile(lockFD, "lock"), Ending: os.NewFile(endingFD, "ending")}
	g.Kept = func(i int) *os.File {
		unix.CloseOnExec(keptFD + i)
		return os.NewFile(uintptr(keptFD+i), "kept")
	}
	return g.Hold(ctx, argv)
}
