package stdlib

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// digests returns the functions that compute checksums of values.
func digests() []*eval.Function {
	const params = "Variant[ScalarData, Sensitive[ScalarData], Binary, Sensitive[Binary]] $value"
	sum := func(of func(string) string) []eval.Signature {
		return one(params, func(c *eval.Call) (value.Value, error) {
			v := c.Args[0]
			if s, ok := v.(*value.Sensitive); ok {
				v = s.Unwrap()
			}
			text, err := builtin.Text(c, v)
			return value.String(of(text)), err
		})
	}
	return []*eval.Function{
		{Name: "stdlib::crc32", Doc: "Returns the CRC-32 checksum of the text of a value, in hexadecimal.",
			Signatures: sum(func(s string) string { return strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(s))), 16) })},
		{Name: "stdlib::sha256", Doc: "Returns the SHA-256 checksum of the text of a value, in hexadecimal.",
			Signatures: sum(func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) })},
	}
}

// passwords returns the functions that hash passwords for storage.
func passwords(source io.Reader) []*eval.Function {
	return []*eval.Function{
		old("pw_hash", "Any $password, Any $type, Any $salt", "Returns a password as crypt(3) stores it: type MD5, SHA-256, SHA-512, bcrypt, bcrypt-a, bcrypt-x or bcrypt-y. If the password is missing, the result is undef.", pwHash),
		old("str2saltedpbkdf2", "Any $password, Any $salt, Any $iterations", "Returns a password as macOS stores it: a hash with password_hex, salt_hex and iterations, of PBKDF2 with SHA-512.", saltedPBKDF2),
		old("str2saltedsha512", "Any $password", "Returns a password as older versions of macOS store it: SHA-512 with a random salt before it, in hexadecimal.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				s, ok := args[0].(value.String)
				if !ok {
					return nil, wrong(c, args[0], "a string")
				}
				if source == nil {
					return nil, missing(c, "no randomness")
				}
				var salt [4]byte
				if _, err := io.ReadFull(source, salt[:]); err != nil {
					return nil, err
				}
				h := sha512.Sum512(append(salt[:], s...))
				return value.String(hex.EncodeToString(append(salt[:], h[:]...))), nil
			}),
	}
}

// revealed returns the arguments without Sensitive around them.
func revealed(args []value.Value) []value.Value {
	for i, v := range args {
		if s, ok := v.(*value.Sensitive); ok {
			args[i] = s.Unwrap()
		}
	}
	return args
}

// maxPassword is the largest length of a password for crypt(3) of libxcrypt.
const maxPassword = 512

// maxCost is the highest cost of bcrypt that is computed. Each cost doubles the
// work of the one before it; this one takes a few seconds.
//
// Differs from Puppet: it computes costs up to 31, which takes days.
const maxCost = 16

func pwHash(c *eval.Call, args []value.Value) (value.Value, error) {
	args = revealed(args)
	if value.IsUndef(args[0]) {
		args[0] = value.String("")
	}
	password, ok := args[0].(value.String)
	kind, two := args[1].(value.String)
	salt, three := args[2].(value.String)
	if !ok || !two || !three {
		return nil, invalid(c, "it takes three strings") // they are secrets
	}
	name := strings.ToLower(string(kind))
	prefix, blowfish := strings.CutPrefix(name, "bcrypt")
	switch {
	case name == "md5" || name == "sha-256" || name == "sha-512":
		if salt == "" || strings.IndexFunc(string(salt), notSalt) >= 0 {
			return nil, invalid(c, "the salt can have letters, digits, points and slashes, and one of them at least")
		}
	case blowfish && (prefix == "" || prefix == "-a" || prefix == "-x" || prefix == "-y"):
		if !bcryptSalt(string(salt)) {
			return nil, invalid(c, "the salt can be two digits from 04 to %d, a $, and 22 letters, digits, points and slashes", maxCost)
		}
		// Differs from Puppet: its result is *0, which never matches a
		// password.
		if strings.IndexFunc(string(salt), notSetting) >= 0 {
			return nil, invalid(c, "the salt has a space, a sign of : ; * ! \\, or a character outside of ASCII behind it")
		}
		if cost := string(salt[:2]); cost > strconv.Itoa(maxCost) {
			return nil, eval.Errorf("too-large", "%s(): a cost of %s is more than the limit of %d, and each step doubles the time: give a salt of a lower cost, such as 10$ and 22 letters, or hash the password with another program and give the hash", bare(c), cost, maxCost)
		}
	default:
		return nil, invalid(c, "the type is %s: it can be MD5, SHA-256, SHA-512, bcrypt, bcrypt-a, bcrypt-x or bcrypt-y", inspect(kind))
	}
	switch {
	case password == "":
		return value.Undef{}, nil
	case strings.IndexByte(string(password), 0) >= 0:
		return nil, invalid(c, "the password has a character NUL")
	case len(password) > maxPassword:
		return nil, invalid(c, "the password has more than %d bytes", maxPassword)
	}
	var out string
	var err error
	switch name {
	case "md5":
		out = unixMD5(string(password), string(salt))
	case "sha-256":
		out = sha256Crypt(string(password), string(salt))
	case "sha-512":
		out = sha512Crypt(string(password), string(salt))
	default:
		variant := byte('b')
		if prefix != "" {
			variant = prefix[1]
		}
		out, err = bcrypt(string(password), variant, string(salt), c.Step)
	}
	if err != nil {
		return nil, err
	}
	return value.String(out), nil
}

// notSetting reports whether crypt(3) of libxcrypt rejects a character in a
// setting.
func notSetting(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(":;*!\\", r) }

func notSalt(r rune) bool { return !isAlnum(r) && r != '.' && r != '/' }

// bcryptSalt reports whether s begins with a cost and a salt.
func bcryptSalt(s string) bool {
	if len(s) < 25 || s[2] != '$' || strings.IndexFunc(s[3:25], notSalt) >= 0 {
		return false
	}
	cost, err := strconv.Atoi(s[:2])
	return err == nil && isDigit(s[0]) && 4 <= cost && cost <= 31
}

func saltedPBKDF2(c *eval.Call, args []value.Value) (value.Value, error) {
	args = revealed(args)
	password, ok := args[0].(value.String)
	salt, two := args[1].(value.String)
	n, three := args[2].(value.Int)
	switch {
	case !ok || !two || !three:
		return nil, invalid(c, "it takes a password and a salt as strings, and a whole number")
	case len(salt) < 8:
		return nil, invalid(c, "the salt has %d bytes: it can have 8 or more", len(salt))
	case n <= 40_000 || n >= 70_000:
		return nil, invalid(c, "%d iterations: it can be from 40001 to 69999", n)
	}
	key, err := pbkdf2.Key(sha512.New, string(password), []byte(salt), int(n), 128)
	if err != nil {
		return nil, err
	}
	return value.NewHash(
		value.Entry{Key: value.String("password_hex"), Value: value.String(hex.EncodeToString(key))},
		value.Entry{Key: value.String("salt_hex"), Value: value.String(hex.EncodeToString([]byte(salt)))},
		value.Entry{Key: value.String("iterations"), Value: n},
	), nil
}
