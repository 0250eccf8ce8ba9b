package stdlib

import (
	"bytes"
	"crypto/md5"
	"crypto/sha256"
	"crypto/sha512"
	"hash"

	//lint:ignore SA1019 it is what bcrypt consists of, and x/crypto/bcrypt takes no salt
	"golang.org/x/crypto/blowfish"
)

// Sources: md5crypt of FreeBSD by Poul-Henning Kamp; "Unix crypt using SHA-256
// and SHA-512" by Ulrich Drepper (version 0.6, 2016); "A Future-Adaptable
// Password Scheme" by Provos and Mazières (1999), with the variants of
// crypt_blowfish by Solar Designer.

const cryptDigits = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendCrypt writes three bytes as n digits, the least significant digit
// first.
func appendCrypt(b []byte, high, mid, low byte, n int) []byte {
	v := uint(high)<<16 | uint(mid)<<8 | uint(low)
	for range n {
		b = append(b, cryptDigits[v&63])
		v >>= 6
	}
	return b
}

// sumOf returns the hash of the concatenation of parts.
func sumOf(h hash.Hash, parts ...[]byte) []byte {
	h.Reset()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// cycled returns n bytes: b, repeated.
func cycled(b []byte, n int) []byte {
	return bytes.Repeat(b, n/len(b)+1)[:n]
}

// md5Crypt uses the whole salt. crypt(3) uses at most 8 bytes of it.
func md5Crypt(prefix, password, salt string) string {
	p, s := []byte(password), []byte(salt)
	h := md5.New()
	inner := sumOf(h, p, s, p)
	first := append([]byte(password+prefix), s...)
	first = append(first, cycled(inner, len(p))...)
	for n := len(p); n > 0; n >>= 1 {
		if n&1 != 0 {
			first = append(first, 0)
		} else {
			first = append(first, p[0])
		}
	}
	sum := sumOf(h, first)
	for i := range 1000 {
		sum = cryptRound(h, i, sum, p, s)
	}
	out := append([]byte(prefix), s...)
	out = append(out, '$')
	for i := range 5 {
		low := i + 12
		if low == 16 {
			low = 5
		}
		out = appendCrypt(out, sum[i], sum[i+6], sum[low], 4)
	}
	return string(appendCrypt(out, 0, 0, sum[11], 2))
}

// cryptRound computes a round, which all of these algorithms share.
func cryptRound(h hash.Hash, i int, sum, p, s []byte) []byte {
	h.Reset()
	first, last := sum, p
	if i&1 != 0 {
		first, last = p, sum
	}
	h.Write(first)
	if i%3 != 0 {
		h.Write(s)
	}
	if i%7 != 0 {
		h.Write(p)
	}
	h.Write(last)
	return h.Sum(nil)
}

// shaCrypt returns the hash that the two variants encode.
func shaCrypt(h hash.Hash, p, s []byte) []byte {
	const rounds = 5000
	inner := sumOf(h, p, s, p)
	first := append(append([]byte(nil), p...), s...)
	first = append(first, cycled(inner, len(p))...)
	for n := len(p); n > 0; n >>= 1 {
		if n&1 != 0 {
			first = append(first, inner...)
		} else {
			first = append(first, p...)
		}
	}
	sum := sumOf(h, first)
	dp := cycled(sumOf(h, bytes.Repeat(p, len(p))), len(p))
	ds := cycled(sumOf(h, bytes.Repeat(s, 16+int(sum[0]))), len(s))
	for i := range rounds {
		sum = cryptRound(h, i, sum, dp, ds)
	}
	return sum
}

func shaSalt(salt string) []byte { return []byte(salt[:min(16, len(salt))]) }

func sha256Crypt(password, salt string) string {
	s := shaSalt(salt)
	sum := shaCrypt(sha256.New(), []byte(password), s)
	out := append(append([]byte("$5$"), s...), '$')
	for i, j, k := 0, 10, 20; i != 30 && j != 30 && k != 30; i, j, k = k+1, i+1, j+1 {
		out = appendCrypt(out, sum[i], sum[j], sum[k], 4)
	}
	return string(appendCrypt(out, 0, sum[31], sum[30], 3))
}

func sha512Crypt(password, salt string) string {
	s := shaSalt(salt)
	sum := shaCrypt(sha512.New(), []byte(password), s)
	out := append(append([]byte("$6$"), s...), '$')
	for i, j, k := 0, 21, 42; i != 63 && j != 63 && k != 63; i, j, k = j+1, k+1, i+1 {
		out = appendCrypt(out, sum[i], sum[j], sum[k], 4)
	}
	return string(appendCrypt(out, 0, 0, sum[63], 2))
}

const bcryptDigits = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// bcrypt hashes with a cost and a salt in the format of pw_hash(): "10$" and 22
// digits. step is called regularly with the number of rounds done.
func bcrypt(password string, variant byte, setting string, step func(int) error) (string, error) {
	cost := int(setting[0]-'0')*10 + int(setting[1]-'0')
	salt := bcryptDecode(setting[3:25])
	key, first := bcryptKey(password, variant)
	cipher, err := blowfish.NewSaltedCipher(first, salt)
	if err != nil {
		return "", err
	}
	for i := range uint64(1) << cost {
		if i%64 == 63 {
			if err := step(64); err != nil {
				return "", err
			}
		}
		blowfish.ExpandKey(key, cipher)
		blowfish.ExpandKey(salt, cipher)
	}
	sum := []byte("OrpheanBeholderScryDoubt")
	for i := 0; i < len(sum); i += blowfish.BlockSize {
		for range 64 {
			cipher.Encrypt(sum[i:], sum[i:])
		}
	}
	return "$2" + string(variant) + "$" + setting[:3] + bcryptEncode(salt) + bcryptEncode(sum[:23]), nil
}

// bcryptKey returns the password as the 18 words of Blowfish, and the same for
// the first use of the key. Variant x has the bug of the first crypt_blowfish:
// bytes above 127 change the bytes before them in their word. Variant a changes
// the first word if there are such bytes but the bug would have no effect.
func bcryptKey(password string, variant byte) (key, first []byte) {
	text := password + "\x00"
	var sign, differ uint32
	for i := range 18 {
		var right, mistaken uint32
		for j := range 4 {
			c := text[(4*i+j)%len(text)]
			right = right<<8 | uint32(c)
			mistaken = mistaken<<8 | uint32(int32(int8(c)))
			if j > 0 {
				sign |= mistaken & 0x80
			}
		}
		differ |= right ^ mistaken
		w := right
		if variant == 'x' {
			w = mistaken
		}
		key = append(key, byte(w>>24), byte(w>>16), byte(w>>8), byte(w))
	}
	first = bytes.Clone(key)
	if variant == 'a' && differ == 0 && sign != 0 {
		first[1] ^= 1
	}
	return key, first
}

func bcryptEncode(b []byte) string {
	var out []byte
	for i := 0; i < len(b); i += 3 {
		var group [3]byte
		n := copy(group[:], b[i:])
		v := uint(group[0])<<16 | uint(group[1])<<8 | uint(group[2])
		for k := range n + 1 {
			out = append(out, bcryptDigits[v>>(18-6*k)&63])
		}
	}
	return string(out)
}

// bcryptDecode decodes 22 digits to 16 bytes.
func bcryptDecode(s string) []byte {
	var out []byte
	var v, bits uint
	for i := range len(s) {
		v = v<<6 | uint(bytes.IndexByte([]byte(bcryptDigits), s[i]))
		if bits += 6; bits >= 8 {
			bits -= 8
			out = append(out, byte(v>>bits))
		}
	}
	return out[:16]
}
