package daemon

import (
	"errors"
	"io"
	"testing"
	"time"

	"bolt/pool/wire"
)

// TestInputWindow checks how much a client may send, and that it is informed about
// the bytes that were read.
func TestInputWindow(t *testing.T) {
	taken := 0
	in := newInput(func(n int) { taken += n })
	piece := make([]byte, wire.MaxPiece)
	if err := in.put(piece[:1]); !errors.Is(err, errInputSize) {
		t.Errorf("before the command reads: %v", err)
	}
	first := make(chan int)
	go func() {
		n, _ := in.Read(make([]byte, 1))
		first <- n
	}()
	for in.put([]byte("x")) != nil { // until the first Read has made room
		time.Sleep(time.Millisecond)
	}
	if n := <-first; n != 1 || taken != wire.InputWindow+1 {
		t.Errorf("first Read: %d bytes, told %d", n, taken)
	}
	taken = 0
	for range wire.InputWindow / len(piece) {
		if err := in.put(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.put(piece[:1]); !errors.Is(err, errInputSize) {
		t.Errorf("beyond the window: %v", err)
	}
	if n, err := in.Read(make([]byte, 10)); n != 10 || err != nil || taken != 0 {
		t.Errorf("read %d, %v, told %d", n, err, taken)
	}
	if err := in.put(piece[:1]); !errors.Is(err, errInputSize) {
		t.Errorf("before the client was told: %v", err)
	}
	if _, err := io.ReadFull(in, make([]byte, wire.InputWindow-10)); err != nil || taken != wire.InputWindow {
		t.Errorf("told %d, %v", taken, err)
	}
	for _, p := range [][]byte{nil, make([]byte, wire.MaxPiece+1)} {
		if err := in.put(p); !errors.Is(err, errInputPiece) {
			t.Errorf("a piece of %d bytes: %v", len(p), err)
		}
	}
	if err := errors.Join(in.put([]byte("x")), in.finish()); err != nil {
		t.Fatal(err)
	}
	if err := in.put([]byte("x")); !errors.Is(err, errInputEnd) {
		t.Errorf("after the end: %v", err)
	}
	if err := in.finish(); !errors.Is(err, errInputEnd) {
		t.Errorf("a second end: %v", err)
	}
	if got, err := io.ReadAll(in); string(got) != "x" || err != nil {
		t.Errorf("the rest: %q, %v", got, err)
	}
	in.close()
	if _, err := in.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("closed: %v", err)
	}
}

// TestInputClosed checks that close ends a Read that waits.
func TestInputClosed(t *testing.T) {
	in := newInput(func(int) {})
	read := make(chan error)
	go func() {
		_, err := in.Read(make([]byte, 1))
		read <- err
	}()
	in.close()
	if err := <-read; err != io.ErrClosedPipe {
		t.Errorf("got %v", err)
	}
	if err := in.put([]byte("x")); err != nil {
		t.Errorf("input for a command that has ended: %v", err)
	}
}
