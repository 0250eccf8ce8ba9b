package container

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"bolt/transport"
	"bolt/transport/transporttest"
)

func TestConformance(t *testing.T) {
	newWorld(t)
	d := NewDialer(Options{Environ: os.Environ()})
	to := transport.Dest{Protocol: "docker", Host: "web"}
	transporttest.TestDialerAtOnce(t, func(*testing.T) (transport.Dialer, transport.Dest, transporttest.Env) {
		return d, to, transporttest.Env{StartsHome: true, KilledBy: transporttest.ByNumber, As: func(t *testing.T, u transporttest.User) (transport.Dialer, transport.Dest) {
			to := to
			to.User = u.Name
			return d, to
		}}
	})
}

// TestEachTool checks the different command lines of the programs.
func TestEachTool(t *testing.T) {
	w := newWorld(t)
	u := transporttest.Users(t).Denied
	account, err := user.Lookup(u.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		to    transport.Dest
		calls string // calls of the program for the following command
	}{
		{transport.Dest{Protocol: "docker", Host: "web", Options: Tool{Service: "unix:///x y", Shell: "bash\x00-lc"}},
			`docker ["inspect" "--type" "container" "--format" "{{.Id}} {{.State.Status}} {{.Config.User}}" "web"] DOCKER_HOST=unix:///x y
docker ["exec" "-i" "c0ffee0001" "sh" "-c" … "bash" "-lc" …] DOCKER_HOST=unix:///x y
`},
		{transport.Dest{Protocol: "podman", Host: "c0ffee0001", User: u.Name},
			`podman ["inspect" "--type" "container" "--format" "{{.Id}} {{.State.Status}} {{.Config.User}}" "c0ffee0001"] DOCKER_HOST=
podman ["exec" "-i" "-u" "cargonosudo" "c0ffee0001" "sh" "-c" … "sh" "-c" …] DOCKER_HOST=
`},
		{transport.Dest{Protocol: "lxd", Host: "web", User: account.Uid, Options: Tool{Service: "far"}},
			`lxc ["list" "far:" "^web$" "--format" "csv" "-c" "ns"] DOCKER_HOST=
lxc ["exec" "far:web" "--mode" "non-interactive" "--user" "` + account.Uid + `" "--" "id" "-un"] DOCKER_HOST=
lxc ["exec" "far:web" "--mode" "non-interactive" "--user" "` + account.Uid + `" "--" "sh" "-c" … "sh" "-c" …] DOCKER_HOST=
`},
	} {
		w.put(t, "log", "")
		c.to.ConnectTimeout = 20 * time.Second
		conn, err := NewDialer(Options{Environ: os.Environ()}).Dial(t.Context(), c.to)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		as := transport.RunAs{}
		want := "root\n"
		if c.to.User != "" {
			as.User, want = u.Name, u.Name+"\n" // who needs no sudo for that
		}
		st, err := conn.Run(within(t, time.Minute), &transport.Cmd{Line: "id -un", Stdout: &out, RunAs: as})
		if err != nil || !st.OK() || out.String() != want {
			t.Errorf("%s: got %+v, %q, %v", c.to.Protocol, st, out.String(), err)
		}
		conn.Close()
		calls := script.ReplaceAllString(w.read("log"), `"sh" "-c" … $1 …]`)
		if calls != c.calls {
			t.Errorf("%s: got\n%s\nwant\n%s", c.to.Protocol, calls, c.calls)
		}
	}
}

