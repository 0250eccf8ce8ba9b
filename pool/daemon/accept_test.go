package daemon

import (
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"bolt/pool/wire"
)

// shortListener fails several times as accept(2) does without descriptors.
type shortListener struct {
	net.Listener
	fails chan error
}

func (l *shortListener) Accept() (net.Conn, error) {
	select {
	case err := <-l.fails:
		return nil, err
	default:
		return l.Listener.Accept()
	}
}

// TestShortageOfDescriptors checks that unused connections are closed and
// clients wait.
func TestShortageOfDescriptors(t *testing.T) {
	short := &shortListener{listenForTest(t), make(chan error, 10)}
	v := serve(t, func(o *Options) { o.Socket, o.Listener = "", short })
	p := v.connect(t)
	for range givenUp + 2 {
		p.send(wire.Release, p.dial(strings.Repeat("x", int(p.last)+1)), nil)
	}
	eventually(t, "all are idle", func() bool { return !v.pool.Busy() })
	for range 3 {
		short.fails <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	began := time.Now()
	v.connect(t) // its accept has already begun
	v.connect(t).control("ping")
	if took := time.Since(began); took < firstPause {
		t.Errorf("no pause: %v", took)
	}
	if n := len(p.status().Connections); n != 0 {
		t.Errorf("%d unused connections are still open", n)
	}
	if n := strings.Count(v.log.String(), "accept a client"); n != 3 {
		t.Errorf("%d lines in the log", n)
	}
}

// TestBrokenListener checks that the daemon ends and returns the reason.
func TestBrokenListener(t *testing.T) {
	short := &shortListener{listenForTest(t), make(chan error, 1)}
	short.fails <- &net.OpError{Op: "accept", Err: syscall.EINVAL}
	v := serve(t, func(o *Options) { o.Socket, o.Listener = "", short })
	<-v.done
	if v.err == nil || !strings.Contains(v.err.Error(), "invalid argument") {
		t.Errorf("Run: %v", v.err)
	}
	v.err = nil
}
