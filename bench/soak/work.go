package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// mark is a variable in the environment of all processes that bolt starts on
// targets here. A process that still has it at the end was left behind.
const mark = "BOLT_SOAK"

// letGo is the time after the end of an invocation in which other processes may
// hold its output.
const letGo = 2 * time.Second

// A job is one action on targets, and its expected results.
type job struct {
	kind   string
	args   []string
	most   int                       // targets at a time, 0: any number
	class  string                    // of a success
	stdout string                    // of each target, with class ok
	check  func(target string) error // of each target with class ok
}

// A crew does jobs for a time.
type crew struct {
	s      *session
	number uint64
	strict bool // failures are violations
	dir    string

	mu      sync.Mutex
	running map[*exec.Cmd]bool // true: killed on purpose
}

func (s *session) hire(strict bool) *crew {
	s.crews++
	return &crew{s: s, number: s.crews, strict: strict, dir: s.world.farm.Dir, running: make(map[*exec.Cmd]bool)}
}

// workUntil does jobs, one after the other for each worker, and returns when
// the last has ended.
func (c *crew) workUntil(ctx context.Context, until time.Time) {
	var work sync.WaitGroup
	for i := range c.s.o.workers {
		random := rand.New(rand.NewPCG(c.s.o.seed, c.number<<16+uint64(i)))
		work.Go(func() {
			for n := 0; time.Now().Before(until) && ctx.Err() == nil; n++ {
				c.do(ctx, random, c.pick(random, fmt.Sprintf("%d-%d-%d", c.number, i, n)))
			}
		})
	}
	work.Wait()
}

// pick chooses a job; id is unique.
func (c *crew) pick(random *rand.Rand, id string) job {
	export := mark + "=1; export " + mark + "; "
	command := func(kind, class, line, stdout string, more ...string) job {
		return job{kind: kind, class: class, args: append([]string{"command", "run", line}, more...), stdout: stdout}
	}
	switch random.IntN(9) {
	case 0:
		return command("true", "ok", "true", "")
	case 1:
		return command("echo", "ok", "echo "+id, id+"\n")
	case 2:
		return command("large output", "ok", export+"head -c 300000 /dev/zero | tr '\\0' x", strings.Repeat("x", 300000))
	case 3:
		return command("exit 3", "failed", "exit 3", "")
	case 4:
		return command("sleep", "ok", fmt.Sprintf("%ssleep %.1f; echo slept", export, 0.1+2*random.Float64()), "slept\n")
	case 5:
		return command("timeout", "timeout", export+"sleep 300", "", "--timeout", "1")
	case 6:
		return job{kind: "script", class: "ok", args: []string{"script", "run", c.file("script.sh", script(export)), id}, stdout: id + "\n"}
	case 7:
		data := bytes.Repeat([]byte(id+"\n"), 20000)
		to := filepath.Join(c.dir, "uploaded-"+id)
		return job{kind: "upload", class: "ok", most: 1, args: []string{"file", "upload", c.file("upload-"+id, data), to}, check: func(string) error {
			return sameAs(to, data)
		}}
	default:
		data := bytes.Repeat([]byte("download\n"), 20000)
		to := filepath.Join(c.dir, "downloaded-"+id)
		return job{kind: "download", class: "ok", args: []string{"file", "download", c.file("sample", data), to}, check: func(target string) error {
			return sameAs(filepath.Join(to, target, "sample"), data)
		}}
	}
}

// script returns a script of about 20 KB that prints its argument.
func script(export string) []byte {
	return []byte("#!/bin/sh\n" + export + "\n" + strings.Repeat("# a line of a long script\n", 800) + "sleep 0.2\necho \"$1\"\n")
}

// file writes a file once and returns its path.
func (c *crew) file(name string, data []byte) string {
	path := filepath.Join(c.dir, name)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		c.s.log.violation("write %s: %v", path, err)
	}
	return path
}

func sameAs(path string, want []byte) error {
	got, err := os.ReadFile(path)
	if err == nil && sha256.Sum256(got) != sha256.Sum256(want) {
		err = fmt.Errorf("%s has other contents than were sent: %d bytes, want %d", path, len(got), len(want))
	}
	return err
}

