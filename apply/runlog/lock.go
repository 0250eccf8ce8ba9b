package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"bolt/apply/frame"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/ownfile"
)

// A Lock is the lock of a node. It ends when Unlock is called, or with the last process
// that has its file open.
type Lock struct {
	dir  *Dir
	file *os.File
}

// A BusyError is the error of Lock if another run has the lock.
type BusyError struct {
	Holder *frame.Holder // nil if it is not known
}

func (e *BusyError) Error() string {
	if e.Holder == nil {
		return "another run works on this node"
	}
	return fmt.Sprintf("run %s of %s works on this node since %s", e.Holder.Run, e.Holder.By, e.Holder.Start.Format(time.RFC3339))
}

// maxSmall is the length that the file of the lock, or of the sequence number, can have.
const maxSmall = 4 << 10

// moment is how long Lock waits.
const moment = 200 * time.Millisecond

// Lock takes the lock of the node, and does not wait until another run ends. The error is a *BusyError if
// another run has it.
func (d *Dir) Lock(ctx context.Context, h frame.Holder) (*Lock, error) {
	f, err := ownfile.Open(d.Path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lock{d, f}
	// A process that asks for the fate of a run has the lock for a moment.
	ctx, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	switch err := filelock.File(ctx, f); {
	case errors.Is(err, context.DeadlineExceeded):
		f.Close()
		return nil, &BusyError{d.holder()}
	case err != nil:
		f.Close()
		return nil, err
	}
	text, err := json.Marshal(h)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(text, 0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// holder returns the run that has, or had, the lock; nil if it cannot be read.
func (d *Dir) holder() *frame.Holder {
	text, err := d.small(lockName)
	var h frame.Holder
	if err != nil || json.Unmarshal(text, &h) != nil || CheckID(h.Run) != nil {
		return nil
	}
	return &h
}

// small reads a small file.
func (d *Dir) small(name string) ([]byte, error) {
	f, err := ownfile.Open(d.Path(name), os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSmall))
}

// held returns the run that has the lock now, nil if no run has it.
func (d *Dir) held() (*frame.Holder, error) {
	f, err := ownfile.Open(d.Path(lockName), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := filelock.TryShared(f); errors.Is(err, filelock.ErrHeld) {
		h := d.holder()
		if h == nil {
			h = &frame.Holder{}
		}
		return h, nil
	} else if err != nil {
		return nil, err
	}
	return nil, nil
}

// File is the open file of the lock. A process that inherits it holds the lock, too.
func (l *Lock) File() *os.File { return l.file }

// Unlock ends the lock of this process.
func (l *Lock) Unlock() error { return l.file.Close() }

// A StaleError is the error of Fence for a sequence number that is too small.
type StaleError struct{ Seq, Highest int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("the sequence number %d is older than %d, with which this node was applied before", e.Seq, e.Highest)
}

// Fence remembers a sequence number, on the disk. The error is a *StaleError if a higher one
// was used before. A number of 0 is always accepted, and not remembered.
func (l *Lock) Fence(seq int64) error {
	if seq == 0 {
		return nil
	}
	text, err := l.dir.small(fenceName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var highest int64
	if err == nil {
		if highest, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return fmt.Errorf("%s is damaged: remove it if no older controller can be at work", l.dir.Path(fenceName))
		}
	}
	switch {
	case seq < highest:
		return &StaleError{seq, highest}
	case seq == highest:
		return nil
	}
	return atomicfile.WriteOwn(l.dir.Path(fenceName), []byte(strconv.FormatInt(seq, 10)+"\n"), 0o600)
}
