package readfile

import (
	"context"
	"errors"
	"io"
	"os"
	"testing"
)

func TestWakeable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	in, stop, err := Wakeable(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if _, err := io.WriteString(w, "text"); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 8)
	if n, err := in.Read(p); err != nil || string(p[:n]) != "text" {
		t.Fatalf("read %q, %v", p[:n], err)
	}
	ended := make(chan error)
	go func() {
		_, err := in.Read(p)
		ended <- err
	}()
	cancel(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("a read that waits ended with %v, want %v", err, why)
	}
}
