package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"bolt/bench/farm"
)

// latency measures typical work over networks of several round-trip times: a
// command, a task, a script, and a task with a larger file.
func latency(ctx context.Context, o options, w io.Writer) error {
	var failures []error
	for _, rtt := range o.roundTrips {
		var all []row
		for _, n := range o.latencySizes {
			rows, err := latencyOf(ctx, o, n, rtt)
			all = append(all, rows...)
			failures = append(failures, err)
		}
		title := fmt.Sprintf("Work over a round trip of %v", rtt)
		failures = append(failures, print(w, title, o.pause, all))
	}
	return errors.Join(failures...)
}

func latencyOf(ctx context.Context, o options, n int, rtt time.Duration) (rows []row, err error) {
	f, err := farm.Real(ctx, n, false)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Stop()) }()
	if rtt > 0 {
		if err := f.Delay(rtt); err != nil {
			return nil, err
		}
	}
	modules, script := filepath.Join(f.Dir, "modules"), filepath.Join(f.Dir, "script.sh")
	err = errors.Join(writeTask(modules), os.WriteFile(script, makeScript(), 0o755))
	if err != nil {
		return nil, err
	}
	return on(ctx, o, f, o.atOnce, wanted{masters: true}, func(s *scene) []tool {
		if s.daemon == nil {
			return nil
		}
		do := func(name string, action ...string) tool { return s.boltWarm(", "+name, s.atOnce, action...) }
		tools := []tool{
			do("command", "command", "run", "uptime"),
			do("task", "task", "run", taskName, "name=you", "count=3", "-m", modules),
			do("script of 20 KB", "script", "run", script),
			do("task with a file of 200 KB", "task", "run", bulkyName, "-m", modules),
		}
		ssh := s.peers(ctx, "uptime")[:1]
		ssh[0].name += ", command"
		stdin := s.scriptPeers(script)[:1]
		stdin[0].name += ", script of 20 KB"
		return append(tools, append(ssh, stdin...)...)
	})
}
