package mongodb

import (
	"crypto/hmac"
	"crypto/md5"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
)

// The mechanisms of the server. RFC 5802 and RFC 7677 define them.
const (
	sha1Name   = "SCRAM-SHA-1"
	sha256Name = "SCRAM-SHA-256"
)

// maxRounds limits the work for a password. The server makes 15,000 rounds unless it is configured otherwise.
const maxRounds = 10_000_000

// A credential is a password as the server stores it. The fields Salt, StoredKey and ServerKey are in base64.
type credential struct {
	IterationCount             int
	Salt, StoredKey, ServerKey string
}

// passwordHash returns the hash of a password that SCRAM-SHA-1 of MongoDB uses in its place.
func passwordHash(user, password string) string {
	sum := md5.Sum([]byte(user + ":mongo:" + password))
	return hex.EncodeToString(sum[:])
}

// hasHash reports whether the account has the password with a hash.
func (a *account) hasHash(hash string) (bool, error) {
	c, is := a.Credentials[sha1Name]
	if !is {
		return false, nil
	}
	return c.fits(sha1.New, hash)
}

// hasPassword reports whether the account has a password. RFC 7677 normalizes passwords, which changes nothing if a password has only printable ASCII
// characters. Any other password counts as different.
func (a *account) hasPassword(password string) (bool, error) {
	c, is := a.Credentials[sha256Name]
	if !is {
		return false, nil
	}
	for _, b := range []byte(password) {
		if b < ' ' || b > '~' {
			return false, nil
		}
	}
	return c.fits(sha256.New, password)
}

// fits reports whether the credential is that of a password.
func (c credential) fits(h func() hash.Hash, password string) (bool, error) {
	salt, err := base64.StdEncoding.DecodeString(c.Salt)
	if err != nil || c.IterationCount < 1 || c.IterationCount > maxRounds {
		return false, errors.New("the server has credentials that are not understood")
	}
	salted, err := pbkdf2.Key(h, password, salt, c.IterationCount, h().Size())
	if err != nil {
		return false, err
	}
	sign := func(text string) []byte {
		m := hmac.New(h, salted)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	digest := h()
	digest.Write(sign("Client Key"))
	same := func(text string, key []byte) bool {
		stored, err := base64.StdEncoding.DecodeString(text)
		return err == nil && subtle.ConstantTimeCompare(stored, key) == 1
	}
	return same(c.StoredKey, digest.Sum(nil)) && same(c.ServerKey, sign("Server Key")), nil
}
