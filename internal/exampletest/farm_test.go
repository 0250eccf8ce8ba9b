package exampletest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/internal/buildtest"
)

const root = "../.."

// output runs a program in the folder of the module, and returns its standard output. It must end with exit code 0.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, &failure)
	}
	return string(out)
}

// A machines is a farm, and the files and ports that bolt needs to work on
// it.
type machines struct {
	t    *testing.T
	dir  string // the farm's
	port int    // free on all addresses of the farm
	env  []string
	bolt string
	cwd  string // where bolt runs
}

// startMachines starts n machines. The machines and all their processes end
// with the test.
func startMachines(t *testing.T, n int) *machines {
	t.Helper()
	m := &machines{t: t, dir: filepath.Join(t.TempDir(), "farm"), bolt: buildtest.Build(t, root, "cmd/bolt")}

	pool, err := os.MkdirTemp("", "bolt-pool") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	m.env = []string{"HOME=" + filepath.Join(m.dir, "home"), "BOLT_POOL_SOCKET=" + filepath.Join(pool, "pool.sock")}
	farm := filepath.Join(root, "scripts", "farm.sh")
	t.Cleanup(func() {
		m.run(0, m.env, "", m.bolt, "pool", "stop")
		m.run(0, nil, "", farm, "stop", m.dir)
		os.RemoveAll(pool)
		if left := m.left(); len(left) > 0 {
			t.Errorf("still running: %q", left)
		}
	})
	m.run(0, nil, "", farm, "start", m.dir, strconv.Itoa(n), "--homes")
	text, err := os.ReadFile(filepath.Join(m.dir, "port"))
	if err != nil {
		t.Fatal(err)
	}
	ssh, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	m.port = ssh - 12000 // no other farm has this port, because no other farm has this SSH port
	return m
}

// run runs a program, checks its exit status, and returns its output.
func (m *machines) run(status int, env []string, dir, name string, args ...string) (stdout, stderr string) {
	m.t.Helper()
	// Cleanup runs programs too, when the test's context is done.
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	ended := cmd.Run()
	exit, failed := errors.AsType[*exec.ExitError](ended)
	if (ended != nil && !failed) || (failed && exit.ExitCode() != status) || (!failed && status != 0) {
		m.t.Fatalf("%s %s: %v, want exit status %d\n%s%s", name, strings.Join(args, " "), ended, status, &out, &err)
	}
	return out.String(), err.String()
}

// do runs bolt, which must succeed, and returns its standard output.
func (m *machines) do(args ...string) string {
	m.t.Helper()
	out, _ := m.run(0, m.env, m.cwd, m.bolt, args...)
	return out
}

// task runs a task and returns its result for each target.
func (m *machines) task(args ...string) map[string]map[string]any {
	m.t.Helper()
	out := m.do(append([]string{"task", "run", "--format", "json"}, args...)...)
	var results struct {
		Items []struct {
			Target string
			Value  map[string]any
		}
	}
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		m.t.Fatalf("%v in\n%s", err, out)
	}
	values := make(map[string]map[string]any)
	for _, item := range results.Items {
		values[item.Target] = item.Value
	}
	return values
}

// left returns the processes that have not ended after a while. A killed process may need a moment.
func (m *machines) left() []string {
	found := m.processes()
	for end := time.Now().Add(30 * time.Second); len(found) > 0 && time.Now().Before(end); found = m.processes() {
		time.Sleep(10 * time.Millisecond)
	}
	return found
}

// processes returns the IDs of all processes that run in the folders of the
// machines.
func (m *machines) processes() []string {
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		m.t.Fatal(err)
	}
	var found []string
	for _, link := range links {
		if at, err := os.Readlink(link); err == nil && strings.HasPrefix(at, filepath.Join(m.dir, "targets")+"/") {
			found = append(found, filepath.Base(filepath.Dir(link)))
		}
	}
	return found
}
