package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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

const (
	// moment is how long Lock waits for a process that asks for the fate of a run.
	moment = 200 * time.Millisecond
	// maxUnknown is how often Lock tries again if it cannot read the holder of the lock.
	maxUnknown = 10
	// turn is how long Lock waits for runs of other nodes. That is the same machine with
	// another name.
	turn = 10 * time.Minute
)

// Lock takes the lock of the node. It waits for runs of nodes with other names and for the checks of a watch, as long as ctx lets it. It does
// not wait for another run of the same node: then the error is a *BusyError.
func (d *Dir) Lock(ctx context.Context, h frame.Holder) (*Lock, error) {
	f, err := ownfile.Open(d.Path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lock{dir: d, file: f}
	ctx, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	unknown := 0
	for err = errHeld; errors.Is(err, errHeld); {
		err = d.try(ctx, f, h.Node)
		// The holder can have changed between the attempt and the look at its name.
		if busy, is := errors.AsType[*BusyError](err); is && busy.Holder == nil && ctx.Err() == nil && unknown < maxUnknown {
			unknown++
			err = errHeld
		}
		if err != nil && !errors.Is(err, errHeld) {
			f.Close()
			return nil, err
		}
	}
	if err := name(f, &h); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// name writes the holder into the file of the lock. Other processes read it meanwhile, so the file is never empty: one
// write covers the old content, and readers ignore spaces at the end.
func name(f *os.File, h *frame.Holder) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	length := len(text)
	if info, err := f.Stat(); err == nil {
		for int64(len(text)) < min(info.Size(), maxSmall) {
			text = append(text, ' ')
		}
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	return f.Truncate(int64(length))
}

var errHeld = errors.New("a run of another node, or a watch, has the lock")

// try waits a moment for the lock. The error is errHeld if a run that Lock waits for has it.
func (d *Dir) try(ctx context.Context, f *os.File, node string) error {
	short, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	err := filelock.File(short, f)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return err
	}
	holder := d.holder()
	if holder != nil && (holder.Node != node || holder.Watch) && ctx.Err() == nil {
		return errHeld
	}
	return &BusyError{holder}
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

// File returns the open file of the lock. A process that inherits it holds the lock, too.
func (l *Lock) File() *os.File { return l.file }

// Unlock ends the lock of this process.
func (l *Lock) Unlock() error { return l.file.Close() }

// A StaleError is the error of Fence for a sequence number that is too small.
type StaleError struct{ Seq, Highest int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("the sequence number %d is older than %d, with which this node was applied before", e.Seq, e.Highest)
}

// Fence checks the sequence number of a node. The error is a *StaleError if a run with a higher one has begun
// before. A number of 0 is always accepted. Begin records the number.
func (l *Lock) Fence(node string, seq int64) error {
	_, err := l.fence(node, seq)
	return err
}

// fence is Fence, and returns the highest numbers of all nodes.
func (l *Lock) fence(node string, seq int64) (map[string]int64, error) {
	if seq == 0 {
		return nil, nil
	}
	highest, err := table[int64](l.dir, fenceName)
	if errors.Is(err, errDamaged) {
		return nil, fmt.Errorf("%s is damaged: remove it if no older controller can be at work", l.dir.Path(fenceName))
	}
	if err != nil {
		return nil, err
	}
	if old, known := highest[node]; known && seq < old {
		return nil, &StaleError{seq, old}
	}
	return highest, nil
}

// raise records the sequence number of a run that begins, on the disk. A run in noop mode does not make earlier
// releases stale, because it changes nothing.
func (l *Lock) raise(s *Start) error {
	highest, err := l.fence(s.Node, s.Seq)
	if err != nil || s.Seq == 0 || s.Noop {
		return err
	}
	if old, known := highest[s.Node]; known && old == s.Seq {
		return nil
	}
	highest[s.Node] = s.Seq
	return setTable(l.dir, fenceName, highest)
}

var errDamaged = errors.New("the file is damaged")

// table reads a file with a value for each node. It is empty if the file does not exist. The error is errDamaged for another content.
func table[V any](d *Dir, name string) (map[string]V, error) {
	text, err := os.ReadFile(d.Path(name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	values := make(map[string]V)
	if err == nil && (json.Unmarshal(text, &values) != nil || values == nil) {
		return nil, errDamaged
	}
	return values, nil
}

// setTable writes such a file. It is on the disk when setTable returns.
func setTable[V any](d *Dir, name string, values map[string]V) error {
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	return atomicfile.WriteOwn(d.Path(name), append(text, '\n'), 0o600)
}
