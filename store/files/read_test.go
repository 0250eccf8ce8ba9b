package files

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"bolt/store"
)

// TestEventsEnded checks that a context that ends while the last part of a log waits for the caller is an error, and not
// the end of the log.
func TestEventsEnded(t *testing.T) {
	s := open(t, t.TempDir())
	long := json.RawMessage(`"` + strings.Repeat("x", window*2/3) + `"`)
	for after := range store.Revision(2) {
		_, err := s.Append(t.Context(), "log", after, 0, long)
		must(t, err)
	}
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var events int
		var err error
		for _, err = range s.Events(ctx, "log", 0) {
			if err != nil {
				break
			}
			events++
			cancel(why)
			synctest.Wait() // until the second part is dropped
		}
		if events != 1 || !errors.Is(err, why) {
			t.Errorf("%d events, %v", events, err)
		}
	})
}
