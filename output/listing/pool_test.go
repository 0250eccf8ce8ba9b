package listing

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bolt/output/layout"
	"bolt/pool/wire"
)

func TestPrintPool(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	status := &wire.Status{PID: 7, Version: "1.0", Started: now.Add(-time.Hour - 5*time.Minute), Clients: 1, InFlight: 2, Memory: 3 << 20,
		Limits: wire.Limits{MaxConnections: 10, IdleTimeout: 15 * time.Minute},
		Connections: []wire.Connection{
			{Peer: "b@idle:22", State: wire.Idle, Age: 90 * time.Second, Idle: 5 * time.Second},
			{Peer: "a@idle:22", State: wire.Idle, Idle: time.Minute},
			{Peer: "z@busy:22", State: wire.Busy, InFlight: 2, Sent: 2048},
			{Peer: "z@busy:22", State: wire.Busy, Sessions: 1},
			{Peer: "evil\x1b[2J", State: wire.Dialing},
		}}
	var b bytes.Buffer
	if err := PrintPool(&b, Options{}, &Pool{Status: status, Now: now}); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"pid 7", "up 1h5m", "1 client, 2 requests in flight, 4 machines connected", "memory 3.0 MiB", "after 15m without use\n", "2.0 KiB", "1m30s"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	last := -1
	for _, peer := range []string{"z@busy", "evil", "a@idle", "b@idle"} {
		at := strings.Index(text, peer)
		if at <= last {
			t.Errorf("%s is out of order in:\n%s", peer, text)
		}
		last = at
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("control characters in:\n%s", text)
	}
}

func TestPrintPoolJSON(t *testing.T) {
	for _, c := range []struct {
		name string
		pool *Pool
		want map[string]any
	}{
		{"none", &Pool{Socket: "/s"}, map[string]any{"running": false, "socket": "/s"}},
		{"running", &Pool{Status: &wire.Status{PID: 3, Socket: "/s"}}, map[string]any{"running": true, "socket": "/s", "pid": 3.0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := PrintPool(&b, Options{Format: layout.JSON}, c.pool); err != nil {
				t.Fatal(err)
			}
			var got map[string]any
			if err := json.Unmarshal(b.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			for k, v := range c.want {
				if got[k] != v {
					t.Errorf("%s: got %v, want %v", k, got[k], v)
				}
			}
			if _, ok := got["connections"].([]any); c.pool.Status != nil && !ok {
				t.Errorf("connections: %v is no list", got["connections"])
			}
		})
	}
}
