package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/term"

	"bolt/transport/process"
)

// The test program is also docker, podman and lxc, if it is called by these
// names. It accepts the command lines in the programs' manuals. It runs the
// requested command on the test's machine, so that the conformance suite can
// check it. A variable names the file with its containers.

// varWorld is the variable with the directory of a fake program's world:
//
//	containers   a line for each container: ID, name, state, user
//	say          text to print on stderr; then the program ends with status 1
//	flood        the command that prints forever
//	hang         the command that prints nothing and never ends
//	pid          gets the process ID of the program that runs a command
//	log          gets the command lines
const varWorld = "BOLT_TEST_CONTAINERS"

func TestMain(m *testing.M) {
	if name := filepath.Base(os.Args[0]); slices.Contains([]string{"docker", "podman", "lxc"}, name) {
		os.Exit(fake(name, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// world is the directory of the fake programs.
type world struct{ dir string }

// newWorld puts fake programs on PATH, and creates a container web whose ID
// begins with c0ffee.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t.TempDir()}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"docker", "podman", "lxc"} {
		if err := os.Symlink(self, filepath.Join(w.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", w.dir+":"+os.Getenv("PATH"))
	t.Setenv(varWorld, w.dir)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // otherwise each program waits a second at its end
	w.put(t, "containers", "c0ffee0001 web running root\nc0ffee0002 db exited root\nc0ffee0003 cache paused root\n")
	return w
}

func (w *world) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) read(name string) string {
	b, _ := os.ReadFile(filepath.Join(w.dir, name)) // "" if the file does not exist
	return string(b)
}

func complain(status int, format string, args ...any) int {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	return status
}

func fake(name string, args []string) int {
	w := &world{os.Getenv(varWorld)}
	f, err := os.OpenFile(filepath.Join(w.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return complain(99, "%v", err)
	}
	fmt.Fprintf(f, "%s %q DOCKER_HOST=%s\n", name, args, os.Getenv("DOCKER_HOST"))
	f.Close()
	if text := w.read("say"); text != "" {
		fmt.Fprint(os.Stderr, text)
		return 1
	}
	if w.read("hang") == args[0] {
		for {
			time.Sleep(time.Hour)
		}
	}
	for w.read("flood") == args[0] {
		if _, err := io.WriteString(os.Stdout, strings.Repeat("garbage ", 1000)); err != nil {
			return 1
		}
	}
	switch {
	case name == "lxc" && args[0] == "list":
		return w.list(args[1:])
	case name == "lxc" && args[0] == "exec":
		return w.lxcExec(args[1:])
	case args[0] == "inspect":
		return w.inspect(args[1:])
	case args[0] == "exec":
		return w.dockerExec(args[1:])
	}
	return complain(125, "unknown command: %q", args)
}

// find searches a container as docker does: by ID, name, or the beginning of an
// ID.
func (w *world) find(name string) []string {
	var prefixed []string
	for line := range strings.Lines(w.read("containers")) {
		f := strings.Fields(line)
		if f[0] == name || f[1] == name {
			return f
		}
		if strings.HasPrefix(f[0], name) {
			if prefixed != nil {
				return []string{""}
			}
			prefixed = f
		}
	}
	return prefixed
}

func (w *world) inspect(args []string) int {
	if len(args) != 5 || args[0] != "--type" || args[1] != "container" || args[2] != "--format" || args[3] != "{{.Id}} {{.State.Status}} {{.Config.User}}" {
		return complain(125, "unknown flags %q", args)
	}
	c := w.find(args[4])
	switch len(c) {
	case 0:
		return complain(1, "\nError: No such container: %s", args[4])
	case 1:
		return complain(1, "\nError response from daemon: Multiple IDs found with provided prefix: %s", args[4])
	}
	fmt.Println(c[0], c[2], c[3])
	return 0
}

func (w *world) list(args []string) int {
	if len(args) != 6 || !slices.Equal(args[2:], []string{"--format", "csv", "-c", "ns"}) {
		return complain(1, "Error: unknown flags %q", args)
	}
	if args[0] != "local:" && args[0] != "far:" {
		return complain(1, "Error: The remote %q doesn't exist", args[0])
	}
	name := strings.TrimSuffix(strings.TrimPrefix(args[1], "^"), "$")
	if c := w.find(name); len(c) > 1 {
		fmt.Printf("%s,%s\n", c[1], strings.ToUpper(strings.ReplaceAll(c[2], "exited", "stopped")))
	}
	return 0
}

func (w *world) dockerExec(args []string) int {
	var tty, in bool
	var as string
	for ; len(args) > 0 && strings.HasPrefix(args[0], "-"); args = args[1:] {
		switch args[0] {
		case "-i":
			in = true
		case "-t":
			tty = true
		case "-u":
			as, args = args[1], args[1:]
		case "--detach-keys":
			args = args[1:]
		default:
			return complain(125, "unknown flag: %s", args[0])
		}
	}
	c := w.find(args[0])
	switch {
	case len(c) < 2:
		return complain(1, "Error: No such container: %s", args[0])
	case c[2] != "running":
		return complain(1, "Error response from daemon: Container %s is not running", c[0])
	}
	if as == "" {
		as = c[3]
	}
	return contain(args[1:], as, tty, in)
}

func (w *world) lxcExec(args []string) int {
	remote, name, ok := strings.Cut(args[0], ":")
	c := w.find(name)
	if !ok || remote != "local" && remote != "far" || len(c) < 2 || c[2] != "running" {
		return complain(1, "Error: Instance not found")
	}
	if args[1] != "--mode" {
		return complain(1, "Error: unknown flags %q", args)
	}
	tty, as := args[2] == "interactive", ""
	if args = args[3:]; args[0] == "--user" {
		u, err := user.LookupId(args[1])
		if err != nil {
			return complain(1, "Error: %v", err)
		}
		as, args = u.Username, args[2:]
	}
	if args[0] != "--" {
		return complain(1, "Error: unknown flags %q", args)
	}
	return contain(args[1:], as, tty, true)
}

// contain runs a program like a container: in its own session, in the user's
// home directory, and with its own terminal if tty is set.
func contain(argv []string, as string, tty, in bool) int {
	account, err := user.Lookup(as)
	if err != nil {
		account, err = user.Lookup("root")
	}
	if err != nil {
		return complain(126, "unable to find user %s", as)
	}
	uid, _ := strconv.Atoi(account.Uid)
	gid, _ := strconv.Atoi(account.Gid)
	path, err := exec.LookPath(argv[0])
	if err != nil || os.Getenv("BOLT_TEST_NO_SH") != "" {
		return complain(126, "OCI runtime exec failed: exec failed: unable to start container process: exec: %q: executable file not found in $PATH: unknown", argv[0])
	}
	if err := os.Chdir(account.HomeDir); err != nil {
		return complain(126, "%v", err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv(varWorld), "pid"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return complain(99, "%v", err)
	}
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + account.HomeDir, "LANG=C.UTF-8"}
	cred := &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if tty {
		return onTerminal(process.Options{Path: path, Args: argv, Env: env, TTY: true, Credential: cred})
	}
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdout: os.Stdout, Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Setsid: true, Credential: cred}}
	if in {
		cmd.Stdin = os.Stdin
	}
	if err := cmd.Start(); err != nil {
		return complain(126, "%v", err)
	}
	// Only the caller must hold the other end of the standard input.
	os.Stdin.Close()
	return status(cmd.Wait())
}

// status returns the exit status as docker reports it.
func status(err error) int {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return 0
	}
	if ws := exit.Sys().(syscall.WaitStatus); ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

// onTerminal connects a terminal with a terminal of the container. As with
// docker, the end of the program does not end the command.
func onTerminal(o process.Options) int {
	if !term.IsTerminal(0) {
		return complain(1, "the input device is not a TTY")
	}
	signal.Ignore(syscall.SIGHUP)
	old, err := term.MakeRaw(0)
	if err != nil {
		return complain(1, "%v", err)
	}
	defer term.Restore(0, old)
	s, err := process.Start(o)
	if err != nil {
		return complain(126, "%v", err)
	}
	go io.Copy(s.Stdin(), os.Stdin)
	io.Copy(os.Stdout, s.Stdout())
	st, err := s.Wait()
	s.Close()
	if err != nil || st.Signal != "" {
		return 137
	}
	return st.Code
}

// within returns a context that ends a hanging test.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
