package published

import (
	"cmp"
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/stdlib"
	"bolt/puppet/value"
)

// sha1Hash returns the hash of a password as htpasswd -s of Apache stores it.
func sha1Hash(password value.String) value.Value {
	sum := sha1.Sum([]byte(password))
	return value.String("{SHA}" + base64.StdEncoding.EncodeToString(sum[:]))
}

// hashOf returns a function of a password and a salt. Its errors do not show them.
func hashOf(hash func(password, salt string) (string, error)) func(c *eval.Call, args []value.Value) (value.Value, error) {
	return func(c *eval.Call, args []value.Value) (value.Value, error) {
		password, ok := args[0].(value.String)
		salt, two := args[1].(value.String)
		if !ok || !two || len(args) != 2 {
			return nil, invalid(c, "takes two strings")
		}
		const rounds = 5000 // of the most expensive hash
		if err := c.Step(rounds); err != nil {
			return nil, err
		}
		out, err := hash(string(password), string(salt))
		if err != nil {
			return nil, invalid(c, "%v", err)
		}
		return value.String(out), nil
	}
}

func webServers() []Set {
	return []Set{
		{"puppetlabs/apache", []*eval.Function{
			function("apache::bool2httpd", "Any $value", "Returns On or Off for a boolean, other values as strings.", bool2httpd),
			former("bool2httpd", "apache::bool2httpd"),
			function("apache::pw_hash", "String[1] $password", "Returns the hash of a password for basic authentication.", func(c *eval.Call) (value.Value, error) {
				return sha1Hash(c.Args[0].(value.String)), nil
			}),
			former("apache::apache_pw_hash", "apache::pw_hash"),
			former("apache_pw_hash", "apache::pw_hash"),
			function("apache::authz_core_config", "Hash $config", "Returns the lines of authorization directives.", func(c *eval.Call) (value.Value, error) {
				lines, err := authz(c, c.Args[0].(*value.Hash), 1)
				return value.NewArray(lines...), err
			}),
		}},
		{"puppetlabs/haproxy", []*eval.Function{
			function("haproxy::generate_error_message", "String $message", "Returns an error.", func(c *eval.Call) (value.Value, error) {
				return nil, eval.Errorf("failed", "%s", str(c, 0))
			}),
			function("haproxy::sort_bind", "Hash $bind", "Returns addresses and their options, sorted by address.", sortBind),
			function("haproxy::validate_ip_addr", "String $address", "Returns whether a string is an IP address.", func(c *eval.Call) (value.Value, error) {
				_, _, ok := stdlib.ParseIP(str(c, 0))
				return value.Bool(ok), nil
			}),
		}},
		{"leinaddm/htpasswd", []*eval.Function{
			old("ht_crypt", 2, "Returns the hash of a password as crypt(3) with a salt.", hashOf(stdlib.Crypt)),
			function("ht_md5", "String[1] $password, String[1] $salt", "Returns the hash of a password as htpasswd -m with a salt.", func(c *eval.Call) (value.Value, error) {
				return hashOf(stdlib.APR1)(c, c.Args)
			}),
			old("ht_sha1", 1, "Returns the hash of a password as htpasswd -s.", func(c *eval.Call, args []value.Value) (value.Value, error) {
				if text, ok := args[0].(value.String); ok && len(args) == 1 {
					return sha1Hash(text), nil
				}
				return nil, invalid(c, "takes one string")
			}),
		}},
		{"citrin/htpasswd", []*eval.Function{
			function("htpasswd::ht_crypt", "String $password, String $salt", "Returns the hash of a password as crypt(3) with a salt.", func(c *eval.Call) (value.Value, error) {
				return hashOf(stdlib.Crypt)(c, c.Args)
			}),
			function("htpasswd::ht_md5", "String $password, String $salt", "Returns the hash of a password as htpasswd -m with a salt.", func(c *eval.Call) (value.Value, error) {
				return hashOf(stdlib.APR1)(c, c.Args)
			}),
			function("htpasswd::ht_sha1", "String $password", "Returns the hash of a password as htpasswd -s.", func(c *eval.Call) (value.Value, error) {
				return sha1Hash(c.Args[0].(value.String)), nil
			}),
		}},
		{"puppet/php", []*eval.Function{
			old("to_hash_settings", 1, "Returns a hash of settings as resources: the keys become titles.", func(c *eval.Call, args []value.Value) (value.Value, error) {
				h, ok := args[0].(*value.Hash)
				if !ok {
					return nil, invalid(c, "takes a hash, got %s", value.DescribeValue(args[0]))
				}
				prefix := ""
				if len(args) > 1 {
					id, err := builtin.Text(c, args[1])
					if err != nil {
						return nil, err
					}
					prefix = id + ": "
				}
				var b value.HashBuilder
				for k, v := range h.All() {
					key, ok := k.(value.String)
					if !ok {
						return nil, invalid(c, "takes strings as keys, got %s", value.DescribeValue(k))
					}
					b.Put(value.String(prefix)+key, hash("key", k, "value", v))
				}
				return b.Build(), nil
			}),
			{Name: "php::ensure_prefix", Doc: "Returns an array, or a hash with its keys, so that all strings have a prefix.", Signatures: []eval.Signature{
				{Params: "Variant[Array, Hash] $all, Variant[Undef, String[0, 0]] $prefix", Run: func(c *eval.Call) (value.Value, error) { return c.Args[0], nil }},
				{Params: "Variant[Array, Hash] $all, String[1] $prefix", Run: ensurePrefix},
			}},
		}},
		{"puppetlabs/tomcat", []*eval.Function{same("tomcat::change", "Any $value")}},
	}
}

