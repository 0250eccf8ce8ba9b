package facts

import (
	"slices"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
)

// virtual is the kind of virtual machine or container that the machine is.
type virtual struct {
	platform      string // the fact virtual
	container     string // "docker" and others; "" outside of containers
	containerInfo object
	hypervisor    string // the first name that the program virt-what prints
	pci           string // the platform of the devices on the PCI bus
	openvz        string // "openvzhn" for the host, "openvzve" for a guest
	openvzID      int
	xen           string // "xen0" or "xenu"
}

var physical = []string{"physical", "xen0", "vmware_server", "vmware_workstation", "openvzhn", "vserver_host"}

// products are words of product names in the firmware.
var products = []struct{ word, platform string }{
	{"VMware", "vmware"}, {"VirtualBox", "virtualbox"}, {"Parallels", "parallels"}, {"KVM", "kvm"}, {"Virtual Machine", "hyperv"},
	{"RHEV Hypervisor", "rhev"}, {"oVirt Node", "ovirt"}, {"HVM domU", "xenhvm"}, {"Bochs", "bochs"}, {"OpenBSD", "vmm"}, {"BHYVE", "bhyve"},
}

// pciVendors are makers of virtual devices.
var pciVendors = map[string]string{
	"0x80ee": "virtualbox", "0x5853": "xenhvm", "0x1414": "hyperv", "0x15ad": "vmware", "0x1ab8": "parallels", "0x1af4": "kvm",
}

func (c *collector) virtual() (any, error) { return c.detect().platform, nil }

func (c *collector) isVirtual() (any, error) {
	return !slices.Contains(physical, c.detect().platform), nil
}

// detect finds the platform in the order of facter.
func (c *collector) detect() *virtual {
	return c.virt.get(func() *virtual {
		v := &virtual{hypervisor: c.virtWhat(), xen: c.xenKind()}
		v.container, v.containerInfo = c.container()
		v.openvz, v.openvzID = c.openvz()
		for _, device := range c.list("/sys/bus/pci/devices") {
			if v.pci == "" {
				v.pci = pciVendors[c.line("/sys/bus/pci/devices/"+device+"/vendor")]
			}
		}
		bios := c.dmiValue("bios_vendor")
		google, amazon, lx := "", "", ""
		if strings.Contains(bios, "Google") {
			google = "gce"
		}
		if strings.Contains(bios, "Amazon EC2") {
			amazon = "kvm"
		}
		if c.uts.version == "BrandZ virtual linux" {
			lx = "illumos-lx"
		}
		v.platform = first(v.container, google, lx, v.hypervisor, v.openvz, c.vserver(), v.xen, amazon, c.product(), v.pci, "physical")
		return v
	})
}

var (
	dockerGroup = lazyregexp.New(`docker/(.+)`)
	lxcGroup    = lazyregexp.New(`(?m)^/lxc/([^/\n]+)`)
)

// container returns the kind of the container of the first process, from the control groups and the
// environment of that process.
func (c *collector) container() (kind string, info object) {
	if groups, is := c.read("/proc/1/cgroup"); is {
		id := match(dockerGroup(), groups)
		switch lxc := match(lxcGroup(), groups); {
		case id != "" || c.exists("/.dockerenv"):
			return "docker", object{"id": id}
		case lxc != "":
			return "lxc", object{"name": lxc}
		}
	}
	environ, _ := c.read("/proc/1/environ")
	for pair := range strings.SplitSeq(environ, "\x00") {
		value, is := strings.CutPrefix(pair, "container=")
		if !is {
			continue
		}
		switch value {
		case "lxc", "lxc-virtwhat", "podman", "crio":
			return value, object{}
		case "systemd-nspawn":
			return "systemd_nspawn", object{"id": c.line("/etc/machine-id")}
		}
		return "", nil
	}
	return "", nil
}

