package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bolt/bench/measure"
)

// A holding is the resources of the daemon when it is idle.
type holding struct {
	pid, connections, goroutines, files int
	memory                              int64
}

func (h holding) String() string {
	return fmt.Sprintf("process %d: %d connections, %d goroutines, %d descriptors, %.1f MiB", h.pid, h.connections, h.goroutines, h.files, float64(h.memory)/(1<<20))
}

// stillness is the idle time of the daemon before it is measured.
const stillness = 3 * time.Second

// look reads the resources of the daemon; nothing without a daemon.
func (s *session) look(ctx context.Context) (holding, error) {
	if s.o.pool == "off" || ctx.Err() != nil {
		return holding{}, nil
	}
	pause(ctx, stillness)
	status, err := s.daemon.Status(ctx)
	if err != nil {
		return holding{}, err
	}
	if status.InFlight > 0 {
		s.log.violation("the daemon works on %d requests when there is nothing to do", status.InFlight)
	}
	state, err := measure.Look(status.PID)
	return holding{status.PID, len(status.Connections), status.Goroutines, state.Files, state.RSS}, err
}

// compare checks that the daemon holds about the same resources as before. It
// may hold other connections: to the same targets under an older
// configuration, until they are idle for too long.
func (s *session) compare(before, after holding) {
	if s.o.pool == "off" || before.pid == 0 || after.pid == 0 {
		return
	}
	s.log.note("before: %v", before)
	s.log.note("after:  %v", after)
	// The limit is per connection, with a margin for short-lived resources.
	each := float64(before.goroutines) / float64(max(before.connections, 1))
	if most := each*float64(after.connections)*1.25 + 50; float64(after.goroutines) > most {
		s.log.violation("the daemon has %d goroutines, more than %.0f", after.goroutines, most)
	}
	if most := before.files + 2*max(0, after.connections-before.connections) + 20; after.files > most {
		s.log.violation("the daemon has %d descriptors, more than %d", after.files, most)
	}
	if most := before.memory*3/2 + 64<<20; after.memory > most {
		s.log.violation("the daemon takes %d bytes, more than %d", after.memory, most)
	}
}

// patience is the time in which ended processes must disappear.
const patience = 20 * time.Second

// marked checks that no process that a command started is left on the targets,
// while the connections are still open.
func (s *session) marked(ctx context.Context) {
	for _, p := range gone(ctx, mark+"=1") {
		s.log.violation("left on a target, though its invocation has ended: %s", p)
	}
}

// finish checks that nothing is left after the daemon has ended.
func (s *session) finish(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	for _, p := range gone(ctx, " "+s.world.port) { // ends SSH_CONNECTION
		s.log.violation("left on a target, though no connection is: %s", p)
	}
	for _, e := range s.daemon.Env() {
		if !strings.HasPrefix(e, "XDG_RUNTIME_DIR=") {
			continue
		}
		for _, p := range gone(ctx, e) {
			s.log.violation("left of bolt: %s", p)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.world.tmp(), "*"))
	if err != nil || len(left) > 0 {
		s.log.violation("%d private directories are left on targets: %.3q %v", len(left), left, err)
	}
}

// gone waits until no process has a variable in its environment that ends with
// the text, and returns the processes that still have one.
func gone(ctx context.Context, text string) []string {
	until := time.Now().Add(patience)
	for {
		found := having(text)
		if len(found) == 0 || time.Now().After(until) || ctx.Err() != nil {
			return found
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// having lists the processes with a variable that ends with the text.
func having(text string) []string {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(data, []byte(text+"\x00")) {
			continue
		}
		dir := filepath.Dir(name)
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || !measure.Alive(pid) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		found = append(found, fmt.Sprintf("process %d: %.200q", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}
