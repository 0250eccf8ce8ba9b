package pool

import (
	"reflect"
	"slices"
	"sync"
)

// watchWidth is how many connections one goroutine watches. A goroutine for
// each would use 2.5 KB for every connection. The cost of each change grows
// with the width, so a larger width makes changes slower.
const watchWidth = 32

// watchers detect the end of connections.
type watchers struct {
	quit  <-chan struct{}
	ended func(*link) // called by a watcher
	work  sync.WaitGroup

	mu  sync.Mutex
	all []*watcher
}

// A watcher is one goroutine.
type watcher struct {
	in chan *link // never full
	n  int        // links that it watches or will watch; guarded by watchers.mu
}

func newWatchers(quit <-chan struct{}, ended func(*link)) *watchers {
	return &watchers{quit: quit, ended: ended}
}

// add watches a link until it ends. It must not be called after wait.
func (ws *watchers) add(k *link) {
	if k.done == nil {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for i := len(ws.all) - 1; i >= 0; i-- {
		if w := ws.all[i]; w.n < watchWidth {
			w.n++
			w.in <- k
			return
		}
	}
	w := &watcher{in: make(chan *link, watchWidth), n: 1}
	w.in <- k
	ws.all = append(ws.all, w)
	ws.work.Go(func() { ws.run(w) })
}

// remove decrements the count of a watcher's links. It reports whether the
// watcher has none left; then it gets no new ones.
func (ws *watchers) remove(w *watcher) (over bool) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.n--
	if w.n > 0 {
		return false
	}
	ws.all = slices.DeleteFunc(ws.all, func(o *watcher) bool { return o == w })
	return true
}

func (ws *watchers) run(w *watcher) {
	const fixed = 2
	cases := []reflect.SelectCase{
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ws.quit)},
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(w.in)},
	}
	links := make([]*link, fixed, fixed+watchWidth)
	for {
		i, v, _ := reflect.Select(cases)
		switch i {
		case 0:
			return
		case 1:
			k := v.Interface().(*link)
			cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(k.done)})
			links = append(links, k)
			continue
		}
		k := links[i]
		last := len(cases) - 1
		cases[i], links[i] = cases[last], links[last]
		links[last] = nil
		cases, links = cases[:last], links[:last]
		over := ws.remove(w)
		ws.ended(k)
		if over {
			return
		}
	}
}

// wait returns when all watchers have ended; quit must be closed.
func (ws *watchers) wait() { ws.work.Wait() }
