package screen

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"bolt/event/capture"
)

// TestHold checks that output written while a question is open is printed
// after the answer, in order and without a limit.
func TestHold(t *testing.T) {
	var screen bytes.Buffer
	h := newHold(&screen, &screen)
	out, err := h.before(capture.Stdout), h.before(capture.Stderr)
	say := func(w io.Writer, text string) {
		t.Helper()
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	say(out, "before\n")
	end := h.begin()
	want := "before\nquestion? "
	screen.WriteString("question? ")
	var kept strings.Builder
	for n := 0; kept.Len() < 2*capture.DefaultMemory; n++ {
		for i, w := range []io.Writer{out, err} {
			line := fmt.Sprintf("line %d of %d\n", n, i)
			say(w, line)
			kept.WriteString(line)
		}
	}
	if screen.String() != want {
		t.Errorf("the screen has %q", screen.String())
	}
	end()
	say(err, "after\n")
	if got, want := screen.String(), want+kept.String()+"after\n"; got != want {
		t.Errorf("the screen has %d bytes, want %d", len(got), len(want))
	}
}

// TestHoldConcurrent writes in other goroutines while questions open and
// close, for the race detector.
func TestHoldConcurrent(t *testing.T) {
	var screen bytes.Buffer
	h := newHold(&screen, &screen)
	var writers sync.WaitGroup
	for range 4 {
		w := h.before(capture.Stdout)
		writers.Go(func() {
			for range 500 {
				if _, err := io.WriteString(w, "line\n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 200 {
		h.begin()()
	}
	writers.Wait()
	if got := strings.Count(screen.String(), "line\n"); got != 2000 {
		t.Errorf("%d lines of 2000", got)
	}
}
