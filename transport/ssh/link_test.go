package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/sshtest"
	"bolt/transport"
)

var (
	_ transport.Router = (*Dialer)(nil)
	_ transport.Router = (*View)(nil)
	_ transport.Link   = (*Conn)(nil)
)

// past makes a connection behave as if no data had arrived for a while.
func (w *wire) past(d time.Duration) {
	w.heard.mono.Add(-int64(d))
	w.heard.wall.Add(-int64(d))
}

// expired makes the next check look at all files again, as for a new caller.
func (l *lab) expired() { l.As(Caller{}) }

// TestCheckHostKey checks that a host key that is not accepted any more is
// detected when the connection is used again, by the same rules as at its
// opening.
func TestCheckHostKey(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	other := sshtest.Start(t, sshtest.Options{})
	foreign := strings.ReplaceAll(other.KnownHosts(), other.Addr[strings.LastIndexByte(other.Addr, ':'):], s.Addr[strings.LastIndexByte(s.Addr, ':'):])
	revoked := func(c *Conn) string {
		return fmt.Sprintf("@revoked * %s", ssh.MarshalAuthorizedKey(c.trust.key))
	}
	for _, c := range []struct {
		name   string
		config string
		check  transport.HostKeyCheck
		change func(t *testing.T, l *lab, c *Conn, revocations string)
		class  transport.Class
	}{
		{"unchanged", "", transport.CheckStrict, func(*testing.T, *lab, *Conn, string) {}, ""},
		{"more is known", "", transport.CheckStrict, func(t *testing.T, l *lab, _ *Conn, _ string) { l.record(t, other.KnownHosts()) }, ""},
		{"known as another", "", transport.CheckStrict, func(t *testing.T, l *lab, _ *Conn, _ string) {
			os.Remove(l.known)
			l.record(t, foreign)
		}, transport.ClassHostKeyChanged},
		{"forgotten", "", transport.CheckStrict, func(t *testing.T, l *lab, _ *Conn, _ string) { os.Remove(l.known) }, transport.ClassHostKeyUnknown},
		{"forgotten, and new ones are accepted", "StrictHostKeyChecking accept-new\n", transport.CheckByConfig,
			func(t *testing.T, l *lab, _ *Conn, _ string) { os.Remove(l.known) }, ""},
		{"forgotten, and any is accepted", "", transport.CheckNone, func(t *testing.T, l *lab, _ *Conn, _ string) { os.Remove(l.known) }, ""},
		{"revoked in known_hosts", "", transport.CheckStrict, func(t *testing.T, l *lab, c *Conn, _ string) { l.record(t, revoked(c)) }, transport.ClassHostKeyChanged},
		{"revoked, and new ones are accepted", "StrictHostKeyChecking accept-new\n", transport.CheckByConfig,
			func(t *testing.T, l *lab, c *Conn, _ string) { l.record(t, revoked(c)) }, transport.ClassHostKeyChanged},
		{"in RevokedHostKeys", "RevokedHostKeys REVOKED\n", transport.CheckStrict, func(t *testing.T, _ *lab, c *Conn, file string) {
			if err := os.WriteFile(file, ssh.MarshalAuthorizedKey(c.trust.key), 0o600); err != nil {
				t.Fatal(err)
			}
		}, transport.ClassHostKeyChanged},
		{"RevokedHostKeys is gone", "RevokedHostKeys REVOKED\n", transport.CheckStrict, func(_ *testing.T, _ *lab, _ *Conn, file string) { os.Remove(file) },
			transport.ClassHostKeyUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil, s)
			file := writeText(t, "# none\n")
			l.configure(t, strings.ReplaceAll(c.config, "REVOKED", file))
			to := dest(s)
			to.HostKeyCheck = c.check
			if err := os.Chtimes(l.known, time.Unix(1e9, 0), time.Unix(1e9, 0)); err != nil {
				t.Fatal(err) // old enough to be read only once
			}
			conn := l.mustDial(t, to)
			if err := conn.Check(t.Context()); err != nil {
				t.Fatalf("before the change: %v", err)
			}
			c.change(t, l, conn, file)
			l.expired()
			for range 2 {
				if err := conn.Check(t.Context()); transport.ClassOf(err) != c.class {
					t.Errorf("%v, want class %q", err, c.class)
				}
			}
			select {
			case <-conn.Done():
				t.Error("the connection was ended")
			default:
			}
		})
	}
}

