package daemon

import (
	"bytes"
	"os"
	"strconv"
)

// residentBytes returns the resident memory of this process (proc(5), statm), 0
// if it is unknown.
func residentBytes() uint64 {
	data, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// openFiles returns the number of this process's descriptors, 0 if it is
// unknown.
func openFiles() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return 0
	}
	return len(names) - 1 // dir itself
}
