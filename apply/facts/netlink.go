package facts

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
)

// Requests and messages of rtnetlink(7), and their attributes.
const (
	getLink, newLink   = 18, 16
	getAddr, newAddr   = 22, 20
	getRoute, newRoute = 26, 24

	linkAddress, linkName, linkMTU, linkMaster      = 1, 3, 4, 10
	addrAddress, addrLocal, addrLabel               = 1, 2, 3
	routeDst, routeDevice, routeSource, routeTable  = 1, 4, 7, 15
	mainTable, routeLinkDown, familyIPv4, familyIP6 = 254, 16, 2, 10
)

// A link is a network interface of the kernel.
type link struct {
	index, mtu, master int
	name, mac          string
}

// An address is an address of a link. label is a name of its own that an IPv4 address can have,
// such as eth0:1.
type address struct {
	index  int
	label  string
	prefix netip.Prefix
}

// A route is an entry of the main routing table.
type route struct {
	device int
	source netip.Addr // the address to send from; not valid if there is none
	v6     bool
	always bool // the default route
}

var errNetlink = errors.New("the kernel's answer is not netlink messages")

// messages calls each with the body of each message of a type.
func messages(data []byte, kind uint16, each func(body []byte) error) error {
	const header = 16
	for len(data) >= header {
		n := int(binary.NativeEndian.Uint32(data))
		if n < header || n > len(data) {
			return errNetlink
		}
		if binary.NativeEndian.Uint16(data[4:]) == kind {
			if err := each(data[header:n]); err != nil {
				return err
			}
		}
		data = data[min(aligned(n), len(data)):]
	}
	return nil
}

func aligned(n int) int { return (n + 3) &^ 3 }

// attributes calls each with each attribute after the fixed part of a body.
func attributes(body []byte, fixed int, each func(kind uint16, value []byte)) error {
	if len(body) < fixed {
		return errNetlink
	}
	for data := body[fixed:]; len(data) >= 4; {
		n := int(binary.NativeEndian.Uint16(data))
		if n < 4 || n > len(data) {
			return errNetlink
		}
		each(binary.NativeEndian.Uint16(data[2:])&0x3fff, data[4:n])
		data = data[min(aligned(n), len(data)):]
	}
	return nil
}

func number(value []byte) int {
	if len(value) != 4 {
		return 0
	}
	return int(binary.NativeEndian.Uint32(value))
}

func name(value []byte) string {
	s, _, _ := strings.Cut(string(value), "\x00")
	return s
}

func parseLinks(data []byte) (links []link, err error) {
	err = messages(data, newLink, func(body []byte) error {
		var l link
		err := attributes(body, 16, func(kind uint16, value []byte) {
			switch kind {
			case linkName:
				l.name = name(value)
			case linkMTU:
				l.mtu = number(value)
			case linkMaster:
				l.master = number(value)
			case linkAddress:
				l.mac = hardware(value)
			}
		})
		if err == nil {
			l.index = number(body[4:8])
			links = append(links, l)
		}
		return err
	})
	return links, err
}

// hardware returns a hardware address; "" for lengths and values that facter ignores.
func hardware(value []byte) string {
	mac := net.HardwareAddr(value).String()
	if len(value) < 6 || len(value) > 20 || mac == "00:00:00:00:00:00" {
		return ""
	}
	return mac
}

func parseAddresses(data []byte) (list []address, err error) {
	err = messages(data, newAddr, func(body []byte) error {
		var a address
		var local, peer netip.Addr
		err := attributes(body, 8, func(kind uint16, value []byte) {
			switch kind {
			case addrAddress:
				peer, _ = netip.AddrFromSlice(value)
			case addrLocal: // differs from the other one on point-to-point links
				local, _ = netip.AddrFromSlice(value)
			case addrLabel:
				a.label = name(value)
			}
		})
		if err != nil {
			return err
		}
		if !local.IsValid() {
			local = peer
		}
		a.index = number(body[4:8])
		a.prefix = netip.PrefixFrom(local, int(body[1]))
		if a.prefix.IsValid() {
			list = append(list, a)
		}
		return nil
	})
	return list, err
}

// parseRoutes returns the routes that the program "ip route show" prints, without those whose
// link is down.
func parseRoutes(data []byte) (list []route, err error) {
	err = messages(data, newRoute, func(body []byte) error {
		var r route
		dst := false
		table := 0
		err := attributes(body, 12, func(kind uint16, value []byte) {
			switch kind {
			case routeDst:
				dst = true
			case routeDevice:
				r.device = number(value)
			case routeSource:
				r.source, _ = netip.AddrFromSlice(value)
			case routeTable:
				table = number(value)
			}
		})
		if err != nil {
			return err
		}
		if table == 0 {
			table = int(body[4])
		}
		family, flags := body[0], number(body[8:12])
		if table != mainTable || flags&routeLinkDown != 0 || r.device == 0 || family != familyIPv4 && family != familyIP6 {
			return nil
		}
		r.v6, r.always = family == familyIP6, !dst
		list = append(list, r)
		return nil
	})
	return list, err
}
