package ssh

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"bolt/internal/safetext"
)

const (
	// maxPreamble limits the stored text before the version line.
	maxPreamble = 512
	// maxVersionLine is the maximum length of the version line (RFC 4253 4.2),
	// with its line end.
	maxVersionLine = 255
)

// wire is the stream under a handshake. It reads the version exchange in one
// piece, although x/crypto asks for single bytes. It stores the lines that the
// peer sends before its version line (RFC 4253 4.2 permits them). Until hurry
// is cleared, it makes the kernel acknowledge data at once: sshd writes the
// first replies with Nagle's algorithm on, and would wait 40 ms for a delayed
// acknowledgement.
type wire struct {
	net.Conn
	hurry    atomic.Bool
	born     time.Time
	received atomic.Uint64 // bytes so far
	sent     atomic.Uint64
	heard    struct{ mono, wall atomic.Int64 } // moment of the last received data
	down     atomic.Bool                       // the stream has ended in both directions
	onDown   atomic.Pointer[func()]            // called before the reader gets the error

	// Only the reader uses these.
	head []byte // read but not yet passed on
	line []byte // current line of the version exchange

	mu    sync.Mutex
	seen  bool   // the version line has arrived
	said  []byte // the bytes before the version line
	first error  // first error of reading or writing
}

func newWire(c net.Conn) *wire {
	w := &wire{Conn: c, born: time.Now()}
	w.hurry.Store(true)
	w.hear()
	return w
}

// Read is called by a goroutine of x/crypto, which does not recover. Read returns a
// panic as an error, which ends only this connection.
func (w *wire) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil {
			n, err = 0, fmt.Errorf("internal error: %v", v)
		}
	}()
	return w.read(p)
}

func (w *wire) read(p []byte) (int, error) {
	if len(w.head) > 0 {
		n := copy(p, w.head)
		if w.head = w.head[n:]; len(w.head) == 0 {
			w.head = nil
		}
		return n, nil
	}
	if w.greeted() {
		return w.receive(p)
	}
	buf := make([]byte, maxPreamble)
	n, err := w.receive(buf)
	if n == 0 {
		w.note(w.line)
		w.line = nil
		return 0, err
	}
	w.scan(buf[:n])
	c := copy(p, buf[:n])
	if c < n {
		w.head = buf[c:n]
	}
	return c, nil // a lasting error is returned again
}

func (w *wire) receive(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.received.Add(uint64(n))
		w.hear()
		if w.hurry.Load() {
			ackNow(w.Conn)
		}
	}
	if err != nil {
		err = w.failed(err)
		w.down.Store(true)
		if f := w.onDown.Load(); f != nil {
			(*f)()
		}
	}
	return n, err
}

// Close can take as long as a ProxyCommand needs to end.
func (w *wire) Close() error {
	w.down.Store(true)
	return w.Conn.Close()
}

func (w *wire) Write(p []byte) (int, error) {
	if w.down.Load() {
		return 0, w.failed(net.ErrClosed)
	}
	n, err := w.Conn.Write(p)
	w.sent.Add(uint64(n))
	if err != nil {
		err = w.failed(err)
	}
	return n, err
}

// failed returns the first error. After an error, x/crypto closes the stream and then
// reports only that it was closed.
func (w *wire) failed(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = err
	}
	return w.first
}

func (w *wire) now() moment {
	now := time.Now()
	return moment{now.Sub(w.born), time.Duration(now.UnixNano())}
}

func (w *wire) hear() {
	now := w.now()
	w.heard.mono.Store(int64(now.mono))
	w.heard.wall.Store(int64(now.wall))
}

// silence returns the time since data was last received.
func (w *wire) silence() time.Duration {
	return w.now().since(moment{time.Duration(w.heard.mono.Load()), time.Duration(w.heard.wall.Load())})
}

// scan searches for the version line.
func (w *wire) scan(p []byte) {
	for _, b := range p {
		if len(w.line) < maxVersionLine {
			w.line = append(w.line, b)
		}
		if b != '\n' {
			continue
		}
		if bytes.HasPrefix(w.line, []byte("SSH-")) {
			w.mu.Lock()
			w.seen = true
			w.mu.Unlock()
			w.line = nil
			return
		}
		w.note(w.line)
		w.line = w.line[:0]
	}
	if len(w.line) >= maxVersionLine { // too long for a version line
		w.note(w.line)
		w.line = w.line[:0]
	}
}

func (w *wire) note(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if room := maxPreamble - len(w.said); room > 0 {
		w.said = append(w.said, line[:min(room, len(line))]...)
	}
}

// greeted reports whether the peer's version line has arrived.
func (w *wire) greeted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

// preamble returns the text that the peer sent before, or instead of, its
// version line. Control characters are replaced.
func (w *wire) preamble() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return safetext.Message(string(w.said))
}
