package shell

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bolt/transport"
)

// TestAfterMark tests the data of a machine in pieces of every size.
func TestAfterMark(t *testing.T) {
	const mark = "bolt%0123!\n"
	for _, c := range []struct{ name, sent, want string }{
		{"nothing", "", ""},
		{"noise alone", "welcome\n", ""},
		{"mark alone", mark, ""},
		{"content", mark + "content", "content"},
		{"noise before it", "welcome\nbolt%0" + mark + "content", "content"},
		{"a mark in the content", mark + "con" + mark + "tent", "con" + mark + "tent"},
		{"all the noise there may be", strings.Repeat("n", maxNoise-len(mark)) + mark + "content", "content"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 3, len(mark) - 1, len(mark), streamBuffer, 1 << 20} {
				var out bytes.Buffer
				a := &afterMark{w: &out, mark: []byte(mark)}
				for piece := range slices.Chunk([]byte(c.sent), size) {
					if n, err := a.Write(piece); err != nil || n != len(piece) {
						t.Fatalf("pieces of %d: %d, %v", size, n, err)
					}
				}
				if out.String() != c.want {
					t.Errorf("pieces of %d: got %q", size, out.String())
				}
			}
		})
	}
	a := &afterMark{w: new(bytes.Buffer), mark: []byte(mark)}
	if _, err := a.Write(bytes.Repeat([]byte("n"), maxNoise+1)); err != errNoise {
		t.Errorf("too much noise: got %v", err)
	}
	a = &afterMark{w: failingWriter{}, mark: []byte(mark)} // is not called without data
	if _, err := a.Write([]byte(mark)); err != nil {
		t.Errorf("mark: got %v", err)
	}
	for _, head := range []string{"", mark} {
		a := &afterMark{w: failingWriter{}, mark: []byte(mark), seen: head == ""}
		if _, err := a.Write([]byte(head + "content")); err != errFailing {
			t.Errorf("writer that fails: got %v", err)
		}
	}
}

var errFailing = errors.New("fails")

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errFailing }

func TestChangedOnly(t *testing.T) {
	for _, c := range []struct {
		st   transport.Status
		said string
		want bool
	}{
		{transport.Status{Code: 1}, "tar: a: file changed as we read it\n", true},
		{transport.Status{Code: 1}, "tar: a: file changed as we read it\ntar: b: file changed as we read it\n", true},
		{transport.Status{Code: 1}, "tar: a: file changed as we read it\ntar: b: no\n", false},
		{transport.Status{Code: 1}, "", false},
		{transport.Status{Code: 2}, "tar: a: file changed as we read it\n", false},
		{transport.Status{Code: -1, Signal: "TERM"}, "tar: a: file changed as we read it\n", false},
	} {
		t.Run(fmt.Sprint(c.st, c.said), func(t *testing.T) {
			if got := changedOnly(c.st, []byte(c.said)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
