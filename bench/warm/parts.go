package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// oneBurst is the number of runs of a tool in a turn on one target, where a run
// is short and a few would not be significant.
const oneBurst = 20

// one measures a command on one target from the start of a process to its end.
func one(ctx context.Context, o options, w io.Writer) error {
	f, err := farm.Real(ctx, 1, false)
	if err != nil {
		return err
	}
	o.burst = max(o.burst, oneBurst)
	rows, err := on(ctx, o, f, o.atOnce, wanted{masters: true, floor: true}, func(s *scene) []tool {
		tools := append(s.ours("command", "run", "true"), s.floors()...)
		ssh := program("ssh -S", measure.Program{Argv: []string{"ssh", "-F", s.masters.Config, "-n", s.Hosts[0], "true"}})
		cold := program("ssh, no master", measure.Program{Argv: append(append([]string{"ssh", "-F", s.SSHConfig()}, strings.Fields(farm.CheapSSH)...), "-n", s.Hosts[0], "true")})
		cold.cold = true
		tools = append(tools, s.asPeers([]tool{ssh})...)
		tools = append(tools, cold, program("a process (true)", measure.Program{Argv: []string{"true"}}))
		if o.bolt != "" {
			tools = append(tools, program("bolt --version", measure.Program{Argv: []string{o.bolt, "--version"}}))
		}
		return tools
	})
	err = errors.Join(err, print(w, "One target, from the start of the process to its end", o.pause, rows), f.Stop())
	sustained := make(map[string]measure.Sample)
	for _, r := range rows {
		sustained[r.name] = measure.Median(r.sustained)
	}
	if ours, ok := sustained["bolt, warm"]; ok {
		least := sustained["floor: an exec each"].Wall
		fmt.Fprintf(w, "\nBeyond the floor's exec, bolt takes %s ms and ssh -S %s ms.\n", ms(ours.Wall-least), ms(sustained["ssh -S"].Wall-least))
	}
	return err
}

// on measures tools on a farm with open connections.
func on(ctx context.Context, o options, f *farm.Farm, atOnce int, want wanted, tools func(*scene) []tool) (rows []row, err error) {
	fmt.Fprintf(os.Stderr, "warm: %d targets\n", len(f.Hosts))
	s, err := connectAll(ctx, o, f, atOnce, want)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return turns(ctx, o, tools(s), f, atOnce)
}

// fanout measures a command on many real servers.
func fanout(ctx context.Context, o options, w io.Writer) error {
	var all []row
	var failures []error
	for _, n := range o.sizes {
		f, err := farm.Real(ctx, n, false)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		rows, err := on(ctx, o, f, o.atOnce, wanted{masters: true, floor: true}, func(s *scene) []tool {
			return append(append(s.ours("command", "run", "true"), s.floors()...), s.peers(ctx, "true")...)
		})
		all = append(all, rows...)
		failures = append(failures, err, f.Stop())
	}
	return errors.Join(append(failures, print(w, "`true` on real SSH servers", o.pause, all))...)
}

// light measures a command on thousands of light servers.
func light(ctx context.Context, o options, w io.Writer) error {
	var all []row
	var failures []error
	for _, n := range o.light {
		f, err := farm.Light(ctx, o.farmd, n)
		if err != nil {
			return errors.Join(append(failures, err)...)
		}
		rows, err := on(ctx, o, f, o.lightAtOnce, wanted{masters: n <= o.peerLimit, floor: true}, func(s *scene) []tool {
			tools := append(s.ours("command", "run", "true"), s.floors()...)
			if n <= o.peerLimit {
				tools = append(tools, s.peers(ctx, "true")...)
			}
			return tools
		})
		all = append(all, rows...)
		failures = append(failures, err, f.Stop())
	}
	return errors.Join(append(failures, print(w, "`true` on a light server, which forks nothing", o.pause, all))...)
}

const (
	scriptSize = 20 << 10
	uploadSize = 10 << 20
)

