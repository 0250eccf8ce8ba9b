//go:build !linux

package facts

// orThis has nothing to fill in: machines without Linux have no facts.
func (s system) orThis() system {
	s.uname = func() (uts, error) { return uts{}, errNotLinux }
	s.statfs = func(string) (fsSize, error) { return fsSize{}, errNotLinux }
	s.dump = func(int) ([]byte, error) { return nil, errNotLinux }
	s.ids = func() (int, int) { return -1, -1 }
	s.cpuid = func() string { return "" }
	s.lookup = func(*collector, string) string { return "" }
	return s
}
