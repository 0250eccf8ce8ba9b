package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func frame(t Type, id uint32, body string) string {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	b = append(b, byte(t))
	return string(binary.BigEndian.AppendUint32(b, id)) + body
}

func TestReader(t *testing.T) {
	frames := []Frame{
		{Type: Hello, Body: []byte("hello")},
		{Type: Dialed, ID: 1, Body: []byte{}},
		{Type: Stdout, ID: 1<<32 - 1, Body: bytes.Repeat([]byte("x"), MaxPiece)},
		{Type: Stdout, ID: 2, Body: bytes.Repeat([]byte("y"), MaxFrame)},
		{Type: Exited, ID: 2, Body: []byte("z")},
	}
	var all bytes.Buffer
	w := NewWriter(&all)
	for _, f := range frames {
		if err := w.Send(f.Type, f.ID, f.Body); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string]io.Reader{
		"at once":     bytes.NewReader(all.Bytes()),
		"bytewise":    iotest.OneByteReader(bytes.NewReader(all.Bytes())),
		"end with it": iotest.DataErrReader(bytes.NewReader(all.Bytes())),
		"half a read": iotest.HalfReader(bytes.NewReader(all.Bytes())),
		"over a pipe": pipe(t, all.Bytes()),
	}
	for name, from := range ways {
		t.Run(name, func(t *testing.T) {
			r := NewReader(from)
			for i, want := range frames {
				if got, err := r.Next(); err != nil || got.Type != want.Type || got.ID != want.ID || !bytes.Equal(got.Body, want.Body) {
					t.Fatalf("frame %d: got type %d ID %d, %d bytes, %v", i, got.Type, got.ID, len(got.Body), err)
				}
			}
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// TestReaderGrows checks that a stream gets a larger buffer and fewer reads, and that
// small parts do not.
func TestReaderGrows(t *testing.T) {
	for _, c := range []struct {
		name     string
		frame    string
		way      func(io.Reader) io.Reader
		min, max int // size of the buffer at the end
	}{
		{"stream", frame(Stdout, 1, strings.Repeat("x", MaxPiece/2)), func(r io.Reader) io.Reader { return r }, streamBuffer, streamBuffer},
		{"bytewise", frame(Stdout, 1, "x"), iotest.OneByteReader, firstBuffer, firstBuffer},
	} {
		t.Run(c.name, func(t *testing.T) {
			const frames = 500
			from := &counted{r: c.way(strings.NewReader(strings.Repeat(c.frame, frames)))}
			r := NewReader(from)
			for range frames {
				if f, err := r.Next(); err != nil || frame(f.Type, f.ID, string(f.Body)) != c.frame {
					t.Fatalf("got type %d, %d bytes, %v", f.Type, len(f.Body), err)
				}
			}
			if n := len(r.buf); n < c.min || n > c.max {
				t.Errorf("a buffer of %d bytes", n)
			}
			if most := frames*len(c.frame)*5/4/streamBuffer + 10; c.name == "stream" && from.reads > most {
				t.Errorf("%d reads, want no more than %d", from.reads, most)
			}
		})
	}
}

// TestWipe checks that Wipe clears every buffer that a Reader had.
func TestWipe(t *testing.T) {
	const secret = "correct horse"
	r := NewReader(strings.NewReader(frame(Dial, 1, secret) + frame(Stdout, 2, strings.Repeat("x", 2*firstBuffer))))
	first := r.buf
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.buf) == len(first) {
		t.Fatal("the buffer has not grown")
	}
	if bytes.Contains(first, []byte(secret)) {
		t.Error("it is in the buffer that was too small")
	}
	r.Wipe()
	if i := bytes.IndexFunc(r.buf, func(c rune) bool { return c != 0 }); i >= 0 {
		t.Errorf("byte %d is left", i)
	}
}

// counted counts reads.
type counted struct {
	r     io.Reader
	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.r.Read(p)
}

func pipe(t *testing.T, b []byte) io.Reader {
	near, far := net.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		far.Write(b)
		far.Close()
	})
	t.Cleanup(func() { near.Close(); wg.Wait() })
	return near
}

func TestReaderErrors(t *testing.T) {
	gone := errors.New("gone")
	cases := []struct {
		name string
		from io.Reader
		want string
	}{
		{"nothing", strings.NewReader(""), "EOF"},
		{"end in the header", strings.NewReader("\x00\x00"), "unexpected EOF"},
		{"end behind the header", strings.NewReader(frame(Run, 1, "abc")[:headerSize]), "unexpected EOF"},
		{"end in the body", strings.NewReader(frame(Run, 1, "abc")[:headerSize+2]), "unexpected EOF"},
		{"too large", strings.NewReader("\x00\x10\x00\x01\x01\x00\x00\x00\x00"), "frame of 1048577 bytes: larger than 1048576"},
		{"as large as can be", strings.NewReader("\xff\xff\xff\xff\xff\xff\xff\xff\xff"), "larger than"},
		{"broken", io.MultiReader(strings.NewReader("\x00"), iotest.ErrReader(gone)), "gone"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := NewReader(c.from).Next(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// FuzzReader checks that arbitrary bytes are read as frames and an end, and that the
// frames contain the same bytes.
func FuzzReader(f *testing.F) {
	f.Add([]byte(frame(Hello, 0, "abc") + frame(Run, 7, "")))
	f.Add([]byte("\x00\x10\x00\x01\x01\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := NewReader(iotest.HalfReader(bytes.NewReader(in)))
		var out bytes.Buffer
		w := NewWriter(&out)
		for {
			f, err := r.Next()
			if err == io.EOF && out.Len() != len(in) {
				t.Errorf("end after %d of %d bytes", out.Len(), len(in))
			}
			if err != nil {
				break
			}
			if err := w.Send(f.Type, f.ID, f.Body); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.HasPrefix(in, out.Bytes()) {
			t.Error("the frames are not what was read")
		}
	})
}

// TestWriterKeepsEachSendersOrder uses many senders, small and large frames, queued or
// sent. Each frame must arrive once and complete, in its sender's order.
func TestWriterKeepsEachSendersOrder(t *testing.T) {
	near, far := net.Pipe()
	w := NewWriter(near)
	const senders, each = 20, 200
	var wg sync.WaitGroup
	for id := range uint32(senders) {
		wg.Go(func() {
			for n := range each {
				size := 1 + (n*int(id+1)*2731)%(4*largeBody)
				body := bytes.Repeat([]byte{byte(id)}, size)
				body[0] = byte(n)
				send := w.Send
				if n%3 == 1 {
					send = w.Queue
				}
				if err := send(Stdout, id, body); err != nil {
					t.Error(err)
				}
			}
			if err := w.Send(Finished, id, nil); err != nil {
				t.Error(err)
			}
		})
	}
	var seen [senders]int
	r := NewReader(far)
	for ended := 0; ended < senders; {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == Finished {
			ended++
			continue
		}
		n := seen[f.ID]
		seen[f.ID]++
		if f.Body[0] != byte(n) || len(f.Body) != 1+(n*int(f.ID+1)*2731)%(4*largeBody) || bytes.Count(f.Body[1:], []byte{byte(f.ID)}) != len(f.Body)-1 {
			t.Fatalf("frame %d of %d is another", n, f.ID)
		}
	}
	wg.Wait()
	for id, n := range seen {
		if n != each {
			t.Errorf("%d of sender %d's frames came", n, id)
		}
	}
	near.Close()
	if err := w.Send(Hello, 0, nil); err == nil {
		t.Error("a closed connection takes a frame")
	}
}

// gate is a connection whose writes wait for the test.
type gate struct {
	next chan error
	got  []int
}

func (g *gate) Write(p []byte) (int, error) {
	err := <-g.next
	g.got = append(g.got, len(p))
	return len(p), err
}

// TestWriterHandsOver checks that a sender of one small frame does not write the streams
// of other senders.
func TestWriterHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{next: make(chan error)}
		w := NewWriter(g)
		var small, large bool
		go func() { w.Send(Run, 1, nil); small = true }()
		synctest.Wait()
		go func() { w.Send(Piece, 2, make([]byte, MaxPiece)); large = true }()
		synctest.Wait()
		if err := w.Send(Cancel, 3, nil); err != nil { // another caller writes it
			t.Fatal(err)
		}
		g.next <- nil
		synctest.Wait()
		if !small || large {
			t.Errorf("small sent: %v, large sent: %v", small, large)
		}
		g.next <- nil
		synctest.Wait()
		if !large {
			t.Error("the large frame's sender still waits")
		}
		if want := []int{headerSize, 2*headerSize + MaxPiece}; !reflect.DeepEqual(g.got, want) {
			t.Errorf("writes of %v bytes, want %v", g.got, want)
		}
	})
}

// TestWriterBounded checks that a peer that reads nothing blocks its senders, and that
// the end of the connection unblocks them.
func TestWriterBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{next: make(chan error)}
		w := NewWriter(g)
		gone := errors.New("gone")
		var sent, failed int
		var mu sync.Mutex
		for range 100 {
			go func() {
				for {
					err := w.Send(Stderr, 1, make([]byte, largeBody-1))
					mu.Lock()
					if err != nil {
						failed++
						mu.Unlock()
						return
					}
					sent++
					mu.Unlock()
				}
			}()
		}
		synctest.Wait()
		if most := maxQueued/largeBody + 2; sent > most || sent < most-4 {
			t.Errorf("%d frames were taken, want %d or so", sent, most)
		}
		g.next <- gone
		synctest.Wait()
		if failed != 100 {
			t.Errorf("%d of 100 senders have ended", failed)
		}
		if err := w.Queue(Stderr, 1, nil); err != gone {
			t.Errorf("the error does not stick: %v", err)
		}
	})
}

