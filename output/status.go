package output

import "io"

// ShowStatus draws a StatusLine with what text returns, one line, until stop is called. to is the terminal, and
// width returns its number of columns, 0 if unknown. text is called from another goroutine.
func ShowStatus(to io.Writer, width func() int, text func() string) (line *StatusLine, stop func()) {
	line = newStatusLine(to, width)
	line.start(text)
	return line, line.stop
}
