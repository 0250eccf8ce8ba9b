package inorder

import (
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachKeepsOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := make([]int, 500)
		for i := range list {
			list[i] = i
		}
		var working, most, begun atomic.Int64
		double := func(i int) int {
			most.Store(max(most.Load(), working.Add(1)))
			begun.Add(1)
			time.Sleep(time.Duration(i%7) * time.Millisecond)
			working.Add(-1)
			return 2 * i
		}
		want := make([]int, len(list))
		for i := range want {
			want[i] = 2 * i
		}
		if got := slices.Collect(Each(list, double)); !slices.Equal(got, want) {
			t.Errorf("is %v", got)
		}
		if n := runtime.GOMAXPROCS(0); most.Load() > int64(n) || n > 1 && most.Load() < 2 {
			t.Errorf("%d were in work at once, of %d", most.Load(), n)
		}
		if got := slices.Collect(Each(nil, double)); got != nil {
			t.Errorf("of nothing is %v", got)
		}
		// If the reader stops, the work ends; if the reader is slow, the
		// work is slow.
		begun.Store(0)
		for v := range Each(list, double) {
			time.Sleep(time.Second)
			if v == 20 {
				break
			}
		}
		if n := begun.Load(); n < 11 || n > 11+5*int64(runtime.GOMAXPROCS(0)) {
			t.Errorf("%d were begun", n)
		}
	})
}