// jobs measures larger work than true: a command that prints, a script, and a
// file, on real servers on which sessions start in a folder for each target.
func jobs(ctx context.Context, o options, w io.Writer) error {
	f, err := farm.Real(ctx, o.jobTargets, true)
	if err != nil {
		return err
	}
	script, large := filepath.Join(f.Dir, "script.sh"), filepath.Join(f.Dir, "large")
	err = errors.Join(os.WriteFile(script, makeScript(), 0o755), os.WriteFile(large, makeLarge(), 0o644))
	var failures []error
	for _, j := range []struct {
		title string
		tools func(*scene) []tool
	}{
		{"`uptime`", func(s *scene) []tool { return append(s.ours("command", "run", "uptime"), s.peers(ctx, "uptime")...) }},
		{fmt.Sprintf("A script of %d bytes", scriptSize), func(s *scene) []tool {
			return append(s.ours("script", "run", script), s.scriptPeers(script)...)
		}},
		{fmt.Sprintf("A file of %d bytes to each target", uploadSize), func(s *scene) []tool {
			tools := append(s.ours("file", "upload", large, "large"), s.uploadPeers(large)...)
			for i := range tools {
				tools[i].after = func() error { return arrived(f, "large", uploadSize) }
			}
			return tools
		}},
	} {
		if err != nil {
			break
		}
		var rows []row
		rows, err = on(ctx, o, f, o.atOnce, wanted{masters: true}, j.tools)
		failures = append(failures, err, print(w, j.title, o.pause, rows))
		err = ctx.Err()
	}
	return errors.Join(append(failures, err, f.Stop())...)
}

func (s *scene) scriptPeers(script string) []tool {
	c, config := strconv.Itoa(s.atOnce), "-F "+s.masters.Config
	return s.asPeers([]tool{
		program("xargs ssh", s.shellEach(`exec ssh -F "$1" "$0" sh -s <"$2"`, script)),
		program("clush", measure.Program{Argv: []string{"clush", "-S", "-f", c, "-o", config, "--hostfile=" + s.hostsFile(), "sh -s"}, Stdin: script}),
		program("pssh", measure.Program{Argv: []string{"parallel-ssh", "-p", c, "-I", "-h", s.hostsFile(), "-x", config, "sh -s"}, Stdin: script}),
		s.ansible("ansible script", nil, "-m", "script", "-a", script),
	})
}

func (s *scene) uploadPeers(file string) []tool {
	return s.asPeers([]tool{
		// scp uses the old protocol, because sessions here start through a
		// command, and SFTP does not.
		program("xargs scp", measure.Program{
			Argv:  []string{"xargs", "-P", strconv.Itoa(s.atOnce), "-I{}", "scp", "-O", "-q", "-F", s.masters.Config, file, "{}:large"},
			Stdin: s.hostsFile(),
		}),
		program("xargs ssh cat", s.shellEach(`exec ssh -F "$1" "$0" 'cat >large' <"$2"`, file)),
	})
}

// shellEach runs a script for each host, $0, with ssh's configuration as $1
// and a file as $2.
func (s *scene) shellEach(script, file string) measure.Program {
	return measure.Program{
		Argv:  []string{"xargs", "-P", strconv.Itoa(s.atOnce), "-I{}", "sh", "-c", script, "{}", s.masters.Config, file},
		Stdin: s.hostsFile(),
	}
}

// makeScript returns a long script that does little.
func makeScript() []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\nset -eu\n")
	for i := 0; b.Len() < scriptSize-100; i++ {
		fmt.Fprintf(&b, "value%d=%d # one of many settings of a long script\n", i, i)
	}
	b.WriteString("echo done\n")
	return []byte(b.String())
}

// makeLarge returns data that cannot be compressed.
func makeLarge() []byte {
	data := make([]byte, uploadSize)
	random := rand.NewChaCha8([32]byte{})
	random.Read(data) // never fails
	return data
}

// arrived checks the size of the file on each target and removes it.
func arrived(f *farm.Farm, name string, size int64) error {
	for _, host := range f.Hosts {
		path := filepath.Join(f.Dir, "targets", host, name)
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.Size() != size {
			return fmt.Errorf("%s has %d bytes, not %d", path, info.Size(), size)
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
