// Package fullscreen shows lines on the whole of a terminal, and reads keys from it.
//
// Open switches to the alternate screen of the terminal, and Close switches back. Both screens are
// those of xterm (XTerm Control Sequences), which all usual terminals have. Draw writes only the lines that have changed, all
// of them with one write, so the terminal does not flicker.
//
// A Screen owns two goroutines and the mode of the terminal. Close ends the goroutines and restores the mode. The caller
// must defer Close, so that a panic leaves the terminal as it was.
package fullscreen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/term"

	"bolt/internal/columns"
	"bolt/internal/readfile"
	"bolt/output/layout"
)

// A Span is a part of a line in one style. The text has no control characters.
type Span struct {
	Text  string
	Style string // parameters of "select graphic rendition", such as layout.Red; "" for none
}

// The styles that are not colours.
const (
	Bold  = "1"
	Faint = "2"
)

// A Line is the text of one row.
type Line []Span

// String returns the text without styles.
func (l Line) String() string {
	var b bytes.Buffer
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Sequences of xterm. In an application, text must not wrap: terminals and bolt can disagree on the width of a
// character.
const (
	enter = "\x1b[?1049h" + again
	// again does not save the cursor of the first screen, as enter does.
	again      = "\x1b[?1047h\x1b[?25l\x1b[?7l"
	leave      = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
	clear      = "\x1b[2J"
	eraseRight = "\x1b[K"
)

// A Screen is a terminal in the alternate screen. Draw, Size and Refresh must be called from one goroutine.
type Screen struct {
	// Keys has the keys that were pressed, and Redraw.
	Keys <-chan Key

	in     *os.File // nil if there is nothing to read keys from
	owned  bool     // in was opened by the Screen
	out    *os.File
	color  bool
	before *term.State // of in

	shown         []string // the rows on the terminal; nil if they are unknown
	width, height int      // at the last Draw

	stop func() // ends the goroutines and waits for them
	once sync.Once
}

// Open shows the alternate screen on out, which must be a terminal. Keys are read from in, or if in is not a
// terminal, from the controlling terminal. Without color, styles are not shown. Keys are read until ctx ends.
func Open(ctx context.Context, in, out *os.File, color bool) (*Screen, error) {
	s := &Screen{in: in, out: out, color: color}
	if !term.IsTerminal(int(in.Fd())) {
		tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
		s.in, s.owned = tty, err == nil
		if err != nil {
			s.in = nil
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	keys := make(chan Key, 64)
	s.Keys = keys
	var work sync.WaitGroup
	var signals chan os.Signal
	s.stop = func() {
		cancel()
		if signals != nil {
			signal.Stop(signals)
		}
		work.Wait()
	}
	if s.in != nil {
		if err := s.raw(ctx, &work, keys); err != nil {
			s.stop()
			if s.owned {
				s.in.Close()
			}
			return nil, fmt.Errorf("terminal: %w", err)
		}
	}
	signals = make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
	work.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
				send(ctx, keys, Redraw)
			}
		}
	})
	if _, err := io.WriteString(out, enter); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return s, nil
}

// raw changes the mode of the terminal, and starts to read keys.
func (s *Screen) raw(ctx context.Context, work *sync.WaitGroup, keys chan<- Key) error {
	reader, release, err := readfile.Wakeable(ctx, s.in)
	if err != nil {
		return err
	}
	if s.before, err = term.MakeRaw(int(s.in.Fd())); err != nil {
		release()
		return err
	}
	work.Go(func() {
		defer release()
		read(ctx, reader, keys)
	})
	return nil
}

// Size returns the size of the terminal; 80 by 24 if it is unknown.
func (s *Screen) Size() (width, height int) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Refresh prepares the whole terminal for the next Draw, after the key Redraw: the size has changed, or the process was stopped,
// and another program had the terminal.
func (s *Screen) Refresh() error {
	s.shown = nil
	if s.before != nil {
		if _, err := term.MakeRaw(int(s.in.Fd())); err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
	}
	_, err := io.WriteString(s.out, again)
	return err
}

