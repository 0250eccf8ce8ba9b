package ssh

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/transporttest"
)

// TestRoundTrips checks that a command on a cached connection takes one round
// trip, and so does a script or a task with 64 KiB of files. A run-as that asks
// for a password must wait for the prompt, and again before it sends data. The
// same commands on a link without delay show the time of the machine itself.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	const rtt = 400 * time.Millisecond
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	reach := func(oneWay time.Duration) *Conn {
		link := sshtest.Delay(t, s.Addr, oneWay)
		to := dest(s)
		to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
		return l.mustDial(t, to)
	}
	as := transport.RunAs{User: transporttest.Users(t).Free.Name}
	script := "#!/bin/sh\n" + strings.Repeat("# twenty kilobytes of script\n", 700) + "echo done\n"
	files := []transport.File{{Name: "x.sh", Mode: 0o700, Data: []byte(script)}}
	task := transport.Cmd{
		Argv:  []string{"./x/tasks/init"},
		Env:   []string{"PT_a=b", "PT__task=x"},
		Stdin: []byte("{}"),
		Files: []transport.File{
			{Name: "x/tasks/init", Mode: 0o750, Data: []byte("#!/bin/sh\n[ \"$PT_a\" = b ] && [ \"$(cat)\" ] && [ \"$(cat \"${0%/*}/../files/data\" | wc -c)\" -eq 60000 ] && echo done\n")},
			{Name: "x/files/data", Mode: 0o640, Data: []byte(strings.Repeat("x", 60000))},
			{Name: "x/files/more", Mode: 0o644, Data: []byte(strings.Repeat("y", 5000))},
		},
	}
	var tasks []transport.Cmd
	for range 4 {
		tasks = append(tasks, task)
	}
	tasks[1].Env = append(tasks[1].Env, "LANG=C", "odd.name=x")
	tasks[2].Stdin = []byte("\x00\xff" + strings.Repeat("in", 10000))
	tasks[3].RunAs = as
	interpreted := transport.Cmd{Interpreter: []string{"/bin/sh", "-e"}, Argv: []string{"./x.sh", "a b"}, Files: files, Env: []string{"PT_a=b"}}
	for _, k := range []struct {
		name string
		cmd  transport.Cmd
		want float64
	}{
		{"command", transport.Cmd{Line: "echo done | cat"}, 1},
		{"script of 20 KB", transport.Cmd{Argv: []string{"./x.sh"}, Files: files}, 1},
		{"line with environment", transport.Cmd{Line: "echo $A", Env: []string{"A=done"}}, 1},
		{"arguments and directory", transport.Cmd{Argv: []string{"echo", "done"}, Dir: "/tmp"}, 1},
		{"run-as", transport.Cmd{Line: "echo done", RunAs: as}, 1},
		{"run-as of a script", transport.Cmd{Argv: []string{"./x.sh"}, Files: files, RunAs: as}, 1},
		{"task", tasks[0], 1},
		{"task with any environment", tasks[1], 1},
		{"task with any input", tasks[2], 1},
		{"task with run-as", tasks[3], 1},
		{"task with an interpreter", interpreted, 1},
		{"task without files", transport.Cmd{Argv: []string{"sh", "-c", "cat"}, Stdin: []byte("done\n"), Env: []string{"PT_a=b"}}, 1},
	} {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			far, near := reach(rtt/2), reach(0)
			slow, fast := time.Hour, time.Hour
			timed(t, far, k.cmd) // so that a ready shell is started
			timed(t, near, k.cmd)
			got := math.Inf(1)
			for try := range 20 { // a busy machine makes some of them slow
				slow = min(slow, timed(t, far, k.cmd))
				fast = min(fast, timed(t, near, k.cmd))
				if got = float64(slow-fast) / float64(rtt); try >= 2 && math.Abs(got-k.want) <= 0.5 {
					break
				}
			}
			t.Logf("%.2f round trips; without delay %v", got, fast)
			if got > k.want+0.5 || got < k.want-0.5 {
				t.Errorf("%.2f round trips, want %v", got, k.want)
			}
		})
	}
}

