package stdlib

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bolt/puppet/eval"
	"bolt/puppet/value"
)

// addresses returns the functions for IP addresses and host names.
func addresses() []*eval.Function {
	return []*eval.Function{
		{Name: "stdlib::ip_in_range", Doc: "Returns whether an IP address, or all of a network, is in one of several networks.",
			Signatures: one("String $address, Variant[String, Array] $ranges", func(c *eval.Call) (value.Value, error) {
				ip, err := addressOf(c, c.Args[0])
				if err != nil {
					return nil, err
				}
				ranges := c.Args[1:]
				if list, ok := ranges[0].(*value.Array); ok {
					ranges = list.Elems()
				}
				found := false
				for _, v := range ranges {
					r, err := addressOf(c, v)
					if err != nil {
						return nil, err
					}
					found = found || r.has(ip)
				}
				return value.Bool(found), nil
			})},
		old("enclose_ipv6", "Any $addresses", "Returns an array of IP addresses with square brackets around those of version 6, without duplicates; '*' is not changed.", encloseIPv6),
		{Name: "stdlib::validate_domain_name", Doc: "Returns an error unless all values are domain names.", Signatures: valid("names of domains", isDomain)},
		{Name: "stdlib::validate_email_address", Doc: "Returns an error unless all values are e-mail addresses.", Signatures: valid("e-mail addresses", isEmail)},
	}
}

// An ipRange is an address or a network.
type ipRange struct {
	from, to netip.Addr
}

func (r ipRange) has(o ipRange) bool {
	return r.from.Is4() == o.from.Is4() && r.from.Compare(o.from) <= 0 && o.to.Compare(r.to) <= 0
}

func addressOf(c *eval.Call, v value.Value) (ipRange, error) {
	s, ok := v.(value.String)
	if !ok {
		return ipRange{}, wrong(c, v, "IP addresses as strings")
	}
	r, ok := parseIP(string(s))
	if !ok {
		return r, invalid(c, "%s is not an IP address or a network", inspect(s))
	}
	return r, nil
}

// parseIP parses an address, or an address with a slash and a length or a mask,
// as Ruby's IPAddr does.
func parseIP(s string) (ipRange, bool) {
	text, mask, masked := strings.Cut(s, "/")
	if inner, ok := strings.CutPrefix(text, "["); ok {
		if text, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(text, ":") {
			return ipRange{}, false
		}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || strings.IndexFunc(a.Zone(), notWord) >= 0 {
		return ipRange{}, false
	}
	if !masked {
		return ipRange{a, a}, true
	}
	zone := a.Zone()
	a = a.WithZone("")
	bits, ok := maskOf(mask, a)
	if !ok {
		return ipRange{}, false
	}
	from, to := a.AsSlice(), a.AsSlice()
	for i, m := range bits {
		from[i] &= m
		to[i] |= ^m
	}
	first, _ := netip.AddrFromSlice(from)
	last, _ := netip.AddrFromSlice(to)
	return ipRange{first.WithZone(zone), last.WithZone(zone)}, true
}

// maskOf parses a length, or a mask of the same address family. A mask cannot
// have ones after zeros.
func maskOf(s string, a netip.Addr) ([]byte, bool) {
	bits := make([]byte, a.BitLen()/8)
	if strings.Trim(s, "0123456789") == "" && s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n > a.BitLen() || s[0] == '0' && s != "0" {
			return nil, false
		}
		for i := range n {
			bits[i/8] |= 0x80 >> (i % 8)
		}
		return bits, true
	}
	m, err := netip.ParseAddr(s)
	if err != nil || m.BitLen() != a.BitLen() || m.Zone() != "" {
		return nil, false
	}
	copy(bits, m.AsSlice())
	zero := false
	for i := range a.BitLen() {
		one := bits[i/8]&(0x80>>(i%8)) != 0
		if one && zero {
			return nil, false
		}
		zero = !one
	}
	return bits, true
}

func encloseIPv6(c *eval.Call, args []value.Value) (value.Value, error) {
	switch args[0].(type) {
	case value.String, *value.Array:
	default:
		return nil, wrong(c, args[0], "a string or an array of strings")
	}
	var out value.HashBuilder
	for _, v := range value.Flatten(args) {
		if value.IsUndef(v) {
			continue
		}
		if v != value.String("*") {
			r, err := addressOf(c, v)
			if err != nil {
				return nil, err
			}
			if r.from.Is6() {
				v = value.String("[" + compressed(r.from) + "]")
			}
		}
		out.Put(v, v)
	}
	return out.Build().Keys(), nil
}

// compressed returns an address as Ruby writes it. An address that contains an
// IPv4 address is written with it, unless it has a zone.
func compressed(a netip.Addr) string {
	b := a.WithZone("").As16()
	zeros := func(s []byte) bool { return !slices.ContainsFunc(s, func(c byte) bool { return c != 0 }) }
	mapped := zeros(b[:10]) && b[10] == 0xff && b[11] == 0xff
	v4 := fmt.Sprintf("%d.%d.%d.%d", b[12], b[13], b[14], b[15])
	zone := a.Zone()
	switch {
	case zone != "" && zeros(b[:]):
		return "::0%" + zone
	case zone != "" && mapped:
		return fmt.Sprintf("::ffff:%x:%x%%%s", uint(b[12])<<8|uint(b[13]), uint(b[14])<<8|uint(b[15]), zone)
	case zone == "" && mapped:
		return "::ffff:" + v4
	case zone == "" && zeros(b[:12]) && (b[12] != 0 || b[13] != 0):
		return "::" + v4
	}
	return netip.AddrFrom16(b).WithZone(zone).String()
}

// valid returns the signatures of a function that only validates its arguments.
func valid(what string, is func(string) bool) []eval.Signature {
	return one("String *$values", func(c *eval.Call) (value.Value, error) {
		if len(c.Args) == 0 {
			return nil, eval.Errorf("argument-count", "%s() takes one value at least", bare(c))
		}
		for _, v := range c.Args {
			if !is(string(v.(value.String))) {
				return nil, invalid(c, "%s is not one of the %s", inspect(v), what)
			}
		}
		return value.Undef{}, nil
	})
}

// isDomain reports whether s matches Stdlib::Fqdn or Stdlib::Dns::Zone.
func isDomain(s string) bool {
	if s == "." {
		return true
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(s, "."), ".") {
		if !isLabel(label) {
			return false
		}
	}
	return true
}

// isLabel reports whether s consists of letters, digits and hyphens, and does
// not begin or end with a hyphen.
func isLabel(s string) bool {
	for i := range len(s) {
		if !isAlnum(rune(s[i])) && (s[i] != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}

// isEmail reports whether s matches Stdlib::Email.
func isEmail(s string) bool {
	user, host, ok := strings.Cut(s, "@")
	if !ok || user == "" {
		return false
	}
	for i := range len(user) {
		if !isWord(rune(user[i])) && strings.IndexByte(".!#$%&'*+/=?^`{|}~-", user[i]) < 0 {
			return false
		}
	}
	for label := range strings.SplitSeq(host, ".") {
		if !isLabel(label) || len(label) > 63 {
			return false
		}
	}
	return true
}

// ParseIP parses an address, or an address with a slash and a length or a mask,
// as Ruby's IPAddr does. It returns the first and the last address of the
// network.
func ParseIP(s string) (first, last netip.Addr, ok bool) {
	r, ok := parseIP(s)
	return r.from, r.to, ok
}
