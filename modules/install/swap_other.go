//go:build !linux

package install

// exchange gives two files each other's name.
func exchange(a, b string) error { return exchangeInSteps(a, b) }
