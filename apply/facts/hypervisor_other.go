//go:build !amd64

package facts

// hypervisorSignature is "": only processors with the instruction set of amd64 have such a text.
func hypervisorSignature() string { return "" }
