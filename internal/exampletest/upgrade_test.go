package exampletest

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A shop is examples/rolling-upgrade on machines.
type shop struct {
	*machines
	url string
}

func openShop(t *testing.T) *shop {
	t.Helper()
	m := startMachines(t, 5)
	m.cwd = t.TempDir()
	if err := os.CopyFS(m.cwd, os.DirFS(filepath.Join(root, "examples", "rolling-upgrade"))); err != nil {
		t.Fatal(err)
	}
	inventory := filepath.Join(m.cwd, "inventory.yaml")
	text, err := os.ReadFile(inventory)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inventory, []byte(strings.ReplaceAll(string(text), "8080", strconv.Itoa(m.port))), 0o600); err != nil {
		t.Fatal(err)
	}
	return &shop{m, fmt.Sprintf("http://127.0.2.1:%d/cgi-bin/order", m.port)}
}

// while counts the answers that customers of the shop get while do runs.
// Each answer must be an order.
func (s *shop) while(do func()) map[string]int {
	s.t.Helper()
	var (
		mu      sync.Mutex
		answers = make(map[string]int)
		all     sync.WaitGroup
		done    = make(chan struct{})
	)
	for range 6 {
		all.Go(func() {
			for {
				answer := s.order()
				mu.Lock()
				answers[answer]++
				mu.Unlock()
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	func() {
		defer all.Wait()
		defer close(done)
		do()
	}()
	for answer, n := range answers {
		if !strings.HasPrefix(answer, "ordered from shop ") {
			s.t.Errorf("%d customers got %q", n, answer)
		}
	}
	return answers
}

// order returns the balancer's answer to a customer.
func (s *shop) order() string {
	r, err := http.Get(s.url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	if r.StatusCode != http.StatusOK {
		return r.Status
	}
	return strings.TrimSpace(string(body))
}

// wantAnswers checks the versions that customers have met.
func (s *shop) wantAnswers(answers map[string]int, versions ...string) {
	s.t.Helper()
	var want []string
	for _, v := range versions {
		want = append(want, "ordered from shop "+v)
	}
	if got := slices.Sorted(maps.Keys(answers)); !slices.Equal(got, want) {
		s.t.Errorf("answers %q, want %q", got, want)
	}
}

// wantRunning checks the version of all machines, and the state that the
// balancer reports for each of them.
func (s *shop) wantRunning(version string, states map[string]any) {
	s.t.Helper()
	healths := s.task("shop::health", "-t", "web")
	if len(healths) != 4 {
		s.t.Errorf("%d machines", len(healths))
	}
	for name, value := range healths {
		if value["version"] != version {
			s.t.Errorf("%s: version %v, want %s", name, value["version"], version)
		}
	}
	if got := s.task("shop::backend", "-t", "lb")["lb01"]["servers"]; !maps.Equal(got.(map[string]any), states) {
		s.t.Errorf("the balancer has %v, want %v", got, states)
	}
}

func TestRollingUpgrade(t *testing.T) {
	s := openShop(t)
	up := map[string]any{"web01": "UP", "web02": "UP", "web03": "UP", "web04": "UP"}

	s.wantShown()
	s.do("plan", "run", "shop::setup", "version=1.0")
	s.wantRunning("1.0", up)

	// The upgrade succeeds.
	answers := s.while(func() { s.do("plan", "run", "shop::upgrade", "version=2.0") })
	s.wantAnswers(answers, "1.0", "2.0")
	s.wantRunning("2.0", up)

	// A machine fails with the new release: all machines go back.
	s.do("command", "run", "echo payment=card >>shared/settings", "-t", "web01,web02,web04")
	failing := func() string {
		out, _ := s.run(1, s.env, s.cwd, s.bolt, "plan", "run", "shop::upgrade", "version=3.0", "at_once=2", "wait=4")
		return out
	}
	var out string
	answers = s.while(func() { out = failing() })
	s.wantAnswers(answers, "2.0", "3.0")
	if want := "\nUpgrade to 3.0 failed on web03: 3.0 has no line payment=... in shared/settings. All machines run 2.0 again.\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	s.wantRunning("2.0", up)

	// The machine cannot go back either: the customers do not meet it.
	s.do("command", "run", "chmod -x releases/2.0/bin/serve", "-t", "web03")
	answers = s.while(func() { out = failing() })
	s.wantAnswers(answers, "2.0", "3.0")
	if want := " Not back on 2.0, to be looked at: web03 (The task failed with exit code 1"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	if out = failing(); !strings.Contains(out, "web03") || strings.Contains(out, "Starting: plan shop::stage") {
		t.Errorf("an upgrade began while web03 was down:\n%s", out)
	}

	// The machine is repaired, and the upgrade succeeds.
	s.do("command", "run", "chmod +x releases/2.0/bin/serve; echo payment=card >>shared/settings", "-t", "web03")
	s.do("plan", "run", "shop::rollback", "version=2.0", "-t", "web03")
	answers = s.while(func() { s.do("plan", "run", "shop::upgrade", "version=3.0", "at_once=2") })
	s.wantAnswers(answers, "2.0", "3.0")
	s.wantRunning("3.0", up)

	s.do("plan", "run", "shop::teardown")
	s.do("pool", "stop") // its shells are on the machines
	if left := s.left(); len(left) > 0 {
		t.Errorf("still running after shop::teardown: %q", left)
	}
}

// wantShown checks the output of the commands that show the example.
func (s *shop) wantShown() {
	s.t.Helper()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"plan", "show"}, []string{"shop::upgrade ", "shop::rollback ", "shop::stage "}},
		{[]string{"plan", "show", "shop::upgrade"}, []string{"version=<value>", "Shop::Version", "How many machines may be out of the balancer"}},
		{[]string{"plan", "convert", "plans/stage.yaml"}, []string{"plan shop::stage(", "'_serial' => [1, '50%']"}},
		{[]string{"task", "show", "shop::backend"}, []string{"Enum[status, drain, ready]"}},
		{[]string{"inventory", "show"}, []string{"web04", "lb01"}},
	} {
		out := s.do(c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				s.t.Errorf("%q: no %q in\n%s", c.args, want, out)
			}
		}
	}
}
