//go:build !linux

package daemon

import "runtime"

// residentBytes returns the memory that the Go runtime has obtained from the
// system.
func residentBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// openFiles returns 0, because the number is unknown.
func openFiles() int { return 0 }
