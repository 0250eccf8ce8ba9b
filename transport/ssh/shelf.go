package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/shell"
)

// On a connection that is kept, large files that a command stages for the
// second time go onto a shelf on the machine (package shell), and from the
// third time on they are copied there and do not travel. There is a shelf for each
// user and tmpdir. A shelf has a session of its own, so it is there only where
// sessions are not short, and until it has not been used for a minute.

const (
	// shelfBegins is what the files of a command must be together so that
	// those of shelvedSize are worth it: less travels with the command.
	shelfBegins = 64 << 10
	shelvedSize = 16 << 10
	// maxShelved bounds what is on one shelf, for /tmp may be memory.
	maxShelved = 64 << 20
	// maxShelves is how many shelves a connection may have.
	maxShelves = 2
	// maxSeen is how many files are remembered that have come once.
	maxSeen = 256
	// shelfTakes bounds what a command waits for a shelf: what it saves
	// later must not cost much more now than to send the files once more.
	shelfTakes = 5 * time.Second
)

// shelves are those of a connection.
type shelves struct {
	c *Conn

	mu   sync.Mutex
	over bool
	all  map[shelfKey]*shelf
}

// shelfKey is whom a shelf is for, and where.
type shelfKey struct{ user, program, tmpDir string }

// shelf is what is known of one.
type shelf struct {
	turn chan struct{} // holds a word for who may put files there

	// Guarded by the mutex of shelves.
	seen   map[string]bool // sums of large files that have come
	on     *placed         // nil for none
	failed time.Time       // when there was last none to be had
}

// placed is a shelf that is on the machine.
type placed struct {
	*shell.Shelf
	cancel context.CancelFunc
	timer  *time.Timer // gives it up when it has not been used

	// Guarded by the mutex of shelves.
	there map[string]shelved // files by sum
}

// shelved is a file on a shelf.
type shelved struct {
	size int
	used time.Time
}

// keep prepares what a command needs from shelves; nil for nothing.
func (s *shelves) keep(ctx context.Context, cmd *transport.Cmd) *onShelf {
	if !s.c.warm.kept || cmd.TTY || len(cmd.Files) == 0 {
		return nil
	}
	total := 0
	for i := range cmd.Files {
		total += len(cmd.Files[i].Data)
	}
	if total <= shelfBegins {
		return nil
	}
	sh := s.shelf(s.keyOf(cmd))
	if sh == nil {
		return nil
	}
	use := &onShelf{s: s, sh: sh, sums: make(map[span]string)}
	large := make(map[string]*transport.File)
	for i := range cmd.Files {
		if f := &cmd.Files[i]; len(f.Data) >= shelvedSize {
			sum := sumOf(f)
			use.sums[spanOf(f)], large[sum] = sum, f
		}
	}
	s.mu.Lock()
	for sum := range large {
		if !sh.seen[sum] {
			delete(large, sum)
			remember(sh.seen, sum, true)
		}
	}
	s.mu.Unlock()
	if len(large) == 0 {
		return nil
	}
	use.on = s.stock(ctx, sh, cmd, large)
	if use.on == nil {
		return nil
	}
	return use
}

// remember notes something in a map that is bounded: a full one is forgotten.
func remember(m map[string]bool, key string, v bool) {
	if len(m) >= maxSeen {
		clear(m)
	}
	m[key] = v
}

// keyOf is where the large files of a command are.
func (s *shelves) keyOf(cmd *transport.Cmd) shelfKey {
	k := shelfKey{tmpDir: cmd.TmpDir}
	if !s.c.isLogin(cmd.RunAs) {
		k.user, k.program = cmd.RunAs.User, strings.Join(append([]string{cmd.RunAs.Executable}, cmd.RunAs.Command...), "\x00")
	}
	return k
}

// shelf returns what is known of a shelf; nil if there are too many.
func (s *shelves) shelf(k shelfKey) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	sh := s.all[k]
	if sh == nil && len(s.all) < maxSeen && !s.over {
		if s.all == nil {
			s.all = make(map[shelfKey]*shelf)
		}
		sh = &shelf{turn: make(chan struct{}, 1), seen: make(map[string]bool)}
		s.all[k] = sh
	}
	return sh
}

// stock sees that files are on the shelf, and returns it; nil if they cannot
// be.
func (s *shelves) stock(ctx context.Context, sh *shelf, cmd *transport.Cmd, files map[string]*transport.File) *placed {
	select {
	case sh.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-sh.turn }()
	on := s.open(ctx, sh, cmd.TmpDir, cmd.RunAs)
	if on == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shelfTakes)
	defer cancel()
	for sum, f := range files {
		fits, drop := s.room(sh, on, sum, len(f.Data))
		for _, old := range drop {
			if err := on.Drop(ctx, old); err != nil {
				s.refuse(sh, on, err)
				return nil
			}
		}
		if !fits {
			continue
		}
		if err := on.Put(ctx, sum, f.Data); err != nil {
			s.refuse(sh, on, err)
			return nil
		}
		s.mu.Lock()
		on.there[sum] = shelved{len(f.Data), time.Now()}
		s.mu.Unlock()
	}
	return on
}