// virtWhat returns the first name that the program virt-what 1.25 prints, as facter names it.
// The program reads the same places.
func (c *collector) virtWhat() string {
	vendor, product, bios := c.dmiValue("sys_vendor"), c.dmiValue("product_name"), c.dmiValue("bios_vendor")
	cpu := c.o.sys.cpuid()
	arm := strings.HasPrefix(c.uts.machine, "arm") || c.uts.machine == "aarch64"
	tree := ""
	if arm || cpu == "" {
		tree, _ = c.read("/proc/device-tree/hypervisor/compatible")
	}
	has := strings.Contains
	switch {
	case strings.HasPrefix(vendor, "Alibaba"):
		return "alibaba_cloud"
	case cpu == "VMwareVMware", strings.HasPrefix(vendor, "VMware"):
		return "vmware"
	case cpu == "Microsoft Hv":
		return "hyperv"
	case has(vendor, "Microsoft Corporation") && has(product, "Virtual Machine"):
		return "virtualpc"
	case has(vendor, "innotek GmbH"):
		return "virtualbox"
	case cpu == "bhyve bhyve ", has(bios, "BHYVE"):
		return "bhyve"
	case c.isDir("/proc/vz") && !c.isDir("/proc/bc"):
		return "openvz"
	case has(bios, "Parallels"):
		return "parallels"
	case has(vendor, "Nutanix"):
		return "nutanix_ahv"
	case has(vendor, "oVirt"):
		return "ovirt"
	case has(product, "RHEV Hypervisor"):
		return "rhev"
	case has(product, "Google Compute Engine"):
		return "google_cloud"
	case cpu == "XenVMMXenVMM" && vendor != "":
		return "xenhvm"
	case c.isDir("/proc/xen"):
		if has(c.line("/proc/xen/capabilities"), "control_d") {
			return "xen0"
		}
		return "xenu"
	case has(c.line("/sys/hypervisor/type"), "xen"), arm && has(tree, "xen"):
		return "xen"
	case arm && has(tree, "vmware"):
		return "vmware"
	case cpu == "KVMKVMKVM":
		return "kvm"
	case cpu == "TCGTCGTCGTCG":
		return "qemu"
	case has(product, "KVM"), has(vendor, "KVM"), has(vendor, "Amazon EC2") && !has(product, ".metal"):
		return "kvm"
	case has(vendor, "QEMU"):
		return "qemu"
	case has(tree, "linux,kvm"):
		return "kvm"
	case cpu == "LKVMLKVMLKVM":
		return "lkvm"
	case cpu == "OpenBSDVMM58":
		return "vmm"
	}
	return ""
}

// vserver returns the side of a Linux-VServer; "" if there is none.
func (c *collector) vserver() string {
	if v, is := c.status("s_context:", "VxID:"); is && v == "0" {
		return "vserver_host"
	} else if is {
		return "vserver"
	}
	return ""
}

// status returns the value of the first of some fields of the process.
func (c *collector) status(fields ...string) (string, bool) {
	text, _ := c.read("/proc/self/status")
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && slices.Contains(fields, f[0]) {
			return f[1], true
		}
	}
	return "", false
}

func (c *collector) openvz() (kind string, id int) {
	if len(c.list("/proc/vz")) == 0 || c.exists("/proc/lve/list") {
		return "", 0
	}
	v, is := c.status("envID:")
	if !is {
		return "", 0
	}
	id, _ = strconv.Atoi(v)
	if id == 0 {
		return "openvzhn", id
	}
	return "openvzve", id
}

func (c *collector) xenKind() string {
	switch {
	case c.exists("/dev/xen/evtchn"):
		return "xen0"
	case c.exists("/proc/xen"), c.exists("/dev/xvda1") && !c.isLink("/dev/xvda1"):
		return "xenu"
	}
	return ""
}

// product returns the platform of the name of the product.
func (c *collector) product() string {
	name := c.dmiValue("product_name")
	for _, p := range products {
		if strings.Contains(name, p.word) {
			return p.platform
		}
	}
	return ""
}

// hypervisors returns details of hypervisors and containers. Their values can be empty.
func (c *collector) hypervisors() (any, error) {
	v := c.detect()
	vendor, product, bios := c.dmiValue("sys_vendor"), c.dmiValue("product_name"), c.dmiValue("bios_vendor")
	named := first(c.product(), product)
	out := object{}
	add := func(name string, info object) { out[name] = sorted(info) }
	switch v.container {
	case "docker", "lxc", "systemd_nspawn":
		add(v.container, v.containerInfo)
	}
	if strings.Contains(vendor, "Microsoft") || product == "Virtual Machine" {
		add("hyperv", nil)
	}
	kvm := v.hypervisor == "kvm" || v.pci == "kvm" || strings.Contains(bios, "Amazon EC2") || strings.Contains(bios, "Google") || strings.Contains(named, "OpenStack")
	if kvm && named != "virtualbox" && named != "parallels" {
		info := object{}
		for prefix, name := range map[string]string{"Google": "google", "OpenStack": "openstack", "Amazon": "amazon"} {
			if strings.HasPrefix(vendor, prefix) {
				info[name] = true
			}
		}
		add("kvm", info)
	}
	if v.openvz != "" {
		add("openvz", object{"id": v.openvzID, "host": v.openvz == "openvzhn"})
	}
	if product == "VirtualBox" || v.hypervisor == "virtualbox" || v.pci == "virtualbox" {
		// The strings of the maker, which the kernel shows to root.
		oem, _ := c.read("/sys/firmware/dmi/entries/11-0/raw")
		add("virtualbox", object{"version": match(boxVersion(), oem), "revision": match(boxRevision(), oem)})
	}
	if v.hypervisor == "vmware" || product == "VMware" || v.pci == "vmware" || vendor == "VMware, Inc." {
		add("vmware", nil)
	}
	if strings.Contains(v.platform, "xen") {
		context := "pv"
		if named == "xenhvm" || v.pci == "xenhvm" {
			context = "hvm"
		}
		add("xen", object{"context": context, "privileged": v.xen == "xen0" || c.line("/proc/xen/capabilities") == "control_d"})
	}
	return out, nil
}

var (
	boxVersion  = lazyregexp.New(`vboxVer_([^\s\x00]+)`)
	boxRevision = lazyregexp.New(`vboxRev_([^\s\x00]+)`)
)
