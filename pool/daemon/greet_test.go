package daemon

import (
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/pool/wire"
)

func TestNewerClientReplacesIdleDaemon(t *testing.T) {
	const ours = 100
	for _, c := range []struct {
		name            string
		version         int
		made            int64
		busy            bool
		welcome, leaves bool
		reason          string
	}{
		{name: "same build", version: wire.Version, made: ours, welcome: true},
		{name: "same build, busy", version: wire.Version, made: ours, busy: true, welcome: true},
		{name: "older build", version: wire.Version, made: ours - 1, welcome: true},
		{name: "newer build", version: wire.Version, made: ours + 1, leaves: true, reason: "and ends"},
		{name: "newer build, busy", version: wire.Version, made: ours + 1, busy: true, welcome: true},
		{name: "newer protocol", version: wire.Version + 1, made: ours + 1, leaves: true, reason: "and ends"},
		{name: "newer protocol, busy", version: wire.Version + 1, made: ours + 1, busy: true, reason: "kill "},
		{name: "older protocol", version: wire.Version + 1, made: ours - 1, reason: "pool stop"},
		{name: "older protocol, busy", version: wire.Version + 1, made: ours - 1, busy: true, reason: "pool stop"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := serve(t, func(o *Options) { o.Made = ours })
			var other *peer
			if c.busy {
				other = v.connect(t)
			}
			p := v.socketOnly(t)
			p.hello(wire.Greeting{Version: c.version, Build: "2.0", Made: c.made})
			if c.welcome {
				g, err := wire.DecodeGreeting(p.expect(wire.Welcome, 0))
				if err != nil || g.PID != os.Getpid() || g.Made != ours || g.Build != "1.0-test" {
					t.Errorf("greeting %+v, %v", g, err)
				}
				p.control("ping")
			} else {
				r, err := wire.DecodeRefusal(p.expect(wire.Refused, 0))
				if err != nil || r.Leaving != c.leaves || !strings.Contains(r.Reason, c.reason) {
					t.Errorf("refusal %+v, %v", r, err)
				}
				p.closed()
			}
			if c.leaves {
				// The socket is free as soon as the connection has ended.
				s, err := New(options(t, v.Addr()))
				if err != nil {
					t.Fatal(err)
				}
				runAndEnd(t, s)
				v.wait(t)
				return
			}
			if other != nil {
				other.control("ping")
			}
			v.connect(t).control("ping")
		})
	}
}

func TestBadGreetings(t *testing.T) {
	v := serve(t, nil)
	hello := func(body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
		return append(append(b, byte(wire.Hello), 0, 0, 0, 0), body...)
	}
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"wrong magic", hello("\x09bolt-pOOl\x01")},
		{"no body", hello("")},
		{"another frame", []byte{0, 0, 0, 0, byte(wire.Control), 0, 0, 0, 1}},
		{"nothing", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := v.socketOnly(t)
			if _, err := p.conn.Write(c.data); err != nil {
				t.Fatal(err)
			}
			if err := p.conn.(*net.UnixConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			p.closed()
		})
	}
	v.connect(t).control("ping")
}

// TestTooManyClients also checks that a later client is served when another one
// has left.
func TestTooManyClients(t *testing.T) {
	v := serve(t, nil)
	v.connect(t)
	v.life.mu.Lock()
	v.life.clients += maxClients - 1 // without opening that many sockets
	v.life.mu.Unlock()
	p := v.socketOnly(t)
	r, err := wire.DecodeRefusal(p.expect(wire.Refused, 0))
	if err != nil || r.Leaving || !strings.Contains(r.Reason, "1000 clients") {
		t.Errorf("refusal %+v, %v", r, err)
	}
	v.life.mu.Lock()
	v.life.clients -= maxClients - 1
	v.life.mu.Unlock()
	v.connect(t).control("ping")
}

func TestDirectoryOfLockIsReused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	for range 3 {
		s, err := New(options(t, filepath.Join(dir, "s")))
		if err != nil {
			t.Fatal(err)
		}
		runAndEnd(t, s)
	}
}