// TestWriterErrorMeansNotWritten checks that an error means that the frame was not
// written completely.
func TestWriterErrorMeansNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		var out partly
		w := NewWriter(&out)
		large := make([]byte, 2*largeBody)
		out.next = func(p []byte) (int, error) { // the large frames are queued behind this one
			if out.n++; out.n == 1 {
				for id := range uint32(3) {
					go func() { out.returned(w.Send(Piece, id, large)) }()
				}
				synctest.Wait()
				return len(p), nil
			}
			return len(p) / 2, gone // one and a half of three
		}
		if err := w.Send(Run, 1, nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		var whole int
		for _, err := range out.sent {
			if err == nil {
				whole++
			}
		}
		if len(out.sent) != 3 || whole != 1 {
			t.Errorf("%d of 3 have returned, %d frames are whole: %v", len(out.sent), whole, out.sent)
		}
	})
}

// partly is a connection whose writes call next.
type partly struct {
	next func([]byte) (int, error)
	n    int

	mu   sync.Mutex
	sent []error
}

func (p *partly) returned(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, err)
}

func (p *partly) Write(b []byte) (int, error) { return p.next(b) }

func TestWriterQueue(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	if err := w.Queue(Offer, 1, []byte("a")); err != nil || out.Len() > 0 {
		t.Errorf("%d bytes written, %v", out.Len(), err)
	}
	if err := w.Send(End, 1, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), frame(Offer, 1, "a")+frame(End, 1, ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 1 + maxQueued/MaxPiece {
		if err := w.Queue(Piece, 1, make([]byte, MaxPiece)); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < maxQueued {
		t.Error("the queue grows without an end")
	}
	if err := w.Send(Run, 1, make([]byte, MaxFrame+1)); !errors.Is(err, errBody) {
		t.Errorf("too large a frame: %v", err)
	}
}
