package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"bolt/bench/farm"
	"bolt/bench/masters"
	"bolt/bench/measure"
)

// settle is the idle time of connections before they are measured. By then,
// preparations on them and timeouts are over.
const settle = 10 * time.Second

// mastersLooked is the number of OpenSSH masters that are started to measure
// one.
const mastersLooked = 20

// A holder holds the figures of a process with open connections.
type holder struct {
	name        string
	held        int
	empty, full measure.State
	goroutines  int
	watched     bool
	idleCPU     time.Duration // within options.idle
	wakeUps     uint64        // within options.idle
}

// memory measures the cost of idle connections.
func memory(ctx context.Context, o options, w io.Writer) error {
	fmt.Fprintf(os.Stderr, "warm: holding %d connections\n", o.held)
	f, err := farm.Light(ctx, o.farmd, o.held)
	if err != nil {
		return err
	}
	var holders []holder
	if o.bolt != "" && o.daemon {
		var h holder
		h, err = holdDaemon(ctx, o, f)
		holders = append(holders, h)
	}
	if err == nil {
		var h, server holder
		h, server, err = holdFloor(ctx, o, f)
		holders = append(holders, h, server)
	}
	if err == nil {
		var h holder
		h, err = holdMasters(ctx, o, f)
		holders = append(holders, h)
	}
	var lines [][]string
	for _, h := range holders {
		if h.held == 0 {
			continue
		}
		n, goroutines, cpu, wakeUps := float64(h.held), "-", "-", "-"
		if h.watched {
			cpu, wakeUps = ms(h.idleCPU), strconv.FormatUint(h.wakeUps, 10)
		}
		if h.goroutines > 0 {
			goroutines = fmt.Sprintf("%.1f", float64(h.goroutines)/n)
		}
		lines = append(lines, []string{h.name, strconv.Itoa(h.held), mib(h.full.RSS), mib(h.full.PSS),
			fmt.Sprintf("%.1f", float64(h.full.PSS-h.empty.PSS)/1024/n), goroutines,
			fmt.Sprintf("%.1f", float64(h.full.Files-h.empty.Files)/n), cpu, wakeUps})
	}
	_, printErr := fmt.Fprintf(w, "\n### Held connections that are idle, %v each (light server)\n\n", o.idle)
	return errors.Join(err, printErr, measure.Markdown(w, 1, []string{"holder", "connections", "RSS MiB", "PSS MiB", "KiB each",
		"goroutines each", "descriptors each", "CPU ms in " + o.idle.String(), "wake-ups in " + o.idle.String()}, lines), f.Stop())
}

// holdDaemon measures the daemon: without a connection, and with all.
func holdDaemon(ctx context.Context, o options, f *farm.Farm) (h holder, err error) {
	s := &scene{Farm: f, o: o, atOnce: o.lightAtOnce}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.startDaemon(ctx); err != nil {
		return h, err
	}
	h.name = "bolt's daemon"
	if h.empty, err = measure.Look(s.pid); err != nil {
		return h, err
	}
	if err := s.warmUp(ctx); err != nil {
		return h, err
	}
	if err := h.watch(ctx, o, []int{s.pid}); err != nil {
		return h, err
	}
	status, err := s.daemon.Status(ctx)
	h.held, h.goroutines = len(status.Connections), status.Goroutines
	if err == nil && h.held != len(f.Hosts) {
		err = fmt.Errorf("the daemon holds %d connections of %d", h.held, len(f.Hosts))
	}
	return h, err
}

// holdFloor measures this process with connections of the SSH library, like
// those of the floor, and the server at their other end.
func holdFloor(ctx context.Context, o options, f *farm.Farm) (h, server holder, err error) {
	h.name, h.held = "floor: the SSH library", len(f.Hosts)
	server.name, server.held = "the light server at the other end", len(f.Hosts)
	pid, goroutines := os.Getpid(), runtime.NumGoroutine()
	debug.FreeOSMemory()
	if h.empty, err = measure.Look(pid); err != nil {
		return h, server, err
	}
	if server.empty, err = lookAll(f.Servers); err != nil {
		return h, server, err
	}
	server.empty.PSS = 0 // it has served before
	fl, err := hold(ctx, f, o.lightAtOnce)
	if err != nil {
		return h, server, err
	}
	h.goroutines = runtime.NumGoroutine() - goroutines
	if err := h.watch(ctx, o, []int{pid}); err != nil {
		return h, server, errors.Join(err, fl.close())
	}
	server.full, err = lookAll(f.Servers)
	return h, server, errors.Join(err, fl.close())
}

// holdMasters measures as many OpenSSH masters as are needed for the figures
// of one.
func holdMasters(ctx context.Context, o options, f *farm.Farm) (h holder, err error) {
	few := *f
	few.Hosts = f.Hosts[:min(mastersLooked, len(f.Hosts))]
	h.name, h.held = "ssh masters, a process each", len(few.Hosts)
	m, err := masters.Start(ctx, &few)
	if err != nil {
		return h, err
	}
	return h, errors.Join(h.watch(ctx, o, m.PIDs()), m.Stop())
}

// watch measures processes after their idle time, and their activity in the
// time after that.
func (h *holder) watch(ctx context.Context, o options, pids []int) error {
	if err := wait(ctx, settle); err != nil {
		return err
	}
	before, err := measure.Sum(pids)
	if err != nil {
		return err
	}
	if h.full, err = lookAll(pids); err != nil {
		return err
	}
	if err := wait(ctx, o.idle); err != nil {
		return err
	}
	after, err := lookAll(pids)
	if err != nil {
		return err
	}
	h.wakeUps = after.WakeUps - h.full.WakeUps
	spent, err := measure.Sum(pids)
	h.idleCPU, h.watched = spent-before, true
	return err
}

func lookAll(pids []int) (measure.State, error) {
	var sum measure.State
	for _, pid := range pids {
		s, err := measure.Look(pid)
		if err != nil {
			return sum, err
		}
		sum.RSS, sum.PSS = sum.RSS+s.RSS, sum.PSS+s.PSS
		sum.Threads, sum.Files, sum.WakeUps = sum.Threads+s.Threads, sum.Files+s.Files, sum.WakeUps+s.WakeUps
	}
	return sum, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func mib(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
