package ssh

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// BenchmarkWarm measures the cost of a command on a connection to a real
// server: the CPU time of the server and its processes, our CPU time, and the
// elapsed time. With -benchtime=500x, the CPU times are exact to some
// hundredths of a millisecond.
func BenchmarkWarm(b *testing.B) {
	script := []transport.File{{Name: "x", Mode: 0o700, Data: []byte("#!/bin/sh\ntrue\n")}}
	task := transport.Cmd{
		Argv: []string{"./x"}, Interpreter: []string{"/bin/sh"}, Files: script,
		Env:   []string{"PT_name=nginx", "PT_action=restart", "PT__noop=false", "PT__task=service", "PT__installdir=/tmp/x", "PT_options={\"a\":[1,2,3],\"b\":\"" + strings.Repeat("x", 200) + "\"}"},
		Stdin: []byte(`{"name":"nginx","action":"restart","_noop":false,"_task":"service","options":{"a":[1,2,3],"b":"` + strings.Repeat("x", 200) + `"}}`),
	}
	many := task
	many.Argv = []string{"./m/tasks/x"}
	many.Files = []transport.File{
		{Name: "m/tasks/x", Mode: 0o750, Data: []byte("#!/bin/sh\ntrue\n")},
		{Name: "m/files/a", Mode: 0o640, Data: bytes.Repeat([]byte("a"), 20<<10)},
		{Name: "m/files/b", Mode: 0o640, Data: bytes.Repeat([]byte("b"), 30<<10)},
		{Name: "n/files/c", Mode: 0o644, Data: bytes.Repeat([]byte("c"), 10<<10)},
	}
	for _, k := range []struct {
		name string
		kept bool
		cmd  transport.Cmd
	}{
		{"exec", true, transport.Cmd{Line: "true | true"}},
		{"exec of a script", true, transport.Cmd{Line: "sh -c true script"}},
		{"script by exec", false, transport.Cmd{Argv: []string{"./x"}, Files: script}},
		{"script by ready shell", true, transport.Cmd{Argv: []string{"./x"}, Files: script}},
		{"task by exec", false, task},
		{"task by ready shell", true, task},
		{"task with files by ready shell", true, many},
	} {
		b.Run(k.name, func(b *testing.B) {
			s := sshtest.Start(b, sshtest.Options{})
			l := newLab(b, func(o *Options) { o.Keep = k.kept }, s)
			c := l.mustDial(b, dest(s))
			if !k.kept { // the spare session is not compared
				c.warm.kept = true
				c.warm.ready.fails(maxWarmFailures)
			}
			run := func() {
				if st, err := c.Run(b.Context(), &k.cmd); err != nil || !st.OK() {
					b.Fatalf("%+v, %v", st, err)
				}
			}
			run()
			warmed(b, c)
			server, own := serverCPU(b, s), ownCPU()
			for b.Loop() {
				run()
				b.StopTimer() // a ready shell needs a pause to start, and every command must have one
				time.Sleep(2 * warmSettles)
				b.StartTimer()
			}
			n := float64(b.N)
			b.ReportMetric(float64((serverCPU(b, s)-server).Microseconds())/n/1000, "server-ms/op")
			b.ReportMetric(float64((ownCPU()-own).Microseconds())/n/1000, "own-ms/op")
		})
	}
}

func ownCPU() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverCPU returns the CPU time of a server's processes for connections,
// including all ended children.
func serverCPU(b *testing.B, s *sshtest.Server) time.Duration {
	b.Helper()
	out, err := exec.Command("pgrep", "-f", filepath.Join(s.Dir, "sshd_config")).Output()
	if err != nil {
		b.Fatal(err)
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100
	parents := make(map[string]string)
	spent := make(map[string]time.Duration)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		text, _ := os.ReadFile(file) // a process may have ended
		_, rest, ok := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if !ok || len(f) < 15 {
			continue
		}
		pid := filepath.Base(filepath.Dir(file))
		parents[pid] = f[1]
		for _, ticks := range f[11:15] {
			n, _ := strconv.Atoi(ticks)
			spent[pid] += time.Duration(n) * tick
		}
	}
	main := strings.Fields(string(out))[0]
	var total time.Duration
	for pid := range parents {
		for up := parents[pid]; up != ""; up = parents[up] {
			if up == main {
				total += spent[pid]
				break
			}
		}
	}
	return total
}
