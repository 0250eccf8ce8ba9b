// Package farm starts throwaway targets for measurements: real OpenSSH
// servers (scripts/farm.sh), or a program that plays thousands of servers
// (bench/farmd).
//
// A Farm owns its folder and its processes; Stop ends both. Programs run from
// the module's root folder, where scripts/ and bench/ are.
package farm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// CheapSSH are the options that make OpenSSH's client as quick as possible: one cheap algorithm of
// each kind, and no unnecessary attempts.
const CheapSSH = "-o KexAlgorithms=curve25519-sha256 -o HostKeyAlgorithms=ssh-ed25519 -o Ciphers=aes128-gcm@openssh.com" +
	" -o PreferredAuthentications=publickey -o GSSAPIAuthentication=no -o UpdateHostKeys=no -o LogLevel=ERROR"

// A Farm is a running set of targets.
type Farm struct {
	Dir   string   // inventory.yaml, home/.ssh/config and known_hosts, hosts
	Hosts []string // the addresses
	// Servers are the processes that answer, if they are always the same: those of a light server.
	Servers []int
	stop    func() error
}

// Real starts n targets on real SSH servers. With homes, sessions on each start in a separate
// folder below Dir/targets.
func Real(ctx context.Context, n int, homes bool) (*Farm, error) {
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return nil, err
	}
	args := []string{"start", dir, strconv.Itoa(n)}
	if homes {
		args = append(args, "--homes")
	}
	f := &Farm{Dir: dir, stop: func() error {
		// ctx is not used: it may be the reason for stopping.
		out, err := exec.Command("scripts/farm.sh", "stop", dir).CombinedOutput()
		if err != nil {
			return fmt.Errorf("stop farm %s: %w: %s", dir, err, out)
		}
		return nil
	}}
	if out, err := exec.CommandContext(ctx, "scripts/farm.sh", args...).CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("start farm %s: %w: %s", dir, err, out), f.Stop())
	}
	return f.ready()
}

// LightServer returns the path of a program built from bench/farmd: the given path or, if it is "",
// the path of a program that it builds. remove removes that program.
func LightServer(ctx context.Context, given string) (program string, remove func(), err error) {
	if given != "" {
		program, err = filepath.Abs(given)
		return program, func() {}, err
	}
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return "", nil, err
	}
	program = filepath.Join(dir, "farmd")
	if out, err := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, "./bench/farmd").CombinedOutput(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("build farmd: %w: %s", err, out), os.RemoveAll(dir))
	}
	return program, func() { os.RemoveAll(dir) }, nil
}

// Light starts a farmd program with n targets. options are further arguments.
func Light(ctx context.Context, farmd string, n int, options ...string) (*Farm, error) {
	dir, err := os.MkdirTemp("", "bolt-bench.")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, farmd, append([]string{"-n", strconv.Itoa(n), "-dir", dir}, options...)...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe() // its end ends the farm
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	f := &Farm{Dir: dir, stop: func() error {
		return errors.Join(stdin.Close(), cmd.Wait())
	}}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready") {
		if err == nil || errors.Is(err, io.EOF) {
			err = fmt.Errorf("it said %q", line)
		}
		return nil, errors.Join(fmt.Errorf("start %s: %w", farmd, err), f.Stop())
	}
	for _, word := range strings.Fields(line)[1:] {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: it said %q", farmd, line), f.Stop())
		}
		f.Servers = append(f.Servers, pid)
	}
	return f.ready()
}

func (f *Farm) ready() (*Farm, error) {
	data, err := os.ReadFile(filepath.Join(f.Dir, "hosts"))
	if err != nil {
		return nil, errors.Join(err, f.Stop())
	}
	f.Hosts = strings.Fields(string(data))
	return f, nil
}

// Inventory returns the path of the inventory file.
func (f *Farm) Inventory() string { return filepath.Join(f.Dir, "inventory.yaml") }

// Home returns the home directory of the farm's user, with ssh_config and known_hosts.
func (f *Farm) Home() string { return filepath.Join(f.Dir, "home") }

// SSHConfig returns the path of the ssh_config file for ssh -F.
func (f *Farm) SSHConfig() string { return filepath.Join(f.Home(), ".ssh", "config") }

// User returns the login name in the farm's ssh_config.
func (f *Farm) User() (string, error) {
	data, err := os.ReadFile(f.SSHConfig())
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if user, ok := strings.CutPrefix(strings.TrimSpace(line), "User "); ok {
			return user, nil
		}
	}
	return "", fmt.Errorf("%s names no user", f.SSHConfig())
}

// Listeners returns the listening processes of real servers. They start other processes for each connection.
func (f *Farm) Listeners() (pids []int, err error) {
	files, err := filepath.Glob(filepath.Join(f.Dir, "sshd-*.pid"))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Stop ends the servers and removes the folder.
func (f *Farm) Stop() error {
	return errors.Join(f.stop(), os.RemoveAll(f.Dir))
}
