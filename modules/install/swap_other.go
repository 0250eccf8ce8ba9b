//go:build !linux

package install

// exchange exchanges the names of two files.
func exchange(a, b string) error { return exchangeInSteps(a, b) }
