package stdlib

import (
	"math/big"
	"net/netip"
	"strings"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// facts returns the functions for facts of the machine.
func facts() []*eval.Function {
	has := func(kind string) []eval.Signature {
		return one("String $address", func(c *eval.Call) (value.Value, error) {
			if a, err := netip.ParseAddr(string(c.Args[0].(value.String))); err != nil || !a.Is4() {
				return nil, invalid(c, "%s is not an IPv4 address", inspect(c.Args[0]))
			}
			return anyInterface(c, kind, c.Args[0])
		})
	}
	return []*eval.Function{
		{Name: "fact", Doc: "Returns the fact of a name with points, such as 'os.release.major', or undef. A part that contains points must be in double quotes. The parts for elements of arrays are numbers.",
			Signatures: one("String $name", fact)},
		{Name: "stdlib::has_interface_with", Doc: "Returns whether the machine has a network interface with a name, or with a value of a kind.",
			Signatures: []eval.Signature{
				{Params: "String[1] $interface", Run: func(c *eval.Call) (value.Value, error) {
					h, err := interfaces(c)
					if err != nil {
						return nil, err
					}
					_, ok := h.Get(c.Args[0])
					return value.Bool(ok), nil
				}},
				{Params: "Enum['macaddress', 'netmask', 'ipaddress', 'network', 'ip', 'mac'] $kind, String[1] $value", Run: func(c *eval.Call) (value.Value, error) {
					kind := string(c.Args[0].(value.String))
					return anyInterface(c, strings.TrimSuffix(kind, "address"), c.Args[1])
				}},
			}},
		{Name: "stdlib::has_ip_address", Doc: "Returns whether the machine has an IPv4 address.", Signatures: has("ip")},
		{Name: "stdlib::has_ip_network", Doc: "Returns whether the machine has an interface in an IPv4 network.", Signatures: has("network")},
		{Name: "stdlib::os_version_gte", Doc: "Returns whether the operating system has a name, and its major version is another version or later.",
			Signatures: one("String[1] $name, String[1] $version", func(c *eval.Call) (value.Value, error) {
				name, err := factAt(c, "os", "name")
				if err != nil {
					return nil, err
				}
				if name != c.Args[0] {
					return value.Bool(false), nil
				}
				major, err := factAt(c, "os", "release", "major")
				if err != nil {
					return nil, err
				}
				have, err := builtin.Text(c, major)
				return value.Bool(builtin.CompareVersions(have, string(c.Args[1].(value.String)), false) >= 0), err
			})},
	}
}

// factAt returns the fact at a path, or an error if it does not exist.
func factAt(c *eval.Call, path ...string) (value.Value, error) {
	keys := make([]value.Value, len(path))
	for i, p := range path {
		keys[i] = value.String(p)
	}
	v, _ := c.Scope.LookupPath("::facts", keys...)
	for _, p := range path {
		h, ok := v.(*value.Hash)
		if ok {
			v, ok = h.GetString(p)
		}
		if !ok {
			return nil, eval.Errorf("unknown-fact", "%s(): the fact %s does not exist", bare(c), strings.Join(path, "."))
		}
	}
	return v, nil
}

func interfaces(c *eval.Call) (*value.Hash, error) {
	v, err := factAt(c, "networking", "interfaces")
	if err != nil {
		return nil, err
	}
	h, ok := v.(*value.Hash)
	if !ok {
		return nil, eval.Errorf("unknown-fact", "%s(): the fact networking.interfaces is not a hash", bare(c))
	}
	return h, nil
}

func anyInterface(c *eval.Call, kind string, want value.Value) (value.Value, error) {
	all, err := interfaces(c)
	if err != nil {
		return nil, err
	}
	for _, v := range all.All() {
		if h, ok := v.(*value.Hash); ok {
			if have, ok := h.GetString(kind); ok && rubyEqual(have, want) {
				return value.Bool(true), nil
			}
		}
	}
	return value.Bool(false), nil
}

func fact(c *eval.Call) (value.Value, error) {
	name := string(c.Args[0].(value.String))
	path := factPath(name)
	keys := make([]value.Value, len(path))
	for i, p := range path {
		keys[i] = value.String(p)
	}
	v, ok := c.Scope.LookupPath("::facts", keys...)
	if !ok {
		return value.Undef{}, nil
	}
	for i, part := range path {
		switch at := v.(type) {
		case value.Undef:
			return at, nil
		case *value.Hash:
			if v, ok = at.GetString(part); !ok {
				v = value.Undef{}
			}
		case *value.Array:
			v = value.Undef{}
			n, ok := rubyInteger(part)
			if !ok {
				c.Log(eval.Warning, "fact "+name+" is undef: "+strings.Join(path[:i], ".")+" is an array, and "+part+" is not an index of it")
				return v, nil
			}
			if n < 0 {
				n += int64(at.Len())
			}
			if n >= 0 && n < int64(at.Len()) {
				v = at.At(int(n))
			}
		default:
			c.Log(eval.Warning, "fact "+name+" is undef: "+strings.Join(path[:i], ".")+" is neither a hash nor an array, and does not have the element "+part)
			return value.Undef{}, nil
		}
	}
	return v, nil
}

// factPath splits s at points that are not in double quotes. It ignores empty
// parts and a quote that is not closed.
func factPath(s string) []string {
	var path []string
	for s != "" {
		switch {
		case s[0] == '.':
			s = s[1:]
		case s[0] == '"':
			s = s[1:]
			if i := strings.IndexByte(s, '"'); i > 0 {
				path, s = append(path, s[:i]), s[i+1:]
			}
		default:
			i := strings.IndexAny(s, `."`)
			if i < 0 {
				i = len(s)
			}
			path, s = append(path, s[:i]), s[i:]
		}
	}
	return path
}

// rubyInteger parses an integer as Ruby's Integer() does: 0x1f, 0b1, 017,
// 1_000.
func rubyInteger(s string) (int64, bool) {
	s = strings.Trim(s, " \t\n\v\f\r")
	t := strings.TrimLeft(s, "+-")
	if len(s)-len(t) > 1 || t == "" || t[0] == '_' || len(t) > maxDigits {
		return 0, false
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(t), "0d"); ok {
		t = rest
	}
	n, ok := new(big.Int).SetString(t, 0)
	if !ok || !n.IsInt64() {
		return 0, false
	}
	if s[0] == '-' {
		n.Neg(n)
	}
	return n.Int64(), true
}
