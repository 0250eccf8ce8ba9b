package measure

import (
	"strings"
	"testing"
	"time"
)

// spin uses about 0.1 s of processor time in a grandchild.
const spin = `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; :`

func TestRunCountsGrandchildren(t *testing.T) {
	idle, err := Run(t.Context(), Program{Argv: []string{"sh", "-c", ":"}})
	if err != nil {
		t.Fatal(err)
	}
	busy, err := Run(t.Context(), Program{Argv: []string{"sh", "-c", spin}})
	if err != nil {
		t.Fatal(err)
	}
	if busy.CPU < idle.CPU+20*time.Millisecond {
		t.Errorf("a busy grandchild cost %v, an idle shell %v", busy.CPU, idle.CPU)
	}
	if busy.Wall < busy.CPU/2 || busy.MaxRSS < 100<<10 {
		t.Errorf("wall %v, CPU %v, MaxRSS %d do not fit together", busy.Wall, busy.CPU, busy.MaxRSS)
	}
}

func TestRunFails(t *testing.T) {
	_, err := Run(t.Context(), Program{Argv: []string{"sh", "-c", "echo it broke >&2; exit 3"}})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("got %v, want the status and what was said", err)
	}
}

func TestMemoryCountsDescendants(t *testing.T) {
	alone, err := Memory(t.Context(), Program{Argv: []string{"sleep", "0.2"}})
	if err != nil {
		t.Fatal(err)
	}
	// dd holds its block of 20 MiB while it waits for the pipe from sleep.
	both, err := Memory(t.Context(), Program{Argv: []string{"sh", "-c", "{ head -c 20971520 /dev/zero; sleep 0.3; } | dd bs=20M iflag=fullblock count=2 of=/dev/null"}})
	if err != nil {
		t.Fatal(err)
	}
	if alone <= 0 || both < alone+20<<20 {
		t.Errorf("sleep %d bytes, with a descendant that holds 20 MiB %d bytes", alone, both)
	}
}

func TestMedian(t *testing.T) {
	got := Median([]Sample{{Wall: 3, CPU: 10, MaxRSS: 5}, {Wall: 1, CPU: 30, MaxRSS: 4}, {Wall: 2, CPU: 20, MaxRSS: 6}})
	if want := (Sample{Wall: 2, CPU: 20, MaxRSS: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := Median(nil); got != (Sample{}) {
		t.Errorf("no samples: %+v", got)
	}
}

func TestTable(t *testing.T) {
	sample := func(wall, cpu time.Duration) []Sample {
		return []Sample{{Wall: wall * time.Millisecond, CPU: cpu * time.Millisecond, MaxRSS: 2 << 20}}
	}
	var b strings.Builder
	err := Table(&b, "Title", "ours", []Row{
		{Name: "ours", Targets: 10, Samples: sample(20, 10)},
		{Name: "theirs", Targets: 10, Samples: sample(60, 15), Memory: 8 << 20},
		{Name: "broken", Targets: 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := []string{
		"Title",
		"targets tool runs wall ms CPU ms CPU ms/target peak MiB wall ÷ ours CPU ÷ ours",
		"10 ours 1 20 10 1.00 2.0 1.00 1.00",
		"10 theirs 1 60 15 1.50 8.0 3.00 1.50",
		"10 broken 0 - - - - - -",
	}
	for i, w := range want {
		if i >= len(lines) || strings.Join(strings.Fields(lines[i]), " ") != w {
			t.Errorf("line %d of\n%s\nwant the words %q", i, b.String(), w)
		}
	}
}
