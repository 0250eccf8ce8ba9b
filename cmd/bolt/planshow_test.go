package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bolt/internal/sshtest"
)

// planProject makes a project with one plan, show.
func planProject(t *testing.T, plan string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "plans"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"bolt-project.yaml": "name: show\n",
		"plans/init.pp":     plan,
		"inventory.yaml":    "targets: [{name: here1, config: {transport: local}}, {name: here2, config: {transport: local}}]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A terminal is a terminal in which the program runs.
type terminal struct {
	*exec.Cmd
	keys io.Writer
	said *lockedBuffer
}

// planInTerminal starts the plan of a project in a terminal.
func planInTerminal(t *testing.T, dir string, args ...string) *terminal {
	t.Helper()
	term := &terminal{terminalCommand(t, dir, ownPool(t), append([]string{"bolt", "plan", "run", "show"}, args...)...), nil, &lockedBuffer{}}
	term.Env = append(term.Env, "NO_COLOR=1")
	keys, err := term.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	term.keys, term.Stdout, term.Stderr = keys, term.said, term.said
	if err := term.Start(); err != nil {
		t.Fatalf("script(1): %v", err)
	}
	t.Cleanup(func() {
		_ = term.Process.Kill()
		_ = term.Wait()
	})
	return term
}

func (term *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(term.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// visible returns the lines that stay on the screen.
func (term *terminal) visible() []string {
	lines := strings.Split(term.said.String(), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		lines[i] = strings.TrimPrefix(line, "\x1b[K")
	}
	return lines
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func untilFile(t *testing.T, path string) {
	t.Helper()
	until(t, path, func() bool { return exists(path) })
}

// TestPlanProgress checks that a terminal has a line about the step that began
// last, and that the line is removed.
func TestPlanProgress(t *testing.T) {
	dir := planProject(t, `plan show() {
  parallelize(['one', 'two']) |$name| { run_command("while [ ! -e ${name} ]; do sleep 0.05; done", ['here1', 'here2'], $name) }
  run_command('while [ ! -e three ]; do sleep 0.05; done; exit 1', 'here1', 'three', '_catch_errors' => true)
}`)
	term := planInTerminal(t, dir)
	end := func(pattern string) { // ends the step that is shown
		t.Helper()
		line := regexp.MustCompile(pattern)
		until(t, pattern, func() bool { return line.MatchString(term.said.String()) })
		touch(t, filepath.Join(dir, line.FindStringSubmatch(term.said.String())[1]))
	}
	end(`\r0/2 done, 0 failed, 2 running \d+\.\ds \(and 1 more step\): (one|two)\x1b\[K`)
	end(`\r0/2 done, 0 failed, 2 running \d+\.\ds: (one|two)\x1b\[K`)
	end(`\r0/1 done, 0 failed, 1 running \d+\.\ds: (three)\x1b\[K`)
	if err := term.Wait(); err != nil {
		t.Error(err)
	}
	lines := term.visible()
	if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "running") }); i >= 0 {
		t.Errorf("the line of progress stays: %q", lines[i])
	}
	if !slices.Contains(lines, "Plan completed successfully with no result") {
		t.Errorf("the screen has:\n%s", strings.Join(lines, "\n"))
	}
}

// TestPlanAsks checks that other branches go on while a question is open, and that
// their output comes after the answer.
func TestPlanAsks(t *testing.T) {
	for name, options := range map[string]string{"text": "", "secret": ", 'sensitive' => true"} {
		t.Run(name, func(t *testing.T) {
			dir := planProject(t, `plan show() {
  $beside = background() || {
    run_command('while [ ! -e asked ]; do sleep 0.05; done', 'here1', 'first')
    warning('a warning')
    run_command('touch second', 'here1', 'second')
    run_command('while [ ! -e seen ]; do sleep 0.05; done; touch third', 'here1', 'third')
  }
  $name = prompt('Name', 'default' => 'me'`+options+`)
  wait($beside)
  out::message("hello ${name.unwrap}")
}`)
			term := planInTerminal(t, dir)
			until(t, "the question", func() bool { return strings.HasSuffix(term.said.String(), "]: ") })
			before := term.said.String()
			touch(t, filepath.Join(dir, "asked"))
			untilFile(t, filepath.Join(dir, "second")) // by a step beside the question
			touch(t, filepath.Join(dir, "seen"))
			untilFile(t, filepath.Join(dir, "third"))
			if text := term.said.String(); text != before {
				t.Errorf("%q came between a question and its answer", strings.TrimPrefix(text, before))
			}
			term.press(t, "you\n")
			if err := term.Wait(); err != nil {
				t.Error(err)
			}
			text := strings.Join(term.visible(), "\n")
			last := 0
			for _, want := range []string{"Name [", "Finished: first with 0 failures", "a warning", "Starting: second on here1", "Starting: third on here1", "hello you"} {
				i := strings.Index(text[last:], want)
				if i < 0 {
					t.Fatalf("no %q in its place in:\n%s", want, text)
				}
				last += i
			}
		})
	}
}

// TestPlanAsksInterrupted presses ^C when a question is open and a command runs.
func TestPlanAsksInterrupted(t *testing.T) {
	const mark = "4712.25"
	for name, options := range map[string]string{"text": "", "secret": ", 'sensitive' => true"} {
		t.Run(name, func(t *testing.T) {
			dir := planProject(t, `plan show() {
  background() || { run_command('sleep `+mark+`', 'here1', 'long') }
  prompt('Name'`+options+`)
  run_command('touch after', 'here1')
}`)
			term := planInTerminal(t, dir)
			until(t, "the question", func() bool { return strings.Contains(term.said.String(), "Name: ") })
			until(t, "the command", func() bool { return sleepers(t, mark) == 1 })
			term.press(t, "\x03")
			if err := term.Wait(); err == nil || term.ProcessState.ExitCode() != exitFailed {
				t.Errorf("it ended with %v", err)
			}
			until(t, "end of the command", func() bool { return sleepers(t, mark) == 0 })
			text := strings.Join(term.visible(), "\n")
			for _, want := range []string{"Stopping (interrupt)", "Stopped: long on here1\n", "Ended on 1 target: here1\n", "No step had ended before.\n", "The plan show was stopped"} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in:\n%s", want, text)
				}
			}
			if exists(filepath.Join(dir, "after")) || strings.Contains(text, "errored_futures") {
				t.Errorf("the plan went on:\n%s", text)
			}
		})
	}
}

