package facts

import (
	"strings"
	"testing"
)

// TestSizes: expected texts are those of facter.
func TestSizes(t *testing.T) {
	for bytes, want := range map[uint64]string{
		0: "0 bytes", 1023: "1023 bytes", 1024: "1.00 KiB", 1536: "1.50 KiB", 1048575: "1.00 MiB", 1048576: "1.00 MiB",
		780787712: "744.62 MiB", 25276502016: "23.54 GiB", 1 << 50: "1.00 PiB", 1 << 63: "8.00 EiB", 1<<64 - 1: "16.00 EiB",
	} {
		if got := size(bytes); got != want {
			t.Errorf("size(%d) is %s, want %s", bytes, got, want)
		}
	}
	for hz, want := range map[uint64]string{0: "", 999: "999.00 Hz", 2599_000_000: "2.60 GHz", 800_000_000: "800.00 MHz", 1000: "1.00 kHz"} {
		if got := hertz(hz); got != want {
			t.Errorf("hertz(%d) is %s, want %s", hz, got, want)
		}
	}
}

// TestVirtual: the platforms that firmware, processor, control groups and devices tell.
func TestVirtual(t *testing.T) {
	dmi := func(pairs ...string) map[string]string {
		files := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			files["sys/class/dmi/id/"+pairs[i]] = pairs[i+1] + "\n"
		}
		return files
	}
	for _, c := range []struct {
		name, cpuid string
		files       map[string]string
		virtual     string
		isVirtual   bool
		hypervisors string
	}{
		{name: "physical", files: dmi("sys_vendor", "Dell Inc.", "product_name", "PowerEdge R640"), virtual: "physical", hypervisors: "null"},
		{name: "kvm", cpuid: "KVMKVMKVM", files: dmi("sys_vendor", "QEMU"), virtual: "kvm", isVirtual: true, hypervisors: `{"kvm":{}}`},
		{name: "qemu", cpuid: "TCGTCGTCGTCG", files: dmi("sys_vendor", "QEMU"), virtual: "qemu", isVirtual: true, hypervisors: "null"},
		{name: "kvm on ARM", files: dmi("product_name", "KVM Virtual Machine", "sys_vendor", "QEMU"), virtual: "kvm", isVirtual: true, hypervisors: `{"kvm":{}}`},
		{name: "virtio", files: map[string]string{"sys/bus/pci/devices/0000:00:01.0/vendor": "0x1af4\n"}, virtual: "kvm", isVirtual: true, hypervisors: `{"kvm":{}}`},
		{name: "google", cpuid: "KVMKVMKVM", files: dmi("bios_vendor", "Google", "sys_vendor", "Google", "product_name", "Google Compute Engine"), virtual: "gce", isVirtual: true, hypervisors: `{"kvm":{"google":true}}`},
		{name: "amazon", cpuid: "KVMKVMKVM", files: dmi("bios_vendor", "Amazon EC2", "sys_vendor", "Amazon EC2", "product_name", "t3.micro"), virtual: "kvm", isVirtual: true, hypervisors: `{"kvm":{"amazon":true}}`},
		{name: "vmware", cpuid: "VMwareVMware", files: dmi("sys_vendor", "VMware, Inc."), virtual: "vmware", isVirtual: true, hypervisors: `{"vmware":{}}`},
		{name: "hyperv", cpuid: "Microsoft Hv", files: dmi("sys_vendor", "Microsoft Corporation", "product_name", "Virtual Machine"), virtual: "hyperv", isVirtual: true, hypervisors: `{"hyperv":{}}`},
		{name: "xen host", files: map[string]string{"proc/xen/capabilities": "control_d\n", "dev/xen/evtchn": ""}, virtual: "xen0", hypervisors: `{"xen":{"context":"pv","privileged":true}}`},
		{name: "xen guest", cpuid: "XenVMMXenVMM", files: dmi("sys_vendor", "Xen", "product_name", "HVM domU"), virtual: "xenhvm", isVirtual: true, hypervisors: `{"xen":{"context":"hvm","privileged":false}}`},
		{name: "docker", cpuid: "KVMKVMKVM", files: map[string]string{"proc/1/cgroup": "12:cpu:/docker/0123abc\n"}, virtual: "docker", isVirtual: true, hypervisors: `{"docker":{"id":"0123abc"},"kvm":{}}`},
		{name: "docker with version 2 of control groups", files: map[string]string{"proc/1/cgroup": "0::/\n", ".dockerenv": ""}, virtual: "docker", isVirtual: true, hypervisors: `{"docker":{}}`},
		{name: "lxc", files: map[string]string{"proc/1/environ": "A=1\x00container=lxc\x00"}, virtual: "lxc", isVirtual: true, hypervisors: `{"lxc":{}}`},
		{name: "nspawn", files: map[string]string{"proc/1/environ": "container=systemd-nspawn\x00", "etc/machine-id": "abc\n"}, virtual: "systemd_nspawn", isVirtual: true, hypervisors: `{"systemd_nspawn":{"id":"abc"}}`},
		{name: "openvz guest", files: map[string]string{"proc/vz/veinfo": "", "proc/bc/x": "", "proc/self/status": "Name:\tx\nenvID:\t101\n"}, virtual: "openvzve", isVirtual: true, hypervisors: `{"openvz":{"host":false,"id":101}}`},
		{name: "vserver host", files: map[string]string{"proc/self/status": "VxID:\t0\n"}, virtual: "vserver_host", hypervisors: "null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				write(t, root+"/"+name, text)
			}
			sys := quietSystem("6.1", "x86_64")
			sys.cpuid = func() string { return c.cpuid }
			got := Collect(t.Context(), Options{Root: root, sys: sys})
			if got.Value("virtual") != c.virtual || got.Value("is_virtual") != c.isVirtual {
				t.Errorf("virtual is %v, is_virtual %v, want %s, %v", got.Value("virtual"), got.Value("is_virtual"), c.virtual, c.isVirtual)
			}
			if s := show(got.Value("hypervisors")); s != c.hypervisors {
				t.Errorf("hypervisors are %s, want %s", s, c.hypervisors)
			}
		})
	}
}

