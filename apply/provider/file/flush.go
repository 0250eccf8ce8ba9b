package file

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A flusher brings the data of files to the disk. Files that are ready at the same time are flushed with one
// call for their file system. One call for each file would take three times the work.
type flusher struct {
	mu      sync.Mutex
	systems map[uint64]*flushed // by device
}

// A flushed is the state of one file system.
type flushed struct {
	grouped bool         // a call for all its files is cheap
	waiting atomic.Int64 // callers of sync

	mu    sync.Mutex // held while a call for all files works
	begun atomic.Int64
	ended int64 // the last call that succeeded
}

// maxDirty is a limit for the unwritten data of the whole machine. Above it, files are flushed one by one: a
// call for the file system would also write the data of other programs, and wait for it.
const maxDirty = 64 << 20

// sync returns when the data of a file is on the disk.
func (f *flusher) sync(file *os.File) error {
	fd := int(file.Fd())
	s, err := f.system(fd)
	if err != nil {
		return err
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	if !s.grouped || !s.together(fd) {
		return file.Sync()
	}
	// Kernels before 5.8 report the errors of data only for the file.
	return unix.SyncFileRange(fd, 0, 0, unix.SYNC_FILE_RANGE_WAIT_BEFORE|unix.SYNC_FILE_RANGE_WRITE|unix.SYNC_FILE_RANGE_WAIT_AFTER)
}

// system returns the file system of a file.
func (f *flusher) system(fd int) (*flushed, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.systems[uint64(st.Dev)]
	if s == nil {
		var fs unix.Statfs_t
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return nil, err
		}
		// Other file systems, such as btrfs and zfs, have a log for single files, and take long to flush all files.
		s = &flushed{grouped: fs.Type == unix.EXT4_SUPER_MAGIC || fs.Type == unix.XFS_SUPER_MAGIC}
		if f.systems == nil {
			f.systems = make(map[uint64]*flushed)
		}
		f.systems[uint64(st.Dev)] = s
	}
	return s, nil
}

// together reports whether a call for all files has flushed a file. It makes the call if other files wait for
// one and no call has begun since the file was written.
func (s *flushed) together(fd int) bool {
	needed := s.begun.Load() + 1
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended >= needed {
		return true
	}
	if s.waiting.Load() == 1 || dirty() > maxDirty {
		return false
	}
	n := s.begun.Add(1)
	if unix.Syncfs(fd) != nil {
		return false
	}
	s.ended = n
	return true
}

// dirty is the amount of data that waits to be written, or is being written. If the system does not report the
// amount, dirty returns a large number.
func dirty() (sum int64) {
	const unknown = 1 << 62
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return unknown
	}
	defer f.Close()
	found := 0
	for lines := bufio.NewScanner(f); found < 2 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if name != "Dirty" && name != "Writeback" {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return unknown
		}
		sum += kb << 10
		found++
	}
	if found < 2 {
		return unknown
	}
	return sum
}
