package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"bolt/bench/farm"
	"bolt/bench/measure"
)

// A tool is one way to run `true` on all hosts of a farm.
type tool struct {
	name    string
	needs   string // the program that must be installed, "" for bolt
	stock   bool   // in its default configuration, and slow
	limit   int    // largest number of targets, 0: any
	program func(options, *farm.Farm) measure.Program
}

func realTools() []tool {
	return []tool{
		{name: "bolt", program: bolt(0)},
		{name: "xargs ssh", needs: "ssh", program: xargs(farm.CheapSSH)},
		{name: "xargs ssh, stock", needs: "ssh", stock: true, program: xargs("")},
		{name: "clush", needs: "clush", program: clush},
		{name: "pdsh", needs: "pdsh", program: pdsh},
		{name: "pssh", needs: "parallel-ssh", program: pssh},
		{name: "ansible raw", needs: "ansible", program: ansible},
	}
}

func lightTools() []tool {
	return []tool{
		{name: "bolt", program: bolt(0)},
		{name: "bolt -c 1000", program: bolt(1000)},
		{name: "xargs ssh", needs: "ssh", limit: 1000, program: xargs(farm.CheapSSH)},
	}
}

// bolt opens new connections each time, as its peers do here (bench/warm is for open
// connections). Its home contains the farm's known_hosts, so that it checks host keys as
// its peers do.
func bolt(concurrency int) func(options, *farm.Farm) measure.Program {
	return func(o options, f *farm.Farm) measure.Program {
		c := o.concurrency
		if concurrency > 0 {
			c = concurrency
		}
		return measure.Program{
			Argv: []string{o.bolt, "command", "run", "true", "-t", "all", "-i", f.Inventory(), "-c", strconv.Itoa(c), "--format", "json"},
			Env:  []string{"HOME=" + f.Home(), "SSH_AUTH_SOCK=", "BOLT_POOL=off"},
			Dir:  f.Dir,
		}
	}
}

func xargs(sshOptions string) func(options, *farm.Farm) measure.Program {
	return func(o options, f *farm.Farm) measure.Program {
		argv := []string{"xargs", "-P", strconv.Itoa(o.concurrency), "-I{}", "ssh", "-F", f.SSHConfig()}
		argv = append(argv, strings.Fields(sshOptions)...)
		return measure.Program{Argv: append(argv, "-n", "{}", "true"), Stdin: hosts(f)}
	}
}

func clush(o options, f *farm.Farm) measure.Program {
	return measure.Program{Argv: []string{
		"clush", "-S", "-f", strconv.Itoa(o.concurrency), "-o", "-F " + f.SSHConfig() + " " + farm.CheapSSH, "--hostfile=" + hosts(f), "true",
	}}
}

func pdsh(o options, f *farm.Farm) measure.Program {
	return measure.Program{
		Argv: []string{"pdsh", "-S", "-R", "ssh", "-f", strconv.Itoa(o.concurrency), "-w", "^" + hosts(f), "true"},
		Env:  []string{"PDSH_SSH_ARGS_APPEND=-F " + f.SSHConfig() + " " + farm.CheapSSH},
	}
}

func pssh(o options, f *farm.Farm) measure.Program {
	return measure.Program{Argv: []string{
		"parallel-ssh", "-p", strconv.Itoa(o.concurrency), "-h", hosts(f), "-x", "-F " + f.SSHConfig() + " " + farm.CheapSSH, "true",
	}}
}

// ansible returns ansible in its quickest form: the raw module needs nothing on the target,
// and no master connection is left behind.
func ansible(o options, f *farm.Farm) measure.Program {
	return measure.Program{
		Argv: []string{"ansible", "all", "-i", hosts(f), "-m", "raw", "-a", "true", "-f", strconv.Itoa(o.concurrency)},
		Env: []string{
			"ANSIBLE_SSH_ARGS=-F " + f.SSHConfig() + " -o ControlMaster=no " + farm.CheapSSH,
			"ANSIBLE_PIPELINING=1", "ANSIBLE_LOCAL_TEMP=" + filepath.Join(f.Dir, "ansible"), "LC_ALL=C.UTF-8",
		},
	}
}

func hosts(f *farm.Farm) string { return filepath.Join(f.Dir, "hosts") }
