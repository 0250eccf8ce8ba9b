package knownhosts

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/filestamp"
	"bolt/transport"
)

// RevokedFiles caches the files of RevokedHostKeys (ssh_config(5)). It is safe
// for concurrent use.
type RevokedFiles struct {
	mu    sync.Mutex // also held while a file is read
	files map[string]revokedFile
}

// maxRevokedFiles limits the cache: one user has few such files.
const maxRevokedFiles = 64

// A revokedFile is the parsed content of a file.
type revokedFile struct {
	list   *Revocations
	stamp  filestamp.Stamp
	looked time.Time // time of the last comparison of the stamp
	fresh  bool      // written so recently that its time may not show a second change
}

// NewRevokedFiles returns an empty cache.
func NewRevokedFiles() *RevokedFiles { return &RevokedFiles{files: make(map[string]revokedFile)} }

// Check refuses a key that a file revokes. If the file cannot be read, it
// refuses every key. A path of "" means no file. host names the machine in the
// error. A state of the file that is not older than age is used without another
// look. Check returns the list that it used.
func (r *RevokedFiles) Check(path, host string, key ssh.PublicKey, age time.Duration) (*Revocations, error) {
	if path == "" {
		return nil, nil
	}
	list, err := r.Load(path, age)
	if err != nil {
		return nil, &transport.Error{Class: transport.ClassHostKeyUnknown, Code: refusedCode, Err: err,
			Msg:  fmt.Sprintf("Host key verification failed for %s: RevokedHostKeys in ssh_config: %v", host, err),
			Hint: "Without that file, the revoked keys are unknown: correct the file, or remove the setting."}
	}
	at, revoked := list.revoke(key)
	if !revoked {
		return list, nil
	}
	return nil, &transport.Error{Class: transport.ClassHostKeyChanged, Code: refusedCode,
		Msg:  fmt.Sprintf("Host key verification failed for %s: its %s is revoked %s", host, describeKey(Plain(key)), at),
		Hint: "Other people may have the revoked key: create a new key on the machine and record it. Nothing was sent to the machine."}
}

// Load returns the list in a file, or nil if path is "". It reads the file
// again after it has changed.
func (r *RevokedFiles) Load(path string, age time.Duration) (*Revocations, error) {
	if path == "" {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.files[path]
	if known && age > 0 && time.Since(f.looked) < age {
		return f.list, nil
	}
	looked := time.Now()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	stamp := filestamp.Of(info)
	if known && f.stamp == stamp && !f.fresh {
		f.looked = looked
		r.files[path] = f
		return f.list, nil
	}
	list, err := readRevocations(path)
	if err != nil {
		return nil, err
	}
	if len(r.files) >= maxRevokedFiles {
		clear(r.files)
	}
	r.files[path] = revokedFile{list, stamp, looked, stamp.Fresh()}
	return list, nil
}

// Revocations is the content of a revocation file.
type Revocations struct {
	path         string
	lines        map[string]int  // plain keys of a text list, with their line numbers
	keys         map[string]bool // keys of a KRL
	sha1, sha256 map[string]bool // hashes of plain keys
	certificates []revokedCertificates
}

func readRevocations(path string) (*Revocations, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	case info.Size() > maxKnownHostsBytes:
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxKnownHostsBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseRevocations(path, text)
}

// parseRevocations parses a KRL, or public keys with one key per line. As in
// OpenSSH (authfile.c, sshkey_in_file), an invalid line is an error: otherwise
// a key that should be revoked would be accepted.
func parseRevocations(path string, text []byte) (*Revocations, error) {
	r := &Revocations{path: path}
	if bytes.HasPrefix(text, []byte(krlMagic)) {
		if err := r.parseKRL(text); err != nil {
			return nil, fmt.Errorf("%s: key revocation list: %w", path, err)
		}
		return r, nil
	}
	r.lines = make(map[string]int)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		blob, err := revokedKey(words)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		r.lines[string(blob)] = n
	}
	return r, nil
}

// revokedKey parses "type key [comment]". For a certificate, it returns the
// certificate's key.
func revokedKey(words []string) ([]byte, error) {
	if len(words) < 2 {
		return nil, errors.New("it is not a public key")
	}
	blob, err := base64.StdEncoding.DecodeString(words[1])
	inside, ok := blobType(blob)
	if err != nil || !ok || inside != words[0] {
		return nil, fmt.Errorf("a key of the type %.40q is missing", words[0])
	}
	key, err := ssh.ParsePublicKey(blob)
	if err == nil {
		return Plain(key).Marshal(), nil
	}
	known := slices.Concat(ssh.SupportedAlgorithms().PublicKeyAuths, ssh.InsecureAlgorithms().PublicKeyAuths)
	if slices.Contains(known, inside) || strings.Contains(inside, "-cert-") {
		return nil, fmt.Errorf("the key is broken: %s", strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return blob, nil // of a type that no server can present
}

// revoke reports whether a key or certificate is revoked, itself or by its CA,
// and the position: "at file:line", "by file".
func (r *Revocations) revoke(key ssh.PublicKey) (at string, revoked bool) {
	cert, isCert := key.(*ssh.Certificate)
	for _, k := range []ssh.PublicKey{Plain(key), authorityOf(key)} {
		if k == nil {
			continue
		}
		blob := string(k.Marshal())
		if n := r.lines[blob]; n > 0 {
			return fmt.Sprintf("at %s:%d", r.path, n), true
		}
		if r.keys[blob] || r.hashed(blob) {
			return "by " + r.path, true
		}
	}
	if isCert && slices.ContainsFunc(r.certificates, func(c revokedCertificates) bool { return c.hold(cert) }) {
		return "by " + r.path, true
	}
	return "", false
}

// Plain returns the key of a certificate, or the key itself.
func Plain(k ssh.PublicKey) ssh.PublicKey {
	if cert, ok := k.(*ssh.Certificate); ok {
		return cert.Key
	}
	return k
}

// authorityOf returns the key that has signed a certificate, nil for other
// keys.
func authorityOf(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.SignatureKey
	}
	return nil
}
