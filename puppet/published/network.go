package published

import (
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/stdlib"
	"bolt/puppet/value"
)

func networks() []Set {
	return []Set{
		{"puppet/extlib", []*eval.Function{
			onNetwork("extlib::cidr_to_netmask", "Returns the mask of a network.", func(n network) value.Value { return value.String(n.mask()) }),
			onNetwork("extlib::cidr_to_network", "Returns the first address of a network.", func(n network) value.Value { return value.String(rubyAddress(n.first)) }),
			onNetwork("extlib::last_in_cidr", "Returns the last address of a network.", func(n network) value.Value { return value.String(rubyAddress(n.last)) }),
			onNetwork("extlib::ip_to_reverse", "Returns the name of an address in reverse DNS.", func(n network) value.Value { return value.String(n.reverse()) }),
			function("extlib::is_in_cidr", "String $address, String $network", "Returns whether an address is in a network.", func(c *eval.Call) (value.Value, error) {
				a, err := networkOf(c, 0)
				if err != nil {
					return nil, err
				}
				n, err := networkOf(c, 1)
				if err != nil {
					return nil, err
				}
				return value.Bool(a.first.Is4() == n.first.Is4() && n.first.Compare(a.first) <= 0 && a.last.Compare(n.last) <= 0), nil
			}),
			function("extlib::compare_ip", "String $left, String $right", "Compares addresses as numbers: -1, 0 or 1.", func(c *eval.Call) (value.Value, error) {
				a, err := networkOf(c, 0)
				if err != nil {
					return nil, err
				}
				b, err := networkOf(c, 1)
				if err != nil {
					return nil, err
				}
				return value.Int(number(a.first).Cmp(number(b.first))), nil
			}),
			function("extlib::netmask_to_cidr", "String $mask", "Returns the length of a mask.", func(c *eval.Call) (value.Value, error) {
				n, err := networkOf(c, 0)
				if err != nil {
					return nil, err
				}
				bits := number(n.first)
				length := n.first.BitLen() - int(bits.TrailingZeroBits())
				if bits.Sign() == 0 {
					length = 0
				}
				whole := new(big.Int).Lsh(big.NewInt(1), uint(length))
				whole.Sub(whole, big.NewInt(1)).Lsh(whole, uint(n.first.BitLen()-length))
				if whole.Cmp(bits) != 0 {
					return nil, invalid(c, "%s is not a mask", str(c, 0))
				}
				return value.Int(length), nil
			}),
			function("extlib::ip_to_cron", "Integer[1] $interval = 1800", "Returns an hour and minutes for cron that depend on the address of the machine.", ipToCron),
			function("extlib::default_content", "Optional[String] $content, Optional[String] $template", "Returns the content, or the text of a template if the content is empty.", func(c *eval.Call) (value.Value, error) {
				template, _ := c.Args[1].(value.String)
				switch s, ok := c.Args[0].(value.String); {
				case ok && s != "":
					return s, nil
				case template == "":
					return value.Undef{}, nil
				case strings.HasSuffix(string(template), ".epp"):
					return c.Call("epp", nil, template)
				}
				return c.Call("template", nil, template)
			}),
			function("extlib::resources_deep_merge", "Hash $resources, Hash $defaults", "Merges defaults with the parameters of each resource, at any depth.", func(c *eval.Call) (value.Value, error) {
				var b value.HashBuilder
				for title, params := range c.Args[0].(*value.Hash).All() {
					merged, err := c.Call("deep_merge", nil, c.Args[1], params)
					if err != nil {
						return nil, err
					}
					b.Put(title, merged)
				}
				return b.Build(), nil
			}),
			function("extlib::sort_hash_deep", "Hash $hash", "Returns a hash with sorted keys, at any depth.", func(c *eval.Call) (value.Value, error) {
				return sortedHash(c, c.Args[0].(*value.Hash))
			}),
			function("extlib::to_ini", "Hash $sections, Hash $settings = {}", "Returns sections and their settings as the text of an INI file.", toINI),
		}},
		{"saz/ssh", []*eval.Function{
			function("ssh::ipaddresses", "Array[String[1]] $excluded, Array $patterns", "Returns the addresses of the network interfaces, without excluded interfaces.", sshAddresses),
			old("sshclient_options_to_augeas_ssh_config", 3, "Converts options of ssh_config to parameters of resources.", sshOptions("Host ", "host")),
			old("sshserver_options_to_augeas_sshd_config", 3, "Converts options of sshd_config to parameters of resources.", sshOptions("Match ", "condition")),
		}},
	}
}

// A network is an address, or a range of them.
type network struct{ first, last netip.Addr }

