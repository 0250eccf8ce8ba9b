package sftp

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"
	"time"
)

func TestListedMemory(t *testing.T) {
	packet := func(parts ...any) []byte {
		var b bytes.Buffer
		for _, p := range parts {
			if text, ok := p.(string); ok {
				binary.Write(&b, binary.BigEndian, uint32(len(text)))
				b.WriteString(text)
			} else {
				binary.Write(&b, binary.BigEndian, uint32(p.(int)))
			}
		}
		return b.Bytes()
	}
	const extended = 1 << 31
	for _, c := range []struct {
		name string
		body []byte
		want int64
	}{
		{"nothing", nil, 0},
		{"no files", packet(1, 0), 0},
		{"two files", packet(1, 2, "abc", "-rw abc", 0, "d", "", 0), 4 + 2*listedFile},
		{"all attributes", packet(1, 1, "abc", "", 15, 0, 1, 2, 3, 4, 5, 6), 3 + listedFile},
		{"extended attributes", packet(1, 2, "a", "", extended, 2, "k", "v", "", "", "b", "", 0), 2 + 2*listedFile + 2*listedAttribute + 18},
		{"more files than there are", packet(1, 1000, "a", "", 0), 1 + listedFile},
		{"name that is cut", packet(1, 1, 1000), 1000 + listedFile},
	} {
		if got := listedMemory(c.body); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// FuzzListings reads arbitrary server data. The data that is passed on must be
// a prefix of the server's data, and the memory must stay within the limits.
func FuzzListings(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05\x02\x00\x00\x00\x03\x00\x00\x00\x15\x68\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\x68"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		limits := Limits{PerCopy: 2 << 10, Always: 512, InAll: 1 << 10, Time: time.Minute}
		l := &listings{from: bytes.NewReader(sent), end: func() {}, budget: &Budget{Limits: limits}}
		got, _ := io.ReadAll(l)
		if !bytes.HasPrefix(sent, got) {
			t.Errorf("sent %x, got %x", sent, got)
		}
		if l.held > limits.PerCopy || l.budget.used > limits.InAll {
			t.Errorf("%d bytes are held, %d of all", l.held, l.budget.used)
		}
		if l.release(0); l.budget.used != 0 {
			t.Errorf("%d bytes are still counted", l.budget.used)
		}
	})
}
