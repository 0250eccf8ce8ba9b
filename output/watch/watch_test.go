package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"bolt/internal/columns"
	"bolt/rollout"
	"bolt/rollout/gate"
)

var update = flag.Bool("update", false, "write the expected pictures")

const driver = "ann@desk (process 8489)"

// names returns the names of n nodes.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("web%02d.example.com", i+1)
	}
	return list
}

const staged = `
order: [name]
strategy:
  waves: [{name: canary, count: 2, soak: 10m}, {name: tenth, percent: 10, approve: [ann, bob]}, {rest: true}]
  failures: {count: 2}
  node: {timeout: 20m, retries: 1, retry_after: 30s, retry_on: [unreachable]}
  progress_deadline: 1h
  on_failure: rollback
gates:
  - {name: health, at: [wave], command: 'true', count: 3, interval: 10s, failure_limit: 1}
`

// canary plays the first wave up to its gate.
func canary(t testing.TB) *stage {
	g := play(t, staged, names(40)...)
	g.pass(4 * time.Second)
	g.end(rollout.OutcomeDone, "", "web01.example.com", "web02.example.com")
	g.pass(0)
	return g
}

// approval plays up to the approval of the second wave.
func approval(t testing.TB) *stage {
	g := canary(t)
	for range 3 {
		g.measured(gate.Successful, "")
		g.pass(10 * time.Second)
	}
	g.pass(10 * time.Minute)
	return g
}

// running plays into the third wave.
func running(t testing.TB) *stage {
	g := approval(t)
	c := g.view.State().Created()
	g.do(&rollout.Approved{By: "bob", Wave: 2, Release: "new", Strategy: c.StrategyDigest})
	g.pass(7 * time.Second)
	g.end(rollout.OutcomeDone, "", "web03.example.com", "web04.example.com", "web05.example.com", "web06.example.com")
	for range 3 {
		g.measured(gate.Successful, "")
		g.pass(10 * time.Second)
	}
	g.pass(5 * time.Second)
	g.end(rollout.OutcomeDone, "", names(40)[6:15]...)
	g.end(rollout.OutcomeFailed, "File[/etc/app.conf]: no space left on device", "web16.example.com")
	g.end(rollout.OutcomeUnreachable, "dial web17.example.com:22: connection refused", "web17.example.com")
	g.pass(8 * time.Second)
	return g
}

// pictures are the scenes of the tests.
var pictures = map[string]func(t testing.TB) *stage{
	"approval": approval,
	"running":  running,
	"soak": func(t testing.TB) *stage {
		g := canary(t)
		for range 3 {
			g.measured(gate.Successful, "")
			g.pass(10 * time.Second)
		}
		g.pass(61 * time.Second)
		return g
	},
	"gate": func(t testing.TB) *stage {
		g := canary(t)
		g.measured(gate.Successful, "")
		g.pass(10 * time.Second)
		g.measured(gate.Failed, "web01.example.com: the command failed with exit code 1")
		g.pass(10 * time.Second)
		return g
	},
	"rollback": func(t testing.TB) *stage {
		g := canary(t)
		for range 2 {
			g.measured(gate.Failed, "web01.example.com: the command failed with exit code 1")
			g.pass(10 * time.Second)
		}
		g.pass(2 * time.Second)
		g.end(rollout.OutcomeDone, "", "web01.example.com")
		return g
	},
	"paused": func(t testing.TB) *stage {
		g := running(t)
		g.do(&rollout.Paused{By: "bob", Reason: "lunch"})
		g.do(&rollout.DriverStopped{Session: "a", Reason: "^C"})
		return g
	},
	"done": func(t testing.TB) *stage {
		g := play(t, "rollout: web\norder: [name]", names(3)...)
		g.pass(3 * time.Second)
		g.end(rollout.OutcomeDone, "", names(3)...)
		return g
	},
}

// TestPictures compares whole frames of several sizes.
func TestPictures(t *testing.T) {
	for name, make := range pictures {
		for _, size := range [][2]int{{80, 24}, {120, 36}, {40, 10}} {
			who := driver
			if name == "paused" {
				who = ""
			}
			got := make(t).frame(Look{Width: size[0], Height: size[1], Driver: who})
			file := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s: -want +got; after a look at the new ones: go test ./output/watch -update\n%s", file, diff)
			}
		}
	}
}

// TestSizes checks that frames of all sizes fit, and that scrolling stays in the list.
func TestSizes(t *testing.T) {
	for name, make := range pictures {
		g := make(t)
		for _, width := range []int{0, 1, 2, 3, 5, 9, 20, 39, 40, 41, 69, 70, 71, 130} {
			for _, height := range []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 17, 24, 44} {
				for _, scroll := range []int{-5, 0, 7, 1 << 30} {
					l := Look{Width: width, Height: height, Scroll: scroll, Failed: scroll == 7, Driver: driver, What: "release 61975abe42e8"}
					f := g.view.Frame(g.now, l)
					if len(f.Lines) > height {
						t.Fatalf("%s: %dx%d: there are %d lines", name, width, height, len(f.Lines))
					}
					for _, line := range f.Lines {
						if n := columns.Count(line.String()); n > width {
							t.Fatalf("%s: %dx%d: a line has %d columns: %s", name, width, height, n, line)
						}
					}
					if height >= 3 && (f.Scroll < 0 || f.Scroll > 41) || f.Page < 0 || f.Page > height {
						t.Fatalf("%s: %dx%d: scroll %d, page %d", name, width, height, f.Scroll, f.Page)
					}
				}
			}
		}
	}
}

