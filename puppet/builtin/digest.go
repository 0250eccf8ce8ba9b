package builtin

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// digests returns the functions that compute checksums of strings.
func digests() []*eval.Function {
	sum := func(hash func(string) []byte) []eval.Signature {
		return old("Any $text", func(c *eval.Call, args []value.Value) (value.Value, error) {
			s, err := oldText(c, args, 0)
			if err := c.Step(len(s) / bytesPerStep); err != nil {
				return nil, err
			}
			return value.String(hex.EncodeToString(hash(s))), err
		})
	}
	return []*eval.Function{
		{Name: "md5", Doc: "Returns the MD5 sum of a string, in hexadecimal.", Signatures: sum(md5Sum)},
		{Name: "sha1", Doc: "Returns the SHA-1 sum of a string, in hexadecimal.", Signatures: sum(func(s string) []byte { h := sha1.Sum([]byte(s)); return h[:] })},
		{Name: "sha256", Doc: "Returns the SHA-256 sum of a string, in hexadecimal.", Signatures: sum(sha256Sum)},
		{Name: "digest", Doc: "Returns the SHA-256 sum of a string, in hexadecimal.", Signatures: sum(sha256Sum)},
		{Name: "fqdn_rand", Doc: "Returns a number from 0 to below a limit that is always the same for a node and a seed, and different for other nodes. It can be used to spread work over time.",
			Signatures: old("Any $limit, Any $seed = '', Any $downcase = false, Any *$more", fqdnRand)},
	}
}

// bytesPerStep is the number of bytes that are hashed in the time of a step.
const bytesPerStep = 32

func md5Sum(s string) []byte    { h := md5.Sum([]byte(s)); return h[:] }
func sha256Sum(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

func fqdnRand(c *eval.Call, args []value.Value) (value.Value, error) {
	text, err := Text(c, args[0])
	if err != nil {
		return nil, err
	}
	limit := leadingInt(text)
	if limit <= 0 {
		return nil, eval.Errorf("out-of-range", "fqdn_rand(): the limit is %s: it has to be above 0", inspect(args[0]))
	}
	seed := ""
	if len(args) > 1 {
		if seed, err = Joined(c, args[1], ":"); err != nil {
			return nil, err
		}
	}
	fqdn := ""
	if facts, ok := c.Scope.LookupPath("facts", value.String("networking"), value.String("fqdn")); ok {
		if h, ok := facts.(*value.Hash); ok {
			if net, ok := h.GetString("networking"); ok {
				if h, ok := net.(*value.Hash); ok {
					if v, ok := h.GetString("fqdn"); ok {
						if fqdn, err = Text(c, v); err != nil {
							return nil, err
						}
					}
				}
			}
		}
	}
	if len(args) > 2 && value.Truthy(args[2]) {
		fqdn = strings.ToLower(fqdn)
	}
	return value.Int(SeededRand(md5Sum(fmt.Sprintf("%s:%d:%s", fqdn, limit, seed)), uint64(limit))), nil
}

// leadingInt returns the integer at the beginning of s, as Ruby's to_i does.
func leadingInt(s string) int64 {
	s = strings.TrimLeft(s, spaces)
	n := 0
	if n < len(s) && (s[n] == '-' || s[n] == '+') {
		n++
	}
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	i, ok := new(big.Int).SetString(strings.TrimPrefix(s[:n], "+"), 10)
	if !ok || !i.IsInt64() {
		return 0
	}
	return i.Int64()
}
