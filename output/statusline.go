package output

import (
	"io"
	"sync"
	"time"

	"bolt/internal/columns"
)

// redrawEvery is the pause between two drawings of a status line: short enough to
// look alive, and long enough to cost almost nothing.
const redrawEvery = 100 * time.Millisecond

// eraseLine removes the line: go to the first column, clear to the end.
const eraseLine = "\r\x1b[K"

// A StatusLine is a line on a terminal that shows the current state while other
// text is printed there. It is erased before other text is printed, drawn again at
// most ten times a second, and removed by stop. start starts a goroutine; stop
// ends it and waits for its end.
type StatusLine struct {
	to    io.Writer
	width func() int
	quit  chan struct{}
	end   func() // closes quit, once
	done  sync.WaitGroup

	// mu guards the fields below and all writing to the terminal. It is never held
	// while a renderer works, because the renderer may write to Writer itself,
	// directly or behind other locks.
	mu     sync.Mutex
	drawn  bool
	paused int // while it is not 0, nothing is drawn
}

// newStatusLine returns a StatusLine on the terminal to. width returns its number
// of columns, 0 if unknown; it is called for each drawing.
func newStatusLine(to io.Writer, width func() int) *StatusLine {
	quit := make(chan struct{})
	return &StatusLine{to: to, width: width, quit: quit, end: sync.OnceFunc(func() { close(quit) })}
}

// start begins to draw what text returns, one line. text is called with mu held.
func (l *StatusLine) start(text func() string) {
	l.done.Go(func() {
		tick := time.NewTicker(redrawEvery)
		defer tick.Stop()
		for {
			select {
			case <-l.quit:
				return
			case <-tick.C:
				l.draw(text)
			}
		}
	})
}

func (l *StatusLine) draw(text func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused > 0 {
		return
	}
	width := l.width()
	if width <= 0 {
		width = 80
	}
	// The last column may wrap. If the terminal is gone, the writer of results
	// gets the error.
	_, _ = io.WriteString(l.to, "\r"+columns.Cut(text(), width-1)+"\x1b[K")
	l.drawn = true
}

// erase removes the line; mu is held.
func (l *StatusLine) erase() {
	if l.drawn {
		_, _ = io.WriteString(l.to, eraseLine)
		l.drawn = false
	}
}

// beside prints text while the line is removed. After an error the line is not
// drawn again, because the caller ends the work.
func (l *StatusLine) beside(print func() error) error {
	resume := l.Pause()
	err := print()
	if err == nil {
		resume()
	}
	return err
}

func (l *StatusLine) stop() {
	l.end()
	l.done.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
}

// Writer returns a writer to the line's terminal for all others: the log, and the
// Options.Err of the renderer beside it. It erases the line first. It is safe for
// concurrent use, also before start and after stop.
func (l *StatusLine) Writer() io.Writer { return statusWriter{l} }

type statusWriter struct{ l *StatusLine }

func (w statusWriter) Write(b []byte) (int, error) {
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	w.l.erase()
	return w.l.to.Write(b)
}

// Pause removes the line until resume is called, so that a question can be asked.
// Pauses may overlap.
func (l *StatusLine) Pause() (resume func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	l.paused++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.paused--
	})
}
