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

// digests are the functions that make numbers of texts.
func digests() []*eval.Function {
	sum := func(hash func(string) []byte) []eval.Signature {
		return one("String $text", func(c *eval.Call) (value.Value, error) {
			return value.String(hex.EncodeToString(hash(string(c.Args[0].(value.String))))), nil
		})
	}
	return []*eval.Function{
		{Name: "md5", Doc: "Returns the MD5 sum of a string, in hexadecimal.", Signatures: sum(md5Sum)},
		{Name: "sha1", Doc: "Returns the SHA-1 sum of a string, in hexadecimal.", Signatures: sum(func(s string) []byte { h := sha1.Sum([]byte(s)); return h[:] })},
		{Name: "sha256", Doc: "Returns the SHA-256 sum of a string, in hexadecimal.", Signatures: sum(sha256Sum)},
		{Name: "digest", Doc: "Returns the SHA-256 sum of a string, in hexadecimal.", Signatures: sum(sha256Sum)},
		{Name: "fqdn_rand", Doc: "Returns a number from 0 to below a limit that is always the same for a node and a seed, and another for other nodes: to spread what they do over time.",
			Signatures: one("Any $limit, Any $seed = '', Any $downcase = false", fqdnRand)},
	}
}

func md5Sum(s string) []byte    { h := md5.Sum([]byte(s)); return h[:] }
func sha256Sum(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

func fqdnRand(c *eval.Call) (value.Value, error) {
	limit := leadingInt(value.RubyString(c.Args[0]))
	if limit <= 0 {
		return nil, eval.Errorf("out-of-range", "fqdn_rand(): the limit is %s: it has to be above 0", value.Inspect(c.Args[0]))
	}
	seed := ""
	if v := c.Arg(1); v != nil {
		parts, err := flatten(c, nil, []value.Value{v})
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = value.RubyString(p)
		}
		seed = strings.Join(texts, ":")
	}
	fqdn := ""
	if facts, ok := c.Scope.Lookup("facts"); ok {
		if h, ok := facts.(*value.Hash); ok {
			if net, ok := h.GetString("networking"); ok {
				if h, ok := net.(*value.Hash); ok {
					if v, ok := h.GetString("fqdn"); ok {
						fqdn = value.RubyString(v)
					}
				}
			}
		}
	}
	if v := c.Arg(2); v != nil && value.Truthy(v) {
		fqdn = strings.ToLower(fqdn)
	}
	return value.Int(SeededRand(md5Sum(fmt.Sprintf("%s:%d:%s", fqdn, limit, seed)), uint64(limit))), nil
}

// leadingInt is the number a text begins with, as Ruby's to_i reads it.
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
