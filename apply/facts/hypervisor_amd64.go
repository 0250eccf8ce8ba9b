package facts

import (
	"encoding/binary"
	"strings"
)

func cpuid(leaf uint32) (a, b, c, d uint32)

// hypervisorSignature returns the text that a hypervisor puts in the first of the processor's leaves that
// are reserved for it.
func hypervisorSignature() string {
	const hypervisor = 1 << 31
	if _, _, c, _ := cpuid(1); c&hypervisor == 0 {
		return ""
	}
	_, b, c, d := cpuid(0x40000000)
	var text []byte
	for _, word := range []uint32{b, c, d} {
		text = binary.LittleEndian.AppendUint32(text, word)
	}
	return strings.TrimRight(string(text), "\x00")
}
