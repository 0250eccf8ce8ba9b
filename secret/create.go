package secret

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"

	"bolt/format/fault"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/readfile"
)

// Limits of the modulus of a new key, in bits. Shorter keys can be broken, and
// Go's RSA rejects them; generating longer keys takes minutes.
const (
	DefaultBits = 2048
	minBits     = 1024
	maxBits     = 16384
)

// lifetime is how long the certificate of a new pair is valid. It is long,
// because the certificate's dates are never checked.
const lifetime = 50 * 365 * 24 * time.Hour

// Create creates a new pair with a key of that many bits. With force it
// replaces an existing pair, whose values can no longer be decrypted
// afterwards. If it fails, nothing has changed. If the process is killed during
// Create, the public key may be missing, but it never belongs to another pair.
func (p Pair) Create(ctx context.Context, bits int, force bool) error {
	switch {
	case bits < minBits || bits > maxBits:
		return fault.New("bolt/validation-error", "The key size must be from %d to %d bits, not %d", minBits, maxBits, bits)
	case p.Public == p.Private:
		return fault.New("bolt/validation-error", "The public and the private key must be two files, and are both '%s'", p.Public)
	}
	if err := p.free(force); err != nil {
		return err
	}
	private, public, err := generate(bits, time.Now())
	if err != nil {
		return failed(KindKey, err, "The key pair could not be made: %v", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Only the owner can read the private key's directory. The mode of an
	// existing directory is not changed.
	if err := os.MkdirAll(filepath.Dir(p.Private), 0o700); err != nil {
		return p.unwritten(p.Private, err)
	}
	if err := os.MkdirAll(filepath.Dir(p.Public), 0o755); err != nil {
		return p.unwritten(p.Public, err)
	}
	unlock, err := filelock.Dir(ctx, filepath.Dir(p.Private))
	if err != nil {
		return p.unwritten(p.Private, err)
	}
	defer unlock()
	if err := p.free(force); err != nil { // another process may have created a pair
		return err
	}
	return p.replace(ctx, private, public)
}

// free returns an error if a pair, or one of its files, exists.
func (p Pair) free(force bool) error {
	if force {
		return nil
	}
	for _, path := range []string{p.Public, p.Private} {
		_, err := os.Lstat(path)
		switch {
		case err == nil:
			return fault.New(KindKey, "There is a key pair already: '%s' and '%s'. With --force (the option 'force') a new pair "+
				"replaces it, but values that were encrypted with it can no longer be decrypted.", p.Public, p.Private)
		case !errors.Is(err, fs.ErrNotExist):
			return p.unwritten(path, err)
		}
	}
	return nil
}

func (p Pair) unwritten(path string, err error) error {
	return failed(KindKey, err, "The key '%s' could not be written: %v", path, fault.WithoutPath(err))
}

// generate returns a new pair in PEM.
func generate(bits int, now time.Time) (private, public []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, nil, err
	}
	cert := &x509.Certificate{
		SerialNumber:       big.NewInt(1), // with an empty name, as in Puppet Bolt
		NotBefore:          now,
		NotAfter:           now.Add(lifetime),
		SignatureAlgorithm: x509.SHA512WithRSA,
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	private = pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: x509.MarshalPKCS1PrivateKey(key)})
	return private, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: der}), nil
}

// replace writes both files, or restores the old ones.
func (p Pair) replace(ctx context.Context, private, public []byte) error {
	for _, path := range []*string{&p.Public, &p.Private} { // if a path is a link, its target is replaced
		if file, err := filepath.EvalSymlinks(*path); err == nil {
			*path = file
		}
		if info, err := os.Lstat(*path); err == nil && !info.Mode().IsRegular() {
			return p.unwritten(*path, errors.New("there is something that is not a regular file"))
		}
	}
	oldPrivate, err := old(ctx, p.Private)
	if err != nil {
		return p.unwritten(p.Private, err)
	}
	oldPublic, err := old(ctx, p.Public)
	if err != nil {
		return p.unwritten(p.Public, err)
	}
	// The old public key is removed first. With the public key of another pair,
	// values could be encrypted that no key can decrypt.
	if err := os.Remove(p.Public); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p.unwritten(p.Public, err)
	}
	if err := write(p.Private, private, 0o600); err != nil {
		return errors.Join(p.unwritten(p.Private, err), restore(p.Public, oldPublic, 0o644))
	}
	if err := write(p.Public, public, 0o644); err != nil {
		return errors.Join(p.unwritten(p.Public, err), restore(p.Private, oldPrivate, 0o600), restore(p.Public, oldPublic, 0o644))
	}
	return nil
}

// old reads a file; the result is nil if the file does not exist.
func old(ctx context.Context, path string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// write replaces a file and sets its mode.
func write(path string, data []byte, mode fs.FileMode) error {
	return atomicfile.WriteOwn(path, data, mode)
}

func restore(path string, data []byte, mode fs.FileMode) error {
	if data != nil {
		return write(path, data, mode)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
