package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bolt/internal/sshtest"
	"bolt/pool/wire"
)

// A desk is the working environment of a user: a home, a project, a pool daemon.
type desk struct {
	t    *testing.T
	dir  string
	home string
	env  []string
}

func newDesk(t *testing.T, server *sshtest.Server) *desk {
	t.Helper()
	d := &desk{t: t, dir: t.TempDir()}
	d.home = filepath.Join(d.dir, "home")
	if err := writeHome(d.home, server); err != nil {
		t.Fatal(err)
	}
	d.env = append(os.Environ(), "HOME="+d.home, "BOLT_PROJECT="+d.dir, "SSH_AUTH_SOCK=", ownPool(t))
	return d
}

func (d *desk) socket() string {
	return strings.TrimPrefix(d.env[len(d.env)-1], "BOLT_POOL_SOCKET=")
}

// command returns a bolt process that is not started.
func (d *desk) command(args ...string) *exec.Cmd {
	d.t.Helper()
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = "bolt"
	cmd.Dir, cmd.Env = d.dir, d.env
	return cmd
}

// bolt runs the program and returns its output with standard error.
func (d *desk) bolt(args ...string) (string, int) {
	d.t.Helper()
	cmd := d.command(args...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

// works runs the program, which must succeed.
func (d *desk) works(args ...string) string {
	d.t.Helper()
	out, code := d.bolt(args...)
	if code != 0 {
		d.t.Fatalf("bolt %q: exit %d\n%s", args, code, out)
	}
	return out
}

func (d *desk) status() *wire.Status {
	d.t.Helper()
	var s wire.Status
	if err := json.Unmarshal([]byte(d.works("pool", "status", "--format", "json")), &s); err != nil {
		d.t.Fatal(err)
	}
	return &s
}

// inTime waits for a process, and fails if it hangs.
func inTime(t *testing.T, cmd *exec.Cmd, limit time.Duration) {
	t.Helper()
	hung := time.AfterFunc(limit, func() {
		t.Errorf("%q hangs", cmd.Args)
		_ = cmd.Process.Kill()
	})
	defer hung.Stop()
	_ = cmd.Wait()
}

// TestPoolDaemonKilled checks that every target ends with a result, and that the next
// invocation starts a new daemon.
func TestPoolDaemonKilled(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	d := newDesk(t, server)
	const mark = "4712.25"
	cmd := d.command("command", "run", "sleep "+mark, "-t", "host1,host2,host3", "--format", "json")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "three commands", func() bool { return sleepers(t, mark) == 3 })
	first := d.status().PID
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if n := strings.Count(out.String(), "puppetlabs.tasks/lost-error"); n != 3 || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%d of 3 results are lost, exit %d:\n%s", n, cmd.ProcessState.ExitCode(), out.String())
	}
	until(t, "end of the commands", func() bool { return sleepers(t, mark) == 0 })
	d.works("command", "run", "true", "-t", "host1")
	if pid := d.status().PID; pid == first {
		t.Error("the killed daemon still answers")
	}
}