// script matches the scripts that are run.
var script = regexp.MustCompile(`"sh" "-c" "printf.*" "bolt-[0-9a-f]{32}" ("[a-z]+" "-l?c") ".*"\]`)

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(t *testing.T, w *world, to *transport.Dest)
		class  transport.Class
		text   string // parts of the error text
	}{
		{"no such container", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "nosuch" }, transport.ClassConnect,
			"Could not find a container with name or ID matching 'nosuch'|docker ps"},
		{"two of that beginning", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "c0ffee" }, transport.ClassConnect, "Multiple IDs|longer part of the ID"},
		{"stopped", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "db" }, transport.ClassConnect, `"exited"|docker start db`},
		{"paused", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "cache" }, transport.ClassConnect, "paused"},
		{"an option for a name", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "--help" }, transport.ClassResolve, "not a container name"},
		{"no name", func(_ *testing.T, _ *world, to *transport.Dest) { to.Host = "" }, transport.ClassResolve, "not a container name"},
		{"no program", func(t *testing.T, _ *world, _ *transport.Dest) { t.Setenv("PATH", t.TempDir()) }, transport.ClassConnect, "docker was not found on PATH|Install"},
		{"no daemon", func(t *testing.T, w *world, _ *transport.Dest) {
			w.put(t, "say", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?\n")
		}, transport.ClassConnect, "docker.sock|systemctl start docker|service-url"},
		{"no permission", func(t *testing.T, w *world, _ *transport.Dest) {
			w.put(t, "say", "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get x: dial unix /var/run/docker.sock: connect: permission denied\n")
		}, transport.ClassConnect, "permission denied|member of the group docker"},
		{"complaint that nobody knows", func(t *testing.T, w *world, _ *transport.Dest) { w.put(t, "say", "\x1b[31mwhatever\x00\n") }, transport.ClassConnect, "[31mwhatever"},
		{"hangs", func(t *testing.T, w *world, to *transport.Dest) {
			w.put(t, "hang", "inspect")
			to.ConnectTimeout = 200 * time.Millisecond
		}, transport.ClassTimeout, "did not answer within 200ms"},
		{"hangs as it is to run something", func(t *testing.T, w *world, to *transport.Dest) {
			w.put(t, "hang", "exec")
			to.ConnectTimeout = 500 * time.Millisecond
		}, transport.ClassTimeout, "did not answer within 500ms"},
		{"prints for ever", func(t *testing.T, w *world, _ *transport.Dest) { w.put(t, "flood", "inspect") }, transport.ClassProtocol, "more than 64 KiB"},
		{"is another program", func(t *testing.T, w *world, _ *transport.Dest) { w.put(t, "containers", "<html> web running x") }, transport.ClassProtocol, "sent an unexpected answer|another program"},
		{"stops in between", func(t *testing.T, w *world, _ *transport.Dest) { t.Setenv("BOLT_TEST_NO_SH", "1") }, transport.ClassBootstrap, "the container has no sh"},
		{"lxd without names", func(_ *testing.T, _ *world, to *transport.Dest) { to.Protocol, to.User = "lxd", "app" }, transport.ClassUnsupported, "Set the user ID"},
		{"lxd without container", func(_ *testing.T, _ *world, to *transport.Dest) {
			to.Protocol, to.Host, to.Options = "lxd", "nosuch", Tool{Service: "local"}
		}, transport.ClassConnect, "Could not find a container|lxc list"},
		{"lxd stopped", func(_ *testing.T, _ *world, to *transport.Dest) {
			to.Protocol, to.Host, to.Options = "lxd", "db", Tool{Service: "local"}
		}, transport.ClassConnect, `"stopped"|lxc start db`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			to := transport.Dest{Protocol: "docker", Host: "web", ConnectTimeout: 20 * time.Second}
			c.change(t, w, &to)
			conn, err := NewDialer(Options{Environ: os.Environ()}).Dial(within(t, time.Minute), to)
			if err == nil {
				_, err = conn.Run(within(t, time.Minute), &transport.Cmd{Line: "echo no"})
				conn.Close()
			}
			e, ok := errors.AsType[*transport.Error](err)
			if !ok || e.Class != c.class || e.Code != "CONNECT_ERROR" {
				t.Fatalf("got %+v, want class %s", err, c.class)
			}
			for part := range strings.SplitSeq(c.text, "|") {
				if !strings.Contains(e.Error(), part) {
					t.Errorf("%q is not in %q", part, e.Error())
				}
			}
			if strings.ContainsAny(e.Error(), "\x1b\x00") {
				t.Errorf("far-side text came as it was: %q", e.Error())
			}
		})
	}
}

