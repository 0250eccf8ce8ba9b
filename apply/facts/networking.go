package facts

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
)

// An iface is a network interface as facter has it: a link, or the label of some addresses of one.
type iface struct {
	name      string
	facts     object
	bindings  []*binding // IPv4
	bindings6 []*binding
}

// A binding is an address of an interface. mask is -1 if only a route has the address.
type binding struct {
	address netip.Addr
	mask    int
	flags   []string
}

func (c *collector) networking() (any, error) {
	host, domain, fqdn := c.names()
	out := object{"hostname": host, "domain": domain, "fqdn": fqdn}
	links, addresses, routes, err := c.tables()
	if err != nil {
		return out, err
	}
	ifaces := c.interfaces(links, addresses, routes)
	byName := object{}
	for _, i := range ifaces {
		byName[i.name] = sorted(i.facts)
	}
	out["interfaces"] = byName
	primary := c.primary(links, routes, ifaces)
	out["primary"] = primary
	for _, i := range ifaces {
		if i.name != primary {
			continue
		}
		for _, key := range []string{"dhcp", "ip", "ip6", "mac", "mtu", "netmask", "netmask6", "network", "network6", "scope6"} {
			out[key] = i.facts[key]
		}
	}
	return out, nil
}

// tables returns the network tables of the kernel.
func (c *collector) tables() (links []link, addresses []address, routes []route, err error) {
	for _, t := range []struct {
		what  int
		name  string
		parse func(data []byte) error
	}{
		{getLink, "interfaces", func(data []byte) (err error) { links, err = parseLinks(data); return err }},
		{getAddr, "addresses", func(data []byte) (err error) { addresses, err = parseAddresses(data); return err }},
		{getRoute, "routes", func(data []byte) (err error) { routes, err = parseRoutes(data); return err }},
	} {
		data, err := c.o.sys.dump(t.what)
		if err == nil {
			err = t.parse(data)
		}
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read network %s: %v", t.name, err)
		}
	}
	return links, addresses, routes, nil
}

// interfaces returns the interfaces in the order of the kernel.
func (c *collector) interfaces(links []link, addresses []address, routes []route) []*iface {
	var list []*iface
	byName := map[string]*iface{}
	names := map[int]string{}
	get := func(name string) *iface {
		if byName[name] == nil {
			byName[name] = &iface{name: name, facts: object{}}
			list = append(list, byName[name])
		}
		return byName[name]
	}
	for _, l := range links {
		names[l.index] = l.name
	}
	for _, l := range links {
		f := get(l.name).facts
		f["mtu"] = l.mtu
		f["mac"] = l.mac
		if mac := c.permanentAddress(l.name, names[l.master]); mac != "" {
			f["mac"] = mac
		}
		if dhcp := c.dhcp(l.name, l.index); dhcp != "" {
			f["dhcp"] = dhcp
		}
		c.device(l.name, f)
	}
	for _, a := range addresses {
		if name := first(a.label, names[a.index]); name != "" {
			i := get(name)
			i.add(&binding{address: a.prefix.Addr(), mask: a.prefix.Bits()})
		}
	}
	for _, r := range routes {
		i := byName[names[r.device]]
		if i != nil && r.source.IsValid() && !(r.v6 && r.always) {
			i.add(&binding{address: r.source, mask: -1})
		}
	}
	c.setFlags(byName)
	for _, i := range list {
		i.expand("", i.bindings)
		i.expand("6", i.bindings6)
		if _, known := i.facts["physical"]; !known { // a label
			i.facts["physical"] = false
		}
	}
	return list
}

// add adds a binding unless its address comes from a route and is there already.
func (i *iface) add(b *binding) {
	list := &i.bindings
	if b.address.Is6() {
		list = &i.bindings6
	}
	if b.mask >= 0 || !slices.ContainsFunc(*list, func(o *binding) bool { return o.address == b.address }) {
		*list = append(*list, b)
	}
}

// device sets the facts of an interface that sysfs has.
func (c *collector) device(name string, facts object) {
	dir := "/sys/class/net/" + name
	facts["operational_state"] = c.line(dir + "/operstate")
	facts["physical"] = c.exists(dir + "/device")
	if facts["physical"] != true {
		return
	}
	facts["duplex"] = c.line(dir + "/duplex") // some drivers return an error
	if speed, err := strconv.Atoi(c.line(dir + "/speed")); err == nil {
		facts["speed"] = speed
	}
}

// permanentAddress returns the permanent hardware address of an interface of a bond. While it belongs to the bond, the
// interface has the address of the bond.
func (c *collector) permanentAddress(name, master string) string {
	if master == "" {
		return ""
	}
	text, _ := c.read("/proc/net/bonding/" + master)
	return permanent(text, name)
}

func permanent(text, name string) string {
	_, text, _ = strings.Cut(text, "Slave Interface: "+name+"\n")
	text, _, _ = strings.Cut(text, "Slave Interface: ")
	_, text, is := strings.Cut(text, "Permanent HW addr: ")
	if f := strings.Fields(text); is && len(f) > 0 {
		return f[0]
	}
	return ""
}

// expand sets the list of bindings, and the main one as values of the interface.
func (i *iface) expand(version string, bindings []*binding) {
	if len(bindings) == 0 {
		return
	}
	list := make([]any, len(bindings))
	for n, b := range bindings {
		list[n] = b.fact()
	}
	i.facts["bindings"+version] = list
	main := bindings[max(0, slices.IndexFunc(bindings, func(b *binding) bool { return !local(b.address) }))]
	f := main.fact()
	i.facts["ip"+version] = f.Value("address")
	i.facts["netmask"+version] = f.Value("netmask")
	i.facts["network"+version] = f.Value("network")
	if version == "6" {
		i.facts["scope6"] = scope(main.address)
	}
}

