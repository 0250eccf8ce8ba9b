package krb5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxKeys limits the number of keys that are read from a keyring.
const maxKeys = 4096

// readKeyring reads a cache of MIT's type KEYRING from the kernel
// (keyrings(7)). Its residual is anchor:collection[:cache]. The anchor is
// persistent, user or session; without an anchor, it is the session keyring
// ("legacy"). The keyrings of the kinit process and its threads have ended with
// that process.
//
// A collection is a keyring. It has one keyring for each cache, and a key with
// the name of the selected cache. A cache has a key for its principal and one
// for each ticket.
func readKeyring(residual string) (*credentials, error) {
	// The possession of keys depends on the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	collection, cache, err := findCollection(residual)
	if err != nil {
		return nil, err
	}
	if cache == "" {
		if cache, err = primaryCache(collection); err != nil {
			return nil, err
		}
	}
	ring, err := unix.KeyctlSearch(collection, "keyring", cache, 0)
	if err != nil {
		return nil, keyringError(err)
	}
	list, err := readKey(ring)
	if err != nil {
		return nil, err
	}
	c, owned := new(credentials), false
	for n := 0; len(list) >= 4 && n < maxKeys; n++ {
		id := int(int32(binary.NativeEndian.Uint32(list)))
		list = list[4:]
		// type;uid;gid;permissions;description, which may have semicolons
		about, err := unix.KeyctlString(unix.KEYCTL_DESCRIBE, id)
		if err != nil {
			continue // deleted or expired
		}
		parts := strings.SplitN(about, ";", 5)
		if len(parts) < 5 || parts[0] != "user" && parts[0] != "big_key" && parts[0] != "logon" {
			continue
		}
		data, err := readKey(id)
		if err != nil {
			continue
		}
		r := &reader{rest: data}
		switch parts[4] {
		case "__krb5_princ__":
			c.client = r.principal()
			owned = r.err == nil
		case "__krb5_time_offsets__":
			c.offset = kdcOffset(r)
		default:
			if t := r.credential(4); r.err == nil {
				c.tickets = append(c.tickets, t)
			}
		}
	}
	if !owned {
		return nil, errNoCache
	}
	tickets := c.tickets
	c.tickets = nil
	for _, t := range tickets { // the principal decides which ticket is the TGT
		c.add(t)
	}
	return c, nil
}

// findCollection returns the keyring of a collection.
func findCollection(residual string) (ring int, cache string, err error) {
	anchor, rest, ok := strings.Cut(residual, ":")
	if !ok {
		anchor, rest = "session", residual
	}
	name, cache, _ := strings.Cut(rest, ":")
	switch anchor {
	case "persistent":
		uid := os.Getuid()
		if name != "" {
			if uid, err = strconv.Atoi(name); err != nil {
				return 0, "", fmt.Errorf("%s is not a user ID", quote(name))
			}
		}
		// The persistent keyring is linked to the process's keyring, so that it
		// can be read.
		if ring, err = unix.KeyctlInt(unix.KEYCTL_GET_PERSISTENT, uid, unix.KEY_SPEC_PROCESS_KEYRING, 0, 0); err != nil {
			return 0, "", keyringError(err)
		}
	case "user":
		ring = unix.KEY_SPEC_USER_KEYRING
	case "session", "legacy":
		ring = unix.KEY_SPEC_SESSION_KEYRING
	default:
		return 0, "", fmt.Errorf("keyrings of the type %s cannot be read", quote(anchor))
	}
	label := "_krb_" + name
	if anchor == "persistent" {
		label = "_krb"
	}
	found, err := unix.KeyctlSearch(ring, "keyring", label, 0)
	if err != nil {
		return 0, "", keyringError(err)
	}
	return found, cache, nil
}

// primaryCache reads the name of the selected cache of a collection. The key
// holds a version, a length and a name.
func primaryCache(collection int) (string, error) {
	id, err := unix.KeyctlSearch(collection, "user", "krb_ccache:primary", 0)
	if err != nil {
		return "", keyringError(err)
	}
	data, err := readKey(id)
	if err != nil {
		return "", err
	}
	r := &reader{rest: data}
	version, name := r.u32(), string(r.data())
	if r.err != nil || version != 1 {
		return "", errors.New("its index cannot be read")
	}
	return name, nil
}

// readKey reads a key's or keyring's payload.
func readKey(id int) ([]byte, error) {
	size, err := unix.KeyctlBuffer(unix.KEYCTL_READ, id, nil, 0)
	for range 3 { // it may grow meanwhile
		if err != nil {
			return nil, keyringError(err)
		}
		if size > maxCache {
			return nil, fmt.Errorf("it is larger than %d bytes", maxCache)
		}
		data := make([]byte, size+64)
		if size, err = unix.KeyctlBuffer(unix.KEYCTL_READ, id, data, 0); err == nil && size <= len(data) {
			return data[:size], nil
		}
	}
	return nil, errors.New("it keeps changing")
}

// keyringError distinguishes a cache that does not exist from a cache that
// cannot be read.
func keyringError(err error) error {
	switch {
	case errors.Is(err, unix.ENOKEY), errors.Is(err, unix.EKEYEXPIRED), errors.Is(err, unix.EKEYREVOKED):
		return errNoCache
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return errors.New("this kernel has no such keyrings")
	}
	return fmt.Errorf("keyctl: %w", err)
}
