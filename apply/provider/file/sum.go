package file

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"regexp"
	"strings"
	"time"
)

// A kind is a kind of checksum: a hash of the content, one of its first bytes, or a time.
type kind string

const (
	sha   kind = "sha256"
	mtime kind = "mtime"
	ctime kind = "ctime"
	none  kind = "none"
)

// liteBytes is the number of bytes that the lite kinds read.
const liteBytes = 512

func (k kind) hash() hash.Hash {
	switch strings.TrimSuffix(string(k), "lite") {
	case "sha256":
		return sha256.New()
	case "md5":
		return md5.New()
	case "sha1":
		return sha1.New()
	case "sha224":
		return sha256.New224()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// hashed reports whether the kind is a hash.
func (k kind) hashed() bool { return k.hash() != nil }

func (k kind) lite() bool { return strings.HasSuffix(string(k), "lite") }

// text returns a checksum in Puppet's form.
func (k kind) text(sum string) string { return "{" + string(k) + "}" + sum }

// A summer computes the checksum of the bytes that are written to it.
type summer struct {
	kind
	h    hash.Hash
	left int // of the bytes that a lite kind reads
}

func (k kind) summer() *summer { return &summer{k, k.hash(), liteBytes} }

func (s *summer) Write(p []byte) (int, error) {
	n := len(p)
	if s.lite() {
		p = p[:min(n, s.left)]
		s.left -= len(p)
	}
	s.h.Write(p)
	return n, nil
}

// String returns the checksum with its kind.
func (s *summer) String() string { return s.text(hex.EncodeToString(s.h.Sum(nil))) }

// of returns the checksum of a content.
func (k kind) of(r io.Reader) (string, error) {
	s := k.summer()
	if k.lite() {
		r = io.LimitReader(r, liteBytes)
	}
	_, err := io.Copy(s, r)
	return s.String(), err
}

// hexDigits returns the number of digits of a checksum.
func (k kind) hexDigits() int { return 2 * k.hash().Size() }

// timeFormat is the format of Ruby's Time#to_s.
const timeFormat = "2006-01-02 15:04:05 -0700"

// valid reports whether a value can be a checksum of the kind.
func (k kind) valid(value string) bool {
	switch {
	case k == none:
		return value == ""
	case !k.hashed():
		_, ok := parseTime(value)
		return ok
	}
	return len(value) == k.hexDigits() && regexp.MustCompile(`^[0-9a-fA-F]+$`).MatchString(value)
}

func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{timeFormat, time.RFC3339, time.DateTime, time.DateOnly, "2006-01-02 15:04:05 UTC"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// parts splits a checksum with its kind, "{sha256}…".
func parts(text string) (k kind, sum string, ok bool) {
	name, sum, ok := strings.Cut(text, "}")
	name, braced := strings.CutPrefix(name, "{")
	return kind(name), sum, ok && braced
}

// summed returns the checksum of a short text, without its kind.
func (k kind) summed(text string) string {
	s := k.summer()
	s.Write([]byte(text))
	_, sum, _ := parts(s.String())
	return sum
}