// TestCommandsInARow checks that commands that follow each other at once take
// one round trip each. The session for the next command is requested together
// with the command.
func TestCommandsInARow(t *testing.T) {
	t.Parallel()
	const rtt = time.Second
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep = true }, s)
	link := sshtest.Delay(t, s.Addr, rtt/2)
	to := dest(s)
	to.Host, to.Port, to.HostKeyCheck = link.Host, link.Port, transport.CheckNone
	c := l.mustDial(t, to)
	for try := range 5 { // a busy machine makes some of them slow
		timed(t, c, transport.Cmd{Line: "echo done"})
		ended := time.Now()
		for ; time.Since(ended) <= rtt/2; time.Sleep(time.Millisecond) {
			c.warm.mu.Lock()
			ahead := len(c.warm.spare)
			c.warm.mu.Unlock()
			if ahead > 0 {
				return
			}
		}
		t.Logf("try %d: the next session is not there after %v", try+1, time.Since(ended))
	}
	t.Error("the next session is not there when the command has ended")
}

// warmed waits until all sessions that are started in advance are ready.
func warmed(t testing.TB, c *Conn) {
	t.Helper()
	ready := func() bool {
		w := &c.warm
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.spare) == 1 && !w.lacks() && w.ready.starting == nil && w.running == 0
	}
	for deadline := time.Now().Add(time.Minute); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not warm in time")
		}
	}
}

// timed runs a command that prints "done" on a warm connection and returns its
// time.
func timed(t *testing.T, c *Conn, cmd transport.Cmd) time.Duration {
	t.Helper()
	warmed(t, c)
	var out strings.Builder
	cmd.Stdout = &out
	began := time.Now()
	if _, err := c.Run(t.Context(), &cmd); err != nil || out.String() != "done\n" {
		t.Fatalf("%q, %v", out.String(), err)
	}
	return time.Since(began)
}

// TestFirstChannelDoesNotStall checks that the first channel is as fast as
// later ones. Without immediate acknowledgements, sshd's first channel takes 40
// ms more.
func TestFirstChannelDoesNotStall(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil, s)
	stall := 40 * time.Millisecond
	best := time.Hour
	for try := 0; try < 10 || best > stall/2 && try < 50; try++ { // a busy machine makes some of them slow
		r, err := l.own.route(t.Context(), dest(s))
		if err != nil {
			t.Fatal(err)
		}
		c, err := r.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		o, err := c.newSession(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		o.ch.Close()
		c.places.release()
		c.Close()
	}
	t.Logf("first channel after %v", best)
	if best > stall/2 {
		t.Errorf("first channel took %v at best, want less than %v", best, stall/2)
	}
}

// TestSudoBeginsToAsk checks that a sudo that starts to ask for a password gets
// the password and no other data.
func TestSudoBeginsToAsk(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, func(o *Options) { o.Keep, o.eager = true, true }, s)
	c := l.mustDial(t, dest(s))
	dir := everyonesDir(t)
	sudo := dir + "/sudo"
	// -S [-n] -H -u user -p prompt command …
	text := "#!/bin/sh\nprintf '%s\\n' \"$2\" >>" + dir + "/calls; [ \"$2\" != -n ] && n= || n=1\n" +
		"if [ -e " + dir + "/asks ]; then [ ! \"$n\" ] || { echo 'sudo: a password is required' >&2; exit 1; }; " +
		"printf %s \"$6\" | sed 's/%%/%/g' >&2; IFS= read -r p; [ \"$p\" = secret ] || { echo \"$p\" >" + dir + "/wrong; echo 'Sorry, try again.' >&2; exit 1; }; fi\n" +
		"[ \"$n\" ] && shift 7 || shift 6\nexec \"$@\"\n"
	if err := os.WriteFile(sudo, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := transport.Cmd{Argv: []string{"./x", "a"}, TmpDir: dir, Env: []string{"PT_a=b"}, Stdin: []byte("input"),
		Files: []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\necho \"$1 $PT_a\"; cat\n")}},
		RunAs: transport.RunAs{User: "other", Executable: sudo, Password: transport.NewSecret("secret")}}
	step := func(want string) {
		t.Helper()
		warmed(t, c)
		os.Remove(dir + "/calls")
		if got := seen(t, c, cmd); !strings.Contains(got, `stdout "a b\ninput"`) || !strings.Contains(got, `stderr ""`) {
			t.Error(got)
		}
		calls, _ := os.ReadFile(dir + "/calls")
		if got := strings.ReplaceAll(string(calls), "\n", " "); got != want {
			t.Errorf("sudo was called with %q, want %q", got, want)
		}
	}
	step("-H ")
	step("-n ")
	if err := os.WriteFile(dir+"/asks", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	step("-n -H ")
	step("-H ")
	if err := os.Remove(dir + "/asks"); err != nil {
		t.Fatal(err)
	}
	step("-H ")
	step("-n ")
	if wrong, err := os.ReadFile(dir + "/wrong"); err == nil {
		t.Errorf("sudo was answered %q", wrong)
	}
}