// TestCheckLooksSeldom checks that many connections share one look at the
// files.
func TestCheckLooksSeldom(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	time.Sleep(trustAge)
	looked := time.Now() // at about this time
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.known); err != nil {
		t.Fatal(err)
	}
	for {
		err := c.Check(t.Context())
		if time.Since(looked) > trustAge {
			break
		}
		if err != nil {
			t.Fatalf("looked again after %v: %v", time.Since(looked), err)
		}
	}
	time.Sleep(trustAge)
	if err := c.Check(t.Context()); transport.ClassOf(err) != transport.ClassHostKeyUnknown {
		t.Errorf("later: %v", err)
	}
}

// TestCheckAlive checks that Check sends a keepalive to a silent peer, and
// closes the connection within a known time if there is no answer.
func TestCheckAlive(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	link := sshtest.Delay(t, s.Addr, 0)
	l := newLab(t, nil)
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
	reach := func() *Conn {
		c := l.mustDial(t, to)
		say(t, c, "true")
		return c
	}
	t.Run("it answers", func(t *testing.T) {
		c := reach()
		c.wire.past(time.Hour)
		before := c.Stats()
		if err := c.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		asked := c.Stats()
		if asked.Sent == before.Sent || asked.Received == before.Received {
			t.Errorf("not asked: %+v, then %+v", before, asked)
		}
		if err := c.Check(t.Context()); err != nil || c.Stats() != asked {
			t.Errorf("asked again: %v", err)
		}
		say(t, c, "true")
	})
	t.Run("it does not", func(t *testing.T) {
		c := reach()
		link.BlackHole(true)
		defer link.BlackHole(false)
		if err := c.Check(t.Context()); err != nil {
			t.Errorf("heard of a moment ago: %v", err)
		}
		c.wire.past(time.Hour)
		began := time.Now()
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				err := c.Check(t.Context())
				if transport.ClassOf(err) != transport.ClassConnect {
					t.Errorf("error %v", err)
				}
			})
		}
		work.Wait()
		if took := time.Since(began); took < checkTakes-time.Second || took > checkTakes+10*time.Second {
			t.Errorf("took %v, want %v", took, checkTakes)
		}
		<-c.Done()
		e, _ := errors.AsType[*transport.Error](c.Check(t.Context()))
		if e == nil || e.Class != transport.ClassConnect || !strings.Contains(e.Msg, "no answer to a keepalive in 5s") {
			t.Errorf("afterwards %v", e)
		}
	})
	t.Run("the caller gives up", func(t *testing.T) {
		c := reach()
		link.BlackHole(true)
		defer link.BlackHole(false)
		c.wire.past(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.Check(ctx); transport.ClassOf(err) != transport.ClassTimeout {
			t.Errorf("error %v", err)
		}
		link.BlackHole(false)
	})
	t.Run("it has ended", func(t *testing.T) {
		c := reach()
		link.Cut()
		<-c.Done()
		if err := c.Check(t.Context()); transport.ClassOf(err) != transport.ClassConnect {
			t.Errorf("error %v", err)
		}
	})
}