// TestPoolClientKilled checks that the commands of a killed invocation end, and that the
// connection stays.
func TestPoolClientKilled(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	const mark = "4712.5"
	cmd := d.command("command", "run", "sleep "+mark, "-t", "host1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { return sleepers(t, mark) == 1 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	until(t, "its end", func() bool { return sleepers(t, mark) == 0 })
	d.works("command", "run", "true", "-t", "host1")
	if s := d.status(); s.Dials != 1 {
		t.Errorf("%d dials, want one", s.Dials)
	}
}

// TestPoolForwardsAgent checks that the daemon forwards the agent of the invocation,
// only to targets with forward-agent.
func TestPoolForwardsAgent(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	inventory := "targets:\n- {name: with, uri: host1, config: {ssh: {forward-agent: true}}}\n- {name: without, uri: host1}\n"
	if err := os.WriteFile(filepath.Join(d.dir, "inventory.yaml"), []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	list := func(agent, with string) {
		t.Helper()
		d.env[len(d.env)-2] = "SSH_AUTH_SOCK=" + agent
		for name, want := range map[string]string{"with": with, "without": "Could not open"} {
			if out, _ := d.bolt("command", "run", "ssh-add -l 2>&1", "-t", name); !strings.Contains(out, want) {
				t.Errorf("target %q, agent %q: want %q, got:\n%s", name, agent, want, out)
			}
		}
	}
	full, empty := startAgent(t, server.KeyFile), startAgent(t, "")
	for range 2 {
		list(full, "ED25519")
		list(empty, "The agent has no identities")
		list("", "SSH_AUTH_SOCK is not set")
	}
	if s := d.status(); s.Dials != 5 {
		t.Errorf("%d dials, want one for each agent with and without forwarding, and one without an agent", s.Dials)
	}
}

// startAgent starts an ssh-agent with a key, if one is given, and returns its socket.
func startAgent(t *testing.T, key string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bolt-agent") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "agent")
	agent := exec.Command("ssh-agent", "-D", "-a", socket)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = agent.Process.Kill()
		_ = agent.Wait()
	})
	until(t, "the agent listens", func() bool {
		c, err := net.Dial("unix", socket)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	if key != "" {
		add := exec.Command("ssh-add", key)
		add.Env = append(os.Environ(), "SSH_AUTH_SOCK="+socket)
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("ssh-add: %v\n%s", err, out)
		}
	}
	return socket
}

// TestPoolDaemonStopped checks that a suspended daemon does not block invocations, and
// continues when it is resumed.
func TestPoolDaemonStopped(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	d.works("command", "run", "true", "-t", "host1")
	pid := d.status().PID
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(pid, s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	until(t, "all threads of the daemon have stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(f string) bool {
			text, _ := os.ReadFile(f)
			return !strings.Contains(string(text), ") T ")
		})
	})
	begin := time.Now()
	out, code := d.bolt("command", "run", "echo here", "-t", "host1")
	if code != 0 || !strings.Contains(out, "here") || !strings.Contains(out, "Connecting without the pool daemon") {
		t.Errorf("auto, with a stopped daemon: exit %d\n%s", code, out)
	}
	if took := time.Since(begin); took > 45*time.Second {
		t.Errorf("it took %v", took)
	}
	if out, code := d.bolt("command", "run", "echo here", "-t", "host1", "--pool", "required"); code != 1 || !strings.Contains(out, "required") {
		t.Errorf("required, with a stopped daemon: exit %d\n%s", code, out)
	}
	signal(syscall.SIGCONT)
	d.works("command", "run", "true", "-t", "host1", "--pool", "required")
	if s := d.status(); s.Dials != 1 || s.PID != pid {
		t.Errorf("pid %d with %d dials, want %d with one", s.PID, s.Dials, pid)
	}
}

// TestPoolConfigChanges checks that changes of ssh_config, known_hosts and the server
// take effect immediately.
func TestPoolConfigChanges(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	file := func(name string) string { return filepath.Join(d.home, ".ssh", name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config, known := readFile(t, file("config")), readFile(t, file("known_hosts"))
	d.works("command", "run", "true", "-t", "host1")

	write("config", "Host host1\n  User nobody-of-this-name\n"+config)
	if out, code := d.bolt("command", "run", "true", "-t", "host1"); code != 1 || !strings.Contains(out, "Authentication failed for user nobody-of-this-name") {
		t.Errorf("another user in ssh_config: exit %d\n%s", code, out)
	}
	write("config", config)
	d.works("command", "run", "true", "-t", "host1")
	if s := d.status(); s.Dials != 1 {
		t.Errorf("%d dials, want one: the connection is as good as before", s.Dials)
	}

	revoked := ""
	for line := range strings.Lines(known) {
		revoked += "@revoked " + line
	}
	write("known_hosts", revoked)
	if out, code := d.bolt("command", "run", "true", "-t", "host1"); code != 1 || !strings.Contains(out, "HOST_KEY_ERROR") && !strings.Contains(out, "revoked") {
		t.Errorf("host key revoked while connected: exit %d\n%s", code, out)
	}
	if s := d.status(); len(s.Connections) != 0 {
		t.Errorf("the connection to a revoked key is kept: %+v", s.Connections)
	}
	write("known_hosts", known)
	d.works("command", "run", "true", "-t", "host1")

	// Another server, with another key, at the same address.
	server.Kill()
	impostor := sshtest.Start(t, sshtest.Options{})
	write("config", strings.ReplaceAll(config, fmt.Sprint(server.Port), fmt.Sprint(impostor.Port)))
	write("known_hosts", strings.ReplaceAll(known, fmt.Sprint(server.Port), fmt.Sprint(impostor.Port)))
	if out, code := d.bolt("command", "run", "true", "-t", "host1"); code != 1 || !strings.Contains(out, "Host key verification failed") {
		t.Errorf("another host key: exit %d\n%s", code, out)
	}
}

// TestPoolManyClients checks that fifty invocations at the same time start one daemon
// and use one connection.
func TestPoolManyClients(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			word := fmt.Sprintf("client-%d-", i)
			out, code := d.bolt("command", "run", "echo "+word, "-t", "host1", "--pool", "required")
			if code != 0 || !strings.Contains(out, word) {
				t.Errorf("exit %d, want the word %s\n%s", code, word, out)
			}
		})
	}
	wg.Wait()
	if s := d.status(); s.Runs != 50 || s.Dials > 4 {
		t.Errorf("%d runs over %d dials, want 50 over few", s.Runs, s.Dials)
	}
}

