package main

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"

	"bolt/bench/ansible"
	"bolt/bench/daemon"
	"bolt/bench/farm"
	"bolt/bench/masters"
	"bolt/bench/measure"
)

// A scene is a farm to which every tool holds connections.
type scene struct {
	*farm.Farm
	o       options
	atOnce  int
	masters *masters.Masters //  nil: too many targets for a process each
	floor   *floor           // nil without
	daemon  *daemon.Daemon   // nil: bolt has none
	pid     int              // the daemon's
}

// wanted selects the connections of a scene besides bolt's.
type wanted struct{ masters, floor bool }

// connectAll opens the connections of all tools to a farm.
func connectAll(ctx context.Context, o options, f *farm.Farm, atOnce int, want wanted) (s *scene, err error) {
	s = &scene{Farm: f, o: o, atOnce: atOnce}
	if want.masters {
		s.masters, err = masters.Start(ctx, f)
	}
	if want.floor && err == nil {
		s.floor, err = hold(ctx, f, atOnce)
	}
	if err == nil && o.bolt != "" && o.daemon {
		err = s.startDaemon(ctx)
		if err == nil {
			err = s.warmUp(ctx)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *scene) startDaemon(ctx context.Context) (err error) {
	if s.daemon, err = daemon.New(s.o.bolt, s.Home()); err != nil {
		return err
	}
	if err := s.daemon.Start(ctx); err != nil {
		return err
	}
	status, err := s.daemon.Status(ctx)
	if err != nil {
		return err
	}
	s.pid = status.PID
	return nil
}

// dialsAtOnce is the number of connections that are opened at a time before
// the measurement. Handshakes only take processor time, so that more of them
// would only wait.
const dialsAtOnce = 100

// warmUp makes the daemon connect to all targets.
func (s *scene) warmUp(ctx context.Context) error {
	_, err := s.boltWarm("", dialsAtOnce, "command", "run", "true").run(ctx)
	return err
}

// close ends all connections, but not the farm.
func (s *scene) close(ctx context.Context) error {
	var failures []error
	if s.masters != nil {
		failures = append(failures, s.masters.Stop())
	}
	if s.floor != nil {
		failures = append(failures, s.floor.close())
	}
	if s.daemon != nil {
		failures = append(failures, s.daemon.Stop(ctx))
	}
	return errors.Join(failures...)
}

// hostsFile returns the file with the targets' addresses.
func (s *scene) hostsFile() string { return filepath.Join(s.Dir, "hosts") }

// bolt returns an action of bolt on all targets. It checks host keys as its
// peers do: its home contains the farm's known_hosts.
func (s *scene) bolt(env []string, atOnce int, pool string, action ...string) measure.Program {
	argv := append([]string{s.o.bolt}, action...)
	argv = append(argv, "-t", "all", "-i", s.Inventory(), "-c", strconv.Itoa(atOnce), "--format", "json")
	if s.o.daemon {
		argv = append(argv, "--pool", pool)
	}
	return measure.Program{Argv: argv, Env: env, Dir: s.Dir}
}

func (s *scene) boltCold(action ...string) tool {
	t := program("bolt, no daemon", s.bolt([]string{"HOME=" + s.Home(), "SSH_AUTH_SOCK="}, s.atOnce, "off", action...))
	t.cold = true
	return t
}

func (s *scene) boltWarm(suffix string, atOnce int, action ...string) tool {
	t := program("bolt, warm"+suffix, s.bolt(s.daemon.Env(), atOnce, "required", action...))
	t.behind, t.atOnce = []int{s.pid}, atOnce
	return t
}

// ours returns bolt's ways to do an action.
func (s *scene) ours(action ...string) []tool {
	if s.o.bolt == "" {
		return nil
	}
	var tools []tool
	if s.daemon != nil {
		tools = append(tools, s.boltWarm("", s.atOnce, action...))
		if len(s.Hosts) > s.atOnce {
			tools = append(tools, s.boltWarm(", all at once", len(s.Hosts), action...))
		}
	}
	return append(tools, s.boltCold(action...))
}

// floors returns the bare loops over open connections.
func (s *scene) floors() []tool {
	if s.floor == nil {
		return nil
	}
	return []tool{
		{name: "floor: an exec each", run: func(context.Context) (measure.Sample, error) { return s.floor.round(s.floor.exec) }},
	}
}

// ansibleLimit is the largest number of targets on which ansible is measured:
// it takes a tenth of a second for each.
const ansibleLimit = 200

// peers returns the tools that run a command line over the master connections.
func (s *scene) peers(ctx context.Context, line string) []tool {
	if s.masters == nil {
		return nil
	}
	c, config := strconv.Itoa(s.atOnce), "-F "+s.masters.Config
	tools := []tool{
		program("xargs ssh", measure.Program{
			Argv:  []string{"xargs", "-P", c, "-I{}", "ssh", "-F", s.masters.Config, "-n", "{}", line},
			Stdin: s.hostsFile(),
		}),
		program("clush", measure.Program{Argv: []string{"clush", "-S", "-f", c, "-o", config, "--hostfile=" + s.hostsFile(), line}}),
		program("pdsh", measure.Program{
			Argv: []string{"pdsh", "-S", "-R", "ssh", "-f", c, "-w", "^" + s.hostsFile(), line},
			Env:  []string{"PDSH_SSH_ARGS_APPEND=" + config},
		}),
		program("pssh", measure.Program{Argv: []string{"parallel-ssh", "-p", c, "-h", s.hostsFile(), "-x", config, line}}),
	}
	if len(s.Hosts) <= ansibleLimit {
		tools = append(tools, s.ansible("ansible raw", nil, "-m", "raw", "-a", line))
		if mitogen := ansible.Mitogen(ctx); mitogen != nil {
			tools = append(tools, s.ansible("ansible with mitogen", mitogen, "-m", "command", "-a", line))
		}
	}
	return s.asPeers(tools)
}

// asPeers charges the masters to tools that use them.
func (s *scene) asPeers(tools []tool) []tool {
	for i := range tools {
		tools[i].kind, tools[i].behind = peer, s.masters.PIDs()
	}
	return tools
}

// ansible returns ansible in its quickest form. If its ssh arguments do not
// mention master connections, it adds none of its own, and uses those of the
// configuration.
func (s *scene) ansible(name string, env []string, module ...string) tool {
	argv := append([]string{"ansible", "all", "-i", s.hostsFile(), "-f", strconv.Itoa(s.atOnce)}, module...)
	return program(name, measure.Program{Argv: argv, Env: append(env, ansible.Environ("-F "+s.masters.Config, s.Dir)...)})
}
