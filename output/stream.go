package output

import (
	"bufio"
	"bytes"
	"io"
	"unicode/utf8"

	"bolt/event"
	"bolt/event/capture"
	"bolt/inventory"
)

// maxLine is the length from which a streamed line is printed in parts. It
// limits the memory for each target and stream.
const maxLine = 16 << 10

// lineStream prints output as it arrives, in whole lines after their target
// and stream, so that lines of several targets do not mix.
type lineStream struct {
	w               *bufio.Writer
	terminal, color bool
	open            map[*inventory.Target]*[2]openLine
}

// openLine is the part of a line that has arrived.
type openLine struct {
	text []byte
	cr   bool // ended by a carriage return: a line feed now belongs to it
}

func newLineStream(w *bufio.Writer, terminal, color bool) *lineStream {
	return &lineStream{w: w, terminal: terminal, color: color, open: make(map[*inventory.Target]*[2]openLine)}
}

// write handles a piece of output. Errors stay in the bufio.Writer.
func (s *lineStream) write(e event.TargetOutput) {
	lines := s.open[e.Target]
	if lines == nil {
		lines = &[2]openLine{}
		s.open[e.Target] = lines
	}
	line := &lines[e.Stream]
	ends := "\n"
	if s.terminal { // a progress bar overwrites its line: each state is printed as a line
		ends = "\r\n"
	}
	for p := e.Data; len(p) > 0; {
		if line.cr && p[0] == '\n' {
			line.cr = false
			p = p[1:]
			continue
		}
		line.cr = false
		i := bytes.IndexAny(p, ends)
		if i < 0 {
			line.text = append(line.text, p...)
			break
		}
		if len(line.text) > 0 {
			line.text = append(line.text, p[:i]...)
			s.print(e.Target, e.Stream, line.text)
			line.text = line.text[:0]
		} else {
			s.print(e.Target, e.Stream, p[:i])
		}
		line.cr = p[i] == '\r'
		p = p[i+1:]
	}
	for len(line.text) > maxLine {
		cut := maxLine
		for n := 0; n < utf8.UTFMax-1 && !utf8.RuneStart(line.text[cut]); n++ {
			cut--
		}
		s.print(e.Target, e.Stream, line.text[:cut])
		line.text = append(line.text[:0], line.text[cut:]...)
	}
}

// end prints the unfinished lines of a target.
func (s *lineStream) end(t *inventory.Target) {
	lines := s.open[t]
	if lines == nil {
		return
	}
	for stream, line := range lines {
		if len(line.text) > 0 {
			s.print(t, capture.Stream(stream), line.text)
		}
	}
	delete(s.open, t)
}

func (s *lineStream) print(t *inventory.Target, stream capture.Stream, line []byte) {
	name := "out"
	if stream == capture.Stderr {
		name = "err"
	}
	_, _ = s.w.WriteString("[" + t.SafeName() + "] " + name + ": ")
	f := farSide(s.w, s.terminal, s.color)
	_, _ = f.Write(line)
	_ = f.Flush()
	_ = s.w.WriteByte('\n')
}

// discardNil returns w, or io.Discard if w is nil.
func discardNil(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}
