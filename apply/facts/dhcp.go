package facts

import (
	"net/netip"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
)

var (
	leaseFile     = lazyregexp.New(`dhclient.*\.lease`)
	leaseServer   = lazyregexp.New(`dhcp-server-identifier ([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)`)
	serverAddress = lazyregexp.New(`SERVER_ADDRESS=(.*)`)
)

// dhcp returns the address of the DHCP server that an interface has its address from; "" if no client's
// files have one.
func (c *collector) dhcp(name string, index int) string {
	text, _ := c.read("/run/systemd/netif/leases/" + strconv.Itoa(index))
	if server := match(serverAddress(), text); server != "" {
		return strings.TrimSpace(server)
	}
	for _, dir := range []string{"/var/lib/dhclient", "/var/lib/dhcp", "/var/lib/dhcp3", "/var/lib/NetworkManager", "/var/db"} {
		for _, file := range c.list(dir) {
			if !leaseFile().MatchString(file) {
				continue
			}
			text, _ := c.read(dir + "/" + file)
			if server := match(leaseServer(), text); server != "" && ofInterface(text, name) {
				return server
			}
		}
	}
	for _, file := range c.list("/var/lib/NetworkManager") {
		if strings.Contains(file, "internal") && strings.HasSuffix(file, name+".lease") {
			text, _ := c.read("/var/lib/NetworkManager/" + file)
			return strings.TrimSpace(match(serverAddress(), text))
		}
	}
	for _, dir := range []string{"/var/lib/dhcpcd", "/var/lib/dhcpcd5"} {
		if packet, is := c.read(dir + "/" + name + ".lease"); is {
			return packetServer(packet)
		}
	}
	return ""
}

// ofInterface reports whether a lease of dhclient names an interface.
func ofInterface(lease, name string) bool {
	for line := range strings.Lines(lease) {
		if _, rest, is := strings.Cut(line, "interface"); is && strings.Contains(rest, name) {
			return true
		}
	}
	return false
}

// packetServer returns the server's address in a DHCP packet (RFC 2131), which dhcpcd keeps as a lease.
func packetServer(packet string) string {
	const options = 240 // after the fixed fields and the magic number
	const pad, server, end = 0, 54, 255
	if len(packet) < options || packet[236:options] != "\x63\x82\x53\x63" {
		return ""
	}
	for p := packet[options:]; len(p) > 0; {
		if p[0] == pad {
			p = p[1:]
			continue
		}
		if p[0] == end || len(p) < 2 || len(p) < 2+int(p[1]) {
			return ""
		}
		value := p[2 : 2+int(p[1])]
		if p[0] == server {
			if a, is := netip.AddrFromSlice([]byte(value)); is {
				return a.String()
			}
			return ""
		}
		p = p[2+len(value):]
	}
	return ""
}
