package stdlib

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// rotations returns the functions whose results depend on the name of the machine.
func rotations() []*eval.Function {
	rotate := func(c *eval.Call, list []value.Value) ([]value.Value, error) {
		if len(list) < 2 {
			return list, nil
		}
		fqdn, err := factAt(c, "networking", "fqdn")
		if err != nil {
			return nil, err
		}
		seed, err := builtin.Joined(c, value.NewArray(fqdn, value.NewArray(c.Args[1:]...)), ":")
		if err != nil {
			return nil, err
		}
		sum := md5.Sum([]byte(seed))
		n := int(builtin.SeededRand(sum[:], uint64(len(list))))
		return slices.Concat(list[n:], list[:n]), nil
	}
	return []*eval.Function{
		{Name: "stdlib::fqdn_rotate", Doc: "Returns an array or a string that is rotated. The rotation is always the same for a node and seeds, and different for other nodes.",
			Signatures: []eval.Signature{
				{Params: "String $text, Variant[Integer, String] *$seeds", Run: func(c *eval.Call) (value.Value, error) {
					chars, err := characters(c, string(c.Args[0].(value.String)))
					if err != nil {
						return nil, err
					}
					list, err := rotate(c, stringsOf(chars).Elems())
					if err != nil {
						return nil, err
					}
					return concatenated(list), nil
				}},
				{Params: "Array $list, Variant[Integer, String] *$seeds", Run: func(c *eval.Call) (value.Value, error) {
					list, err := rotate(c, c.Args[0].(*value.Array).Elems())
					return value.NewArray(list...), err
				}},
			}},
		{Name: "stdlib::fqdn_rand_string", Doc: "Returns a string of letters and digits, or of given characters, with a given length. It is always the same for a node and seeds, and different for other nodes.",
			Signatures: one("Integer[1] $length, Optional[String] $characters = '', Any *$seeds", func(c *eval.Call) (value.Value, error) {
				set := "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				if s, ok := c.Arg(1).(value.String); ok && s != "" {
					set = string(s)
				}
				length := value.ClampInt(c.Args[0])
				chars, err := characters(c, set)
				if err != nil {
					return nil, err
				}
				if err := sizeFor(c, length, chars); err != nil {
					return nil, err
				}
				var seed []value.Value
				if len(c.Args) > 2 {
					seed = c.Args[2:]
				}
				var b strings.Builder
				for i := range length {
					text, err := builtin.Joined(c, value.NewArray(append(slices.Clone(seed), i+1)...), ":")
					if err != nil {
						return nil, err
					}
					n, err := c.Call("fqdn_rand", nil, value.Int(len(chars)), value.String(text))
					if err != nil {
						return nil, err
					}
					at, ok := n.(value.Int)
					if !ok || at < 0 || int(at) >= len(chars) {
						return nil, eval.Errorf("internal", "fqdn_rand() returned %s for a limit of %d", inspect(n), len(chars))
					}
					b.WriteString(chars[at])
				}
				return value.String(b.String()), nil
			})},
		old("fqdn_uuid", "Any $name", "Returns the UUID (version 5 of RFC 4122) of a name of the DNS.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				name, ok := args[0].(value.String)
				if !ok {
					return nil, wrong(c, args[0], "a string")
				}
				space := []byte{0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8} // RFC 4122, appendix C
				sum := sha1.Sum(append(space, name...))
				sum[6] = sum[6]&0x0f | 0x50
				sum[8] = sum[8]&0x3f | 0x80
				s := hex.EncodeToString(sum[:16])
				return value.String(s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]), nil
			}),
	}
}

// sizeFor returns an error if a string of n of the given characters would be
// too large.
func sizeFor(c *eval.Call, n value.Int, chars []string) error {
	const most = 1 << 40 // larger than any limit, without overflow
	longest := 1
	for _, s := range chars {
		longest = max(longest, len(s))
	}
	return c.Size(int(min(n, most)) * longest)
}

// textSize returns the total size of the strings in some values.
func textSize(list ...value.Value) int {
	n := 0
	for _, v := range list {
		switch v := v.(type) {
		case value.String:
			n += len(v)
		case *value.Array:
			n += textSize(v.Elems()...)
		case *value.Hash:
			for k, e := range v.All() {
				n += textSize(k, e)
			}
		}
	}
	return n
}

// concatenated returns the concatenation of strings.
func concatenated(list []value.Value) value.String {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(string(v.(value.String)))
	}
	return value.String(b.String())
}

// random returns the functions whose results are random or depend on given seeds.
func random(source io.Reader) []*eval.Function {
	return []*eval.Function{
		{Name: "stdlib::seeded_rand", Doc: "Returns a number from 0 to below a limit that is always the same for a seed.",
			Signatures: one("Integer[1] $limit, String $seed", func(c *eval.Call) (value.Value, error) {
				sum := md5.Sum([]byte(c.Args[1].(value.String)))
				limit, ok := c.Args[0].(value.Int)
				if !ok {
					return nil, eval.Errorf("out-of-range", "stdlib::seeded_rand(): the limit %s does not fit in 64 bits", value.InspectShort(c.Args[0], 80))
				}
				return value.Int(builtin.SeededRand(sum[:], uint64(limit))), nil
			})},
		{Name: "stdlib::seeded_rand_string", Doc: "Returns a string of letters and digits, or of given characters, with a given length. It is always the same for a seed.",
			Signatures: one("Integer[1] $length, String $seed, String[2] $characters = ''", func(c *eval.Call) (value.Value, error) {
				set := "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				if s, ok := c.Arg(2).(value.String); ok {
					set = string(s)
				}
				length := value.ClampInt(c.Args[0])
				chars, err := characters(c, set)
				if err != nil {
					return nil, err
				}
				if err := sizeFor(c, length, chars); err != nil {
					return nil, err
				}
				sum := sha256.Sum256([]byte(c.Args[1].(value.String)))
				m := builtin.NewTwister(sum[:])
				var b strings.Builder
				for i := range length {
					if i%1024 == 0 {
						if err := c.Step(1); err != nil {
							return nil, err
						}
					}
					b.WriteString(chars[m.Below(uint64(len(chars)))])
				}
				return value.String(b.String()), nil
			})},
		old("shuffle", "Any $value, Any *$ignored", "Returns a string or an array in random order.",
			func(c *eval.Call, args []value.Value) (value.Value, error) {
				switch v := args[0].(type) {
				case *value.Array:
					list := slices.Clone(v.Elems())
					err := shuffle(c, source, len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
					return value.NewArray(list...), err
				case value.String:
					chars, err := characters(c, string(v))
					if err != nil {
						return nil, err
					}
					err = shuffle(c, source, len(chars), func(i, j int) { chars[i], chars[j] = chars[j], chars[i] })
					return value.String(strings.Join(chars, "")), err
				}
				return nil, wrong(c, args[0], "a string or an array")
			}),
	}
}

func shuffle(c *eval.Call, source io.Reader, n int, swap func(i, j int)) error {
	for i := n - 1; i > 0; i-- {
		if source == nil {
			return missing(c, "no randomness")
		}
		var b [8]byte
		if _, err := io.ReadFull(source, b[:]); err != nil {
			return err
		}
		// 64 bits, so that the bias of the remainder is negligible.
		swap(i, int(binary.BigEndian.Uint64(b[:])%uint64(i+1)))
	}
	return nil
}