func networkOf(c *eval.Call, i int) (network, error) {
	first, last, ok := stdlib.ParseIP(str(c, i))
	if !ok {
		return network{}, invalid(c, "%s is not an address", value.InspectShort(c.Args[i], 100))
	}
	return network{first, last}, nil
}

// onNetwork returns a function of a network.
func onNetwork(name, doc string, f func(n network) value.Value) *eval.Function {
	return function(name, "String $address", doc, func(c *eval.Call) (value.Value, error) {
		n, err := networkOf(c, 0)
		if err != nil {
			return nil, err
		}
		return f(n), nil
	})
}

func number(a netip.Addr) *big.Int { return new(big.Int).SetBytes(a.AsSlice()) }

// mask returns the mask, with all digits for version 6.
func (n network) mask() string {
	bits := n.first.AsSlice()
	for i, b := range n.last.AsSlice() {
		bits[i] = ^(bits[i] ^ b)
	}
	mask, _ := netip.AddrFromSlice(bits)
	if mask.Is4() {
		return mask.String()
	}
	return mask.StringExpanded()
}

// reverse returns the name in reverse DNS.
func (n network) reverse() string {
	if n.first.Is4() {
		b := n.first.As4()
		return fmt.Sprintf("%d.%d.%d.%d.in-addr.arpa", b[3], b[2], b[1], b[0])
	}
	var digits []string
	for _, d := range strings.ReplaceAll(n.first.WithZone("").StringExpanded(), ":", "") {
		digits = append(digits, string(d))
	}
	slices.Reverse(digits)
	return strings.Join(digits, ".") + ".ip6.arpa"
}

var lastWords = lazyregexp.New(`^::(ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})$`)

// rubyAddress returns an address as Ruby's IPAddr writes it: the last two of the
// words of an address that has no others are written as version 4.
func rubyAddress(a netip.Addr) string {
	s := a.String()
	m := lastWords().FindStringSubmatch(s)
	if a.Is4() || m == nil {
		return s
	}
	b := a.As16()
	return fmt.Sprintf("::%s%d.%d.%d.%d", m[1], b[12], b[13], b[14], b[15])
}

func ipToCron(c *eval.Call) (value.Value, error) {
	interval := int64(1800)
	if len(c.Args) > 0 {
		interval = int64(value.ClampInt(c.Args[0]))
	}
	ip, err := builtin.Text(c, fact(c, "networking", "ip"))
	if err != nil {
		return nil, err
	}
	octet := int64(0)
	if parts := strings.Split(ip, "."); len(parts) > 3 {
		octet, _ = strconv.ParseInt(parts[3], 10, 64)
	}
	times, scope := 3600/interval, int64(60)
	if interval > 3600 {
		times, scope = 86400/interval, 24
	}
	if times == 0 && interval <= 3600 || times > scope*scope*60 {
		return nil, invalid(c, "the interval is too long")
	}
	list := make([]int64, 0, times)
	for i := int64(1); i <= times; i++ {
		list = append(list, ((octet%scope-scope/times*i)%scope+scope)%scope)
	}
	slices.Sort(list)
	at := make([]value.Value, len(list))
	for i, n := range list {
		at[i] = value.Int(n)
	}
	if interval <= 3600 {
		return value.NewArray(value.String("*"), value.NewArray(at...)), nil
	}
	return value.NewArray(value.NewArray(at...), value.Int(octet%60)), nil
}

func sortedHash(c *eval.Call, h *value.Hash) (*value.Hash, error) {
	keys := slices.Clone(h.Keys().Elems())
	var problem error
	slices.SortStableFunc(keys, func(a, b value.Value) int {
		x, one := a.(value.String)
		y, two := b.(value.String)
		if one && two {
			return strings.Compare(string(x), string(y))
		}
		n, err := value.Compare(a, b)
		if err != nil || one != two {
			problem = invalid(c, "the keys cannot be compared")
		}
		return n
	})
	if problem != nil {
		return nil, problem
	}
	var b value.HashBuilder
	for _, k := range keys {
		v, _ := h.Get(k)
		var err error
		switch list := v.(type) {
		case *value.Hash:
			v, err = sortedHash(c, list)
		case *value.Array:
			elems := slices.Clone(list.Elems())
			for i, elem := range elems {
				if below, ok := elem.(*value.Hash); ok && err == nil {
					elems[i], err = sortedHash(c, below)
				}
			}
			v = value.NewArray(elems...)
		}
		if err != nil {
			return nil, err
		}
		b.Put(k, v)
	}
	return b.Build(), nil
}

