package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/event"
	"bolt/event/capture"
)

// screen is a terminal for both writers of a Progress: it stores the finished
// lines and the line under the cursor.
type screen struct {
	mu    sync.Mutex
	all   strings.Builder // as written
	lines []string
	line  []byte
	col   int
	bad   []string // lines that were mixed up
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	for rest := string(p); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "\x1b[K"):
			s.line = s.line[:min(s.col, len(s.line))]
			rest = rest[3:]
			continue
		case rest[0] == '\r':
			s.col = 0
		case rest[0] == '\n':
			s.lines = append(s.lines, string(s.line))
			if strings.Contains(string(s.line), " done, ") {
				s.bad = append(s.bad, string(s.line))
			}
			s.line, s.col = s.line[:0], 0
		default:
			s.line = append(s.line[:min(s.col, len(s.line))], append([]byte{rest[0]}, s.line[min(s.col+1, len(s.line)):]...)...)
			s.col++
		}
		rest = rest[1:]
	}
	return len(p), nil
}

// cursor returns the line under the cursor.
func (s *screen) cursor() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.line)
}

// drawn is a Progress that receives events as from package run.
type drawn struct {
	shown
	*Progress
}

func (d drawn) Event(e event.Event) error { return d.shown.Event(e) }

func newDrawn(t testing.TB, s shown, line io.Writer, width int) drawn {
	p := NewProgress(s.sink, line, func() int { return width })
	return drawn{shown{t, p}, p}
}

func progress(t *testing.T, o Options, width int) (drawn, *screen) {
	t.Helper()
	s := &screen{}
	o.Out = s
	r := newShown(t, o)
	return newDrawn(t, r, s, width), s
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet("web1", "web2", "web3", "web4")
		p, s := progress(t, Options{Verbose: true}, 80)
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		see := func(want string) {
			t.Helper()
			synctest.Wait()
			if got := s.cursor(); got != want {
				t.Errorf("the line is %q, want %q", got, want)
			}
		}
		do(p.Start(event.ActionBegin{Targets: f}))
		do(p.Event(started(f[0])))
		do(p.Event(started(f[1])))
		see("")
		time.Sleep(redrawEvery)
		see("0/4 done, 0 failed, 2 running 0.1s")
		do(p.Event(finished(command(t, f[0], 0, "hi\n"))))
		see("")
		time.Sleep(redrawEvery)
		see("1/4 done, 0 failed, 1 running 0.2s")
		do(p.Event(finished(command(t, f[1], 3, "hi\n"))))
		time.Sleep(10 * time.Second)
		see("2/4 done, 1 failed, 0 running 10.2s")

		resume := p.Pause()
		see("")
		time.Sleep(time.Second)
		see("")
		resume()
		resume() // a second call changes nothing
		time.Sleep(redrawEvery)
		see("2/4 done, 1 failed, 0 running 11.3s")

		if _, err := io.WriteString(p.Writer(), "a warning\n"); err != nil {
			t.Fatal(err)
		}
		see("")
		time.Sleep(redrawEvery)
		do(p.End(12 * time.Second))
		see("")
		want := "Started on web1...\nStarted on web2...\nFinished on web1:\n  hi\nFailed on web2:\n  The command failed with exit code 3\n  hi\n" +
			"a warning\nSuccessful on 1 target: web1\nFailed on 1 target: web2\nRan on 2 targets in 12.0 sec"
		equal(t, strings.Join(s.lines, "\n"), want)
		if len(s.bad) > 0 {
			t.Errorf("lines with counts in them: %q", s.bad)
		}
	})
}

// TestProgressDrawsSeldom runs through many events at once.
func TestProgressDrawsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet("web1")
		p, s := progress(t, Options{}, 80)
		if err := p.Start(event.ActionBegin{Targets: f}); err != nil {
			t.Fatal(err)
		}
		for range 2000 { // for two seconds
			time.Sleep(time.Millisecond)
			if err := p.Event(started(f[0])); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.End(0); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(s.all.String(), " done, "); n > 20 || n < 15 {
			t.Errorf("drawn %d times in 2 s", n)
		}
	})
}

