package ssh

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// fleetDest is the destination of a server of a fleet.
func fleetDest(t testing.TB, f *sshtest.Fleet, i int) transport.Dest {
	t.Helper()
	host, port, err := net.SplitHostPort(f.Addrs[i])
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return transport.Dest{Protocol: "ssh", Host: host, Port: n, User: "root", PrivateKey: f.KeyFile, ConnectTimeout: 20 * time.Second, HostKeyCheck: transport.CheckNone}
}

// endless lists new names of the given length without end.
func endless(length int) sshtest.SFTPListing {
	return func(n int) ([]string, bool) {
		names := make([]string, max(1, min(1000, 200_000/(length+12))))
		for i := range names {
			names[i] = fmt.Sprintf("%0*d", length, n*len(names)+i)
		}
		return names, true
	}
}

// refusedGet downloads from a server. The download must fail with an error that
// contains the given text.
func refusedGet(t *testing.T, c *Conn, text string) {
	t.Helper()
	err := c.Get(t.Context(), "/srv/data", t.TempDir(), transport.FileOptions{})
	if transport.ClassOf(err) != transport.ClassFile || !strings.Contains(fmt.Sprint(err), text) {
		t.Errorf("got %v, want %q", err, text)
	}
}

// TestEndlessListing copies from servers whose listings never end. The memory
// of this process is bounded, and the connection can still be used.
func TestEndlessListing(t *testing.T) {
	for _, length := range []int{8, 250, 100_000} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			f := sshtest.NewFleet(t, 1, sshtest.WithoutTar(endless(length)), nil)
			c := newLab(t, nil).mustDial(t, fleetDest(t, f, 0))
			most := peakHeap(t, func() {
				refusedGet(t, c, "/srv/data: its listing exceeds the limit of 64 MiB for the listings of one copy")
			})
			if most > 3*defaultListingLimits.perCopy {
				t.Errorf("%d MiB were in use", most>>20)
			}
			if say(t, c, "echo alive") != "alive\n" {
				t.Error("the connection has ended")
			}
			if used := c.listings.used; used != 0 {
				t.Errorf("%d bytes are still counted", used)
			}
		})
	}
}

// peakHeap returns the largest growth of the heap while do runs.
func peakHeap(t *testing.T, do func()) (most int64) {
	t.Helper()
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before := heap()
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for tick := time.NewTicker(5 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				most = max(most, heap()-before)
			}
		}
	}()
	do()
	close(done)
	<-over
	return most
}

// TestListingThatStalls checks the time limit for a listing that continues without
// names.
func TestListingThatStalls(t *testing.T) {
	f := sshtest.NewFleet(t, 1, sshtest.WithoutTar(func(int) ([]string, bool) { return nil, true }), nil)
	l := newLab(t, nil)
	l.listings.limits.time = 100 * time.Millisecond
	refusedGet(t, l.mustDial(t, fleetDest(t, f, 0)), "its listing did not end within 100ms")
}

// TestListingsShareABudget checks the memory limit for the listings of all copies. A
// copy with few files must succeed whatever the other copies hold.
func TestListingsShareABudget(t *testing.T) {
	const greedy = 4
	finite := func(n int) ([]string, bool) { return []string{"empty"}, n == 0 }
	full := make(chan struct{})
	var reached sync.WaitGroup
	reached.Add(greedy)
	var once [greedy]sync.Once
	hold := func(i int) sshtest.SFTPListing {
		return func(n int) ([]string, bool) {
			if n == 2 { // has 2,000 names by now
				once[i].Do(reached.Done)
				<-full
			}
			return endless(8)(n)
		}
	}
	l := newLab(t, nil)
	l.listings.limits = listingLimits{perCopy: 1 << 30, always: 64 << 10, inAll: greedy * (600 << 10), time: time.Minute}
	var work sync.WaitGroup
	for i := range greedy {
		f := sshtest.NewFleet(t, 1, sshtest.WithoutTar(hold(i)), nil)
		c := l.mustDial(t, fleetDest(t, f, 0))
		work.Go(func() { refusedGet(t, c, "for the listings of all copies") })
	}
	reached.Wait()
	f := sshtest.NewFleet(t, 1, sshtest.WithoutTar(finite), nil)
	if err := l.mustDial(t, fleetDest(t, f, 0)).Get(t.Context(), "/srv/data", t.TempDir(), transport.FileOptions{}); err != nil {
		t.Error(err)
	}
	close(full)
	work.Wait()
	if used := l.listings.used; used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// TestEndlessTree checks the depth limit for a copy, and for the removal of a failed
// upload, on a server on which every directory contains another directory.
func TestEndlessTree(t *testing.T) {
	f := sshtest.NewFleet(t, 1, sshtest.WithoutTar(func(n int) ([]string, bool) { return []string{"d"}, n%2 == 0 }), nil)
	c := newLab(t, nil).mustDial(t, fleetDest(t, f, 0))
	refusedGet(t, c, "more than 64 directories deep")
	err := c.putBySFTP(t.Context(), transport.Tree{Path: t.TempDir()}, "/srv/data")
	if transport.ClassOf(err) != transport.ClassFile {
		t.Errorf("upload: got %v", err)
	}
}

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

// FuzzListings reads arbitrary data of a server. The data that is passed on must be the
// beginning of the server's data, and the memory must stay within the limits.
func FuzzListings(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05\x02\x00\x00\x00\x03\x00\x00\x00\x15\x68\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01a\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\x68"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		limits := listingLimits{perCopy: 2 << 10, always: 512, inAll: 1 << 10, time: time.Minute}
		l := &listings{from: bytes.NewReader(sent), end: func() {}, budget: &listingBudget{limits: limits}}
		got, _ := io.ReadAll(l)
		if !bytes.HasPrefix(sent, got) {
			t.Errorf("sent %x, got %x", sent, got)
		}
		if l.held > limits.perCopy || l.budget.used > limits.inAll {
			t.Errorf("%d bytes are held, %d of all", l.held, l.budget.used)
		}
		if l.release(0); l.budget.used != 0 {
			t.Errorf("%d bytes are still counted", l.budget.used)
		}
	})
}
