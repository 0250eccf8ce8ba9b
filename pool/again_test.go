package pool

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// TestCommandsThatKillTheirServer checks that every command is sent once, although each
// command ends the connection on which other commands are about to begin.
func TestCommandsThatKillTheirServer(t *testing.T) {
	const commands = 24
	for _, maxSessions := range []int{1, 2, 10} {
		t.Run(fmt.Sprintf("MaxSessions %d", maxSessions), func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, sshtest.Options{Config: fmt.Sprintf("MaxSessions %d\nMaxStartups 100\n", maxSessions)})
			p := newPool(t, realDialer(t, s), Options{})
			conn := mustDial(t, p, dest(s))
			defer conn.Close()
			dir := t.TempDir()
			var work sync.WaitGroup
			for i := range commands {
				work.Go(func() {
					_, err := say(t.Context(), conn, fmt.Sprintf("echo >>%s/%d; kill -9 $PPID", dir, i))
					if class := transport.ClassOf(err); class != transport.ClassLost {
						t.Errorf("command %d: %v (%s), want %s", i, err, class, transport.ClassLost)
					}
				})
			}
			work.Wait()
			for i := range commands {
				if lines, _ := os.ReadFile(filepath.Join(dir, strconv.Itoa(i))); len(lines) > 1 {
					t.Errorf("command %d began %d times", i, len(lines))
				}
			}
		})
	}
}
