package knownhosts

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
)

// Key revocation lists in the format of "ssh-keygen -k" (OpenSSH's
// PROTOCOL.krl).

const (
	krlMagic   = "SSHKRL\n\x00"
	krlVersion = 1
)

// The sections of a list, and the sections about certificates.
const (
	krlCertificates = 1
	krlKeys         = 2
	krlSHA1         = 3
	krlSHA256       = 5
	krlExtension    = 255

	krlSerials         = 0x20
	krlSerialRange     = 0x21
	krlSerialBitmap    = 0x22
	krlKeyIDs          = 0x23
	krlCertExtension   = 0x39
	maxKRLBitmapLength = 1 << 20 // bytes; ssh-keygen's own are far shorter
)

// revokedCertificates are the revoked certificates of one CA.
type revokedCertificates struct {
	authority string // its marshalled key; "" for any CA
	ranges    []serialRange
	bitmaps   []serialBitmap
	ids       map[string]bool
}

type serialRange struct{ first, last uint64 }

// serialBitmap revokes offset+i if bit i is set.
type serialBitmap struct {
	offset uint64
	bits   *big.Int
}

// hold reports whether a certificate is revoked. A serial number of zero means
// that there is none, so it cannot be revoked.
func (c *revokedCertificates) hold(cert *ssh.Certificate) bool {
	if c.authority != "" && c.authority != string(cert.SignatureKey.Marshal()) {
		return false
	}
	if c.ids[cert.KeyId] {
		return true
	}
	n := cert.Serial
	if n == 0 {
		return false
	}
	for _, r := range c.ranges {
		if r.first <= n && n <= r.last {
			return true
		}
	}
	for _, b := range c.bitmaps {
		if n >= b.offset && n-b.offset < uint64(b.bits.BitLen()) && b.bits.Bit(int(n-b.offset)) == 1 {
			return true
		}
	}
	return false
}

// hashed reports whether the hash of a key is in the list.
func (r *Revocations) hashed(blob string) bool {
	if len(r.sha1) > 0 {
		if sum := sha1.Sum([]byte(blob)); r.sha1[string(sum[:])] {
			return true
		}
	}
	if len(r.sha256) > 0 {
		if sum := sha256.Sum256([]byte(blob)); r.sha256[string(sum[:])] {
			return true
		}
	}
	return false
}

// parseKRL parses a list. Unknown content is an error, because it may revoke
// something.
func (r *Revocations) parseKRL(text []byte) error {
	in := krlReader{rest: text[len(krlMagic):]}
	if v := in.uint32(); in.err == nil && v != krlVersion {
		return fmt.Errorf("format %d is not known", v)
	}
	in.uint64() // version
	in.uint64() // time
	in.uint64() // flags
	in.string() // reserved
	in.string() // comment
	r.keys, r.sha1, r.sha256 = make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for in.more() {
		kind, section := in.byte(), krlReader{rest: in.string()}
		if in.err != nil {
			break
		}
		switch kind {
		case krlCertificates:
			c, err := parseCertificates(&section)
			if err != nil {
				return err
			}
			r.certificates = append(r.certificates, c)
		case krlKeys:
			section.all(r.keys, 0)
		case krlSHA1:
			section.all(r.sha1, sha1.Size)
		case krlSHA256:
			section.all(r.sha256, sha256.Size)
		case krlExtension:
			section.extension()
		default:
			return fmt.Errorf("section %d is not known", kind)
		}
		if section.err != nil {
			return fmt.Errorf("section %d: %w", kind, section.err)
		}
	}
	return in.err
}

// parseCertificates parses a section about the certificates of a CA.
func parseCertificates(in *krlReader) (revokedCertificates, error) {
	c := revokedCertificates{authority: string(in.string()), ids: make(map[string]bool)}
	in.string() // reserved
	for in.more() {
		kind, section := in.byte(), krlReader{rest: in.string()}
		if in.err != nil {
			break
		}
		switch kind {
		case krlSerials:
			for section.more() {
				n := section.uint64()
				c.ranges = append(c.ranges, serialRange{n, n})
			}
		case krlSerialRange:
			c.ranges = append(c.ranges, serialRange{section.uint64(), section.uint64()})
		case krlSerialBitmap:
			b := serialBitmap{section.uint64(), new(big.Int)}
			bits := section.string()
			if b.bits.SetBytes(bits); len(bits) > maxKRLBitmapLength || b.offset > math.MaxUint64-uint64(b.bits.BitLen()) {
				return c, errors.New("a bitmap of serial numbers is too long")
			}
			c.bitmaps = append(c.bitmaps, b)
		case krlKeyIDs:
			section.all(c.ids, 0)
		case krlCertExtension:
			section.extension()
		default:
			return c, fmt.Errorf("certificate section %#x is not known", kind)
		}
		if section.err != nil {
			return c, fmt.Errorf("certificate section %#x: %w", kind, section.err)
		}
	}
	return c, in.err
}

// errKRLCut is the error for a truncated list or section.
var errKRLCut = errors.New("it is truncated")

// krlReader takes values from the front of the data. err is never reset.
type krlReader struct {
	rest []byte
	err  error
}

func (r *krlReader) more() bool { return r.err == nil && len(r.rest) > 0 }

func (r *krlReader) take(n uint64) []byte {
	if r.err != nil || n > uint64(len(r.rest)) {
		r.err = errKRLCut
		return nil
	}
	p := r.rest[:n]
	r.rest = r.rest[n:]
	return p
}

func (r *krlReader) byte() byte {
	if p := r.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (r *krlReader) uint32() uint32 {
	if p := r.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (r *krlReader) uint64() uint64 {
	if p := r.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

func (r *krlReader) string() []byte { return r.take(uint64(r.uint32())) }

// all reads strings into a set. If size is not 0, each string must have that
// size.
func (r *krlReader) all(into map[string]bool, size int) {
	for r.more() {
		s := r.string()
		if r.err == nil && size > 0 && len(s) != size {
			r.err = fmt.Errorf("a hash of %d bytes", len(s))
		}
		if r.err == nil {
			into[string(s)] = true
		}
	}
}

// extension skips an extension. It fails if the list requires that readers know
// the extension.
func (r *krlReader) extension() {
	name, critical := r.string(), r.byte()
	r.string()
	if r.err == nil && critical != 0 {
		r.err = fmt.Errorf("extension %s is not known", safetext.Message(string(name)))
	}
}
