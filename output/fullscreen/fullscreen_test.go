package fullscreen

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bolt/internal/ptytest"
	"bolt/output/layout"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, p *ptytest.Terminal) *Screen {
	t.Helper()
	s, err := Open(t.Context(), p.Slave, p.Slave, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func lines(texts ...string) (list []Line) {
	for _, text := range texts {
		list = append(list, Line{{Text: text, Style: layout.Red}, {Text: " end"}})
	}
	return list
}

func (s *Screen) mustDraw(t *testing.T, list []Line) {
	t.Helper()
	if err := s.Draw(list); err != nil {
		t.Fatal(err)
	}
}

func has(texts ...string) func(*ptytest.Screen) bool {
	return func(s *ptytest.Screen) bool { return s.String() == strings.Join(texts, "\n") }
}

// TestDraw draws frames on a terminal, one over the other.
func TestDraw(t *testing.T) {
	p := ptytest.New(t)
	if _, err := io.WriteString(p.Slave, "before"); err != nil {
		t.Fatal(err)
	}
	s := open(t, p)
	s.mustDraw(t, lines("one", "two", "東京"))
	p.Wait(t, "the first frame", has("one end", "two end", "東京 end"))
	s.mustDraw(t, lines("one", "", strings.Repeat("x", 100)))
	p.Wait(t, "the second frame", has("one end", " end", strings.Repeat("x", 80)))
	s.mustDraw(t, lines("one"))
	p.Wait(t, "the third frame", has("one end"))
	p.Resize(t, 5, 2)
	s.mustDraw(t, lines("one", "two", "three"))
	p.Wait(t, "the small frame", has("one e", "two e"))
	p.Resize(t, 1, 1)
	s.mustDraw(t, lines("東", "two"))
	p.Wait(t, "the smallest frame", has(""))
	p.Resize(t, 80, 24)
	s.mustDraw(t, lines("one"))
	p.Wait(t, "a large frame", has("one end"))
	p.Wait(t, "only known sequences", func(s *ptytest.Screen) bool { return s.Unknown == 0 && s.Alternate && s.Hidden && s.NoWrap })
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(p.Slave, "after"); err != nil {
		t.Fatal(err)
	}
	p.Wait(t, "the first screen", has("beforeafter"))
	if err := p.Restored(t); err != nil {
		t.Error(err)
	}
}

// TestChangedLines checks that a frame is one write, and has only the lines that have changed.
func TestChangedLines(t *testing.T) {
	r, w, err := os.Pipe() // has no size, so it counts as 80 by 24
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s := &Screen{out: w}
	next := func(list []Line) string {
		t.Helper()
		s.mustDraw(t, list)
		s.mustDraw(t, list) // writes nothing
		if _, err := io.WriteString(w, "."); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1<<16)
		n, err := r.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	for _, tt := range []struct {
		frame []Line
		want  string
	}{
		{lines("one", "two"), "\x1b[2J\x1b[1;1Hone end\x1b[K\x1b[2;1Htwo end\x1b[K."},
		{lines("one", "2"), "\x1b[2;1H2 end\x1b[K."},
		{lines("one"), "\x1b[2;1H\x1b[K."},
		{lines(strings.Repeat("x", 80)), "\x1b[1;1H" + strings.Repeat("x", 80) + "."},
	} {
		if got := next(tt.frame); got != tt.want {
			t.Errorf("the frame is written as %q, want %q", got, tt.want)
		}
	}
}

func TestKeys(t *testing.T) {
	p := ptytest.New(t)
	s := open(t, p)
	for _, tt := range []struct {
		typed string
		want  []Key
	}{
		{"q\x03 ", []Key{'q', Interrupt, ' '}},
		{"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[H\x1b[4~", []Key{Up, Down, PageUp, PageDown, Home, End}},
		{"\x1b[200~ä\x1b[1;5Ax\x1bq\x1b\x1b[A", []Key{'x', 'q', Up}},
	} {
		p.Type(t, tt.typed)
		var got []Key
		for range tt.want {
			got = append(got, <-s.Keys)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q is %v, want %v", tt.typed, got, tt.want)
		}
	}
}

// TestHalfSequence reads sequences in two parts.
func TestHalfSequence(t *testing.T) {
	r, w := io.Pipe()
	keys := make(chan Key, 10)
	go func() {
		for _, part := range []string{"\x1b", "[A", "\x1b[", "6", "~j"} {
			_, _ = io.WriteString(w, part)
		}
		w.Close()
	}()
	read(context.Background(), r, keys)
	close(keys)
	var got []Key
	for k := range keys {
		got = append(got, k)
	}
	if want := []Key{Up, PageDown, 'j', Gone}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestRefresh takes the terminal back after another program has changed it.
func TestRefresh(t *testing.T) {
	p := ptytest.New(t)
	s := open(t, p)
	s.mustDraw(t, lines("one"))
	if _, err := io.WriteString(p.Slave, "\x1b[?1049l\x1b[?25hother"); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(); err != nil {
		t.Fatal(err)
	}
	s.mustDraw(t, lines("one"))
	p.Wait(t, "the frame", has("one end"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.Wait(t, "the first screen", func(s *ptytest.Screen) bool { return !s.Alternate })
	if err := p.Restored(t); err != nil {
		t.Error(err)
	}
}

// TestPanic checks that a deferred Close restores the terminal.
func TestPanic(t *testing.T) {
	p := ptytest.New(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("there was no panic")
			}
		}()
		s := open(t, p)
		defer s.Close()
		panic("a mistake")
	}()
	p.Wait(t, "the first screen", func(s *ptytest.Screen) bool { return s.Writes > 0 && !s.Alternate && !s.Hidden })
	if err := p.Restored(t); err != nil {
		t.Error(err)
	}
}

func TestNotATerminal(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if s, err := Open(t.Context(), f, f, true); err == nil {
		s.Close()
		t.Error("a file that cannot be written was accepted")
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("\x1b[A\x1b[5~q"), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut < 0 || cut > len(in) {
			cut = len(in) / 2
		}
		whole, _ := parse(slices.Clone(in))
		first, rest := parse(slices.Clone(in[:cut]))
		second, _ := parse(append(rest, in[cut:]...))
		if got := append(first, second...); len(in) < 32 && !slices.Equal(got, whole) {
			t.Errorf("%q cut at %d is %v, whole %v", in, cut, got, whole)
		}
	})
}