// TestLinkStats checks the numbers of LinkStats.
func TestLinkStats(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	link := sshtest.Delay(t, s.Addr, 0)
	l := newLab(t, func(o *Options) { o.MaxSessions = 5 })
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
	c := l.mustDial(t, to)
	say(t, c, "echo hello")
	if st := c.Stats(); st.Peer != "root@"+link.Addr || st.Sessions != 5 {
		t.Errorf("%+v", st)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) { // until nothing is under way
		sent, received := link.Carried()
		st := c.Stats()
		if st.Received == uint64(received) && st.Sent == uint64(sent) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%+v, but the link carried %d and %d", st, sent, received)
		}
	}
}

// TestConnKeepsNoSecrets checks that an open connection holds no credentials.
func TestConnKeepsNoSecrets(t *testing.T) {
	l := newLab(t, nil)
	e, err := l.own.resolve(t.Context(), transport.Dest{Host: "web", Password: transport.NewSecret("x"), KeyData: transport.NewSecret("y")})
	if err != nil {
		t.Fatal(err)
	}
	if k := e.kept(); k.to.Password.IsSet() || k.to.KeyData.IsSet() {
		t.Error("secrets are kept")
	}
	if !e.to.Password.IsSet() || !e.to.KeyData.IsSet() {
		t.Error("secrets are gone from the endpoint itself")
	}
}

func TestPulse(t *testing.T) {
	const s = time.Second
	type step struct {
		mono, wall time.Duration // since the previous step
		received   uint64
		want       beat
	}
	usual := func(received uint64, want beat) step { return step{15 * s, 15 * s, received, want} }
	mute := step{mono: -1} // nothing is sent until the next step
	for _, c := range []struct {
		name   string
		misses int
		steps  []step
	}{
		{"something comes", 3, []step{usual(1, beatQuiet), usual(2, beatQuiet)}},
		{"silence", 3, []step{usual(0, beatAsk), usual(0, beatAsk), usual(0, beatAsk), usual(0, beatDead)}},
		{"an answer in time", 2, []step{usual(0, beatAsk), usual(0, beatAsk), usual(1, beatQuiet), usual(1, beatAsk), usual(1, beatAsk), usual(1, beatDead)}},
		{"never counted dead", -1, []step{usual(0, beatAsk), usual(0, beatAsk), usual(0, beatAsk), usual(0, beatAsk)}},
		{"we were stopped", 1, []step{usual(0, beatAsk), {300 * s, 300 * s, 0, beatAsk}, usual(0, beatDead)}},
		{"we were suspended", 1, []step{usual(0, beatAsk), {15 * s, 3600 * s, 0, beatAsk}, usual(0, beatDead)}},
		{"stopped, and the answer is read", 1, []step{usual(0, beatAsk), {300 * s, 300 * s, 1, beatQuiet}}},
		{"we say nothing", 1, []step{usual(1, beatQuiet), mute, usual(2, beatAsk), usual(3, beatQuiet), mute, usual(4, beatAsk), usual(4, beatAsk), usual(4, beatDead)}},
		{"the clock was put back", 1, []step{usual(0, beatAsk), {15 * s, -3600 * s, 0, beatDead}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := moment{wall: 1e6 * s}
			p := pulse{interval: 15 * s, misses: c.misses, last: now}
			sent, says := uint64(0), uint64(1)
			for i, step := range c.steps {
				if step == mute {
					says = 0
					continue
				}
				now.mono += step.mono
				now.wall += step.wall
				sent += says
				says = 1
				if got := p.next(now, step.received, sent); got != step.want {
					t.Fatalf("step %d: %v, want %v", i, got, step.want)
				}
			}
		})
	}
}

// TestUntilBeat checks that connections of any age have their beats together,
// and that a late beat changes only the time until the next one.
func TestUntilBeat(t *testing.T) {
	begin := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ after, interval, want time.Duration }{
		{0, 15 * time.Second, 15 * time.Second},
		{300 * time.Millisecond, 15 * time.Second, 14700 * time.Millisecond},
		{700 * time.Millisecond, 15 * time.Second, 15300 * time.Millisecond},
		{time.Millisecond, 15 * time.Second, 14999 * time.Millisecond},
		{700 * time.Millisecond, time.Second, time.Second}, // the interval is too short
	} {
		if got := untilBeat(begin.Add(c.after), c.interval); got != c.want {
			t.Errorf("%v after a full second, every %v: the next in %v, want %v", c.after, c.interval, got, c.want)
		}
	}
}