func bool2httpd(c *eval.Call) (value.Value, error) {
	switch v := c.Args[0].(type) {
	case value.Bool:
		if v {
			return value.String("On"), nil
		}
		return value.String("Off"), nil
	case value.String:
		switch lower := strings.ToLower(string(v)); {
		case strings.Contains(lower, "false"):
			return value.String("Off"), nil
		case strings.Contains(lower, "true"):
			return value.String("On"), nil
		}
		return v, nil
	}
	if value.IsUndef(c.Args[0]) {
		return value.String("Off"), nil
	}
	s, err := builtin.Text(c, c.Args[0])
	return value.String(s), err
}

// authz returns the lines of directives at a depth.
func authz(c *eval.Call, h *value.Hash, depth int) (lines []value.Value, err error) {
	indent := strings.Repeat("  ", depth)
	add := func(s string) { lines = append(lines, value.String(indent+s)) }
	for k, v := range h.All() {
		key, ok := k.(value.String)
		if !ok {
			return nil, invalid(c, "takes strings as keys, got %s", value.DescribeValue(k))
		}
		directive := ""
		for word := range strings.SplitSeq(string(key), "_") {
			directive += value.Capitalize(word)
		}
		switch v := v.(type) {
		case *value.Hash:
			add("<" + directive + ">")
			below, err := authz(c, v, depth+1)
			if err != nil {
				return nil, err
			}
			lines = append(lines, below...)
			add("</" + directive + ">")
		case *value.Array:
			for _, elem := range v.Elems() {
				text, err := builtin.Text(c, elem)
				if err != nil {
					return nil, err
				}
				add(directive + " " + text)
			}
		default:
			return nil, invalid(c, "takes hashes and arrays as values, got %s", value.DescribeValue(v))
		}
	}
	return lines, nil
}

var bindAddress = lazyregexp.New(`(?m)^((\d+)\.(\d+)\.(\d+)\.(\d+))?(.*)`)

func sortBind(c *eval.Call) (value.Value, error) {
	type bind struct {
		address uint64
		rest    string
		pair    value.Value
	}
	var list []bind
	for k, v := range c.Args[0].(*value.Hash).All() {
		key, ok := k.(value.String)
		if !ok {
			return nil, invalid(c, "takes strings as keys, got %s", value.DescribeValue(k))
		}
		b := bind{pair: value.NewArray(k, v)}
		m := bindAddress().FindStringSubmatch(string(key))
		if m[1] != "" {
			for _, octet := range m[2:6] {
				n, _ := strconv.ParseUint(octet, 10, 32)
				b.address = b.address<<8 + n
			}
			b.address++ // after the binds without an address
		}
		b.rest = m[6]
		list = append(list, b)
	}
	slices.SortStableFunc(list, func(a, b bind) int {
		return cmp.Or(cmp.Compare(a.address, b.address), strings.Compare(a.rest, b.rest))
	})
	pairs := make([]value.Value, len(list))
	for i, b := range list {
		pairs[i] = b.pair
	}
	return value.NewArray(pairs...), nil
}

func ensurePrefix(c *eval.Call) (value.Value, error) {
	prefix := str(c, 1)
	prefixed := func(v value.Value) (value.Value, error) {
		s, err := builtin.Text(c, v)
		if !strings.HasPrefix(s, prefix) {
			s = prefix + s
		}
		return value.String(s), err
	}
	if h, ok := c.Args[0].(*value.Hash); ok {
		var b value.HashBuilder
		for k, v := range h.All() {
			name, err := prefixed(k)
			if err != nil {
				return nil, err
			}
			b.Put(name, v)
		}
		return b.Build(), nil
	}
	list := slices.Clone(c.Args[0].(*value.Array).Elems())
	for i, v := range list {
		var err error
		if list[i], err = prefixed(v); err != nil {
			return nil, err
		}
	}
	return value.NewArray(list...), nil
}
