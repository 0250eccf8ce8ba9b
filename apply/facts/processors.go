package facts

import (
	"slices"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
)

// cpuinfo is the contents of /proc/cpuinfo.
type cpuinfo struct {
	count    int
	models   []string
	packages map[string]bool // ids of sockets
	mhz      uint64
	flags    []string
}

// parseCPUInfo reads /proc/cpuinfo. Keys differ among architectures: "cpu" and "clock" are those of
// POWER.
func parseCPUInfo(text string) cpuinfo {
	info := cpuinfo{models: []string{}, packages: map[string]bool{}}
	for line := range strings.Lines(text) {
		key, _, _ := strings.Cut(line, ":")
		_, value, _ := cutLast(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "processor":
			info.count++
		case "model name", "cpu":
			info.models = append(info.models, value)
		case "physical id":
			info.packages[value] = true
		case "cpu MHz", "clock":
			if n, err := strconv.ParseUint(digits().FindString(value), 10, 32); err == nil {
				info.mhz = n
			}
		case "flags":
			info.flags = strings.Fields(value)
		}
	}
	return info
}

func (c *collector) processors() (any, error) {
	text, is := c.read("/proc/cpuinfo")
	if !is {
		return nil, nil
	}
	info := parseCPUInfo(text)
	isa := c.isa()
	extensions := []string{isa}
	if isa == "x86_64" {
		extensions = append(extensions, levels(info.flags)...)
	}
	topology := c.topology()
	physical := len(info.packages)
	if physical == 0 {
		physical = topology.sockets
	}
	out := object{
		"count": info.count, "models": info.models, "physicalcount": physical,
		"isa": isa, "extensions": extensions, "speed": hertz(info.mhz * 1_000_000),
	}
	if topology.threads > 0 {
		out["threads"], out["cores"] = topology.threads, topology.cores
	}
	return out, nil
}

// isa returns the output of "uname -p". The kernel has no such value. Some distributions patch uname to
// print the machine; the others print "unknown".
func (c *collector) isa() string {
	d := c.distribution()
	machine := c.uts.machine
	if strings.HasPrefix(machine, "i") && strings.HasSuffix(machine, "86") {
		machine = "i686"
	}
	major := 0
	if r := d.release; r != nil {
		major, _ = strconv.Atoi(r.major)
	}
	switch {
	case d.is("ubuntu"), d.is("sles"):
		return machine
	case d.id == "amzn", d.id == "almalinux", d.id == "fedora" && major < 38, d.id != "fedora" && d.is("rhel") && major < 10:
		return machine
	}
	return "unknown"
}

// levels returns the levels of the x86-64 psABI that the flags of a processor reach. facter tests each on
// its own.
func levels(flags []string) []string {
	var reached []string
	for i, needs := range []string{
		"cmov cx8 fpu fxsr lm mmx syscall sse2",
		"cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
		"abm avx avx2 bmi1 bmi2 f16c fma movbe xsave",
		"avx512f avx512bw avx512cd avx512dq avx512vl",
	} {
		if !slices.ContainsFunc(strings.Fields(needs), func(flag string) bool { return !slices.Contains(flags, flag) }) {
			reached = append(reached, "x86_64-v"+strconv.Itoa(i+1))
		}
	}
	return reached
}

type topology struct{ sockets, cores, threads int } // cores of a socket, threads of a core

var cpuDir = lazyregexp.New(`^cpu[0-9]+$`)

// topology counts as lscpu does: sets of processors that share a socket or a core.
func (c *collector) topology() topology {
	const dir = "/sys/devices/system/cpu"
	sockets, cores, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}
	threads := 0
	for _, name := range c.list(dir) {
		if !cpuDir().MatchString(name) {
			continue
		}
		at := dir + "/" + name + "/topology/"
		if id := c.line(at + "physical_package_id"); id != "" {
			ids[id] = true
		}
		siblings := c.line(at + "thread_siblings")
		if siblings == "" { // the processor is off
			continue
		}
		cores[siblings] = true
		sockets[c.line(at+"core_siblings")] = true
		threads = max(threads, bits(siblings))
	}
	t := topology{sockets: len(ids), threads: threads}
	if len(sockets) > 0 {
		t.cores = max(1, len(cores)/len(sockets))
	}
	return t
}

// bits returns the number of bits in a mask of processors such as "ff,00000003".
func bits(mask string) int {
	n := 0
	for _, digit := range mask {
		if v, err := strconv.ParseUint(string(digit), 16, 8); err == nil {
			for ; v > 0; v &= v - 1 {
				n++
			}
		}
	}
	return n
}
