package process

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOutput(t *testing.T) {
	for _, c := range []struct {
		name, script string
		limit        time.Duration
		out, said    string
		err          error // nil: none
	}{
		{"both streams", "echo out; echo said >&2", time.Minute, "out\n", "said\n", nil},
		{"one left behind", "echo out; sleep 5 &", time.Minute, "out\n", "", nil},
		{"too much", "yes", time.Minute, "", "", ErrTooLong},
		{"no end", "sleep 100", 50 * time.Millisecond, "", "", context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			out, said, err := Output(ctx, Options{Path: "/bin/sh", Args: []string{"sh", "-c", c.script}})
			if !errors.Is(err, c.err) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			if err == nil && (out != c.out || said != c.said) {
				t.Errorf("got %q and %q", out, said)
			}
			if len(out) > MaxOutput {
				t.Errorf("%d bytes", len(out))
			}
		})
	}
}