// TestOutOfFiles checks that the error names the limit of open files, wherever
// the limit is reached.
func TestOutOfFiles(t *testing.T) {
	if addr := os.Getenv("BOLT_TEST_OUT_OF_FILES"); addr != "" {
		outOfFilesChild(t, addr)
		return
	}
	s := sshtest.Start(t, sshtest.Options{})
	// The limit applies to the whole process, so the test runs in a child
	// process.
	cmd := exec.Command(os.Args[0], "-test.run=^TestOutOfFiles$", "-test.v")
	cmd.Env = append(os.Environ(), "BOLT_TEST_OUT_OF_FILES="+s.Addr, "BOLT_TEST_KEY="+s.KeyFile)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func outOfFilesChild(t *testing.T, addr string) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	to := transport.Dest{Protocol: "ssh", Host: host, User: "root", PrivateKey: os.Getenv("BOLT_TEST_KEY"), HostKeyCheck: transport.CheckNone}
	if _, err := fmt.Sscan(port, &to.Port); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, config string
		change       func(*transport.Dest)
	}{
		{"without ssh_config", "", func(*transport.Dest) {}},
		{"with ssh_config", "", func(to *transport.Dest) { to.LoadConfig = true }},
		{"key by ssh_config", "IdentityFile " + to.PrivateKey, func(to *transport.Dest) { to.LoadConfig, to.PrivateKey = true, "" }},
		{"known_hosts", "StrictHostKeyChecking accept-new", func(to *transport.Dest) { to.LoadConfig, to.HostKeyCheck = true, transport.CheckByConfig }},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t, nil)
			l.configure(t, c.config)
			to := to
			c.change(&to)
			scarce(t, l, to)
			if err := login(t, l, to); err != nil {
				t.Errorf("with room again: %v", err)
			}
		})
	}
}

// scarce dials while only a few more descriptors can be opened.
func scarce(t *testing.T, d transport.Dialer, to transport.Dest) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	failed := 0
	for room := range 4 {
		// The limit applies to the number of a descriptor, and the numbers in
		// use have gaps.
		low.Cur = 0
		for free := 0; free <= room; low.Cur++ {
			if _, err := os.Lstat(fmt.Sprintf("/proc/self/fd/%d", low.Cur)); err != nil {
				free++
			}
		}
		low.Cur--
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
			t.Fatal(err)
		}
		c, err := d.Dial(t.Context(), to)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			t.Logf("room for %d is enough", room)
			c.Close()
			continue
		}
		failed++
		e, _ := errors.AsType[*transport.Error](err)
		if e == nil || e.Class != transport.ClassConnect || !errors.Is(err, syscall.EMFILE) || !strings.Contains(e.Hint, "ulimit -n") || strings.Count(e.Msg, "\n") > 0 {
			t.Errorf("room for %d: %#v", room, e)
		}
	}
	if failed == 0 {
		t.Error("there was room enough all the time")
	}
}

// TestCheckForNewCaller checks that a caller that comes after a change of the
// files gets their new content.
func TestCheckForNewCaller(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.known, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.As(Caller{})
	if err := c.Check(t.Context()); transport.ClassOf(err) != transport.ClassHostKeyUnknown {
		t.Errorf("got %v, want an unknown host key", err)
	}
}

