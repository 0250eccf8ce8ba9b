// Command soak uses bolt for some minutes as many users would at the same
// time, all through one daemon, while its environment fails: clients, servers
// and the daemon are killed, the daemon is stopped for a while, the network is
// silent or is cut, ssh_config changes.
//
// It checks that every invocation ends within a bound with exactly one result
// for each target, that a reported success is real, that there is no failure
// in quiet times, that no process is left on a target, and that the daemon
// finally holds no more than at the beginning. Violations are printed, with a
// summary, and the exit status is then 1.
//
// It has a quiet time first, a wild time, and a quiet time at the end. It runs
// from the module's root folder, as root or as an ordinary user.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bolt/bench/daemon"
)

func main() {
	var o options
	flag.StringVar(&o.bolt, "bolt", "bin/bolt", "`program` to use")
	flag.StringVar(&o.pool, "pool", "auto", "auto, required or off: bolt's `mode`")
	flag.DurationVar(&o.wild, "wild", 2*time.Minute, "`time` with disturbances")
	flag.DurationVar(&o.quiet, "quiet", 10*time.Second, "`time` without, before and after")
	flag.IntVar(&o.targets, "n", 20, "number of `targets`; half of them are behind a network that fails")
	flag.IntVar(&o.workers, "workers", 8, "`invocations` at a time")
	flag.DurationVar(&o.bound, "bound", time.Minute, "`time` within which every invocation ends")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "`number` that decides what happens")
	kinds := flag.String("disturb", "", "`what,...` to disturb (default all): client, sshd, daemon, stop, silence, cut, config")
	flag.Parse()
	o.kinds = strings.FieldsFunc(*kinds, func(r rune) bool { return r == ',' })
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := soak(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

type options struct {
	bolt, pool       string
	wild, quiet      time.Duration
	targets, workers int
	bound            time.Duration
	seed             uint64
	kinds            []string
}

// recovery is the time after the last disturbance in which failures can still
// result from it: a silent network is detected after aliveInterval ×
// aliveMisses.
const recovery = 15 * time.Second

func soak(ctx context.Context, o options) (err error) {
	if o.bolt, err = filepath.Abs(o.bolt); err != nil {
		return err
	}
	fmt.Printf("soak: seed %d\n", o.seed)
	w, err := newWorld(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	known := daemon.Known(ctx, o.bolt)
	if !known {
		fmt.Println("soak: this bolt has no daemon: it is used without")
		o.pool = "off"
	}
	place, err := daemon.New(o.bolt, w.farm.Home())
	if err != nil {
		return err
	}
	s := &session{o: o, world: w, daemon: place, known: known, log: newLog(os.Stdout)}
	s.run(ctx)
	stopped := place.Stop(ctx)
	s.finish(ctx)
	if stopped != nil {
		s.log.violation("stop the daemon: %v", stopped)
	}
	s.log.summary()
	if n := s.log.violations(); n > 0 {
		return fmt.Errorf("%d violations, seed %d", n, o.seed)
	}
	return ctx.Err()
}

// A session is one soak.
type session struct {
	o      options
	world  *world
	daemon *daemon.Daemon
	known  bool // bolt has a daemon
	log    *log
	crews  uint64 // hired so far
}

// run does all three times.
func (s *session) run(ctx context.Context) {
	fmt.Printf("soak: quiet for %v\n", s.o.quiet)
	s.work(ctx, s.o.quiet, true)
	before, err := s.look(ctx)
	if err != nil {
		s.log.violation("look at the daemon before: %v", err)
	}
	fmt.Printf("soak: wild for %v\n", s.o.wild)
	s.wild(ctx)
	fmt.Printf("soak: recovery for %v, then quiet for %v\n", recovery, s.o.quiet)
	s.work(ctx, recovery, false)
	s.work(ctx, s.o.quiet, true)
	if ctx.Err() != nil {
		return
	}
	s.marked(ctx)
	after, err := s.look(ctx)
	if err != nil {
		s.log.violation("look at the daemon after: %v", err)
	}
	s.compare(before, after)
}

// work keeps all workers busy for a time. If strict is set, every failure is a
// violation.
func (s *session) work(ctx context.Context, d time.Duration, strict bool) {
	until := time.Now().Add(d)
	w := s.hire(strict)
	w.workUntil(ctx, until)
}

// wild works while disturbances happen.
func (s *session) wild(ctx context.Context) {
	until := time.Now().Add(s.o.wild)
	w := s.hire(false)
	disturbed := make(chan struct{})
	go func() {
		defer close(disturbed)
		s.disturb(ctx, w, until)
	}()
	w.workUntil(ctx, until)
	<-disturbed
}