// Draw shows lines from the first row on. Lines and rows that do not fit are cut off.
func (s *Screen) Draw(lines []Line) error {
	width, height := s.Size()
	var b bytes.Buffer
	if s.shown == nil || width != s.width || height != s.height {
		s.shown, s.width, s.height = make([]string, height), width, height
		b.WriteString(clear)
	}
	for row := range height {
		text := ""
		if row < len(lines) {
			text = s.render(lines[row], width)
		}
		if text == s.shown[row] {
			continue
		}
		s.shown[row] = text
		fmt.Fprintf(&b, "\x1b[%d;1H%s", row+1, text)
		if text == "" {
			b.WriteString(eraseRight)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// render returns a line with its sequences. Behind the last column, the cursor is still in that column, so a full line must
// not be followed by a sequence that erases.
func (s *Screen) render(l Line, width int) string {
	var b bytes.Buffer
	left := width
	for _, span := range l {
		text := columns.Cut(span.Text, left)
		left -= columns.Count(text)
		b.WriteString(layout.Paint(span.Style, s.color && span.Style != "" && text != "", text))
		if len(text) < len(span.Text) {
			break
		}
	}
	if left > 0 && b.Len() > 0 {
		b.WriteString(eraseRight)
	}
	return b.String()
}

// Close leaves the alternate screen and restores the mode of the terminal. Further calls do nothing.
func (s *Screen) Close() (err error) {
	s.once.Do(func() {
		s.stop()
		_, err = io.WriteString(s.out, leave)
		if s.before != nil {
			err = errors.Join(err, term.Restore(int(s.in.Fd()), s.before))
		}
		if s.owned {
			err = errors.Join(err, s.in.Close())
		}
	})
	return err
}

// A Key is a key that was pressed: a character of ASCII, or one of the constants.
type Key int

// The keys that are not characters.
const (
	Up Key = -1 - iota
	Down
	PageUp
	PageDown
	Home
	End
	// Redraw is not a key. The terminal must be drawn anew, after a call of Refresh.
	Redraw
	// Gone is not a key. No more keys can be read.
	Gone
)

// Interrupt is ^C.
const Interrupt Key = 3

func send(ctx context.Context, to chan<- Key, k Key) {
	select {
	case to <- k:
	case <-ctx.Done():
	}
}

// read sends the keys of a terminal until ctx ends, or there is nothing more.
func read(ctx context.Context, r io.Reader, to chan<- Key) {
	buf := make([]byte, 256)
	var rest []byte // the beginning of a sequence
	for {
		n, err := r.Read(buf)
		var keys []Key
		keys, rest = parse(append(rest, buf[:n]...))
		for _, k := range keys {
			send(ctx, to, k)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil || n == 0 {
			send(ctx, to, Gone)
			return
		}
	}
}

// parse returns the keys of an input, and the incomplete sequence at its end. Unknown sequences and characters that are
// not ASCII are left out.
func parse(in []byte) (keys []Key, rest []byte) {
	for len(in) > 0 {
		switch {
		case in[0] != 0x1b:
			if in[0] < 0x80 {
				keys = append(keys, Key(in[0]))
			}
			in = in[1:]
		case len(in) == 1:
			return keys, slices.Clone(in)
		case in[1] != '[' && in[1] != 'O': // the key Escape, or Alt with another key
			in = in[1:]
		default:
			end := 2
			for end < len(in) && in[end] >= 0x20 && in[end] < 0x40 {
				end++
			}
			if end == len(in) {
				return keys, slices.Clone(in[:min(len(in), 32)])
			}
			if k, is := sequence(string(in[2 : end+1])); is {
				keys = append(keys, k)
			}
			in = in[end+1:]
		}
	}
	return keys, nil
}

// sequence returns the key of a sequence, without its first two bytes.
func sequence(s string) (Key, bool) {
	switch s {
	case "A":
		return Up, true
	case "B":
		return Down, true
	case "5~":
		return PageUp, true
	case "6~":
		return PageDown, true
	case "H", "1~", "7~":
		return Home, true
	case "F", "4~", "8~":
		return End, true
	}
	return 0, false
}
