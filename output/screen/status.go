package screen

import "bolt/output"

// Status shows a line of progress on standard error until stop is called, if standard error can show one. text is
// called from another goroutine.
func (s *Screen) Status(text func() string) (stop func()) {
	if !s.progress() {
		return func() {}
	}
	line, end := output.ShowStatus(s.err, s.errWidth, text)
	s.Console.set(line.Writer())
	s.Ask.Pause = line.Pause
	return func() {
		end()
		s.Ask.Pause = nil
		s.Console.set(s.err)
	}
}
