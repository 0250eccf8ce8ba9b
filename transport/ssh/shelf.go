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
// third time on they are copied there and do not travel. There is a shelf for
// each user and tmpdir. It has a session of its own, so it is there only where
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
	seen   map[string]bool    // sums of files that have come
	there  map[string]shelved // by sum
	h      *shell.Shelf       // nil for none
	cancel context.CancelFunc
	timer  *time.Timer // gives it up when it has not been used
	failed time.Time   // when there was last none to be had
}

// shelved is a file on a shelf.
type shelved struct {
	size int
	used time.Time
}

// keep prepares what a command needs from shelves; nil for nothing.
func (s *shelves) keep(ctx context.Context, cmd *transport.Cmd) shell.Kept {
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
	sh := s.shelf(cmd)
	if sh == nil {
		return nil
	}
	use := &onShelf{s: s, sh: sh, sums: make(map[span]string)}
	again := make(map[string]*transport.File)
	s.mu.Lock()
	for i := range cmd.Files {
		f := &cmd.Files[i]
		if len(f.Data) < shelvedSize {
			continue
		}
		sum := f.Sum
		if sum == "" {
			s.mu.Unlock()
			b := sha256.Sum256(f.Data)
			sum = hex.EncodeToString(b[:])
			s.mu.Lock()
		}
		use.sums[spanOf(f)] = sum
		if sh.seen[sum] {
			again[sum] = f
		} else if len(sh.seen) < maxSeen {
			sh.seen[sum] = true
		}
	}
	s.mu.Unlock()
	if len(again) == 0 {
		return nil
	}
	use.h = s.stock(ctx, sh, cmd, again)
	if use.h == nil {
		return nil
	}
	return use
}

// shelf returns what is known of the shelf for a command; nil if there are too
// many.
func (s *shelves) shelf(cmd *transport.Cmd) *shelf {
	k := shelfKey{tmpDir: cmd.TmpDir}
	if !s.c.isLogin(cmd.RunAs) {
		k.user, k.program = cmd.RunAs.User, strings.Join(append([]string{cmd.RunAs.Executable}, cmd.RunAs.Command...), "\x00")
	}
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
func (s *shelves) stock(ctx context.Context, sh *shelf, cmd *transport.Cmd, files map[string]*transport.File) *shell.Shelf {
	select {
	case sh.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-sh.turn }()
	h := s.open(ctx, sh, cmd)
	if h == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shelfTakes)
	defer cancel()
	for sum, f := range files {
		fits, drop := s.room(sh, h, sum, len(f.Data))
		for _, old := range drop {
			if err := h.Drop(ctx, old); err != nil {
				s.refuse(sh, h, err)
				return nil
			}
		}
		if !fits {
			continue
		}
		if err := h.Put(ctx, sum, f.Data); err != nil {
			s.refuse(sh, h, err)
			return nil
		}
		s.mu.Lock()
		if sh.h == h {
			sh.there[sum] = shelved{len(f.Data), time.Now()}
		}
		s.mu.Unlock()
	}
	return h
}

// room makes room for a file that is not there, and notes the use of one that
// is. It returns whether the file is to be put there, and what must go.
func (s *shelves) room(sh *shelf, h *shell.Shelf, sum string, size int) (fits bool, drop []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.h != h || size > maxShelved {
		return false, nil
	}
	if there, ok := sh.there[sum]; ok {
		there.used = time.Now()
		sh.there[sum] = there
		return false, nil
	}
	total := size
	for _, f := range sh.there {
		total += f.size
	}
	for total > maxShelved {
		oldest := ""
		for old, f := range sh.there {
			if oldest == "" || f.used.Before(sh.there[oldest].used) {
				oldest = old
			}
		}
		total -= sh.there[oldest].size
		delete(sh.there, oldest)
		drop = append(drop, oldest)
	}
	return true, drop
}

// open returns the shelf that is there, or starts one; nil if there is none
// to be had. The caller has the turn.
func (s *shelves) open(ctx context.Context, sh *shelf, cmd *transport.Cmd) *shell.Shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.h != nil {
		sh.timer.Reset(warmLasts)
		return sh.h
	}
	open := 0
	for _, other := range s.all {
		if other.h != nil {
			open++
		}
	}
	if s.over || open >= maxShelves || !sh.failed.IsZero() && time.Since(sh.failed) < failuresLast || !s.c.places.hold() {
		return nil
	}
	s.c.places.release() // that there are enough is what was asked; Start takes one
	h := shell.NewShelf(cmd.TmpDir, cmd.RunAs)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := s.c.work.start(func() {
		defer cancel()
		o := s.c.options()
		o.Logger = s.c.log
		s.giveUp(sh, h, h.Run(ctx, s.c, o))
	})
	if !started {
		cancel()
		return nil
	}
	sh.h, sh.cancel, sh.there = h, cancel, make(map[string]shelved)
	sh.timer = time.AfterFunc(warmLasts, func() { s.end(sh, h) })
	return h
}

// refuse is giveUp for who goes on without the shelf, and may need the room that
// it takes on the disk.
func (s *shelves) refuse(sh *shelf, h *shell.Shelf, err error) {
	s.giveUp(sh, h, err)
	in := time.NewTimer(shelfTakes)
	defer in.Stop()
	select {
	case <-h.Done():
	case <-in.C:
	}
}

// giveUp ends a shelf that has failed. Without an error, or if it was ended
// before, there may be another at once.
func (s *shelves) giveUp(sh *shelf, h *shell.Shelf, err error) {
	if s.end(sh, h) && err != nil {
		s.mu.Lock()
		sh.failed = time.Now()
		s.mu.Unlock()
		s.c.log.Debug("no files are kept on the machine", "target", s.c.e.to.Host, "err", err)
	}
}

// end ends a shelf; it returns false if that was done before.
func (s *shelves) end(sh *shelf, h *shell.Shelf) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh.h != h {
		return false
	}
	sh.h, sh.there = nil, nil
	sh.timer.Stop()
	sh.cancel()
	return true
}

// yield ends all shelves, because somebody needs their places. Who copies from
// one sends the files instead.
func (s *shelves) yield() {
	s.mu.Lock()
	all := make(map[*shelf]*shell.Shelf)
	for _, sh := range s.all {
		if sh.h != nil {
			all[sh] = sh.h
		}
	}
	s.mu.Unlock()
	for sh, h := range all {
		s.end(sh, h)
	}
}

// stop is yield for good.
func (s *shelves) stop() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.yield()
}

// onShelf is what a command finds on a shelf.
type onShelf struct {
	s    *shelves
	sh   *shelf
	h    *shell.Shelf
	sums map[span]string
}

// A span is where the data of a file are: files may share them.
type span struct {
	first *byte
	size  int
}

func spanOf(f *transport.File) span { return span{&f.Data[0], len(f.Data)} }

// Find implements shell.Kept.
func (u *onShelf) Find(f *transport.File) (path, sum string, ok bool) {
	if len(f.Data) < shelvedSize {
		return "", "", false
	}
	sum = u.sums[spanOf(f)]
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	if u.sh.h != u.h {
		return "", "", false
	}
	_, ok = u.sh.there[sum]
	return u.h.Path(sum), sum, ok
}

// Stale implements shell.Kept.
func (u *onShelf) Stale() { u.s.refuse(u.sh, u.h, errStale) }

var errStale = errors.New("what was kept there is gone, or was changed")
