package puppetdb

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain ends what the tests have started, and fails the package if that
// cannot be done, or if a goroutine outlives it.
func TestMain(m *testing.M) {
	code := m.Run()
	err := live.Stop()
	if err == nil && code == 0 {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "puppetdb:", err)
		code = 1
	}
	os.Exit(code)
}
