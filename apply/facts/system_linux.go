package facts

import (
	"context"
	"net"
	"os"
	"strings"
	"syscall"
)

// orThis fills in the functions of this machine.
func (s system) orThis() system {
	if s.uname == nil {
		s.uname = uname
	}
	if s.statfs == nil {
		s.statfs = statfs
	}
	if s.dump == nil {
		s.dump = func(what int) ([]byte, error) { return syscall.NetlinkRIB(what, syscall.AF_UNSPEC) }
	}
	if s.ids == nil {
		s.ids = func() (int, int) { return os.Geteuid(), os.Getegid() }
	}
	if s.cpuid == nil {
		s.cpuid = hypervisorSignature
	}
	if s.lookup == nil {
		s.lookup = lookupName
	}
	return s
}

func uname() (uts, error) {
	var u syscall.Utsname
	if err := syscall.Uname(&u); err != nil {
		return uts{}, os.NewSyscallError("uname", err)
	}
	return uts{chars(u.Sysname[:]), chars(u.Nodename[:]), chars(u.Release[:]), chars(u.Version[:]), chars(u.Machine[:])}, nil
}

// chars is a C string, whose type differs among architectures.
func chars[T int8 | uint8](s []T) string {
	var b strings.Builder
	for _, ch := range s {
		if ch == 0 {
			break
		}
		b.WriteByte(byte(ch))
	}
	return b.String()
}

func statfs(path string) (fsSize, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return fsSize{}, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	unit := uint64(s.Frsize)
	return fsSize{size: s.Blocks * unit, free: s.Bfree * unit, available: s.Bavail * unit}, nil
}

func lookupName(c *collector, host string) string {
	ctx, cancel := context.WithTimeout(c.ctx, answerLimit)
	defer cancel()
	name, err := (&net.Resolver{PreferGo: true}).LookupCNAME(ctx, host)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(name, ".")
}
