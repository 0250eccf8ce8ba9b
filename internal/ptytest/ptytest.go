// Package ptytest runs programs on pseudo-terminals in tests, and returns the text on such a terminal.
package ptytest

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"bolt/internal/columns"
	"bolt/internal/pty"
)

// A Terminal is a pseudo-terminal of 80 columns and 24 rows, with the text on it.
type Terminal struct {
	Slave  *os.File // the side of the program
	master *os.File
	mode   *term.State
	read   sync.WaitGroup

	mu      sync.Mutex // guards the following
	screen  *Screen
	changed chan struct{} // closed and replaced with each change
}

// New returns a terminal that is closed at the end of the test.
func New(t *testing.T) *Terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	mode, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	p := &Terminal{Slave: slave, master: master, mode: mode, screen: NewScreen(80, 24), changed: make(chan struct{})}
	p.read.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil { // EIO: no program has the terminal
				return
			}
			p.mu.Lock()
			p.screen.Write(buf[:n])
			close(p.changed)
			p.changed = make(chan struct{})
			p.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		slave.Close()
		p.read.Wait()
		master.Close()
	})
	return p
}

// Start starts a program whose controlling terminal this is.
func (p *Terminal) Start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Slave, p.Slave, p.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
}

// Type types a text.
func (p *Terminal) Type(t *testing.T, text string) {
	t.Helper()
	if _, err := p.master.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// Resize changes the size. The program gets SIGWINCH.
func (p *Terminal) Resize(t *testing.T, width, height int) {
	t.Helper()
	p.mu.Lock()
	p.screen.Resize(width, height)
	p.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		t.Fatal(err)
	}
}

// Wait waits until the condition is true for the screen.
func (p *Terminal) Wait(t *testing.T, what string, is func(*Screen) bool) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		p.mu.Lock()
		ok, text, changed := is(p.screen), p.screen.String(), p.changed
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("waited in vain for: %s. The terminal has:\n%s", what, text)
		}
	}
}

// Restored returns an error unless the terminal is as it was: the first screen, a visible cursor, wrapped lines, and the same
// mode.
func (p *Terminal) Restored(t *testing.T) error {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.screen.Alternate || p.screen.Hidden || p.screen.NoWrap || p.screen.style != "" {
		return errors.New("the screen, the cursor, the style or the wrapping of lines are not restored")
	}
	mode, err := term.GetState(int(p.Slave.Fd()))
	if err != nil {
		return err
	}
	if *mode != *p.mode {
		return errors.New("the mode of the terminal is not restored")
	}
	return nil
}

// A Screen is the text on a terminal. It interprets the sequences that bolt writes, and counts all others in
// Unknown.
type Screen struct {
	Alternate, Hidden, NoWrap bool
	Unknown                   int
	Writes                    int

	width, height int
	rows          [][]string // cells; the second cell of a wide character is ""
	first         [][]string // of the first screen, while the alternate one is shown
	row, column   int
	saved         [2]int // row and column on the first screen
	style, rest   string
}

// NewScreen returns an empty screen.
func NewScreen(width, height int) *Screen {
	s := &Screen{}
	s.Resize(width, height)
	return s
}

// Resize changes the size and clears the screen, because a program must not rely on the content after
// a change of size.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = width, height
	s.rows = make([][]string, height)
	for i := range s.rows {
		s.rows[i] = blank(width)
	}
	s.row, s.column = 0, 0
}

func blank(width int) []string {
	row := make([]string, width)
	for i := range row {
		row[i] = " "
	}
	return row
}

// String returns the text, without blanks at the ends of lines.
func (s *Screen) String() string {
	var b strings.Builder
	for _, row := range s.rows {
		b.WriteString(strings.TrimRight(strings.Join(row, ""), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// Write shows the output of a program.
func (s *Screen) Write(p []byte) (int, error) {
	s.Writes++
	text := s.rest + string(p)
	s.rest = ""
	for text != "" {
		if text[0] != 0x1b {
			r := []rune(text)[0]
			if r == '\uFFFD' && len(text) < 4 { // a part of a character
				s.rest = text
				break
			}
			s.put(r)
			text = text[len(string(r)):]
			continue
		}
		end := strings.IndexFunc(text[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' })
		if end < 0 {
			s.rest = text
			break
		}
		s.control(text[:end+2])
		text = text[end+2:]
	}
	return len(p), nil
}

func (s *Screen) put(r rune) {
	switch n := columns.Count(string(r)); {
	case r == '\r':
		s.column = 0
	case r == '\n':
		if s.row++; s.row == s.height {
			s.row--
			s.rows = append(s.rows[1:], blank(s.width))
		}
	case r < ' ' || s.column+n > s.width && s.NoWrap:
		s.Unknown++
	default:
		if s.column+n > s.width {
			s.column = 0
			s.put('\n')
		}
		s.rows[s.row][s.column] = string(r)
		if n == 2 {
			s.rows[s.row][s.column+1] = ""
		}
		s.column += n
	}
}

func (s *Screen) control(code string) {
	switch code {
	case "\x1b[?1049h":
		s.first, s.saved = s.rows, [2]int{s.row, s.column}
		fallthrough
	case "\x1b[?1047h":
		s.Alternate = true
		s.rows = make([][]string, s.height)
		for i := range s.rows {
			s.rows[i] = blank(s.width)
		}
	case "\x1b[?1049l":
		s.Alternate = false
		if s.Resize(s.width, s.height); len(s.first) == s.height && len(s.first[0]) == s.width {
			s.rows, s.row, s.column = s.first, s.saved[0], s.saved[1]
		}
	case "\x1b[?25l", "\x1b[?25h":
		s.Hidden = code == "\x1b[?25l"
	case "\x1b[?7l", "\x1b[?7h":
		s.NoWrap = code == "\x1b[?7l"
	case "\x1b[2J":
		for i := range s.rows {
			s.rows[i] = blank(s.width)
		}
	case "\x1b[K":
		if s.column < s.width {
			copy(s.rows[s.row][s.column:], blank(s.width-s.column))
		}
	default:
		row, is := strings.CutSuffix(strings.TrimPrefix(code, "\x1b["), ";1H")
		switch n, err := strconv.Atoi(row); {
		case is && err == nil && n >= 1 && n <= s.height:
			s.row, s.column = n-1, 0
		case strings.HasSuffix(code, "m"):
			s.style = strings.TrimPrefix(code, "\x1b[0m")
		default:
			s.Unknown++
		}
	}
}