// do runs one job on some targets and checks its results.
func (c *crew) do(ctx context.Context, random *rand.Rand, j job) {
	names := slices.Clone(c.s.world.names)
	random.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
	most := len(names)
	if j.most > 0 {
		most = j.most
	}
	names = names[:1+random.IntN(most)]
	args := append(slices.Clone(j.args), "-t", strings.Join(names, ","), "-i", c.s.world.inventory, "--format", "ndjson", "--no-save-rerun")
	if c.s.known {
		args = append(args, "--pool", c.s.o.pool)
	}
	cmd := exec.Command(c.s.o.bolt, args...)
	cmd.Env, cmd.Dir = append(os.Environ(), c.s.daemon.Env()...), c.dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = letGo
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		c.s.log.violation("start bolt: %v", err)
		return
	}
	c.note(cmd, true)
	hung, err := c.await(ctx, cmd)
	killed := c.note(cmd, false)
	took := time.Since(begin)
	what := fmt.Sprintf("%s on %d targets at %s", j.kind, len(names), begin.Format(time.TimeOnly))
	switch {
	case ctx.Err() != nil:
		return
	case hung:
		c.s.log.violation("%s did not end within %v:\n%s", what, c.s.o.bound, keep(stderr.Bytes()))
		return
	}
	c.s.log.took(j.kind, took)
	if killed {
		c.s.log.count(j.kind, "killed")
		return
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		c.s.log.violation("%s: a process that it has left behind holds its output", what)
	}
	results, ended := parse(stdout.Bytes())
	if !ended {
		c.s.log.violation("%s ended without its end event (%v):\n%.2000s", what, err, stderr.String())
		return
	}
	c.judge(j, what, names, results, err == nil)
}

// judge compares the results with the expected results.
func (c *crew) judge(j job, what string, names []string, results []result, success bool) {
	seen := make(map[string]int)
	good := true
	for _, r := range results {
		seen[r.Target]++
		good = good && r.Class == "ok"
		c.s.log.count(j.kind, r.Class)
		switch {
		case r.Class == "ok" && j.class != "ok":
			c.s.log.violation("%s: %s is ok, want %s", what, r.Target, j.class)
		case r.Class == "ok":
			if got := r.Result.Value.Stdout; got != j.stdout && j.check == nil {
				c.s.log.violation("%s: %s printed %d bytes %.80q, want %d", what, r.Target, len(got), got, len(j.stdout))
			}
			if j.check == nil {
				continue
			}
			if err := j.check(r.Target); err != nil {
				c.s.log.violation("%s: %s: %v", what, r.Target, err)
			}
		case r.Class == j.class:
		case c.strict || !slices.Contains(excused, r.Class):
			c.s.log.violation("%s: %s is %s: %.300s (%.300s)", what, r.Target, r.Class, r.Result.Value.Error.Msg, r.Hint)
		}
	}
	for _, name := range names {
		if seen[name] != 1 {
			c.s.log.violation("%s: %s has %d results", what, name, seen[name])
		}
	}
	if good != success {
		c.s.log.violation("%s: exit status says success=%v, results say %v", what, success, good)
	}
}

// excused are the classes of failure that disturbances can cause.
//
// If a network is silent while a file is sent, the command's own limit may end
// it first.
var excused = []string{"connect", "throttled", "lost", "timeout"}

// await waits for an invocation until its limit.
func (c *crew) await(ctx context.Context, cmd *exec.Cmd) (hung bool, err error) {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.NewTimer(c.s.o.bound)
	defer limit.Stop()
	select {
	case err := <-ended:
		return false, err
	case <-ctx.Done():
	case <-limit.C:
		hung = true
		cmd.Process.Signal(syscall.SIGQUIT) // Go prints its goroutines
		select {
		case err := <-ended:
			return true, err
		case <-time.After(5 * time.Second):
		}
	}
	cmd.Process.Kill()
	return hung, <-ended
}

// note records running invocations, so that they can be killed. At the end of
// an invocation it reports whether it was killed.
func (c *crew) note(cmd *exec.Cmd, begins bool) (killed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if begins {
		c.running[cmd] = false
		return false
	}
	killed = c.running[cmd]
	delete(c.running, cmd)
	return killed
}

// kill kills one running invocation.
func (c *crew) kill() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cmd, killed := range c.running {
		if killed || cmd.Process.Kill() != nil {
			continue
		}
		c.running[cmd] = true
		return true
	}
	return false
}

// A result is the result of one target in the event stream.
type result struct {
	Target string `json:"target"`
	Class  string `json:"class"`
	Hint   string `json:"hint"`
	Result struct {
		Value struct {
			Stdout string `json:"stdout"`
			Error  struct {
				Msg string `json:"msg"`
			} `json:"_error"`
		} `json:"value"`
	} `json:"result"`
}

// parse reads an event stream. ended reports whether it is complete.
func parse(stream []byte) (results []result, ended bool) {
	for line := range bytes.Lines(stream) {
		var e struct {
			Event string `json:"event"`
			result
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return results, false
		}
		switch e.Event {
		case "result":
			results = append(results, e.result)
		case "end":
			ended = true
		}
	}
	return results, ended
}

// keep returns a text that can be printed. If the text is too long, keep saves
// it and returns its path.
func keep(text []byte) string {
	const printed = 2000
	if len(text) <= printed {
		return string(text)
	}
	f, err := os.CreateTemp("", "bolt-soak-*.txt")
	if err != nil {
		return string(text[:printed])
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return string(text[:printed])
	}
	return strconv.Itoa(len(text)) + " bytes in " + f.Name()
}
