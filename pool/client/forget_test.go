package client_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/pool"
	"bolt/pool/client"
	"bolt/pool/daemon"
	"bolt/pool/wire"
	"bolt/transport"
	"bolt/transport/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// daemonVariable makes this program a daemon on the socket that it names, which
// collects garbage for each line of its input.
const daemonVariable = "BOLT_TEST_DAEMON"

// TestAsDaemon is the daemon of TestDaemonForgetsPasswords.
func TestAsDaemon(t *testing.T) {
	socket := os.Getenv(daemonVariable)
	if socket == "" {
		return // only TestDaemonForgetsPasswords sets the variable
	}
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: filepath.Dir(socket)}, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	p := pool.New(d, pool.Options{})
	s, err := daemon.New(daemon.Options{Socket: socket, Pool: p, Build: "test", ContentDir: t.TempDir(),
		Router: func(c wire.Caller, answer func(string) (transport.Secret, bool), _ func(string, string)) transport.Router {
			return d.As(ssh.Caller{Home: c.Home, Passphrase: func(_ context.Context, path string) (transport.Secret, error) {
				if secret, ok := answer(path); ok {
					return secret, nil
				}
				return transport.Secret{}, ssh.ErrNobody
			}})
		}})
	if err != nil {
		t.Fatal(err)
	}
	go s.Run(context.Background())
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		f, err := os.Create(in.Text())
		if err != nil {
			t.Fatal(err)
		}
		debug.FreeOSMemory() // again, for memory that finalizers have released
		debug.FreeOSMemory()
		debug.WriteHeapDump(f.Fd())
		f.Close()
		fmt.Println("dumped")
	}
	os.Exit(0)
}

// A child is a daemon in a process of its own.
type child struct {
	t      *testing.T
	socket string
	in     io.WriteCloser
	said   *bufio.Scanner
}

func startChild(t *testing.T, home string) *child {
	t.Helper()
	c := &child{t: t, socket: filepath.Join(home, "pool", "socket")}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestAsDaemon$")
	cmd.Env = append(os.Environ(), daemonVariable+"="+c.socket, "TMPDIR="+home)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		cmd.Wait()
	})
	c.said = bufio.NewScanner(out)
	c.expect("ready")
	return c
}

func (c *child) expect(word string) {
	c.t.Helper()
	if !c.said.Scan() || c.said.Text() != word {
		c.t.Fatalf("the daemon prints %q, %v; want %q", c.said.Text(), c.said.Err(), word)
	}
}

// live returns the bytes around each copy of text in objects that are in use. The
// runtime's heap dump does not contain freed objects.
func (c *child) live(text string) (places []string) {
	c.t.Helper()
	file := filepath.Join(c.t.TempDir(), "heap")
	fmt.Fprintln(c.in, file)
	c.expect("dumped")
	dump, err := os.ReadFile(file)
	if err != nil {
		c.t.Fatal(err)
	}
	for at := 0; ; {
		i := bytes.Index(dump[at:], []byte(text))
		if i < 0 {
			return places
		}
		at += i + len(text)
		places = append(places, fmt.Sprintf("%q", dump[max(0, at-len(text)-60):min(len(dump), at+40)]))
	}
}

// TestDaemonForgetsPasswords checks that the daemon holds no password, key or
// passphrase after the invocation that brought it has ended, although the daemon keeps
// the connections open.
func TestDaemonForgetsPasswords(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"login": "correct-horse-battery-staple", "sudo": "troubador-and-three-words", "passphrase": "open-sesame-and-close-again"}
	fleet := sshtest.NewFleet(t, 3, func(_ context.Context, c sshtest.Call) int {
		io.WriteString(c.Stdout, "fine\n")
		return 0
	}, func(c *gossh.ServerConfig) {
		c.PasswordCallback = func(_ gossh.ConnMetadata, given []byte) (*gossh.Permissions, error) {
			if string(given) != secrets["login"] {
				return nil, errors.New("no")
			}
			return nil, nil
		}
	})
	home, err := os.MkdirTemp("/tmp", "bolt-pc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	locked := filepath.Join(home, "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", secrets["passphrase"], "-f", locked).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	sshtest.WriteKey(t, locked+"-open", "ed25519")
	key, err := os.ReadFile(locked + "-open")
	if err != nil {
		t.Fatal(err)
	}
	secrets["key"] = strings.Split(string(key), "\n")[2]
	daemon := startChild(t, home)
	c := client.New(client.Options{Socket: daemon.socket, Build: "test", Caller: wire.Caller{Home: home, Dir: home},
		Passphrase: func(context.Context, string) (transport.Secret, error) {
			return transport.NewSecret(secrets["passphrase"]), nil
		}})
	defer c.Close()
	for i := range fleet.Addrs {
		to := fleetDest(t, fleet, i)
		to.PrivateKey, to.Password = locked, transport.NewSecret(secrets["login"]) // the key is tried first, and refused
		if i == 1 {
			to.PrivateKey, to.KeyData = "", transport.NewSecret(string(key))
		}
		conn, err := c.Dial(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Run(t.Context(), &transport.Cmd{Line: "x"}); err != nil {
			t.Error(err)
		}
		// The server has no sudo, so the result does not matter.
		_, _ = conn.Run(t.Context(), &transport.Cmd{Line: "x", RunAs: transport.RunAs{User: "other", Password: transport.NewSecret(secrets["sudo"])}})
	}
	if len(daemon.live(secrets["login"])) == 0 {
		t.Error("the daemon does not have the password while its client is there: this test sees nothing")
	}
	c.Close()
	other := client.New(client.Options{Socket: daemon.socket, Build: "test", Caller: wire.Caller{Home: home, Dir: home}})
	defer other.Close()
	eventually(t, "the client is out", func() bool {
		status := daemonStatus(t, other)
		if len(status.Connections) != len(fleet.Addrs) {
			t.Fatalf("%d connections are kept, want %d", len(status.Connections), len(fleet.Addrs))
		}
		return status.Clients == 0
	})
	for name, secret := range secrets {
		if places := daemon.live(secret); len(places) > 0 {
			t.Errorf("%s: %d copies are in use:\n%s", name, len(places), strings.Join(places, "\n"))
		}
	}
}

func daemonStatus(t *testing.T, c *client.Client) (status wire.Status) {
	t.Helper()
	reply, err := c.Control(t.Context(), "status")
	if err == nil {
		err = json.Unmarshal(reply, &status)
	}
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// eventually waits until another process has made a condition true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