// TestTimezone: the abbreviation comes from TZ, or from /etc/localtime.
func TestTimezone(t *testing.T) {
	for tz, want := range map[string]string{"": "UTC", "EST5EDT-no": "EST", ":UTC": "UTC", "CET-1CEST": "CET"} {
		got := Collect(t.Context(), Options{Root: t.TempDir(), sys: quietSystem("6.1", "x86_64"), Env: []string{"TZ=" + tz}})
		if got.Value("timezone") != want {
			t.Errorf("with TZ=%s the time zone is %v, want %s", tz, got.Value("timezone"), want)
		}
	}
}

// TestNames: the domain comes from the name of the host, from the canonical name, or from resolv.conf.
func TestNames(t *testing.T) {
	for _, c := range []struct{ node, hosts, resolv, dns, want string }{
		{"web1.example.com", "", "domain x.org\n", "", `web1 example.com web1.example.com`},
		{"web1", "10.0.0.1 web1.example.com web1\n", "", "", `web1 example.com web1.example.com`},
		{"web1", "10.0.0.1 web1\n", "search a.org b.org\n", "", `web1 a.org web1.a.org`},
		{"web1", "", "search a.org\ndomain d.org\n", "", `web1 d.org web1.d.org`},
		{"web1", "", "search .\n", "", `web1  web1`},
		{"web1", "", "", "web1.dns.org", `web1 dns.org web1.dns.org`},
		{"web1", "127.0.0.1 localhost web1\n", "", "", `web1  localhost`}, // as facter
		{"", "", "", "", `  `},
	} {
		root := t.TempDir()
		write(t, root+"/etc/hosts", c.hosts)
		write(t, root+"/etc/resolv.conf", c.resolv)
		sys := quietSystem("6.1", "x86_64")
		sys.uname = func() (uts, error) { return uts{nodename: c.node}, nil }
		sys.lookup = func(*collector, string) string { return c.dns }
		col := &collector{ctx: t.Context(), o: Options{Root: root, sys: sys}, uts: uts{nodename: c.node}}
		host, domain, fqdn := col.names()
		if got := strings.Join([]string{host, domain, fqdn}, " "); got != c.want {
			t.Errorf("%+v: names are %q, want %q", c, got, c.want)
		}
	}
}

