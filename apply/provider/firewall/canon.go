package firewall

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// canonical returns a value of a parameter in the form in which iptables-save prints it, for one element
// without "! ". problem describes a valid value; it is "" if the value is valid.
func canonical(param, value string, v6 bool) (text, problem string) {
	switch param {
	case "source", "destination", "ctorigsrc", "ctorigdst", "ctreplsrc", "ctrepldst":
		text, ok := address(value, v6)
		if !ok {
			return value, "must be an address or a network of the protocol"
		}
		if strings.HasPrefix(param, "ct") {
			text = strings.TrimSuffix(strings.TrimSuffix(text, "/32"), "/128")
		}
		return text, ""
	case "src_range", "dst_range":
		first, last, is := strings.Cut(value, "-")
		for _, a := range []string{first, last} {
			if _, err := netip.ParseAddr(a); err != nil || !is {
				return value, "must be a range of addresses, such as 10.0.0.1-10.0.0.9"
			}
		}
		return value, ""
	case "sport", "dport":
		value = strings.ReplaceAll(value, "-", ":")
		if first, last, _ := strings.Cut(value, ":"); !number(first) || last != "" && !number(last) {
			return value, "must be a port or a range of ports, such as 80 or 80-90"
		}
		return value, ""
	case "proto":
		if name := protocols[value]; name != "" {
			return name, ""
		}
		return strings.ToLower(value), ""
	case "icmp":
		types := icmp4
		if v6 {
			types = icmp6
		}
		if n := types[value]; n != "" {
			return n, ""
		}
		if !number(strings.ReplaceAll(value, "/", "")) {
			return value, "must be a number or a known name of a type, such as echo-request"
		}
		return value, ""
	case "log_level":
		if n := levels[value]; n != "" {
			return n, ""
		}
		if !number(value) || len(value) != 1 || value > "7" {
			return value, "must be a level from 0 to 7, or its name"
		}
		return value, ""
	case "set_mark", "match_mark", "connmark", "nfmask", "ctmask":
		text, ok := mark(value, strings.HasSuffix(param, "mark"))
		if !ok {
			return value, "must be a number, such as 0x1 or 0x1/0xff"
		}
		return text, ""
	case "limit", "hashlimit_upto", "hashlimit_above":
		n, unit, is := strings.Cut(value, "/")
		if unit == "" && !is && param != "limit" {
			unit = "sec"
		}
		for _, u := range []string{"second", "minute", "hour", "day"} {
			if unit != "" && strings.HasPrefix(u, unit) {
				return n + "/" + map[string]string{"second": "sec", "minute": "min", "hour": "hour", "day": "day"}[u], ""
			}
		}
		return value, "must be a rate, such as 10/sec"
	case "time_start", "time_stop":
		if len(value) > 1 && value[1] == ':' {
			value = "0" + value
		}
		if strings.Count(value, ":") == 1 {
			value += ":00"
		}
		return value, ""
	case "stat_probability":
		p, err := strconv.ParseFloat(value, 64)
		if err != nil || p < 0 || p > 1 {
			return value, "must be a number from 0 to 1"
		}
		return strconv.FormatFloat(p, 'f', 6, 64), ""
	case "tcp_flags":
		return strings.ReplaceAll(strings.Join(strings.Fields(value), " "), "FIN,SYN,RST,PSH,ACK,URG", "ALL"), ""
	case "mac_source":
		return strings.ToUpper(value), ""
	case "string_hex":
		return strings.Join(strings.Fields(value), ""), ""
	case "jump":
		if upper := strings.ToUpper(value); slices.Contains(targets, upper) {
			return upper, ""
		}
	case "length":
		if n, is := strings.CutSuffix(value, ":65535"); is {
			return n + ":", ""
		}
	}
	return value, ""
}

// targets are the targets whose names are always in upper case.
var targets = strings.Fields("ACCEPT REJECT DROP QUEUE RETURN DNAT SNAT LOG NFLOG NETMAP MASQUERADE REDIRECT MARK CT")

func number(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// address returns a network with the length of its prefix. The network of all addresses is "", because a rule leaves it out.
func address(text string, v6 bool) (string, bool) {
	addr, bits, given := strings.Cut(text, "/")
	ip, err := netip.ParseAddr(addr)
	if err != nil || ip.Is4() == v6 || ip.Zone() != "" {
		return "", false
	}
	n := ip.BitLen()
	if given {
		if n, err = strconv.Atoi(bits); err != nil {
			mask, err := netip.ParseAddr(bits)
			if err != nil || !mask.Is4() || v6 {
				return "", false
			}
			n = prefix(mask.As4())
		}
	}
	p, err := ip.Prefix(n)
	switch {
	case err != nil:
		return "", false
	case n == 0:
		return "", true
	}
	return p.String(), true
}

// prefix returns the length of a network mask; -1 if the mask has gaps.
func prefix(mask [4]byte) int {
	v := uint32(mask[0])<<24 | uint32(mask[1])<<16 | uint32(mask[2])<<8 | uint32(mask[3])
	for n := range 33 {
		if v == uint32(uint64(0xffffffff)<<(32-n)) {
			return n
		}
	}
	return -1
}

// mark returns a mark with a mask, or a mask, in hexadecimal digits.
func mark(text string, masked bool) (string, bool) {
	value, mask, given := strings.Cut(text, "/")
	v, err := strconv.ParseUint(value, 0, 32)
	if err != nil {
		return "", false
	}
	out := "0x" + strconv.FormatUint(v, 16)
	if !given && !masked {
		return out, true
	}
	m := uint64(0xffffffff)
	if given {
		if m, err = strconv.ParseUint(mask, 0, 32); err != nil {
			return "", false
		}
	}
	return out + "/0x" + strconv.FormatUint(m, 16), true
}

// A setting is the value of a parameter: "! " is in negated, and values of lists are sorted where their order has no
// meaning.
type setting struct {
	negated bool
	values  []string
}

func (s setting) String() string {
	text := strings.Join(s.values, ",")
	if s.negated {
		return "! " + text
	}
	return text
}

func (s setting) equal(o setting) bool {
	return s.negated == o.negated && slices.Equal(s.values, o.values)
}

// sorted returns the setting with its values in order, for comparisons.
func (s setting) sorted(o option) setting {
	if o.kind != words && o.kind != ports && o.kind != each && o.kind != switches {
		return s
	}
	s.values = slices.Clone(s.values)
	slices.Sort(s.values)
	return s
}
