package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bolt/internal/appendfile"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/ownfile"
	"bolt/internal/readfile"
	"bolt/store"
)

// A record is the last lease of a name. It stays when the lease has ended, so that
// fences rise.
type record struct {
	Fence  store.Fence `json:"fence"`
	Holder string      `json:"holder"` // "" after Release
	Until  time.Time   `json:"until"`
	Boot   string      `json:"boot"` // the start of the machine (appendfile.BootID)
}

const recordName = "lease.json"

// A lease is a lease that this process has taken.
type lease struct {
	dir    string
	name   string
	holder string
	fence  store.Fence
	lock   *os.File // is locked until the process ends
}

func (s *Store) leaseDir(name string) string {
	// The directory of a lease "a/b" is in the directory of the lease "a". No name begins with a dot, so the
	// files of "a" have names that do.
	return filepath.Join(s.dir, "leases", filepath.FromSlash(name))
}

// Lease implements store.Logs.
func (s *Store) Lease(ctx context.Context, name, holder string, ttl time.Duration) (store.Lease, error) {
	if err := checked(ctx, name); err != nil {
		return nil, err
	}
	l := &lease{dir: s.leaseDir(name), name: name, holder: holder}
	if err := s.prepare(l.dir); err != nil {
		return nil, err
	}
	unlock, err := filelock.Dir(ctx, l.dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	if held := l.held(r); held != nil {
		return nil, held
	}
	l.fence = r.Fence + 1
	if l.lock, err = ownfile.Open(l.lockFile(l.fence), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := errors.Join(filelock.Try(l.lock), l.write(ttl)); err != nil {
		l.lock.Close()
		_ = os.Remove(l.lockFile(l.fence))
		return nil, err
	}
	_ = os.Remove(l.lockFile(r.Fence)) // it is only in the way
	return l, nil
}

// Held implements store.Logs.
func (s *Store) Held(ctx context.Context, name string) (*store.HeldError, error) {
	if err := checked(ctx, name); err != nil {
		return nil, err
	}
	l := &lease{dir: s.leaseDir(name), name: name}
	// The look at the lock of a dead holder takes this lock. Without the lock of the directory, Lease could see that, and refuse.
	unlock, err := filelock.Dir(ctx, l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer unlock()
	r, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	return l.held(r), nil
}

// held returns the holder of the last lease, nil if the lease has ended.
func (l *lease) held(r record) *store.HeldError {
	if r.Holder == "" || !time.Now().Before(r.Until) || l.dead(r) {
		return nil
	}
	return &store.HeldError{Name: l.name, Holder: r.Holder, Until: r.Until}
}

// drop removes the records of the leases of a name. A lease that is held then ends.
func (s *Store) drop(ctx context.Context, name string) error {
	l := &lease{dir: s.leaseDir(name), name: name}
	unlock, err := filelock.Dir(ctx, l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.read(ctx)
	if err != nil {
		return err
	}
	for _, file := range []string{l.lockFile(r.Fence), l.recordFile()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_ = os.Remove(l.dir) // it can have leases whose names begin with this one
	return nil
}

func (l *lease) recordFile() string { return filepath.Join(l.dir, "."+recordName) }

func (l *lease) lockFile(f store.Fence) string {
	return filepath.Join(l.dir, fmt.Sprintf(".%d.lock", f))
}

// read reads the record of the last lease. Before a change of the record, the directory must be locked.
func (l *lease) read(ctx context.Context) (record, error) {
	var r record
	name := l.recordFile()
	const limit = 1 << 20
	text, err := readfile.Read(ctx, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		if jerr := json.Unmarshal(text, &r); jerr != nil {
			err = &store.DamagedError{File: name, Why: jerr.Error()}
		}
	}
	return r, err
}

// write records the lease. The directory is locked.
func (l *lease) write(ttl time.Duration) error {
	r := record{Fence: l.fence, Holder: l.holder, Until: time.Now().Add(ttl).UTC(), Boot: appendfile.BootID()}
	if ttl <= 0 {
		r.Holder = ""
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return atomicfile.WriteOwn(l.recordFile(), append(text, '\n'), 0o600)
}

// dead reports whether the process that holds a lease has certainly ended: it was a process of the present boot
// of this machine, and its lock has ended.
func (l *lease) dead(r record) bool {
	if boot := appendfile.BootID(); boot == "" || boot != r.Boot {
		return false
	}
	first, err := ownfile.Open(l.lockFile(r.Fence), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer first.Close()
	if filelock.Try(first) != nil {
		return false
	}
	// A file system without locks also grants a second lock.
	second, err := ownfile.Open(l.lockFile(r.Fence), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer second.Close()
	return errors.Is(filelock.Try(second), filelock.ErrHeld)
}

// Fence implements store.Lease.
func (l *lease) Fence() store.Fence { return l.fence }

// Renew implements store.Lease.
func (l *lease) Renew(ctx context.Context, ttl time.Duration) error {
	return l.change(ctx, func(r record) error {
		if r.Fence != l.fence || r.Holder == "" {
			return &store.HeldError{Name: l.name, Holder: r.Holder, Until: r.Until}
		}
		return l.write(ttl)
	})
}

// Release implements store.Lease.
func (l *lease) Release(ctx context.Context) error {
	defer l.lock.Close()
	return l.change(ctx, func(r record) error {
		if r.Fence != l.fence {
			return nil
		}
		return l.write(0)
	})
}

func (l *lease) change(ctx context.Context, f func(record) error) error {
	unlock, err := filelock.Dir(ctx, l.dir)
	if errors.Is(err, fs.ErrNotExist) { // the log was dropped
		return f(record{})
	}
	if err != nil {
		return err
	}
	defer unlock()
	r, err := l.read(ctx)
	if err != nil {
		return err
	}
	return f(r)
}
