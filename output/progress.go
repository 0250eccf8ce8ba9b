package output

import (
	"fmt"
	"io"
	"time"

	"bolt/event"
	"bolt/run"
)

// Progress is a Renderer that keeps a line of counts on a terminal while
// another one prints:
//
//	12/200 done, 3 failed, 100 running 4.2s
//
// The line goes to standard error, as a StatusLine from Start on. Start starts
// its goroutine, unless it returns an error; End and Fatal end it, so one of them
// must follow.
type Progress struct {
	*StatusLine
	r     Renderer
	begin time.Time
	count counts // guarded by the line's mu
}

// counts are what has become of targets.
type counts struct{ total, started, ended, failed int }

// add counts an event.
func (c *counts) add(e run.Event) {
	switch e.Kind {
	case run.Started:
		c.started++
	case run.Finished:
		c.ended++
		if e.Result.Err != nil {
			c.failed++
			if e.Result.Err.Class == event.ClassSkipped {
				c.started++ // it was never begun
			}
		}
	}
}

// since is the counts and the time since they began, in words.
func (c *counts) since(begin time.Time) string {
	return fmt.Sprintf("%d/%d done, %d failed, %d running %s", c.ended, c.total, c.failed, max(0, c.started-c.ended), secondsSince(begin))
}

func secondsSince(begin time.Time) string { return fmt.Sprintf("%.1fs", time.Since(begin).Seconds()) }

// NewProgress returns a Progress around r. line is the terminal; width tells
// its number of columns, asked again for each drawing, 0 if unknown.
func NewProgress(r Renderer, line io.Writer, width func() int) *Progress {
	return &Progress{StatusLine: newStatusLine(line, width), r: r}
}

// Start prints what r does at its start, and begins to draw.
func (p *Progress) Start(info Info) error {
	if err := p.r.Start(info); err != nil {
		return err
	}
	p.begin, p.count.total = time.Now(), len(info.Targets)
	p.start(func() string { return p.count.since(p.begin) })
	return nil
}

// Event counts e and prints what r prints for it.
func (p *Progress) Event(e run.Event) error {
	p.mu.Lock()
	p.count.add(e)
	p.mu.Unlock()
	return p.beside(func() error { return p.r.Event(e) })
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
