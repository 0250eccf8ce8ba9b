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

// RevokedFiles caches the files that RevokedHostKeys names (ssh_config(5)). It
// is safe for concurrent use.
type RevokedFiles struct {
	mu    sync.Mutex // also held while a file is read
	files map[string]revokedFile
}

// maxRevokedFiles bounds the cache: one user has few such files.
const maxRevokedFiles = 64

// A revokedFile is one as it was read.
type revokedFile struct {
	list   *Revocations
	stamp  filestamp.Stamp
	looked time.Time // when the stamp was compared last
	fresh  bool      // written so shortly before that its time may not tell a second change
}

// NewRevokedFiles returns an empty cache.
func NewRevokedFiles() *RevokedFiles { return &RevokedFiles{files: make(map[string]revokedFile)} }

// Check refuses a key that a file revokes, and every key if the file cannot be
// read; "" is no file. host names the machine in the error. A look at the file
// that is no older than age will do. It returns the list that was asked.
func (r *RevokedFiles) Check(path, host string, key ssh.PublicKey, age time.Duration) (*Revocations, error) {
	if path == "" {
		return nil, nil
	}
	list, err := r.Load(path, age)
	if err != nil {
		return nil, &transport.Error{Class: transport.ClassHostKeyUnknown, Code: refusedCode, Err: err,
			Msg:  fmt.Sprintf("Host key verification failed for %s: RevokedHostKeys in ssh_config: %v", host, err),
			Hint: "Without that file nobody knows which keys are revoked: correct it, or take the setting out."}
	}
	at, revoked := list.revoke(key)
	if !revoked {
		return list, nil
	}
	return nil, &transport.Error{Class: transport.ClassHostKeyChanged, Code: refusedCode,
		Msg:  fmt.Sprintf("Host key verification failed for %s: its %s is revoked %s", host, describeKey(Plain(key)), at),
		Hint: "A revoked key may be in foreign hands: give the machine a new one and record that. Nothing was sent to it."}
}

// Load returns the list in a file, read again when the file has changed; nil
// for no file.
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

// Revocations is the contents of a revocation file.
type Revocations struct {
	path         string
	lines        map[string]int  // plain keys of a list as text, with their lines
	keys         map[string]bool // of a KRL
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

// parseRevocations reads a KRL, or else public keys, one a line. A line that
// is no key is an error, as in OpenSSH (authfile.c, sshkey_in_file): a key that
// was meant to be revoked would not be.
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

// revokedKey reads "type key [comment]". Of a certificate it is the key that
// is revoked.
func revokedKey(words []string) ([]byte, error) {
	if len(words) < 2 {
		return nil, errors.New("it is not a public key")
	}
	blob, err := base64.StdEncoding.DecodeString(words[1])
	inside, ok := blobType(blob)
	if err != nil || !ok || inside != words[0] {
		return nil, fmt.Errorf("there is no key of the type %.40q", words[0])
	}
	key, err := ssh.ParsePublicKey(blob)
	if err == nil {
		return Plain(key).Marshal(), nil
	}
	known := slices.Concat(ssh.SupportedAlgorithms().PublicKeyAuths, ssh.InsecureAlgorithms().PublicKeyAuths)
	if slices.Contains(known, inside) || strings.Contains(inside, "-cert-") {
		return nil, fmt.Errorf("the key is broken: %s", strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return blob, nil // of a type that no server can show us
}

// revoke reports whether a key or a certificate is revoked, itself or by its
// authority, and where: "at file:line", "by file".
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

// Plain is the key that a certificate is for, or the key itself.
func Plain(k ssh.PublicKey) ssh.PublicKey {
	if cert, ok := k.(*ssh.Certificate); ok {
		return cert.Key
	}
	return k
}

// authorityOf is the key that has signed a certificate, nil for other keys.
func authorityOf(key ssh.PublicKey) ssh.PublicKey {
	if cert, ok := key.(*ssh.Certificate); ok {
		return cert.SignatureKey
	}
	return nil
}
