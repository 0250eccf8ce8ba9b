package executor

import (
	"context"
	"time"

	"bolt/run"
	"bolt/transport"
)

// waiting is the action that tries to connect to a target until it succeeds.
type waiting struct {
	dialer             transport.Dialer
	patience, interval time.Duration
}

func (w *waiting) Name() string   { return "wait_until_available" }
func (w *waiting) Object() string { return "" }

// Here returns true because the action makes its own connections.
func (w *waiting) Here() bool { return true }

// Do waits for one target.
func (w *waiting) Do(ctx context.Context, site *run.Site) error {
	settings, err := site.Target.Settings(ctx)
	if err != nil {
		return err
	}
	over, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	for {
		conn, err := w.dialer.Dial(over, settings.Dest)
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil {
			return err
		}
		pause := time.NewTimer(w.interval)
		select {
		case <-pause.C:
		case <-over.Done():
			pause.Stop()
			if ctx.Err() != nil {
				return err
			}
			return &transport.Error{Class: transport.ClassTimeout, Code: "CONNECT_ERROR", Err: err, Msg: "Timed out waiting for target", Hint: "The last attempt failed: " + err.Error()}
		}
	}
}
