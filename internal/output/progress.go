package output

import (
	"fmt"
	"io"
	"sync"
	"time"

	"bolt/run"
)

// redrawEvery is the pause between two drawings of the line of counts: often
// enough to look alive, seldom enough to cost nothing.
const redrawEvery = 100 * time.Millisecond

// eraseLine takes the line away: to the first column, clear to the end.
const eraseLine = "\r\x1b[K"

// Progress is a Renderer that keeps a line of counts on a terminal while
// another one prints:
//
//	12/200 done, 3 failed, 100 running 4.2s
//
// The line goes to standard error. It appears a moment after Start, is erased
// before anything else is printed, drawn again at most ten times a second, and
// gone at the end. Start starts a goroutine, unless it returns an error; End
// and Fatal end it and wait for it, so one of them must follow.
type Progress struct {
	r     Renderer
	line  io.Writer
	width func() int
	quit  chan struct{}
	end   func() // closes quit, once
	done  sync.WaitGroup

	// mu guards what follows and all writing to line. It is never held while
	// r works: r may write to Writer itself, directly or behind other locks.
	mu      sync.Mutex
	drawn   bool
	paused  int // while it is not 0, nothing is drawn
	begin   time.Time
	total   int
	started int
	ended   int
	failed  int
}

// NewProgress returns a Progress around r. line is the terminal; width tells
// its number of columns, asked again for each drawing, 0 if unknown.
func NewProgress(r Renderer, line io.Writer, width func() int) *Progress {
	quit := make(chan struct{})
	return &Progress{r: r, line: line, width: width, quit: quit, end: sync.OnceFunc(func() { close(quit) })}
}

// Start prints what r does at its start, and begins to draw.
func (p *Progress) Start(info Info) error {
	if err := p.r.Start(info); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin, p.total = time.Now(), len(info.Targets)
	p.done.Go(p.redraw)
	return nil
}

func (p *Progress) redraw() {
	tick := time.NewTicker(redrawEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			p.draw()
		}
	}
}

func (p *Progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused > 0 {
		return
	}
	text := fmt.Sprintf("%d/%d done, %d failed, %d running %.1fs",
		p.ended, p.total, p.failed, max(0, p.started-p.ended), time.Since(p.begin).Seconds())
	width := p.width()
	if width <= 0 {
		width = 80
	}
	text = text[:min(len(text), width-1)] // the last column may wrap
	// A terminal that is gone is noticed by whoever writes results.
	_, _ = io.WriteString(p.line, "\r"+text+"\x1b[K")
	p.drawn = true
}

// erase takes the line away; mu is held.
func (p *Progress) erase() {
	if p.drawn {
		_, _ = io.WriteString(p.line, eraseLine)
		p.drawn = false
	}
}

// Event counts e and prints what r prints for it.
func (p *Progress) Event(e run.Event) error {
	p.count(e)
	resume := p.Pause()
	err := p.r.Event(e)
	if err == nil { // else for good: whoever sees the error ends the work
		resume()
	}
	return err
}

func (p *Progress) count(e run.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case run.Started:
		p.started++
	case run.Finished:
		p.ended++
		if e.Result.Err != nil {
			p.failed++
			if e.Result.Err.Class == run.ClassSkipped {
				p.started++ // it was never begun
			}
		}
	}
}

// End stops drawing and prints r's end.
func (p *Progress) End(elapsed time.Duration, outputs ...Output) error {
	p.stop()
	return p.r.End(elapsed, outputs...)
}

// Fatal stops drawing and prints r's.
func (p *Progress) Fatal(err error) error {
	p.stop()
	return p.r.Fatal(err)
}

func (p *Progress) stop() {
	p.end()
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// Writer returns a writer to the line's terminal for all others: the log, and
// the wrapped Renderer's Options.Err. It erases the line first. It is safe for
// concurrent use, also before Start and after End.
func (p *Progress) Writer() io.Writer { return progressWriter{p} }

type progressWriter struct{ p *Progress }

func (w progressWriter) Write(b []byte) (int, error) {
	w.p.mu.Lock()
	defer w.p.mu.Unlock()
	w.p.erase()
	return w.p.line.Write(b)
}

// Pause keeps the line away until resume is called, so that a question can be
// asked. Pauses may overlap.
func (p *Progress) Pause() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
	p.paused++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused--
	})
}
