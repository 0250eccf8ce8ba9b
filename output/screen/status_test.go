package screen

import (
	"io"
	"strings"
	"testing"

	"bolt/internal/ptytest"
)

// The line of progress is shown on a terminal until it is stopped. Standard error can be used afterwards.
func TestStatus(t *testing.T) {
	p := ptytest.New(t)
	s := New(p.Slave, p.Slave, p.Slave, func(string) string { return "" })
	s.Configure(false, true)
	stop := s.Status(func() string { return "1 of 2 files" })
	p.Wait(t, "the line of progress", func(s *ptytest.Screen) bool { return strings.Contains(s.String(), "1 of 2 files") })
	stop()
	if _, err := io.WriteString(s.Console, "the end"); err != nil {
		t.Fatal(err)
	}
	p.Wait(t, "the end without progress", func(s *ptytest.Screen) bool { return strings.TrimSpace(s.String()) == "the end" })
	if s.Ask.Pause != nil {
		t.Error("questions still pause the line of progress")
	}
}
