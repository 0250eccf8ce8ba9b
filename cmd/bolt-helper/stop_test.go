package main

import (
	"fmt"
	"testing"

	"bolt/apply/frame"
	"bolt/apply/remote"
)

// TestStop stops a run that goes on without a reader. No command is cut off.
func TestStop(t *testing.T) {
	s := newSite(t)
	s.reset(t)
	var list []any
	for i := range units {
		list = append(list, map[string]any{"type": "Exec", "title": fmt.Sprintf("slow %d", i), "parameters": map[string]any{
			"command":  fmt.Sprintf("echo begin %d >>%[2]s; sleep 0.2; echo end %[1]d >>%[2]s", i, s.path("log", 0)),
			"provider": "shell"}})
	}
	s.set(t, list...)
	result := make(chan error)
	go func() {
		out, err := remote.Apply(t.Context(), s.conn, &s.target, &remote.Job{Catalog: s.catalog, Node: "n1", Run: "stopped", Continue: true})
		if err == nil && out.Stopped != frame.StopAsked {
			err = fmt.Errorf("it ended with %+v", out)
		}
		result <- err
	}()
	s.logged(t, "begin 0")
	if f, err := remote.Stop(t.Context(), s.conn, &s.target, "stopped"); err != nil || f.State != frame.StateRunning {
		t.Errorf("%+v, %v", f, err)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	f := s.asked(t, "stopped")
	if f.State != frame.StateEnded || f.Done.Stopped != frame.StopAsked || f.Done.Counts.Skipped == 0 || f.Done.Counts.Changed == 0 {
		t.Errorf("%+v", f)
	}
	s.whole(t, "stopped")
}
