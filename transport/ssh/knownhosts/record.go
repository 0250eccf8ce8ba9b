package knownhosts

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"bolt/internal/filestamp"
)

const (
	// lockPatience limits the wait for another process that has locked the
	// file; an append takes well under a millisecond.
	lockPatience = 5 * time.Second
	lockPause    = 5 * time.Millisecond
)

// recordable reports whether a name has no special meaning in known_hosts.
func recordable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`@?*#[]|'"\,!`, r)
	})
}

// record appends the key of an unknown host to c.WriteTo and returns the
// verdict after that. Another goroutine or process may have recorded a key
// first. So the file is read again under its lock, and its content decides.
//
// If the file cannot be written, the connection does not end, as in OpenSSH.
// The error is logged.
func (f *Set) record(c Rule, q *question) verdict {
	log := f.keys.log
	accepted := verdict{outcome: keyOK}
	failed := func(err error) verdict {
		log.Warn("host key is accepted but not recorded", "target", q.host, "key", describeKey(q.key), "file", c.WriteTo, "reason", err)
		return accepted
	}
	slot := f.keys.slot(c.WriteTo)
	slot.mu.Lock()
	defer slot.mu.Unlock()

	file, err := openLocked(c.WriteTo)
	if err != nil {
		return failed(err)
	}
	defer file.Close() // this also releases the lock
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return accepted // /dev/null is the usual way to record nothing
	}
	known, err := slot.refresh(log)
	if err != nil {
		return failed(err)
	}
	if v := f.with(known).judge(q); v.outcome != keyUnknown {
		return v
	}
	r := &record{keyType: q.key.Type(), blob: q.blob}
	text := q.name
	if c.Hash {
		text, r.hashed = hashName(q.name)
	} else {
		r.names = q.name
	}
	text += " " + string(ssh.MarshalAuthorizedKey(q.key))
	known.mu.RLock()
	r.line = known.lines + 1
	if known.torn {
		r.line++
		text = "\n" + text
	}
	known.mu.RUnlock()
	if _, err := file.WriteString(text); err != nil {
		return failed(err)
	}
	if info, err := file.Stat(); err == nil {
		// The cache stays correct without reading the file again; that would
		// take quadratic time for many new hosts.
		known.append(r, q.name)
		slot.stamp = filestamp.Of(info)
	}
	log.Info("host key recorded", "target", q.host, "key", describeKey(q.key), "file", c.WriteTo)
	accepted.at = found{r, c.WriteTo}
	return accepted
}

// with returns the set with the newest state of one file.
func (f *Set) with(known *knownFile) *Set {
	files := slices.Clone(f.files)
	if i := slices.IndexFunc(files, func(k *knownFile) bool { return k.path == known.path }); i >= 0 {
		files[i] = known
	} else {
		files = append(files, known)
	}
	return &Set{keys: f.keys, files: files}
}

// openLocked opens a file for appending, with an exclusive flock(2). It creates
// the file and its directory if they are missing.
func openLocked(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockPatience); ; time.Sleep(lockPause) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil && stillAt(path, file) {
			return file, nil
		}
		file.Close()
		if err == nil {
			err = unix.EWOULDBLOCK // the file was replaced just now
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
	}
}

// stillAt reports whether path is still the open file: ssh-keygen -R replaces
// the file.
func stillAt(path string, file *os.File) bool {
	have, err1 := file.Stat()
	want, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(have, want)
}

// hashName returns a name in the format of HashKnownHosts, and its parsed form.
func hashName(name string) (string, *hashedName) {
	salt := make([]byte, sha1.Size)
	rand.Read(salt) // never fails
	h := newHashedName(salt)
	h.sum = h.of(name)
	return "|1|" + base64.StdEncoding.EncodeToString(salt) + "|" + base64.StdEncoding.EncodeToString(h.sum[:]), h
}