// TestPoolTwoUsers checks that another user of the machine cannot use a daemon.
func TestPoolTwoUsers(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	d.works("command", "run", "true", "-t", "host1")
	for _, path := range []string{d.socket(), filepath.Dir(d.socket())} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	// Even if the directory lets other users in, the daemon's own check rejects them.
	if err := os.Chmod(filepath.Dir(d.socket()), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.socket(), 0o777); err != nil {
		t.Fatal(err)
	}
	probe := exec.Command("/usr/bin/python3", "-c", `
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.settimeout(10)
try:
    s.sendall(b"x")
    data = s.recv(100)
except ConnectionError: data = b""
sys.exit(len(data))`, d.socket())
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := probe.CombinedOutput(); err != nil {
		t.Errorf("a stranger was not turned away at once: %v\n%s", err, out)
	}
	// A client does not use files that other users could have put there.
	if out, code := d.bolt("command", "run", "true", "-t", "host1", "--pool", "required"); code != 1 || !strings.Contains(out, "required") {
		t.Errorf("a directory that is open to others: exit %d\n%s", code, out)
	}
	if err := os.Chmod(filepath.Dir(d.socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.socket(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPoolDiskFull checks that without space for a socket and a log, bolt connects by
// itself and reports the reason.
func TestPoolDiskFull(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	full := filepath.Join(d.dir, "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", full, "tmpfs", 0, "size=4k,nr_inodes=1,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(full, unix.MNT_DETACH) })
	d.env = append(d.env, "BOLT_POOL_SOCKET="+filepath.Join(full, "pool.sock"))
	out, code := d.bolt("command", "run", "echo here", "-t", "host1")
	if code != 0 || !strings.Contains(out, "here") || !strings.Contains(out, "no space left on device") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestPoolFewFiles checks that at the limit of descriptors, idle connections are closed.
func TestPoolFewFiles(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{Config: "MaxStartups 100\n"})
	d := newDesk(t, server)
	start := exec.Command("bash", "-c", `ulimit -n 40; exec -a bolt "$0" "$@"`, d.command().Path, "pool", "start")
	start.Dir, start.Env = d.dir, d.env
	if out, err := start.CombinedOutput(); err != nil {
		t.Fatalf("bolt pool start: %v\n%s", err, out)
	}
	var hosts []string
	for i := range 60 {
		hosts = append(hosts, fmt.Sprintf("host%d", i))
	}
	for some := range slices.Chunk(hosts, 10) {
		d.works("command", "run", "true", "-t", strings.Join(some, ","), "--concurrency", "4", "--pool", "required")
	}
	if s := d.status(); len(s.Connections) == 0 || len(s.Connections) >= 40 {
		t.Errorf("%d connections are kept, with 40 descriptors", len(s.Connections))
	}
}

// TestPoolNewVersion checks that a newer program replaces an idle daemon of an older
// version.
func TestPoolNewVersion(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	d.works("command", "run", "true", "-t", "host1")
	first := d.status().PID
	newer := filepath.Join(t.TempDir(), "bolt")
	data, err := os.ReadFile(d.command().Path)
	if err != nil {
		t.Fatal(err)
	}
	// A process that another test starts meanwhile must not inherit the file while it is
	// open: the kernel refuses to run such a file (ETXTBSY).
	syscall.ForkLock.RLock()
	err = os.WriteFile(newer, data, 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	cmd := d.command("command", "run", "true", "-t", "host1", "--pool", "required")
	cmd.Path = newer
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the newer program: %v\n%s", err, out)
	}
	if second := d.status().PID; second == first {
		t.Error("the older daemon still serves")
	}
	// The older program uses the newer daemon.
	d.works("command", "run", "true", "-t", "host1", "--pool", "required")
}

// TestPoolSocketActivation has a service manager that listens, and starts the daemon
// with the socket at the first connection.
func TestPoolSocketActivation(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	if err := os.MkdirAll(filepath.Dir(d.socket()), 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	socket := os.NewFile(uintptr(fd), "socket")
	defer socket.Close()
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: d.socket()}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 10); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(d.socket(), 0o600); err != nil {
		t.Fatal(err)
	}
	serve := exec.Command("bash", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec -a bolt "$0" pool serve`, d.command().Path)
	serve.Dir, serve.Env = d.dir, d.env
	serve.ExtraFiles = []*os.File{socket}
	var log lockedBuffer
	serve.Stderr = &log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	d.works("command", "run", "true", "-t", "host1", "--pool", "required")
	if pid := d.status().PID; pid != serve.Process.Pid {
		t.Errorf("pid %d serves, want %d", pid, serve.Process.Pid)
	}
	d.works("pool", "stop")
	inTime(t, serve, time.Minute)
	if code := serve.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d\n%s", code, log.String())
	}
	if _, err := os.Stat(d.socket()); err != nil {
		t.Errorf("the service manager's socket is gone: %v", err)
	}
	os.Remove(d.socket())
}

// TestPoolInheritsNothing checks that a daemon holds no lock and no pipe of the process
// that started it.
func TestPoolInheritsNothing(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	lock := filepath.Join(d.dir, "lock")
	cmd := exec.Command("bash", "-c", `exec 9>"$1"; flock 9; exec 250>&1; exec -a bolt "$0" command run true -t host1 --pool required`, d.command().Path, lock)
	cmd.Dir, cmd.Env = d.dir, d.env
	var out bytes.Buffer
	cmd.Stdout = &out // a pipe: Wait waits for its last writer
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	inTime(t, cmd, time.Minute)
	if !cmd.ProcessState.Success() {
		t.Fatalf("%v\n%s", cmd.ProcessState, out.String())
	}
	d.status() // it runs
	if out, err := exec.Command("flock", "-n", lock, "true").CombinedOutput(); err != nil {
		t.Errorf("the lock is held by the daemon: %v %s", err, out)
	}
}

// TestPoolStartUpFileChanges checks that a start-up file that begins to end all sessions
// is detected on a connection that has worked before.
func TestPoolStartUpFileChanges(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	server := sshtest.Start(t, sshtest.Options{Config: "SetEnv HOME=" + home + " SHLVL=0\n"})
	d := newDesk(t, server)
	d.works("command", "run", "true", "-t", "host1")
	if err := os.WriteFile(filepath.Join(home, ".bashrc"), []byte("exit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.Sleep(6 * time.Second) // the burst of commands is over
	if out, code := d.bolt("command", "run", "touch "+home+"/x", "-t", "host1"); code != 1 || !strings.Contains(out, "has no proof that it ran the command") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestPoolNetworkNamespace checks that a client in another network does not use the
// daemon's connections, because its addresses mean other machines.
func TestPoolNetworkNamespace(t *testing.T) {
	t.Parallel()
	server := sshtest.Start(t, sshtest.Options{})
	d := newDesk(t, server)
	d.works("command", "run", "true", "-t", "host1")
	cmd := d.command("command", "run", "true", "-t", "host1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "is in another network namespace") {
		t.Errorf("exit %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
}
