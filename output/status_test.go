package output

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The line is drawn until it is stopped, and then removed.
func TestShowStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var terminal bytes.Buffer
		line, stop := ShowStatus(&terminal, func() int { return 20 }, func() string { return "5/10 files read" })
		time.Sleep(2 * redrawEvery)
		if _, err := line.Writer().Write([]byte("a message\n")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * redrawEvery)
		stop()
		got := terminal.String()
		if !strings.HasPrefix(got, "\r5/10 files read\x1b[K") || !strings.Contains(got, eraseLine+"a message\n\r5/10 files read") || !strings.HasSuffix(got, eraseLine) {
			t.Errorf("the terminal has %q", got)
		}
	})
}