// TestSilentPeerFailsCommandWithinConnectTimeout checks that a machine that
// becomes silent right after use is detected within the connect timeout, and
// not only by the keepalive.
func TestSilentPeerFailsCommandWithinConnectTimeout(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	link := sshtest.Delay(t, s.Addr, 0)
	l := newLab(t, nil, s)
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck, to.ConnectTimeout = link.Host, link.Port, transport.CheckNone, 2*time.Second
	c := l.mustDialShort(t, to)
	c.keeper.patience = to.ConnectTimeout // less than the minimum
	if _, err := c.Run(t.Context(), &transport.Cmd{Line: "true"}); err != nil {
		t.Fatal(err)
	}
	link.BlackHole(true)
	begin := time.Now()
	_, err := c.Run(t.Context(), &transport.Cmd{Line: "true"})
	if c := transport.ClassOf(err); c != transport.ClassLost && c != transport.ClassConnect {
		t.Errorf("got %v, want a connection that is lost, or was before the command began", err)
	}
	if took := time.Since(begin); took < 1500*time.Millisecond || took >= defaultKeepalive {
		t.Errorf("it took %v, want about two seconds", took)
	}
}

// TestDeadConnectionIsNoticed checks that a dead connection is noticed within
// the times in docs/transports.md, with keepalive and with ServerAliveInterval
// and ServerAliveCountMax.
func TestDeadConnectionIsNoticed(t *testing.T) {
	t.Parallel()
	const slack = 10 * time.Second // for a busy machine
	s := sshtest.Start(t, sshtest.Options{})
	for _, c := range []struct {
		name, config     string
		keepalive        time.Duration // of the destination
		interval, during time.Duration
	}{
		{"keepalive", "", time.Second, time.Second, 5 * time.Second},
		{"keepalive overrides ServerAliveInterval", "ServerAliveInterval 60\n", time.Second, time.Second, 5 * time.Second},
		{"keepalive and ServerAliveCountMax", "ServerAliveCountMax 1\n", time.Second, time.Second, 3 * time.Second},
		{"ServerAliveInterval", "ServerAliveInterval 2\nServerAliveCountMax 1\n", 0, 2 * time.Second, 6 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(o *Options) { o.Keep = true }, s)
			l.configure(t, c.config)
			reach := func() (*Conn, *sshtest.Link) {
				link := sshtest.Delay(t, s.Addr, 0)
				to := dest(s)
				to.Host, to.Port, to.HostKeyCheck, to.Keepalive, to.ConnectTimeout = link.Host, link.Port, transport.CheckNone, c.keepalive, 4*time.Second
				return l.mustDialShort(t, to), link
			}
			check := func(when string, err error, took, least, most time.Duration) {
				if class := transport.ClassOf(err); class != transport.ClassLost && class != transport.ClassConnect {
					t.Errorf("%s: %v, want a lost connection", when, err)
				}
				t.Logf("%s: %v", when, took)
				if took < least || took > most+slack {
					t.Errorf("%s: noticed after %v, want %v to %v", when, took, least, most)
				}
			}
			var work sync.WaitGroup
			work.Go(func() {
				conn, link := reach()
				say(t, conn, "true")
				link.BlackHole(true)
				began := time.Now()
				_, err := conn.Run(t.Context(), &transport.Cmd{Line: "true"})
				check("as a command begins", err, time.Since(began), c.interval, min(c.during, max(4*time.Second, c.interval)))
			})
			work.Go(func() {
				conn, link := reach()
				var began time.Time
				_, err := conn.Run(t.Context(), &transport.Cmd{Line: "echo begun; sleep 100", Stdout: writerFunc(func(p []byte) (int, error) {
					link.BlackHole(true)
					began = time.Now()
					return len(p), nil
				})})
				check("while a command runs", err, time.Since(began), c.interval, c.during)
			})
			work.Wait()
		})
	}
}

