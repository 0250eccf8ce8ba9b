package remote_test

import (
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/apply/frame"
	"bolt/apply/remote"
	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/local"
	"bolt/transport/ssh"
	"bolt/transport/transporttest"
)

// dialSSH returns a connection to a real server, as a user, over a link.
func dialSSH(t *testing.T, s *sshtest.Server, name string) (transport.Conn, *sshtest.Link) {
	t.Helper()
	link := sshtest.Delay(t, s.Addr, 0)
	d, err := ssh.NewDialer(ssh.Options{Caller: ssh.Caller{Home: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := d.Dial(t.Context(), transport.Dest{Protocol: "ssh", Host: link.Host, Port: link.Port, User: name, PrivateKey: s.KeyFile, ConnectTimeout: time.Minute, HostKeyCheck: transport.CheckNone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); d.Close() })
	return conn, link
}

// maxUnchanged is the number of bytes on the wire that an apply without changes can have, in both directions.
const maxUnchanged = 4096

// TestSSH applies catalogs over a real connection, and counts the bytes on the wire.
func TestSSH(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	p := newPlace(t)
	var link *sshtest.Link
	p.Conn, link = dialSSH(t, s, "root")
	bytes := func() int64 { to, from := link.Carried(); return to + from }
	f := filepath.Join(p.dir, "f")
	var list []resource
	for i := range 100 {
		list = append(list, file(f+strconv.Itoa(i), "text "+strconv.Itoa(i)))
	}
	c := parse(t, nil, list...)
	before, start := bytes(), time.Now()
	p.mustApply(t, &remote.Job{Catalog: c})
	t.Logf("first apply, with the helper: %d bytes, %v", bytes()-before, time.Since(start))
	var took, plain time.Duration
	const turns = 10
	for range turns {
		before, start = bytes(), time.Now()
		p.mustApply(t, &remote.Job{Catalog: c, Seq: 7, By: "somebody@a-machine"})
		took += time.Since(start)
		if n := bytes() - before; n >= maxUnchanged {
			t.Errorf("an apply without changes takes %d bytes", n)
		} else {
			t.Logf("%d bytes", n)
		}
		start = time.Now()
		if _, err := p.Conn.Run(t.Context(), &transport.Cmd{Line: "true"}); err != nil {
			t.Fatal(err)
		}
		plain += time.Since(start)
	}
	t.Logf("apply without changes of 100 resources: %v; true: %v", took/turns, plain/turns)
}

// TestRunAs applies catalogs as other users. The helper and its journals belong to the user that it runs as.
func TestRunAs(t *testing.T) {
	users := transporttest.Users(t)
	s := sshtest.Start(t, sshtest.Options{})
	set := helper.Set(t)
	for _, c := range []struct {
		name, login, as, password string
		local                     bool
		dir                       bool // the state directory is configured
	}{
		{name: "root by sudo", login: users.Free.Name, as: "root", dir: true},
		{name: "root by sudo with a password", login: users.Asked.Name, as: "root", password: users.Asked.Password, dir: true},
		{name: "a user", login: users.Denied.Name},
		{name: "a user by sudo", login: "root", as: users.Denied.Name},
		{name: "a user by sudo, local", local: true, as: users.Denied.Name},
	} {
		t.Run(c.name, func(t *testing.T) {
			var conn transport.Conn
			if c.local {
				var err error
				if conn, err = local.NewDialer(local.Options{}).Dial(t.Context(), transport.Dest{}); err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
			} else {
				conn, _ = dialSSH(t, s, c.login)
			}
			owner := c.as
			if owner == "" {
				owner = c.login
			}
			u, err := user.Lookup(owner)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, d := range []string{dir, filepath.Dir(dir)} {
				if err := os.Chmod(d, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			uid, _ := strconv.Atoi(u.Uid)
			if err := os.Chown(dir, uid, -1); err != nil {
				t.Fatal(err)
			}
			p := &place{&counter{Conn: conn}, remote.Target{Helpers: set, Label: "here", RunAs: transport.RunAs{User: c.as, Password: transport.NewSecret(c.password)}}, dir}
			state := filepath.Join(u.HomeDir, ".cache", "bolt")
			if c.dir {
				state = filepath.Join(dir, "state")
				p.target.Dir = state
			} else if err := os.RemoveAll(state); err != nil {
				t.Fatal(err)
			}
			f := filepath.Join(dir, "f")
			out, _ := p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))})
			if fate, err := remote.Asked(t.Context(), p, &p.target, out.Run); err != nil || fate.State != frame.StateEnded || fate.By != owner {
				t.Errorf("%+v %v", fate, err)
			}
			helper := filepath.Join(state, "helper-"+set.Find("linux-"+runtime.GOARCH).Sum)
			for _, name := range []string{f, state, helper, filepath.Join(state, "runs", out.Run+".log")} {
				info, err := os.Stat(name)
				if err != nil {
					t.Error(err)
					continue
				}
				if got := ownerOf(info); got != uid {
					t.Errorf("%s belongs to %d, want %d", name, got, uid)
				}
				if name != f && info.Mode().Perm()&0o077 != 0 {
					t.Errorf("others can use %s: %v", name, info.Mode())
				}
			}
			if p.mustApply(t, &remote.Job{Catalog: parse(t, nil, file(f, "x"))}); p.runs != 1 || p.puts != 0 {
				t.Errorf("unchanged: %d runs, %d copies", p.runs, p.puts)
			}
		})
	}
}

