package ssh

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// readerConn is a net.Conn with only a working Read.
type readerConn struct {
	net.Conn
	io.Reader
}

func (c readerConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

func TestWire(t *testing.T) {
	for _, c := range []struct {
		name, in string
		greeted  bool
		said     string
	}{
		{"version", "SSH-2.0-x\r\nrest", true, ""},
		{"lines before it", "hello\r\nworld\nSSH-2.0-x\r\nrest\n", true, "hello world"},
		{"no line end", "Go away", false, "Go away"},
		{"refusal", "Exceeded MaxStartups\r\n", false, "Exceeded MaxStartups"},
		{"nothing", "", false, ""},
		{"no version in sight", strings.Repeat("x", 3000), false, strings.Repeat("x", maxPreamble)},
		{"version later in a line", "x SSH-2.0\n", false, "x SSH-2.0"},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytewise": iotest.OneByteReader} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				w := newWire(readerConn{Reader: wrap(strings.NewReader(c.in))})
				got, err := io.ReadAll(iotest.OneByteReader(w))
				if err != nil || string(got) != c.in {
					t.Errorf("passed on %d bytes of %d, %v", len(got), len(c.in), err)
				}
				if w.greeted() != c.greeted || w.preamble() != c.said {
					t.Errorf("greeted %v, said %q", w.greeted(), w.preamble())
				}
			})
		}
	}
}

func FuzzWire(f *testing.F) {
	for _, s := range []string{"SSH-2.0-x\r\nabc", "noise\nSSH-2.0-x\n", "\r\n\r\n", "SSH-"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := newWire(readerConn{Reader: bytes.NewReader(in)})
		out, err := io.ReadAll(w)
		if err != nil || !bytes.Equal(in, out) {
			t.Fatalf("%q became %q, %v", in, out, err)
		}
		if len(w.preamble()) > maxPreamble {
			t.Errorf("keeps %d bytes", len(w.preamble()))
		}
		if want := bytes.HasPrefix(in, []byte("SSH-")) && bytes.IndexByte(in[:min(len(in), maxVersionLine)], '\n') >= 0; want && !w.greeted() {
			t.Errorf("no version seen in %q", in)
		}
	})
}

func TestAlgorithmLists(t *testing.T) {
	defaults, all := []string{"a-1", "a-2", "b-1"}, []string{"a-1", "a-2", "b-1", "old-1"}
	for _, c := range []struct {
		what, list string
		read       func(string, []string, []string) []string
		want       string
	}{
		{"dest", "b-1, a-1", destList, "[b-1 a-1]"},
		{"dest", "bogus,b-1", destList, "[b-1]"},
		{"dest", "bogus", destList, "[]"},
		{"dest", "old-1,defaults,a-1", destList, "[old-1 a-1 a-2 b-1]"},
		{"config", "b-1,bogus", configList, "[b-1]"},
		{"config", "+old-1", configList, "[a-1 a-2 b-1 old-1]"},
		{"config", "-a-*", configList, "[b-1]"},
		{"config", "^b-1,old-1", configList, "[b-1 old-1 a-1 a-2]"},
		{"config", "?-1", configList, "[a-1 b-1]"},
	} {
		t.Run(c.what+" "+c.list, func(t *testing.T) {
			if got := fmt.Sprint(c.read(c.list, defaults, all)); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	t.Run("defaults are secure, new key exchange first", func(t *testing.T) {
		set, err := algorithmLists{}.choose()
		if err != nil {
			t.Fatal(err)
		}
		if set.kex[0] != "mlkem768x25519-sha256" || set.hostKey[0] != "ssh-ed25519-cert-v01@openssh.com" {
			t.Errorf("%v, %v", set.kex, set.hostKey)
		}
		for _, bad := range []string{"diffie-hellman-group14-sha1", "3des-cbc", "aes128-cbc", "ssh-rsa", "ssh-dss"} {
			if slices.Contains(slices.Concat(set.kex, set.ciphers, set.macs, set.hostKey, set.publicKey), bad) {
				t.Errorf("%s is a default", bad)
			}
		}
		if got := set.hostKeys([]string{"rsa-sha2-512", "ssh-rsa"}); got[0] != "rsa-sha2-512" || slices.Contains(got, "ssh-rsa") || len(got) != len(set.hostKey) {
			t.Errorf("with a known RSA key: %v", got)
		}
	})
}

func FuzzConfigList(f *testing.F) {
	f.Add("+a,b*")
	f.Add("-[")
	f.Fuzz(func(t *testing.T, list string) {
		if list == "" {
			return
		}
		defaults, all := []string{"a", "b"}, []string{"a", "b", "c"}
		for _, name := range slices.Concat(configList(list, defaults, all), destList(list, defaults, all)) {
			if !slices.Contains(all, name) {
				t.Errorf("%q gives the unknown name %q", list, name)
			}
		}
	})
}
