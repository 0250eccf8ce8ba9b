package krb5

import (
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A kcmServer is a small KCM server. It is complete enough that MIT's kinit and
// klist can use it like sssd's.
type kcmServer struct {
	socket string
	mute   func(net.Conn) // if set, it is called instead of answering

	mu     sync.Mutex
	first  string // the default cache
	caches map[string]*kcmCache
}

type kcmCache struct {
	principal []byte
	creds     [][]byte
	offset    []byte
}

func startKCM(t *testing.T, mute func(net.Conn)) *kcmServer {
	t.Helper()
	s := &kcmServer{socket: filepath.Join(t.TempDir(), "kcm"), mute: mute, caches: make(map[string]*kcmCache)}
	l, err := net.Listen("unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			work.Go(func() {
				defer c.Close()
				defer atEnd(t, func() { c.Close() })()
				if s.mute != nil {
					s.mute(c)
					return
				}
				for s.answer(c) == nil {
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		work.Wait()
	})
	return s
}

func (s *kcmServer) answer(c net.Conn) error {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	body := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	s.mu.Lock()
	status, data := s.do(binary.BigEndian.Uint16(body[2:4]), body[4:])
	s.mu.Unlock()
	out := binary.BigEndian.AppendUint32(nil, uint32(4+len(data)))
	out = append(out, 0, 0, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(status))
	_, err := c.Write(append(out, data...))
	return err
}

// do answers one request. Unknown requests are refused.
func (s *kcmServer) do(op uint16, args []byte) (status kcmError, data []byte) {
	const initialize, store, offset, setOffset, setDefault, newName, listCaches, cacheByUUID, noSupport = 4, 6, 22, 23, 21, 3, 18, 19, kcmError(-1765328137)
	uuid := func(n int) []byte { return append(make([]byte, 15), byte(n)) }
	if op > 13000 { // extensions of MIT
		return noSupport, nil
	}
	if op == newName {
		return 0, cstring("one")
	}
	if op == kcmDefaultCache {
		if s.first == "" {
			return 0, cstring("one")
		}
		return 0, cstring(s.first)
	}
	if op == listCaches {
		var list []byte
		if s.first != "" {
			list = uuid(0)
		}
		return 0, list
	}
	if op == cacheByUUID {
		return 0, cstring(s.first)
	}
	name, rest, _ := strings.Cut(string(args), "\x00")
	cache := s.caches[name]
	switch op {
	case initialize:
		s.caches[name] = &kcmCache{principal: []byte(rest)}
		s.first = name
		return 0, nil
	case setDefault:
		s.first = name
		return 0, nil
	}
	if cache == nil {
		return kcmNoFile, nil
	}
	switch op {
	case store:
		cache.creds = append(cache.creds, []byte(rest))
		return 0, nil
	case kcmGetPrincipal:
		return 0, cache.principal
	case kcmListTickets:
		var list []byte
		for n := range cache.creds {
			list = append(list, uuid(n)...)
		}
		return 0, list
	case kcmGetTicket:
		return 0, cache.creds[rest[15]]
	case setOffset:
		cache.offset = []byte(rest)
		return 0, nil
	case offset:
		if cache.offset == nil {
			return 0, make([]byte, 4)
		}
		return 0, cache.offset
	}
	return noSupport, nil
}

// atEnd calls end at the end of the test.
func atEnd(t *testing.T, end func()) (stop func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-t.Context().Done():
			end()
		case <-done:
		}
	}()
	return func() { close(done) }
}

// TestKCMFailures checks servers that do not exist, do not answer, or send
// invalid data.
func TestKCMFailures(t *testing.T) {
	read := func(socket string) error {
		_, err := readKCM(t.Context(), socket, "")
		return err
	}
	wantError(t, "none", read(filepath.Join(t.TempDir(), "none")), "no KCM server listens")
	for _, tt := range []struct {
		name string
		mute func(net.Conn)
		want string
	}{
		{"closes", func(c net.Conn) {}, "EOF"},
		{"huge answer", func(c net.Conn) { c.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}) }, "its answer has"},
		{"half an answer", func(c net.Conn) { c.Write([]byte{0, 0, 1, 0, 0, 0, 0, 0, 1}) }, "EOF"},
		{"refuses", func(c net.Conn) { c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 7}) }, "code 7"},
	} {
		s := startKCM(t, func(c net.Conn) {
			io.ReadFull(c, make([]byte, 8))
			tt.mute(c)
		})
		wantError(t, tt.name, read(s.socket), tt.want)
	}
	s := startKCM(t, func(c net.Conn) { io.Copy(io.Discard, c) })
	before := time.Now()
	wantError(t, "silent", read(s.socket), "does not answer")
	if d := time.Since(before); d > 10*kcmPatience {
		t.Errorf("a silent server took %v", d)
	}
}

// wantError checks that an error contains a text.
func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error %v, want %q in it", what, err, want)
	}
}

func FuzzKCM(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 'o', 'n', 'e', 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		k := kcm{replay{strings.NewReader(string(data))}}
		if name, err := k.defaultCache(); err == nil {
			k.cache(name)
		}
		k = kcm{replay{strings.NewReader(string(data))}}
		k.cache("one")
	})
}

// replay returns recorded answers to any requests.
type replay struct{ io.Reader }

func (replay) Write(b []byte) (int, error) { return len(b), nil }
