package ssh

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport/ssh/knownhosts"
)

// withKey returns the authentication with one key. It asks for a passphrase
// only if the server would accept the key, or if the public key is not known
// without the passphrase.
func (v *View) withKey(ctx context.Context, c candidate, limit *timeLimit, a *authentication) ssh.AuthMethod {
	return ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
		public := c.public
		if public == nil {
			resume := limit.pause()
			s, err := v.keys.unlock(ctx, c.file)
			resume()
			if err != nil {
				a.record.note("%s (%v)", c.label, err)
				if errors.Is(err, ErrNobody) {
					a.record.want(c.file.path, false)
				}
				return nil, err
			}
			public = s.PublicKey()
		}
		if bits := rsaBits(public); bits > 0 && bits < a.e.conf.RequiredRSASize {
			a.record.note("%s (not tried: %d bits are fewer than the %d of RequiredRSASize)", c.label, bits, a.e.conf.RequiredRSASize)
			return nil, errors.New("key is too short")
		}
		allowed := signatures(public, a.e.algorithms.publicKey)
		if len(allowed) == 0 {
			a.record.note("%s (%s is not among the accepted algorithms)", c.label, public.Type())
			return nil, errors.New("no algorithm for this key")
		}
		a.record.note("%s (%s)", c.label, ssh.FingerprintSHA256(knownhosts.Plain(public)))
		return []ssh.Signer{&keySigner{public: public, algorithms: allowed, sign: func(data []byte, algorithm string) (*ssh.Signature, error) {
			locked := false
			if c.file != nil {
				locked, _ = c.file.state()
			}
			if locked {
				defer limit.pause()()
			}
			sig, err := c.sign(ctx, data, algorithm)
			if errors.Is(err, ErrNobody) && c.file != nil {
				// The server has answered that it would accept the key:
				// x/crypto asks first (RFC 4252 7), which does not cost an
				// authentication attempt.
				a.record.note("%s (%v)", c.label, err)
				a.record.want(c.file.path, true)
				return nil, err
			}
			if err != nil {
				a.record.note("%s (signature: %s)", c.label, safetext.Message(err.Error()))
				return nil, err
			}
			a.signed = c.id
			return sig, nil
		}}}, nil
	})
}

// signatures returns the allowed signature algorithms of a key. RSA keys sign
// with SHA-2 (RFC 8332); ssh-rsa is used only if it is configured.
func signatures(public ssh.PublicKey, allowed []string) []string {
	of := []string{knownhosts.Plain(public).Type()}
	if of[0] == ssh.KeyAlgoRSA {
		of = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA}
	}
	return slices.DeleteFunc(of, func(name string) bool { return !slices.Contains(allowed, name) })
}

// keySigner is an ssh.MultiAlgorithmSigner that signs with a function.
type keySigner struct {
	public     ssh.PublicKey
	algorithms []string
	sign       func(data []byte, algorithm string) (*ssh.Signature, error)
}

func (s *keySigner) PublicKey() ssh.PublicKey { return s.public }
func (s *keySigner) Algorithms() []string     { return s.algorithms }

func (s *keySigner) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	return s.sign(data, s.algorithms[0])
}

func (s *keySigner) SignWithAlgorithm(_ io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	return s.sign(data, cmp.Or(algorithm, s.algorithms[0]))
}
