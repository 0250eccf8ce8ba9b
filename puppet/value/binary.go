package value

import (
	"encoding/base64"
	"strings"
)

// A Binary is a sequence of bytes. It is immutable.
type Binary struct {
	b []byte
}

func (*Binary) value() {}

// NewBinary returns b and keeps the slice.
func NewBinary(b []byte) *Binary { return &Binary{b} }

// Bytes returns the bytes. The caller must not change the slice.
func (b *Binary) Bytes() []byte { return b.b }

// base64 returns the bytes in base 64.
func (b *Binary) base64() string { return base64.StdEncoding.EncodeToString(b.b) }

// String returns the bytes in base 64.
func (b *Binary) String() string { return b.base64() }

// base64URL returns the bytes in the URL-safe alphabet of base 64.
func (b *Binary) base64URL() string { return base64.URLEncoding.EncodeToString(b.b) }

// base64Lines returns the bytes in base 64, in lines of 60 characters.
func (b *Binary) base64Lines() string {
	const width = 60
	s := b.base64()
	var lines strings.Builder
	for len(s) > 0 {
		n := min(width, len(s))
		lines.WriteString(s[:n])
		lines.WriteByte('\n')
		s = s[n:]
	}
	return lines.String()
}

// parseBase64 returns the bytes that s encodes. It does not allow white space
// or missing padding.
func parseBase64(s string) (*Binary, error) {
	if strings.IndexByte(s, '\n') >= 0 || strings.IndexByte(s, '\r') >= 0 {
		return nil, errBase64()
	}
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errBase64()
	}
	return NewBinary(b), nil
}

func errBase64() error { return convErr(KindValue, "the text is not in base 64") }

// parseBase64URL is parseBase64 for the URL-safe alphabet. The padding can be
// missing.
func parseBase64URL(s string) (*Binary, error) {
	if !strings.HasSuffix(s, "=") && len(s)%4 != 0 {
		s += strings.Repeat("=", 4-len(s)%4)
	}
	return parseBase64(strings.NewReplacer("-", "+", "_", "/").Replace(s))
}

// parseBase64Loose ignores characters outside of the alphabet. It ends at a =
// in the second half of a group or at the end of s.
func parseBase64Loose(s string) *Binary {
	var out []byte
	var group [4]byte
	n := 0
	for i := range len(s) {
		c := s[i]
		if c == '=' && n >= 2 {
			break
		}
		d := base64Digit(c)
		if d < 0 {
			continue
		}
		group[n] = byte(d)
		if n++; n == 4 {
			out = append(out, group[0]<<2|group[1]>>4, group[1]<<4|group[2]>>2, group[2]<<6|group[3])
			n = 0
		}
	}
	if n >= 2 {
		out = append(out, group[0]<<2|group[1]>>4)
	}
	if n == 3 {
		out = append(out, group[1]<<4|group[2]>>2)
	}
	return NewBinary(out)
}

func base64Digit(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case isDigit(c):
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}
