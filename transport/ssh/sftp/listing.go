package sftp

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pkg/sftp"
)

// Package sftp returns a complete directory listing, and requests more names until the
// server ends the listing. So the limits apply to the data that it reads.

// Limits limit the memory of the listings that copies by SFTP hold. A listing
// is held until its files have been copied, and so are the listings of its
// parent directories.
type Limits struct {
	PerCopy int64         // bytes of memory
	Always  int64         // bytes of PerCopy that each copy can always hold
	InAll   int64         // bytes that all copies together can hold beyond Always
	Time    time.Duration // for one listing
}

// DefaultLimits returns the limits in docs/transports.md.
func DefaultLimits() Limits {
	return Limits{
		PerCopy: 64 << 20, // 250,000 files with short names
		Always:  1 << 20,
		InAll:   256 << 20,
		Time:    10 * time.Minute,
	}
}

const (
	// listedFile is the memory of a listed file in addition to its name.
	// listedAttribute is the memory of an extended attribute in addition to its
	// text.
	listedFile      = 256
	listedAttribute = 64

	// maxListedName is longer than file systems allow (255 bytes on Linux; 255
	// UTF-16 units on Windows, which are 765 bytes at most).
	maxListedName = 1 << 10

	// maxPacket is the maximum packet size of package sftp.
	maxPacket = 256 << 10

	packetName = 104 // SSH_FXP_NAME
)

// A Budget is the memory for listings that all copies of a Dialer share.
type Budget struct {
	Limits Limits

	mu   sync.Mutex
	used int64
}

// InUse returns the memory of the budget that is in use.
func (b *Budget) InUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take reports whether n more bytes are free, and takes them.
func (b *Budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+n > b.Limits.InAll {
		return false
	}
	b.used += n
	return true
}

func (b *Budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
}

// A listingError is the error of a listing that exceeds a limit.
type listingError struct{ reason string }

func (e *listingError) Error() string { return e.reason }

// listings reads the stream of an SFTP server and ends it if a listing exceeds a
// limit. list is called from one goroutine at a time.
type listings struct {
	from   io.Reader
	end    func() // ends the session
	budget *Budget

	packet []byte // the rest of a packet that was read completely
	left   int    // the rest of a packet that is passed on as it arrives, in bytes

	mu   sync.Mutex
	held int64
	err  *listingError // why the stream was ended
}

// Read implements io.Reader.
func (l *listings) Read(p []byte) (int, error) {
	if l.left == 0 && len(l.packet) == 0 {
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	if len(l.packet) > 0 {
		n := copy(p, l.packet)
		l.packet = l.packet[n:]
		return n, nil
	}
	n, err := l.from.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// next reads the head of a packet: its length and its type. Packets with names
// are read completely.
func (l *listings) next() error {
	var head [5]byte
	if _, err := io.ReadFull(l.from, head[:]); err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint32(head[:])) - 1
	if size < 0 || size >= maxPacket {
		return fmt.Errorf("the server sent a packet of %d bytes", size+1)
	}
	if head[4] != packetName {
		l.packet, l.left = head[:], int(size)
		return nil
	}
	packet := make([]byte, len(head)+int(size))
	if _, err := io.ReadFull(l.from, packet[copy(packet, head[:]):]); err != nil {
		return err
	}
	l.packet = packet
	return l.charge(listedMemory(packet[len(head):]))
}

// charge adds n bytes to the held memory.
func (l *listings) charge(n int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &l.budget.Limits
	shared := max(l.held+n-o.Always, 0) - max(l.held-o.Always, 0)
	switch {
	case l.err != nil:
		return l.err
	case l.held+n > o.PerCopy:
		l.err = &listingError{fmt.Sprintf("its listing exceeds the limit of %d MiB for the listings of one copy", o.PerCopy>>20)}
		return l.err
	case shared > 0 && !l.budget.take(shared):
		l.err = &listingError{fmt.Sprintf("its listing exceeds the limit of %d MiB for the listings of all copies", o.InAll>>20)}
		return l.err
	}
	l.held += n
	return nil
}

// release reduces the held memory to the given amount.
func (l *listings) release(held int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	always := l.budget.Limits.Always
	if shared := max(l.held-always, 0) - max(held-always, 0); shared > 0 {
		l.budget.give(shared)
	}
	l.held = held
}

// holding returns the held memory, for a later call of release.
func (l *listings) holding() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// reason returns why the stream was ended, nil if it was not.
func (l *listings) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return nil
	}
	return l.err
}

// list returns the names in a directory. They are held until release.
func (l *listings) list(client *sftp.Client, dir string) ([]string, error) {
	limit := l.budget.Limits.Time
	stop := time.AfterFunc(limit, func() {
		l.mu.Lock()
		l.err = &listingError{fmt.Sprintf("its listing did not end within %v", limit)}
		l.mu.Unlock()
		l.end()
	}).Stop
	defer stop()
	entries, err := client.ReadDir(dir)
	if reason := l.reason(); reason != nil {
		err = reason
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// listedMemory estimates the memory for a packet of names. The format is that
// of SSH_FXP_NAME (draft-ietf-secsh-filexfer-02, 7 and 5). Package sftp reports
// an error for a packet that does not follow the format.
func listedMemory(body []byte) (n int64) {
	r := packetReader{body}
	r.skip(4) // the request
	for files := r.uint32(); files > 0 && len(r.left) > 0; files-- {
		name := r.uint32()
		r.skip(name)
		r.skip(r.uint32()) // the line of "ls -l"
		n += int64(name) + listedFile
		flags := r.uint32()
		for i, size := range []uint32{8, 8, 4, 8} { // size, owner, permissions, times
			if flags&(1<<i) != 0 {
				r.skip(size)
			}
		}
		if flags&(1<<31) == 0 {
			continue
		}
		for attributes := r.uint32(); attributes > 0 && len(r.left) > 0; attributes-- {
			before := len(r.left)
			r.skip(r.uint32())
			r.skip(r.uint32())
			n += int64(before-len(r.left)) + listedAttribute
		}
	}
	return n
}

// A packetReader reads the numbers of a packet. After the end of the packet, every
// number is zero.
type packetReader struct{ left []byte }

func (r *packetReader) skip(n uint32) { r.left = r.left[min(uint64(n), uint64(len(r.left))):] }

func (r *packetReader) uint32() uint32 {
	if len(r.left) < 4 {
		r.left = nil
		return 0
	}
	n := binary.BigEndian.Uint32(r.left)
	r.left = r.left[4:]
	return n
}