// TestToolDies checks that a command whose program is killed counts as lost,
// and ends in the container.
func TestToolDies(t *testing.T) {
	w := newWorld(t)
	conn, err := NewDialer(Options{Environ: os.Environ()}).Dial(t.Context(), transport.Dest{Protocol: "docker", Host: "web"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	gone := filepath.Join(t.TempDir(), "gone")
	kill := func() {
		pid, err := strconv.Atoi(w.read("pid"))
		if err == nil {
			err = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err != nil {
			t.Error(err)
		}
	}
	var once sync.Once
	// Otherwise bash would print a message about the end of sleep.
	_, err = conn.Run(within(t, time.Minute), &transport.Cmd{Line: "exec 2>/dev/null; trap 'echo >" + gone + "; exit' TERM; echo up; while :; do sleep 0.05; done",
		Stdout: writer(func() { once.Do(kill) })})
	if e, ok := errors.AsType[*transport.Error](err); !ok || e.Class != transport.ClassLost || !strings.Contains(e.Error(), "docker was ended by signal KILL") {
		t.Errorf("got %v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(gone); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command has not been told to end")
		}
	}
}

// TestContainerStops checks that a command counts as lost if its container is
// stopped, but not if the command is killed and the container keeps running.
func TestContainerStops(t *testing.T) {
	w := newWorld(t)
	conn, err := NewDialer(Options{Environ: os.Environ()}).Dial(t.Context(), transport.Dest{Protocol: "docker", Host: "web"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	killsAll := &transport.Cmd{Line: "kill -KILL 0"}
	if st, err := conn.Run(within(t, time.Minute), killsAll); err != nil || st.Code != 137 {
		t.Errorf("got %+v, %v", st, err)
	}
	w.put(t, "containers", "c0ffee0001 web exited root\n")
	_, err = conn.Run(within(t, time.Minute), killsAll)
	if transport.ClassOf(err) != transport.ClassConnect {
		t.Errorf("got %v", err)
	}
	w.put(t, "containers", "c0ffee0001 web running root\n")
	stop := writer(func() { w.put(t, "containers", "c0ffee0001 web exited root\n") })
	_, err = conn.Run(within(t, time.Minute), &transport.Cmd{Line: "echo up; sleep 0.3; kill -KILL 0", Stdout: stop})
	if transport.ClassOf(err) != transport.ClassLost || !strings.Contains(err.Error(), "exited") {
		t.Errorf("got %v", err)
	}
}

// writer is called for each piece of output.
type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// FuzzEnd checks that the output of a command is unchanged except for the mark,
// in pieces of any size.
func FuzzEnd(f *testing.F) {
	const token = "bolt-0123"
	f.Add([]byte("text\n"), []byte("more"), uint8(3), uint8(7))
	f.Add([]byte("bolt-bolt-0123bolt-0123="), []byte("bolt-0123=x"), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, before, after []byte, status, size uint8) {
		if bytes.Contains(append(before, token...), []byte(token+"=")) || bytes.Contains(after, []byte(token)) || bytes.Contains(before, []byte(token)) {
			return
		}
		text := slices.Concat(before, fmt.Appendf(nil, "%s=%d\n", token, status), after)
		told := 0
		r := &endReader{from: iotest.OneByteReader(bytes.NewReader(text)), mark: []byte(token + "="), told: func() { told++ }}
		if size > 0 {
			r.from = bytes.NewReader(text)
		}
		var got []byte
		buf := make([]byte, max(int(size), 1))
		for {
			n, err := r.Read(buf)
			got = append(got, buf[:n]...)
			if err != nil {
				break
			}
		}
		if want := slices.Concat(before, after); !bytes.Equal(got, want) || !r.seen || told != 1 || r.status != int(status) {
			t.Errorf("got %q, %v, %d times, status %d; want %q, status %d", got, r.seen, told, r.status, want, status)
		}
	})
}

// FuzzAnswers checks that no answer of a program leads to a container that was
// not requested, or that would be an option.
func FuzzAnswers(f *testing.F) {
	f.Add("c0ffee running root\n", "web")
	f.Add("web,RUNNING\nweb2,STOPPED\n", "web")
	f.Add("-rf --privileged\n", "-rf")
	f.Fuzz(func(t *testing.T, out, host string) {
		to := &transport.Dest{Host: host}
		if b, ok := parseInspect(to, out); ok && (!isHex(b.id) || b.user == "" || b.state == "") {
			t.Errorf("inspect: %+v", b)
		}
		if b, ok := parseList(to, out); ok && b.id != "" && b.id != host {
			t.Errorf("list: %+v", b)
		}
	})
}

// FuzzSign checks that the mark is found after any output of the program, in
// pieces of any size.
func FuzzSign(f *testing.F) {
	const token = "bolt-0123"
	f.Add([]byte("warning\n"), []byte("text"))
	f.Add([]byte("bolt-0123"), []byte("bolt-0123 7\n"))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		if bytes.Contains(append(slices.Clone(before), token...), []byte(token+" ")) {
			return
		}
		text := slices.Concat(before, []byte(token+" 42\r\n"), after)
		for _, from := range []io.Reader{bytes.NewReader(text), iotest.OneByteReader(bytes.NewReader(text))} {
			noise, pid, rest, err := readSign(from, token)
			more, rerr := io.ReadAll(from)
			if err != nil || rerr != nil || pid != "42" || !bytes.Equal(noise, before) || !bytes.Equal(append(rest, more...), after) {
				t.Errorf("got %q, %q, %q, %v", noise, pid, rest, err)
			}
		}
	})
}