// TestHostile has control sequences, wide characters and invalid bytes in all texts of a rollout.
func TestHostile(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;evil\x07\r\n東京🚀\u202e\xff\x00\u009b1m"
	g := play(t, "rollout: x\norder: [name]\nstrategy: {waves: [{name: \"a\\u001b[2Jb\", count: 1}, {rest: true}], failures: {count: 9}}\ngates: [{name: \"g\\u001b[2J\", at: [wave], command: x, failure_limit: 5}]", "a"+evil, "b"+evil, "c"+evil)
	g.end(rollout.OutcomeFailed, strings.Repeat(evil, 1000), "a"+evil)
	g.measured(gate.Failed, evil)
	g.measured(gate.Successful, evil)
	g.do(&rollout.Paused{By: evil, Reason: evil})
	for _, width := range []int{1, 2, 7, 40, 80, 300} {
		f := g.view.Frame(g.now, Look{Width: width, Height: 40, Driver: evil, Next: evil, What: evil})
		for _, line := range f.Lines {
			if strings.ContainsFunc(line.String(), func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) || columns.Count(line.String()) > width {
				t.Errorf("width %d: the line %q is not safe", width, line)
			}
		}
	}
}

// TestScroll scrolls through the list, and shows only failed nodes.
func TestScroll(t *testing.T) {
	g := running(t)
	l := Look{Width: 80, Height: 24, Driver: driver}
	first := g.view.Frame(g.now, l)
	l.Scroll = first.Page
	second := g.frame(l)
	for _, text := range []string{"web16", "web17"} {
		if !strings.Contains(g.frame(Look{Width: 80, Height: 24}), text) || strings.Contains(second, "  "+text) {
			t.Errorf("%s is not only on the first page:\n%s", text, second)
		}
	}
	l.Scroll = 1 << 30
	if last := g.frame(l); !strings.Contains(last, "web15.example.com done") {
		t.Errorf("the last page does not have the last node:\n%s", last)
	}
	l.Failed = true
	if only := g.frame(l); !strings.Contains(only, "web16.example.com failed") || strings.Contains(only, "web18") {
		t.Errorf("not only failed nodes:\n%s", only)
	}
	// The rollout ends, or is retried, while a person has scrolled to the end of a list.
	g.do(&rollout.Retried{By: "bob"})
	if only := g.frame(l); strings.Contains(only, "web16.example.com failed") {
		t.Errorf("a node that is repeated is among the failed ones:\n%s", only)
	}
}

// TestManyFailures checks that many failures do not hide the nodes in work, and that f shows all of them, the newest first.
func TestManyFailures(t *testing.T) {
	g := play(t, "rollout: x\norder: [name]\nstrategy: {failures: {count: 100}, concurrency: {max: 5}}", names(60)...)
	g.end(rollout.OutcomeFailed, "broken", names(60)[:40]...)
	text := g.frame(Look{Width: 80, Height: 24, Driver: driver})
	for _, want := range []string{"web40.example.com failed", "35 more failed nodes: press f", "web45.example.com sending"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	text = g.frame(Look{Width: 80, Height: 24, Driver: driver, Failed: true, Scroll: 1 << 30})
	if !strings.Contains(text, "web01.example.com failed") {
		t.Errorf("the oldest failure is not the last one:\n%s", text)
	}
}

// TestIncremental checks that a view that saw the events one by one is that of the same log.
func TestIncremental(t *testing.T) {
	g := running(t)
	if !g.view.Clocks() {
		t.Error("no clock runs while nodes are in work")
	}
	for _, n := range []string{"web16.example.com"} {
		i, _ := g.view.State().Index(n)
		if look := g.view.State().Look(i); look.InWork || look.State != rollout.NodeFailed {
			t.Errorf("%+v", look)
		}
	}
	g.do(&rollout.ClockMoved{By: int64(time.Hour)})
	g.now = g.now.Add(time.Hour)
	if text := g.frame(Look{Width: 80, Height: 24, Driver: driver}); !strings.Contains(text, "23s of 20m") {
		t.Errorf("the clock of a run has jumped:\n%s", text)
	}
	if err := g.view.Apply(id, rollout.Record{Revision: 1, Time: g.now, Event: &rollout.WaveStarted{Wave: 9}}); err == nil {
		t.Error("an event that is not possible was folded")
	}
}

// BenchmarkFrame draws a rollout of 10,000 nodes, of which half are done, 100 have failed and 500 are in work.
func BenchmarkFrame(b *testing.B) {
	list := make([]string, 10_000)
	for i := range list {
		list[i] = fmt.Sprintf("node%05d.example.com", i)
	}
	g := play(b, "rollout: x\norder: [name]\nstrategy: {waves: [{percent: 1}, {percent: 10}, {rest: true}], failures: {count: 200}, concurrency: {max: 500}}", list...)
	g.end(rollout.OutcomeDone, "", list[:4900]...)
	g.end(rollout.OutcomeFailed, "broken", list[4900:5000]...)
	for _, size := range [][2]int{{80, 24}, {250, 70}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			for b.Loop() {
				g.now = g.now.Add(time.Second)
				g.view.Frame(g.now, Look{Width: size[0], Height: size[1], Driver: driver, What: "release 61975abe42e8"})
			}
		})
	}
}