func toINI(c *eval.Call) (value.Value, error) {
	settings := hash("header", "# THIS FILE IS CONTROLLED BY PUPPET", "section_prefix", "[", "section_suffix", "]", "key_val_separator", "=",
		"quote_char", `"`, "quote_booleans", value.Bool(true), "quote_numerics", value.Bool(true))
	if len(c.Args) > 1 {
		settings = settings.Merge(c.Args[1].(*value.Hash))
	}
	var problem error
	text := func(v value.Value) string {
		s, err := builtin.Text(c, v)
		if problem == nil {
			problem = err
		}
		return s
	}
	set := func(key string) string { return text(entry(settings, key)) }
	lines := []string{set("header"), ""}
	for name, section := range c.Args[0].(*value.Hash).All() {
		h, ok := section.(*value.Hash)
		if !ok {
			return nil, invalid(c, "takes hashes as sections, got %s", value.DescribeValue(section))
		}
		lines = append(lines, set("section_prefix")+text(name)+set("section_suffix"))
		for k, v := range h.All() {
			quote := set("quote_char")
			switch v.(type) {
			case value.Bool:
				if !given(entry(settings, "quote_booleans")) {
					quote = ""
				}
			case value.Int, value.Float:
				if !given(entry(settings, "quote_numerics")) {
					quote = ""
				}
			}
			lines = append(lines, text(k)+set("key_val_separator")+quote+text(v)+quote)
		}
		lines = append(lines, "")
	}
	return value.String(strings.Join(lines, "\n")), problem
}

var linkLocal = netip.MustParsePrefix("fe80::/64")

func sshAddresses(c *eval.Call) (value.Value, error) {
	interfaces, _ := fact(c, "networking", "interfaces").(*value.Hash)
	if interfaces == nil {
		return nil, invalid(c, "the fact networking.interfaces does not exist")
	}
	var patterns []*value.Regexp
	for _, v := range c.Args[1].(*value.Array).Elems() {
		switch v := v.(type) {
		case *value.Regexp:
			patterns = append(patterns, v)
		case value.String:
			re, err := value.NewRegexp(string(v))
			if err != nil {
				return nil, invalid(c, "%v", err)
			}
			patterns = append(patterns, re)
		default:
			return nil, invalid(c, "takes patterns as strings, got %s", value.DescribeValue(v))
		}
	}
	budget := c.Budget()
	excluded := append([]value.Value{value.String("lo")}, c.Args[0].(*value.Array).Elems()...)
	var found []string
	for k, data := range interfaces.All() {
		name, _ := k.(value.String)
		skip := slices.Contains(excluded, k)
		for _, re := range patterns {
			matches, err := re.Within(budget).Match(string(name))
			if err != nil {
				return nil, err
			}
			skip = skip || matches
		}
		h, ok := data.(*value.Hash)
		if skip || !ok {
			continue
		}
		for _, kind := range []string{"bindings", "bindings6"} {
			list, _ := entry(h, kind).(*value.Array)
			if list == nil {
				continue
			}
			for _, binding := range list.Elems() {
				b, ok := binding.(*value.Hash)
				if !ok {
					continue
				}
				address, ok := entry(b, "address").(value.String)
				if !ok {
					continue
				}
				first, _, ok := stdlib.ParseIP(string(address))
				if !ok {
					return nil, invalid(c, "%s is not an address", value.InspectShort(address, 100))
				}
				if !linkLocal.Contains(first.WithZone("")) && !slices.Contains(found, string(address)) {
					found = append(found, string(address))
				}
			}
		}
	}
	return stringsOf(found), nil
}

// sshOptions returns the function that converts options. Options in a hash
// belong to the block of its key: "Host *.example.com".
func sshOptions(block, param string) func(c *eval.Call, args []value.Value) (value.Value, error) {
	return func(c *eval.Call, args []value.Value) (value.Value, error) {
		options, ok := args[0].(*value.Hash)
		absent, list := args[1].(*value.Array)
		more, third := args[2].(*value.Hash)
		if !ok || !list || !third {
			return nil, invalid(c, "takes a hash, an array and a hash")
		}
		var b value.HashBuilder
		for k, v := range options.All() {
			key, ok := k.(value.String)
			if !ok {
				return nil, invalid(c, "takes strings as keys, got %s", value.DescribeValue(k))
			}
			h, ok := v.(*value.Hash)
			if !ok {
				b.Put(key, hash("ensure", "present", "key", key, "value", v).Merge(more))
				continue
			}
			name := strings.ReplaceAll(string(key), block, "")
			for k, v := range h.All() {
				inner, err := builtin.Text(c, k)
				if err != nil {
					return nil, err
				}
				b.Put(value.String(inner+" "+name), hash("ensure", "present", param, name, "key", k, "value", v).Merge(more))
			}
		}
		for _, v := range absent.Elems() {
			b.Put(v, hash("ensure", "absent", "key", v).Merge(more))
		}
		return b.Build(), nil
	}
}
