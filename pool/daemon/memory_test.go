package daemon

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryReturnsAfterLastClient checks that memory is returned once after the last client, and
// not between clients that follow each other.
func TestMemoryReturnsAfterLastClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		l := newLife(time.Hour, func() bool { return false })
		l.giveBack = func() { n++ }
		l.start()
		for range 10 {
			l.enter(2)
			l.enter(2)
			time.Sleep(restAfter)
			l.leave()
			time.Sleep(2 * restAfter)
			l.leave()
			time.Sleep(restAfter - time.Nanosecond)
		}
		if synctest.Wait(); n > 0 {
			t.Errorf("given back %d times while there were clients", n)
		}
		l.enter(1)
		l.leave()
		time.Sleep(20 * time.Minute)
		if synctest.Wait(); n != 1 {
			t.Errorf("given back %d times after the last", n)
		}
		l.end("test")
	})
}

// TestGiveBackReturnsMemory checks that the memory of a burst is returned to the system, at once
// and only once.
func TestGiveBackReturnsMemory(t *testing.T) {
	stats := func() (m runtime.MemStats) {
		runtime.ReadMemStats(&m)
		return m
	}
	backed := func() uint64 {
		m := stats()
		return m.HeapSys - m.HeapReleased
	}
	const size = 64 << 20
	r := new(rest)
	debug.FreeOSMemory()
	before := backed()
	rush := make([]byte, size)
	if n := backed(); n < before+size-size/8 { // garbage of other tests is collected meanwhile
		t.Fatalf("%d bytes grew to %d by %d", before, n, size)
	}
	runtime.KeepAlive(rush)
	rush = nil
	r.giveBack()
	if n := backed(); n > before+size/4 {
		t.Errorf("%d bytes were held before, %d are behind", before, n)
	}
	forced := stats().NumForcedGC
	if r.giveBack(); stats().NumForcedGC != forced {
		t.Error("memory was looked through without a reason")
	}
}