// TestProcessList checks that neither the arguments of the commands nor the files that stay on the machine have
// a secret.
func TestProcessList(t *testing.T) {
	p := newPlace(t)
	const secret = "hunter2-and-more"
	f := filepath.Join(p.dir, "f")
	r := file(f, secret)
	r["sensitive_parameters"] = []string{"content"}
	for i := range 2 {
		_, res := p.mustApply(t, &remote.Job{Catalog: parse(t, nil, r)})
		if want := 2 - i; p.runs != want {
			t.Errorf("%d runs, want %d", p.runs, want)
		}
		if len(res.status) != 1 {
			t.Errorf("%v", res.status)
		}
		if args := strings.Join(p.argv, " "); strings.Contains(args, secret) || strings.Contains(args, "--catalog") {
			t.Errorf("arguments: %q", args)
		}
	}
	err := filepath.Walk(p.target.Dir, func(name string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), secret) {
			t.Errorf("%s has the secret in it", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCut loses the connection while a command runs. The command ends normally, the rest is skipped, and the
// journal records this.
func TestCut(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	p := newPlace(t)
	var link *sshtest.Link
	p.Conn, link = dialSSH(t, s, "root")
	p.mustApply(t, &remote.Job{Catalog: parse(t, nil)})
	begun, lost, ended := filepath.Join(p.dir, "begun"), filepath.Join(p.dir, "lost"), filepath.Join(p.dir, "ended")
	// The helper has a second to notice the end of the connection.
	slow := resource{"type": "Exec", "title": "slow", "parameters": map[string]any{"provider": "shell", "command": "touch " + begun + "; until test -e " + lost + "; do sleep 0.02; done; sleep 1; touch " + ended}}
	go func() {
		for {
			if _, err := os.Stat(begun); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		link.Cut()
	}()
	_, _, err := p.apply(t, &remote.Job{Catalog: parse(t, nil, slow, file(filepath.Join(p.dir, "f"), "x")), Run: "cut"})
	if transport.ClassOf(err) != transport.ClassLost {
		t.Errorf("%v", err)
	}
	write(t, lost, "")
	p.Conn, _ = dialSSH(t, s, "root")
	fate, err := remote.Asked(t.Context(), p, &p.target, "cut")
	for range 1200 {
		if err != nil || fate.State != frame.StateRunning {
			break
		}
		time.Sleep(50 * time.Millisecond)
		fate, err = remote.Asked(t.Context(), p, &p.target, "cut")
	}
	if err != nil || fate.State != frame.StateEnded || fate.Done.Stopped == "" || fate.Done.Counts != (frame.Counts{Changed: 1, Skipped: 1}) {
		t.Errorf("%+v, %v", fate, err)
	}
	if _, err := os.Stat(ended); err != nil {
		t.Error(err)
	}
}
