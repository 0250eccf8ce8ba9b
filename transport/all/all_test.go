package all_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"bolt/inventory"
	"bolt/transport"
	"bolt/transport/all"
)

func TestProtocols(t *testing.T) {
	d, err := all.New(all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Dial(t.Context(), transport.Dest{Protocol: "pigeon"})
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || e.Class != transport.ClassUnsupported {
		t.Fatalf("an unknown protocol gives %v", err)
	}
	for _, protocol := range []string{all.SSH, inventory.NativeSSH, "winrm", "local", "docker", "podman"} {
		if !strings.Contains(e.Hint, protocol) {
			t.Errorf("%q is not among the protocols: %s", protocol, e.Hint)
		}
	}
}

// refusing is a dialer that gives one error.
type refusing struct{ err error }

func (r refusing) Dial(context.Context, transport.Dest) (transport.Conn, error) { return nil, r.err }
func (r refusing) Close() error                                                 { return r.err }

func TestThrough(t *testing.T) {
	d, err := all.New(all.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mark := errors.New("through the pool")
	d.Through(func(direct transport.Dialer) all.Closer {
		if direct == nil {
			t.Error("there is no direct dialer")
		}
		return refusing{mark}
	})
	if _, err := d.Dial(t.Context(), transport.Dest{Protocol: all.SSH}); !errors.Is(err, mark) {
		t.Errorf("ssh was dialed with %v, want %v", err, mark)
	}
	if err := d.Close(); !errors.Is(err, mark) {
		t.Errorf("closed with %v: the dialer around ssh is not closed", err)
	}
}