// room makes room for a file that is not there, and notes the use of one that
// is. It returns whether the file is to be put there, and what must go.
func (s *shelves) room(sh *shelf, on *placed, sum string, size int) (fits bool, drop []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.on != on || size > maxShelved {
		return false, nil
	}
	if there, ok := on.there[sum]; ok {
		there.used = time.Now()
		on.there[sum] = there
		return false, nil
	}
	total := size
	for _, f := range on.there {
		total += f.size
	}
	for total > maxShelved {
		oldest := ""
		for old, f := range on.there {
			if oldest == "" || f.used.Before(on.there[oldest].used) {
				oldest = old
			}
		}
		total -= on.there[oldest].size
		delete(on.there, oldest)
		drop = append(drop, oldest)
	}
	return true, drop
}

// mayOpen reports whether there can be one more shelf; the caller holds the lock.
func (s *shelves) mayOpen(sh *shelf) bool {
	open := 0
	for _, other := range s.all {
		if other.on != nil {
			open++
		}
	}
	return !s.over && open < maxShelves && (sh.failed.IsZero() || time.Since(sh.failed) >= failuresLast)
}

// open returns the shelf that is there, or starts one; nil if there is none
// to be had. The caller has the turn.
func (s *shelves) open(ctx context.Context, sh *shelf, tmpDir string, as transport.RunAs) *placed {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.on != nil {
		sh.on.timer.Reset(warmLasts)
		return sh.on
	}
	if !s.mayOpen(sh) || !s.c.places.hold() {
		return nil
	}
	s.c.places.release() // that there are enough is what was asked; Start takes one
	on := &placed{Shelf: shell.NewShelf(tmpDir, as), there: make(map[string]shelved)}
	ctx, on.cancel = context.WithCancel(context.WithoutCancel(ctx))
	started := s.c.work.start(func() {
		defer on.cancel()
		o := s.c.options()
		o.Logger = s.c.log
		s.giveUp(sh, on, on.Run(ctx, s.c, o))
	})
	if !started {
		on.cancel()
		return nil
	}
	sh.on = on
	on.timer = time.AfterFunc(warmLasts, func() { s.giveUp(sh, on, nil) })
	return on
}

// refuse is giveUp for who goes on without the shelf, and may need the room that
// it takes on the disk.
func (s *shelves) refuse(sh *shelf, on *placed, err error) {
	s.giveUp(sh, on, err)
	in := time.NewTimer(shelfTakes)
	defer in.Stop()
	select {
	case <-on.Done():
	case <-in.C:
	}
}

// giveUp ends a shelf that has failed. Without an error, or if it was ended
// before, there may be another at once.
func (s *shelves) giveUp(sh *shelf, on *placed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.on != on {
		return
	}
	sh.forget()
	if err != nil {
		sh.failed = time.Now()
		s.c.log.Debug("no files are kept on the machine", "target", s.c.e.to.Host, "err", err)
	}
}

// forget ends the shelf; the caller holds the lock.
func (sh *shelf) forget() {
	on := sh.on
	sh.on = nil
	on.timer.Stop()
	on.cancel()
}

// yield ends all shelves, because somebody needs their places. Who copies from
// one sends the files instead.
func (s *shelves) yield() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sh := range s.all {
		if sh.on != nil {
			sh.forget()
		}
	}
}

// stop ends all shelves for good.
func (s *shelves) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, sh := range s.all {
		if sh.on != nil {
			sh.forget()
		}
	}
}

// onShelf is what a command finds on a shelf.
type onShelf struct {
	s    *shelves
	sh   *shelf
	on   *placed
	sums map[span]string
}

// Find implements shell.Kept.
func (u *onShelf) Find(f *transport.File) (path, sum string, ok bool) {
	if len(f.Data) < shelvedSize {
		return "", "", false
	}
	sum = u.sums[spanOf(f)]
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if u.sh.on != u.on {
		return "", "", false
	}
	_, ok = u.on.there[sum]
	return u.on.Path(sum), sum, ok
}

// Stale implements shell.Kept.
func (u *onShelf) Stale() { u.s.refuse(u.sh, u.on, errStale) }

var errStale = errors.New("what was kept there is gone, or was changed")

// A span is where the data of a file are: files may share them.
type span struct {
	first *byte
	size  int
}

// sumOf is the SHA-256 of a file.
func sumOf(f *transport.File) string {
	if f.Sum != "" {
		return f.Sum
	}
	sum := sha256.Sum256(f.Data)
	return hex.EncodeToString(sum[:])
}

func spanOf(f *transport.File) span { return span{&f.Data[0], len(f.Data)} }
