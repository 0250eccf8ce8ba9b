package run

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"bolt/transport"
)

// An Input is a stream that the commands on many targets read as their standard input,
// each from its beginning and at its own speed, so that a slow target delays no other.
// The source is read once. A regular file is read where it is. Any other source is copied
// to a file without a name, because a target that begins late needs all of it. The copy
// is never more than maxAhead bytes ahead of the fastest target.
//
// It is safe for concurrent use.
type Input struct {
	src  io.Reader // nil for a regular file
	file *os.File
	base int64 // where the stream begins in a regular file
	done sync.WaitGroup

	mu     sync.Mutex
	more   sync.Cond // a field below has changed
	begun  bool      // the copy has
	size   int64     // of the copy
	front  int64     // how far the fastest target has come
	err    error     // at the end of the copy; io.EOF at the end of the source
	closed bool
}

// maxAhead bounds the copy of a source that is faster than all targets.
const maxAhead = 16 << 20

// NewInput returns an Input that reads src. It reads a file from its current position. dir is the
// directory for the copy, "" for the system's directory for temporary files. The copy begins with
// the first Read of a target.
func NewInput(src io.Reader, dir string) (*Input, error) {
	in := &Input{}
	in.more.L = &in.mu
	if f, ok := src.(*os.File); ok {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			in.file = f
			in.base, err = f.Seek(0, io.SeekCurrent)
			return in, err
		}
	}
	var err error
	if in.file, err = os.CreateTemp(dir, "bolt-input-*"); err != nil {
		return nil, err
	}
	if err := os.Remove(in.file.Name()); err != nil {
		in.file.Close()
		return nil, err
	}
	in.src = src
	return in, nil
}

// Close ends all reading. If src is copied, the caller must end a Read of src first, because Close
// waits for it. src itself stays open.
func (in *Input) Close() error {
	in.mu.Lock()
	in.closed = true
	in.more.Broadcast()
	in.mu.Unlock()
	in.done.Wait()
	if in.src == nil {
		return nil
	}
	return in.file.Close()
}

// Reader returns the stream for one target. Close ends a Read that waits.
func (in *Input) Reader() io.ReadCloser { return &inputReader{in: in} }

// feed gives a command its stream. The caller must call end after the command. in may be nil.
func (in *Input) feed(cmd *transport.Cmd) (end func()) {
	if in == nil {
		return func() {}
	}
	r := in.Reader()
	cmd.Input = r
	return func() { _ = r.Close() }
}

// fill makes the copy.
func (in *Input) fill() {
	buf := make([]byte, 64<<10)
	for in.wanted() {
		n, err := in.src.Read(buf)
		if n > 0 {
			if _, werr := in.file.WriteAt(buf[:n], in.size); werr != nil {
				n, err = 0, fmt.Errorf("the copy of it: %w", werr)
			}
		}
		in.mu.Lock()
		in.size += int64(n)
		in.err = err
		in.more.Broadcast()
		in.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// wanted waits until a target has come near the end of the copy. It reports false if the Input is
// closed.
func (in *Input) wanted() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.size-in.front >= maxAhead && !in.closed {
		in.more.Wait()
	}
	return !in.closed
}

// An inputReader is the stream of one target.
type inputReader struct {
	in     *Input
	offset int64 // used only by Read
	closed bool  // guarded by in.mu
}

func (r *inputReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	most, err := r.in.await(r)
	if err != nil {
		return 0, err
	}
	n, err := r.in.file.ReadAt(p[:min(int64(len(p)), most)], r.in.base+r.offset)
	r.offset += int64(n)
	if n > 0 {
		err = nil
		r.in.read(r.offset)
	}
	return n, err
}

// await returns how many bytes are available for r. It waits until there are some.
func (in *Input) await(r *inputReader) (int64, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.src != nil && !in.begun && !in.closed {
		in.begun = true
		in.done.Go(in.fill)
	}
	for {
		switch {
		case in.closed || r.closed:
			return 0, fs.ErrClosed
		case in.src == nil:
			return 1 << 62, nil
		case in.size > r.offset:
			return in.size - r.offset, nil
		case in.err != nil:
			return 0, in.err
		}
		in.more.Wait()
	}
}

// read records how far a target has read.
func (in *Input) read(offset int64) {
	if in.src == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if offset > in.front {
		in.front = offset
		in.more.Broadcast()
	}
}

func (r *inputReader) Close() error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.closed = true
	r.in.more.Broadcast()
	return nil
}