// interrupted is a plan that is stopped in two branches at the same time. One
// branch waits for its second batch.
const interrupted = `plan show() {
  run_command('echo done', 'host1', 'early')
  parallelize(['left', 'right']) |$side| {
    if $side == 'left' {
      run_command('echo partial; sleep MARK', ['host1', 'host2', 'host3'], 'left', '_serial' => 2)
    } else {
      catch_errors() || { run_command('[ $(id -u) = 0 ] && sleep MARK', 'host4', 'right', '_catch_errors' => true) }
    }
  }
  run_command('sleep MARK', 'host1', 'never')
}`

// stopPlan runs that plan, stops it with a signal, and returns its output.
func stopPlan(t *testing.T, server *sshtest.Server, s os.Signal, mark string, args ...string) string {
	t.Helper()
	var out lockedBuffer
	dir := planProject(t, strings.ReplaceAll(interrupted, "MARK", mark))
	cmd := startBoltIn(t, dir, server, &out, append([]string{"plan", "run", "show", "--stream"}, args...)...)
	until(t, "commands on three targets", func() bool { return sleepers(t, mark) == 3 && strings.Count(out.String(), "partial") >= 2 })
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != exitFailed {
		t.Errorf("exit %v, want code 1", err)
	}
	until(t, "end of the commands", func() bool { return sleepers(t, mark) == 0 })
	rerun := readFile(t, filepath.Join(dir, ".rerun.json"))
	for _, host := range []string{"host1", "host2", "host3", "host4"} {
		if strings.Count(rerun, `"`+host+`"`) != 1 {
			t.Errorf("%s is not once in .rerun.json: %s", host, rerun)
		}
	}
	return out.String()
}

