package ssh

import (
	"fmt"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
	"bolt/transport"
	"bolt/transport/ssh/sftp"
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
			if most > 3*sftp.DefaultLimits().PerCopy {
				t.Errorf("%d MiB were in use", most>>20)
			}
			if say(t, c, "echo alive") != "alive\n" {
				t.Error("the connection has ended")
			}
			if used := c.listings.InUse(); used != 0 {
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
	l.listings.Limits.Time = 100 * time.Millisecond
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
	l.listings.Limits = sftp.Limits{PerCopy: 1 << 30, Always: 64 << 10, InAll: greedy * (600 << 10), Time: time.Minute}
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
	if used := l.listings.InUse(); used != 0 {
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
