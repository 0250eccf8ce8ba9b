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

// How many bits the modulus of a new key may have. Fewer than the least can be
// broken, and Go's RSA refuses them; making more than the most takes minutes.
const (
	DefaultBits = 2048
	minBits     = 1024
	maxBits     = 16384
)

// lifetime is how long the certificate of a new pair is valid. Nothing checks
// it, so it is to be no worry.
const lifetime = 50 * 365 * 24 * time.Hour

// Create makes a new pair with a key of so many bits. With force it replaces
// one that is there, whose values nobody can decrypt from then on. If it fails
// everything is as it was before; should the process be killed in between, the
// public key is missing rather than another pair's.
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
	// The directory of the private key is for its owner alone; one that is
	// there already has been somebody's decision.
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
	if err := p.free(force); err != nil { // somebody else may have been faster
		return err
	}
	return p.replace(ctx, private, public)
}

// free returns an error if there is a pair already, or half of one.
func (p Pair) free(force bool) error {
	if force {
		return nil
	}
	for _, path := range []string{p.Public, p.Private} {
		_, err := os.Lstat(path)
		switch {
		case err == nil:
			return fault.New(KindKey, "There is a key pair already: '%s' and '%s'. With --force (the option 'force') a new one "+
				"takes its place, but nothing that was encrypted with it can be decrypted any more.", p.Public, p.Private)
		case !errors.Is(err, fs.ErrNotExist):
			return p.unwritten(path, err)
		}
	}
	return nil
}

func (p Pair) unwritten(path string, err error) error {
	return failed(KindKey, err, "The key '%s' could not be written: %v", path, fault.WithoutPath(err))
}

// generate makes a pair in PEM.
func generate(bits int, now time.Time) (private, public []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return nil, nil, err
	}
	cert := &x509.Certificate{
		SerialNumber:       big.NewInt(1), // with an empty name, as Puppet Bolt has it
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

// replace writes both files, or puts back what was there.
func (p Pair) replace(ctx context.Context, private, public []byte) error {
	for _, path := range []*string{&p.Public, &p.Private} { // of a link, the file that it leads to is replaced
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
	// First the old public key goes: with the half of another pair things could
	// be encrypted that nobody can decrypt.
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

// old reads a file; nil if there is none.
func old(ctx context.Context, path string) ([]byte, error) {
	data, err := readfile.Read(ctx, path, readfile.Key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// write replaces a file, which has the mode afterwards.
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