// TestPlanInterrupt checks that one signal ends the running steps, and that the
// output shows the position in the plan.
func TestPlanInterrupt(t *testing.T) {
	text := stopPlan(t, sshtest.Start(t, sshtest.Options{}), syscall.SIGINT, "4713.25")
	for _, want := range []string{
		"\nFailed on host1:\n  Command on host1 was cancelled; it has ended there\n  partial\n",
		"\nStopped: left on host1, host2, host3\n  (file: ", ", line: 5)\n  Ended on 2 targets: host1,host2\n  Not run on 1 target: host3\n",
		"\nStopped: right on host4\n", "line: 7)\n  Ended on 1 target: host4\n",
		"\n1 step had ended before:\n  early on host1 with 0 failures\nThe plan show was stopped. Its remaining steps were not begun.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "never") {
		t.Errorf("the plan went on:\n%s", text)
	}
}

// A stoppedPlan is the error of a stopped plan.
type stoppedPlan struct {
	Kind    string
	Details struct {
		ResultSet []struct {
			Target string
			Value  struct{ Stdout string }
		} `json:"result_set"`
		Steps struct {
			Finished int
			Stopped  []struct {
				Description string
				Ended       []string
				NotBegun    []string `json:"not_begun"`
				Line        int
			}
		}
	}
}

func (p *stoppedPlan) check(t *testing.T) {
	t.Helper()
	var results, steps []string // branches begin in no certain order
	for _, r := range p.Details.ResultSet {
		results = append(results, r.Target+" "+r.Value.Stdout)
	}
	for _, s := range p.Details.Steps.Stopped {
		steps = append(steps, fmt.Sprintf("%s %q %q %d", s.Description, s.Ended, s.NotBegun, s.Line))
	}
	slices.Sort(results)
	slices.Sort(steps)
	got := fmt.Sprintf("%s %q %d %q", p.Kind, results, p.Details.Steps.Finished, steps)
	want := fmt.Sprintf("bolt/cancelled-error %q 1 %q", []string{"host1 partial\n", "host2 partial\n", "host3 ", "host4 "},
		[]string{`left ["host1" "host2"] ["host3"] 5`, `right ["host4"] [] 7`})
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// lastLine returns the last line of JSON.
func lastLine(t *testing.T, text string) []byte {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "{") {
			return []byte(line)
		}
	}
	t.Fatalf("no JSON in:\n%s", text)
	return nil
}

// TestPlanTerminated is TestPlanInterrupt for programs, with other signals.
func TestPlanTerminated(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{})
	var document stoppedPlan
	text := stopPlan(t, server, syscall.SIGTERM, "4713.5", "--format", "json")
	if err := json.Unmarshal(lastLine(t, text), &document); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	document.check(t)

	var event struct {
		Event string
		Error stoppedPlan
	}
	text = stopPlan(t, server, syscall.SIGHUP, "4713.75", "--format", "ndjson")
	if err := json.Unmarshal(lastLine(t, text), &event); err != nil || event.Event != "error" {
		t.Fatalf("%v:\n%s", err, text)
	}
	event.Error.check(t)
}

// TestPlanUnread checks that a plan is stopped when its output has no reader any
// more.
func TestPlanUnread(t *testing.T) {
	for _, format := range []string{"human", "ndjson"} {
		t.Run(format, func(t *testing.T) {
			dir := planProject(t, `plan show() {
  Integer[1, 10000].each |$n| { run_command('sleep 0.05', 'here1') }
}`)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, "plan", "run", "show", "--format", format)
			cmd.Args[0] = "bolt"
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "HOME="+dir, "BOLT_PROJECT="+dir, ownPool(t))
			var said lockedBuffer
			cmd.Stdout, cmd.Stderr = w, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if _, err := r.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
			r.Close()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			until(t, "end of the plan", func() bool { return len(ended) == 1 })
			if <-ended; cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "results could not be written") {
				t.Errorf("exit code %d, and it said:\n%s", cmd.ProcessState.ExitCode(), &said)
			}
		})
	}
}