func TestProgressWidth(t *testing.T) {
	for width, want := range map[int]string{11: "0/0 done, ", 1: "", 0: "0/0 done, 0 failed, 0 running 0.1s"} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, s := progress(t, Options{}, width)
				if err := p.Start(event.ActionBegin{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(redrawEvery)
				synctest.Wait()
				if got := s.cursor(); got != want {
					t.Errorf("the line is %q, want %q", got, want)
				}
				if err := p.Fatal(errors.New("it broke")); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(s.lines, "\n"); got != "it broke" {
					t.Errorf("the screen has %q", got)
				}
			})
		})
	}
}

// TestProgressBesideStreamedLines writes streamed lines to the terminal of the
// progress line, behind a lock that the log shares, while the log also writes
// there.
func TestProgressBesideStreamedLines(t *testing.T) {
	f := fleet("web1", "web2", "web3", "web4")
	s, console := &screen{}, &shared{}
	var document bytes.Buffer
	r := newShown(t, Options{Format: JSON, Out: &document, Err: console, Stream: true})
	p := newDrawn(t, r, s, 80)
	console.set(p.Writer())
	done := make(chan error, 1)
	go func() {
		if err := p.Start(event.ActionBegin{Targets: f}); err != nil {
			done <- err
			return
		}
		var log sync.WaitGroup
		log.Go(func() {
			for range 200 {
				_, _ = io.WriteString(console, "warning\n")
			}
		})
		var first error
		for _, target := range f {
			first = errors.Join(first, p.Event(started(target)))
			for range 50 {
				first = errors.Join(first, p.Event(arrived(target, capture.Stdout, "hi\n")))
			}
			first = errors.Join(first, p.Event(finished(command(t, target, 0, "hi\n"))))
		}
		log.Wait()
		done <- errors.Join(first, p.End(0))
	}()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the renderer and the line of counts wait for each other")
	}
	text := strings.Join(s.lines, "\n")
	for _, target := range f {
		if n := strings.Count(text, "["+target.Name+"] out: hi"); n != 50 {
			t.Errorf("%d streamed lines of %s, want 50", n, target.Name)
		}
	}
	if n := strings.Count(text, "warning"); n != 200 {
		t.Errorf("%d warnings, want 200", n)
	}
	if len(s.bad) > 0 || s.cursor() != "" {
		t.Errorf("lines with counts in them: %q, %q", s.bad, s.cursor())
	}
	if !json.Valid(document.Bytes()) {
		t.Errorf("no JSON:\n%s", document.Bytes())
	}
}

// shared is a writer with a lock, as programs put it before a terminal.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) set(w io.Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w = w
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// TestProgressStaysAwayAfterErrors checks that the line is not drawn after an
// error, because the caller prints the error.
func TestProgressStaysAwayAfterErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{}
		r := newShown(t, Options{Out: &brokenPipe{n: 0}, Verbose: true})
		p := newDrawn(t, r, s, 80)
		f := fleet("web1")
		if err := p.Start(event.ActionBegin{Targets: f}); err != nil { // nothing is written yet
			t.Fatal(err)
		}
		if err := p.Event(started(f[0])); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := s.all.String(); got != "" {
			t.Errorf("drawn after an error: %q", got)
		}
		if err := p.End(0); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
	})
}

// TestProgressConcurrent writes and pauses in other goroutines while events
// come, for the race detector.
func TestProgressConcurrent(t *testing.T) {
	f := fleet("web1")
	var out, line bytes.Buffer
	r := newShown(t, Options{Out: &out, Verbose: true})
	p := newDrawn(t, r, &line, 80)
	if err := p.Start(event.ActionBegin{Targets: f}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 500 {
			if _, err := io.WriteString(p.Writer(), "warning\n"); err != nil {
				t.Error(err)
			}
			p.Pause()()
		}
	}()
	for range 500 {
		if err := p.Event(started(f[0])); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	if err := p.End(0); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(line.String(), "warning\n"); n != 500 {
		t.Errorf("%d warnings, want 500", n)
	}
}
