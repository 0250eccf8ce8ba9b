package measure

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCPU checks that the processor time of a process and of its children
// that have ended can be read while it runs. The process's own time has a
// finer resolution than 10 ms.
func TestCPU(t *testing.T) {
	for name, script := range map[string]string{
		"itself":  `read x; i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; read x`,
		"a child": `read x; sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo; read x`,
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", script)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				in.Close()
				cmd.Wait()
			}()
			pid := cmd.Process.Pid
			early, err := CPU(pid)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := in.Write([]byte("\n")); err != nil { // it begins
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 1)); err != nil { // it is done
				t.Fatal(err)
			}
			late, err := Sum([]int{pid})
			if err != nil {
				t.Fatal(err)
			}
			if late-early < 20*time.Millisecond || late > 30*time.Second {
				t.Errorf("used %v after the start and %v after it was busy", early, late)
			}
			if name == "itself" && late%time.Millisecond == 0 {
				t.Errorf("%v: no finer than a millisecond", late)
			}
		})
	}
}

func TestCPUOfNoProcess(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	if d, err := CPU(cmd.Process.Pid); err == nil {
		t.Errorf("a process that has ended used %v", d)
	}
	if Alive(cmd.Process.Pid) {
		t.Error("a process that has ended is alive")
	}
}

func TestLook(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	pid := cmd.Process.Pid
	s, err := Look(pid)
	for end := time.Now().Add(30 * time.Second); err == nil && (s.RSS < 100<<10 || s.PSS > s.RSS) && time.Now().Before(end); s, err = Look(pid) {
		time.Sleep(time.Millisecond) // it is only about to become sleep, and still grows
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.RSS < 100<<10 || s.PSS <= 0 || s.PSS > s.RSS || s.Threads != 1 || s.Files < 3 || !Alive(pid) {
		t.Errorf("got %+v", s)
	}
	children, err := Children()
	if err != nil || !slices.Contains(children[os.Getpid()], pid) {
		t.Errorf("%d is not among our children %v, %v", pid, children[os.Getpid()], err)
	}
	// A process that has ended but was not waited for is not alive.
	cmd.Process.Kill()
	for end := time.Now().Add(30 * time.Second); Alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a killed process is alive")
		}
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, 1, []string{"tool", "÷"}, [][]string{{"a", "1.00"}, {"longer", "12"}}); err != nil {
		t.Fatal(err)
	}
	want := "| tool   |    ÷ |\n| ------ | ---: |\n| a      | 1.00 |\n| longer |   12 |\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(name, []byte("head\n<!-- x: begin -->\nold\n<!-- x: end -->\ntail\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // repeating it changes nothing
		if err := Replace(name, "x", "\nnew\n"); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if want := "head\n<!-- x: begin -->\n\nnew\n\n<!-- x: end -->\ntail\n"; err != nil || string(got) != want {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := Replace(name, "y", "new"); err == nil {
		t.Error("a file without the lines was changed")
	}
}
