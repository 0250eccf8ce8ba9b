//go:build !linux

package daemon

import "runtime"

// residentBytes is what the Go runtime has taken from the system.
func residentBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// openFiles cannot be told.
func openFiles() int { return 0 }