// TestDHCP: the files of the clients.
func TestDHCP(t *testing.T) {
	packet := strings.Repeat("\x00", 236) + "\x63\x82\x53\x63\x35\x01\x05\x00\x36\x04\x0a\x00\x00\x01\xff"
	for name, text := range map[string]string{
		"run/systemd/netif/leases/2":                        "ADDRESS=10.0.0.7\nSERVER_ADDRESS=10.0.0.1\n",
		"var/lib/dhcp/dhclient.eth0.leases":                 "lease {\n  interface \"eth0\";\n  option dhcp-server-identifier 10.0.0.1;\n}\n",
		"var/lib/NetworkManager/internal-5f-eth0.lease":     "SERVER_ADDRESS=10.0.0.1\n",
		"var/lib/dhcpcd/eth0.lease":                         packet,
		"var/lib/NetworkManager/dhclient-5f-eth0.lease":     "interface \"eth0\"; option dhcp-server-identifier 10.0.0.1;",
		"var/lib/NetworkManager/internal-eth0-9-eth0.lease": "# x\nSERVER_ADDRESS=10.0.0.1",
	} {
		root := t.TempDir()
		write(t, root+"/"+name, text)
		c := &collector{ctx: t.Context(), o: Options{Root: root}}
		if got := c.dhcp("eth0", 2); got != "10.0.0.1" {
			t.Errorf("%s: the server is %q", name, got)
		}
		if got := c.dhcp("eth1", 3); got != "" {
			t.Errorf("%s: the server of another interface is %q", name, got)
		}
	}
}

// FuzzNetlink: the messages of the kernel never panic.
func FuzzNetlink(f *testing.F) {
	dump := dumps(f, "link 1 lo 65536 00:00:00:00:00:00\naddr 1 127.0.0.1/8 lo:1\naddr 1 ::1/128\nroute 10.0.0.0/8 1 10.0.0.1\n")
	for _, what := range []int{getLink, getAddr, getRoute} {
		data, _ := dump(what)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		links, _ := parseLinks(data)
		addresses, _ := parseAddresses(data)
		routes, _ := parseRoutes(data)
		c := &collector{ctx: t.Context(), o: Options{Root: t.TempDir()}}
		for _, i := range c.interfaces(links, addresses, routes) {
			sorted(i.facts)
		}
	})
}

// FuzzText: the parsers of files never panic, and what they return can be a fact.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"MemTotal: 10 kB\n", "processor: 0\ncpu MHz: 1.5\n", "/dev/sda1 /srv/my\\040data ext4 rw 0 0\n", "E:ID_FS_LABEL_ENC=a\\x20b\n",
		"/dev/sda1: UUID=\"a\" TYPE=\"b\"\n", "ID=\"rocky\"\nVERSION_ID=9\nNAME=Red Hat\n", "Rocky Linux release 9.5 (Blue Onyx)\n",
		"ssh-rsa AAAA x\n", "1 (a b) c) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 500\n", "a: b\nc: 2020-01-01 10:00:00\n", "a=b\n",
		"Slave Interface: eth0\nPermanent HW addr: x\n", "Iface\tD\neth0\t00000000\t0\t0\t0\t0\t0\t00000000\n", "10.0.0.1 web1.x web1\n",
		"root:x:0:0:\n", "search x\n", "00000000000000000000000000000001 01 80 10 80 lo\n", "ff,03",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parseMeminfo(text)
		info := parseCPUInfo(text)
		levels(info.flags)
		parseMounts(text)
		for _, v := range parseUdev(text) {
			unhex(v)
		}
		parseBlkid(text)
		versioned(parseOSRelease(text)["version_id"]).fact()
		debianCodename(parseOSRelease(text))
		parseRedHatRelease(text)
		debianRelease(text)
		sles(text)
		if name, key := hostKey(text); name != "" {
			sorted(key)
		}
		startTime(text)
		_, _ = yamlFacts(text)
		pairs(text)
		permanent(text, "eth0")
		defaultRoute(text)
		hostsName(text, "web1")
		findAccount(text, 0)
		resolvDomain(text)
		packetServer(text)
		bits(text)
		chassis(text)
	})
}
