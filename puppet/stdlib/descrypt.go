package stdlib

import (
	"errors"
	"fmt"
	"strings"
)

// The tables of DES are those of FIPS 46-3, with places from 1 on. IP, FP and E have simple rules, so they are computed.
var (
	desPC1 = [56]byte{
		57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, 10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36,
		63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, 14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
	}
	desPC2 = [48]byte{
		14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2,
		41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
	}
	desP      = [32]byte{16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, 2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25}
	desShifts = [16]int{1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1}
	// The boxes have four rows of 16 hexadecimal digits.
	desBoxes = [8]string{
		"e4d12fb83a6c59070f74e2d1a6cb953841e8d62bfc973a50fc8249175b3ea06d",
		"f18e6b34972dc05a3d47f28ec01a69b50e7ba4d158c6932fd8a13f42b67c05e9",
		"a09e63f51dc7b428d709346a285ecbf1d6498f30b12c5ae71ad069874fe3b52c",
		"7de3069a1285bc4fd8b56f03472c1ae9a690cb7df13e52843f06a1d8945bc72e",
		"2c417ab6853fd0e9eb2c47d150fa3986421bad78f9c5630eb8c71e2d6f09a453",
		"c1af92680d34e75baf427c9561de0b389ef528c3704a1db6432c95fabe17608d",
		"4b2ef08d3c975a61d0b7491ae35c2f8614bdc37eaf6805926bd814a7950fe23c",
		"d2846fb1a93e50c71fd8a374c56b0e927b419ce206adf35821e74a8dfc90356b",
	}
)

// desIP returns the place, from 0 on, of the bit that the initial permutation of DES moves to place i.
func desIP(i int) int { return []int{57, 59, 61, 63, 56, 58, 60, 62}[i/8] - i%8*8 }

// desCrypt returns the hash of a password as the first crypt(3) of Unix stores it. It has one bit in each byte, because no program needs many of
// these hashes. The password ends after 8 bytes, and only 7 bits of each byte are used. salt has two digits of cryptDigits.
func desCrypt(password, salt string) string {
	var key, block [64]byte
	for i, c := range []byte(password[:min(8, len(password))]) {
		for j := range 7 {
			key[8*i+j] = c >> (6 - j) & 1
		}
	}
	var expand [48]int
	for i := range expand {
		expand[i] = (4*(i/6) + i%6 + 31) % 32
	}
	for i := range 2 {
		digit := strings.IndexByte(cryptDigits, salt[i])
		for j := range 6 {
			if at := 6*i + j; digit>>j&1 != 0 {
				expand[at], expand[at+24] = expand[at+24], expand[at]
			}
		}
	}
	keys := desKeys(&key)
	for range 25 {
		desEncrypt(&block, &keys, &expand)
	}
	out := []byte(salt[:2])
	for i := 0; i < 66; i += 6 {
		v := 0
		for j := i; j < i+6; j++ {
			v <<= 1
			if j < len(block) {
				v |= int(block[j])
			}
		}
		out = append(out, cryptDigits[v])
	}
	return string(out)
}

// desKeys returns the keys of the rounds.
func desKeys(key *[64]byte) (keys [16][48]byte) {
	var halves [56]byte
	for i, from := range desPC1 {
		halves[i] = key[from-1]
	}
	for round, n := range desShifts {
		for _, half := range [][]byte{halves[:28], halves[28:]} {
			copy(half, append(append([]byte(nil), half[n:]...), half[:n]...))
		}
		for i, from := range desPC2 {
			keys[round][i] = halves[from-1]
		}
	}
	return keys
}

func desEncrypt(block *[64]byte, keys *[16][48]byte, expand *[48]int) {
	var left, right [32]byte
	for i := range 32 {
		left[i], right[i] = block[desIP(i)], block[desIP(i+32)]
	}
	for _, key := range keys {
		var mixed [32]byte
		for box := range 8 {
			var b [6]byte
			for k := range b {
				at := 6*box + k
				b[k] = right[expand[at]] ^ key[at]
			}
			digit := desBoxes[box][b[0]<<5|b[5]<<4|b[1]<<3|b[2]<<2|b[3]<<1|b[4]]
			v := strings.IndexByte("0123456789abcdef", digit)
			for k := range 4 {
				mixed[4*box+k] = byte(v >> (3 - k) & 1)
			}
		}
		next := left
		for i, from := range desP {
			next[i] ^= mixed[from-1]
		}
		left, right = right, next
	}
	for i := range 32 { // the halves are exchanged after the last round
		block[desIP(i)], block[desIP(i+32)] = right[i], left[i]
	}
}

// Crypt returns the hash of a password as crypt(3) with a salt, which can begin with $1$, $5$ or $6$.
func Crypt(password, salt string) (string, error) {
	hash, digits := desCrypt, salt[:min(2, len(salt))]
	valid := len(digits) == 2
	if rest, is := strings.CutPrefix(salt, "$"); is {
		kind, text, _ := strings.Cut(rest, "$")
		digits, _, _ = strings.Cut(text, "$")
		hash, valid = map[string]func(password, salt string) string{"1": unixMD5, "5": sha256Crypt, "6": sha512Crypt}[kind], digits != ""
	}
	if !valid || hash == nil || strings.Trim(digits, cryptDigits) != "" {
		return "", errors.New("the salt must begin with two characters of ./0-9A-Za-z, or with $1$, $5$ or $6$ and such characters")
	}
	if err := hashable(password); err != nil {
		return "", err
	}
	return hash(password, digits), nil
}

// unixMD5 is md5Crypt as crypt(3) has it.
func unixMD5(password, salt string) string {
	return md5Crypt("$1$", password, salt[:min(8, len(salt))])
}

// APR1 returns the hash of a password as htpasswd -m of Apache stores it. The salt of a hash that Apache accepts has at most 8
// bytes; the modules also use longer ones.
func APR1(password, salt string) (string, error) {
	if len(salt) > 64 || strings.ContainsAny(salt, "$:\r\n\x00") {
		return "", errors.New("the salt must have at most 64 bytes, without $, colons and line breaks")
	}
	if err := hashable(password); err != nil {
		return "", err
	}
	return md5Crypt("$apr1$", password, salt), nil
}

func hashable(password string) error {
	switch {
	case strings.Contains(password, "\x00"):
		return errors.New("the password has a character NUL")
	case len(password) > maxPassword:
		return fmt.Errorf("the password has more than %d bytes", maxPassword)
	}
	return nil
}
