package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"bolt/bench/measure"
)

// A disturbance breaks a part of the environment, and reports whether there
// was such a part. A lasting disturbance is undone by the next call of undo.
type disturbance struct {
	name string
	do   func(context.Context, *rand.Rand, *crew) bool
}

// quiescence is the part of the wild time, at its end, in which no daemon is
// killed, so that the last daemon lives long enough to be checked.
const quiescence = 2

// disturb causes one disturbance after the other until the time is over, and
// then undoes them.
func (s *session) disturb(ctx context.Context, w *crew, until time.Time) {
	random := rand.New(rand.NewPCG(s.o.seed, 1<<32))
	begin := time.Now()
	kinds := s.disturbances()
	for time.Now().Before(until) && ctx.Err() == nil {
		pause(ctx, time.Duration(200+random.IntN(1500))*time.Millisecond)
		d := kinds[random.IntN(len(kinds))]
		if len(s.o.kinds) > 0 && !slices.Contains(s.o.kinds, d.name) {
			continue
		}
		if d.name == "daemon" && time.Since(begin) > s.o.wild/quiescence {
			continue
		}
		if d.do(ctx, random, w) {
			s.log.disturbed(d.name)
		}
	}
	for _, l := range s.world.links {
		l.silence(false)
	}
}

func (s *session) disturbances() []disturbance {
	all := []disturbance{
		{"client", func(_ context.Context, _ *rand.Rand, w *crew) bool { return w.kill() }},
		{"sshd", func(_ context.Context, r *rand.Rand, _ *crew) bool { return s.killServer(r) }},
		{"silence", func(ctx context.Context, r *rand.Rand, _ *crew) bool {
			return s.silence(ctx, r)
		}},
		{"cut", func(_ context.Context, r *rand.Rand, _ *crew) bool {
			return s.oneLink(r, (*link).cut)
		}},
		{"config", func(context.Context, *rand.Rand, *crew) bool {
			err := s.world.reconfigure()
			if err != nil {
				s.log.violation("change ssh_config: %v", err)
			}
			return err == nil
		}},
	}
	if s.o.pool == "off" {
		return all
	}
	return append(all,
		disturbance{"daemon", func(ctx context.Context, _ *rand.Rand, _ *crew) bool {
			return s.signal(ctx, syscall.SIGKILL) != 0
		}},
		disturbance{"stop", func(ctx context.Context, r *rand.Rand, _ *crew) bool {
			pid := s.signal(ctx, syscall.SIGSTOP)
			if pid == 0 {
				return false
			}
			pause(ctx, time.Duration(500+r.IntN(5500))*time.Millisecond)
			return syscall.Kill(pid, syscall.SIGCONT) == nil
		}})
}

// killServer kills the process that serves one connection.
func (s *session) killServer(random *rand.Rand) bool {
	children, err := measure.Children()
	if err != nil {
		return false
	}
	var serving []int
	for _, pid := range s.world.servers() {
		serving = append(serving, children[pid]...)
	}
	return len(serving) > 0 && syscall.Kill(serving[random.IntN(len(serving))], syscall.SIGKILL) == nil
}

func (s *session) oneLink(random *rand.Rand, do func(*link)) bool {
	if len(s.world.links) == 0 {
		return false
	}
	do(s.world.links[random.IntN(len(s.world.links))])
	return true
}

// silence makes one link silent for a while: for less or more time than the
// detection takes.
func (s *session) silence(ctx context.Context, random *rand.Rand) bool {
	return s.oneLink(random, func(l *link) {
		l.silence(true)
		pause(ctx, time.Duration(500+random.IntN(2*aliveInterval*aliveMisses*1000))*time.Millisecond)
		l.silence(false)
	})
}

// signal sends the daemon a signal and returns its process id, 0 if none runs.
func (s *session) signal(ctx context.Context, sig syscall.Signal) int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	status, err := s.daemon.Status(ctx)
	if err != nil || syscall.Kill(status.PID, sig) != nil {
		return 0
	}
	return status.PID
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