// ipText returns an address in the form of the C library, such as ::192.0.2.1 for an IPv6 address that ends in an
// IPv4 address.
func ipText(a netip.Addr) string {
	bytes := a.As16()
	if a.Is6() && [12]byte(bytes[:12]) == [12]byte{} && (bytes[12] != 0 || bytes[13] != 0) {
		return "::" + netip.AddrFrom4([4]byte(bytes[12:])).String()
	}
	return a.String()
}

func (b *binding) fact() *ordered.Map {
	m := ordered.Of("address", ipText(b.address))
	if b.mask >= 0 {
		all := netip.AddrFrom4([4]byte{255, 255, 255, 255})
		if b.address.Is6() {
			all = netip.AddrFrom16([16]byte(slices.Repeat([]byte{255}, 16)))
		}
		netmask, _ := all.Prefix(b.mask)
		network, _ := b.address.Prefix(b.mask)
		m.Set("netmask", netmask.Addr().String())
		m.Set("network", ipText(network.Addr()))
		if b.address.Is6() {
			m.Set("scope6", scope(b.address))
		}
	}
	if b.flags != nil {
		m.Set("flags", plain(b.flags))
	}
	return m
}

// local reports whether an address is reachable on its own link only. Such an address is the main
// address of an interface only if the interface has no other.
func local(a netip.Addr) bool { return a.IsLoopback() || a.IsLinkLocalUnicast() || isULA(a) }

func isULA(a netip.Addr) bool { return a.Is6() && a.As16()[0]&0xfe == 0xfc }

// scope returns the scope of an IPv6 address in the words of ifconfig.
func scope(a netip.Addr) string {
	bytes := a.As16()
	compat := ""
	if a.Is6() && [12]byte(bytes[:12]) == [12]byte{} && a != netip.IPv6Unspecified() && !a.IsLoopback() {
		compat = "compat,"
	}
	switch {
	case a.IsLinkLocalUnicast():
		return compat + "link"
	case bytes[0] == 0xfe && bytes[1]&0xc0 == 0xc0:
		return compat + "site"
	case a.IsLoopback():
		return compat + "host"
	}
	return compat + "global"
}

// primary returns the name of the interface with the default route, or else the first with an address that
// others can reach.
func (c *collector) primary(links []link, routes []route, ifaces []*iface) string {
	if text, is := c.read("/proc/net/route"); is {
		if name := defaultRoute(text); name != "" {
			return name
		}
	}
	for _, r := range slices.Backward(routes) {
		for _, l := range links {
			if r.always && !r.v6 && l.index == r.device {
				return l.name
			}
		}
	}
	for _, i := range ifaces {
		for _, b := range slices.Concat(i.bindings, i.bindings6) {
			if !local(b.address) {
				return i.name
			}
		}
	}
	return ""
}

// defaultRoute returns the interface of the first default route in /proc/net/route.
func defaultRoute(text string) string {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) > 7 && f[1] == "00000000" && f[7] == "00000000" && f[0] != "*" {
			return f[0]
		}
	}
	return ""
}

// flagNames are the flags of an IPv6 address in /proc/net/if_inet6, from the lowest bit.
var flagNames = []string{"temporary", "noad", "optimistic", "dadfailed", "homeaddress", "deprecated", "tentative", "permanent"}

// setFlags sets the flags of IPv6 bindings.
func (c *collector) setFlags(byName map[string]*iface) {
	text, _ := c.read("/proc/net/if_inet6")
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 6 || byName[f[5]] == nil {
			continue
		}
		raw, err := hex.DecodeString(f[0])
		address, is := netip.AddrFromSlice(raw)
		bits, err2 := strconv.ParseUint(f[4], 16, 32)
		if err != nil || err2 != nil || !is {
			continue
		}
		for _, b := range byName[f[5]].bindings6 {
			if b.address != address {
				continue
			}
			b.flags = []string{}
			for n, name := range flagNames {
				if bits&(1<<n) != 0 {
					b.flags = append(b.flags, name)
				}
			}
		}
	}
}

// names returns the name of the host, its domain, and both together.
func (c *collector) names() (host, domain, fqdn string) {
	host, domain, _ = strings.Cut(c.uts.nodename, ".")
	if host == "" {
		return "", "", ""
	}
	if domain == "" {
		fqdn = c.canonical(host)
		if rest, is := strings.CutPrefix(fqdn, host+"."); is {
			domain = rest
		}
	}
	if domain == "" {
		text, _ := c.read("/etc/resolv.conf")
		domain = resolvDomain(text)
	}
	switch {
	case fqdn != "":
	case domain != "":
		fqdn = host + "." + domain
	default:
		fqdn = host
	}
	return host, domain, fqdn
}

// canonical returns the canonical name of a host from /etc/hosts or a name server; "" if there is none
// but the host itself.
func (c *collector) canonical(host string) string {
	text, _ := c.read("/etc/hosts")
	name := hostsName(text, host)
	if name == "" {
		name = c.o.sys.lookup(c, host)
	}
	if name == host {
		return ""
	}
	return name
}

// hostsName returns the first name of the line of /etc/hosts that has a host.
func hostsName(text, host string) string {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) > 1 && slices.ContainsFunc(f[1:], func(name string) bool { return strings.EqualFold(name, host) }) {
			return f[1]
		}
	}
	return ""
}

// resolvDomain returns the domain of /etc/resolv.conf.
func resolvDomain(text string) string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) > 1 && strings.HasPrefix(line, f[0]) && !strings.HasPrefix(f[1], ".") && len(f[1]) > 1 && found[f[0]] == "" {
			found[f[0]] = f[1]
		}
	}
	return first(found["domain"], found["search"])
}