// TestQuietCommandKeepsConnection checks that a connection stays open if only
// the command is quiet.
func TestQuietCommandKeepsConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	to := dest(s)
	c := l.mustDial(t, to)
	c.keeper.patience = 2 * time.Second
	if st, err := c.Run(t.Context(), &transport.Cmd{Line: "sleep 6"}); err != nil || !st.OK() {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestPatienceOfSharedConnection checks that a caller with a short connect
// timeout does not limit other callers of a shared connection.
func TestPatienceOfSharedConnection(t *testing.T) {
	for _, c := range []struct {
		name, config  string
		timeout, want time.Duration
	}{
		{"short", "", 2 * time.Second, defaultKeepalive},
		{"long", "", time.Minute, time.Minute},
		{"no limit", "", 0, 0},
		{"by ssh_config", "ConnectTimeout 90\n", 0, 90 * time.Second},
		{"silence does not count", "ServerAliveCountMax 0\n", time.Minute, 0},
	} {
		l := newLab(t, nil)
		l.configure(t, c.config)
		e, err := l.own.resolve(t.Context(), transport.Dest{Host: "web", LoadConfig: true, ConnectTimeout: c.timeout})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.patience(); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestShortConnectTimeoutKeepsConnection checks that commands survive a server
// that hangs for some seconds, although the connection was opened with a
// shorter connect timeout.
func TestShortConnectTimeoutKeepsConnection(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	to := dest(s)
	to.ConnectTimeout = 2 * time.Second
	c := l.mustDialShort(t, to)
	pid := strings.TrimSpace(say(t, c, "echo $PPID"))
	if err := exec.Command("kill", "-STOP", pid).Run(); err != nil {
		t.Fatal(err)
	}
	goOn := time.AfterFunc(4*time.Second, func() { exec.Command("kill", "-CONT", pid).Run() })
	defer func() {
		if goOn.Stop() {
			exec.Command("kill", "-CONT", pid).Run()
		}
	}()
	if st, err := c.Run(t.Context(), &transport.Cmd{Line: "echo y"}); err != nil || !st.OK() {
		t.Errorf("%+v, %v", st, err)
	}
}

// TestCheckDoesNotWaitForProxyCommand checks that Check keeps its time limits
// if a ProxyCommand ends slowly.
func TestCheckDoesNotWaitForProxyCommand(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	link := sshtest.Delay(t, s.Addr, 0)
	l := newLab(t, nil, s)
	// The process that it leaves behind keeps standard error open, and Close
	// waits for that.
	pid := filepath.Join(t.TempDir(), "pid")
	l.configure(t, fmt.Sprintf("ProxyCommand setsid sh -c 'echo $$ >"+pid+"; exec sleep 60' >/dev/null </dev/null & exec bash -c 'exec 3<>/dev/tcp/%s/%d; cat >&3 <&0 & cat <&3; kill $!'\n", link.Host, link.Port))
	to := dest(s)
	to.HostKeyCheck = transport.CheckNone
	c := l.mustDial(t, to)
	say(t, c, "true")
	link.BlackHole(true)
	c.wire.past(time.Hour)
	began := time.Now()
	if err := c.Check(t.Context()); transport.ClassOf(err) != transport.ClassConnect {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > checkTakes+20*time.Second {
		t.Errorf("took %v, want %v", took, checkTakes)
	}
	began = time.Now()
	if err := c.Check(t.Context()); transport.ClassOf(err) != transport.ClassConnect || time.Since(began) > 10*time.Second {
		t.Errorf("again, after %v: %v", time.Since(began), err)
	}
	left, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("kill", strings.TrimSpace(string(left))).CombinedOutput(); err != nil {
		t.Errorf("the process that is left behind has ended before Check: %v: %s", err, out)
	}
}

// TestCheckUnreadable checks that unreadable files do not lead to trust, not at
// the second look either.
func TestCheckUnreadable(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	c := l.mustDial(t, dest(s))
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.known); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(l.known, 0o700); err != nil { // it exists, but cannot be read
		t.Fatal(err)
	}
	l.expired()
	for i := range 3 {
		if err := c.Check(t.Context()); err == nil {
			t.Errorf("look %d: what was read before counts", i+1)
		}
	}
}
