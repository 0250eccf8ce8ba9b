package value

import (
	"strconv"
	"strings"
)

// fixedEncoding reports whether Ruby sets the encoding of an expression to
// UTF-8. Ruby does so if the expression contains a character outside of ASCII
// or a character property.
func fixedEncoding(src string) bool {
	for i := 0; i < len(src); i++ {
		if src[i] >= 0x80 {
			return true
		}
		if src[i] != '\\' || i+1 == len(src) {
			continue
		}
		i++
		switch rest := src[i+1:]; src[i] {
		case 'p', 'P':
			return true
		case 'x':
			if beyondASCII(rest[:min(2, len(rest))]) {
				return true
			}
		case 'u':
			list, braces := strings.CutPrefix(rest, "{")
			if !braces {
				list = rest[:min(4, len(rest))]
			}
			list, _, _ = strings.Cut(list, "}")
			for c := range strings.FieldsSeq(list) {
				if beyondASCII(c) {
					return true
				}
			}
		}
	}
	return false
}

func beyondASCII(hex string) bool {
	c, err := strconv.ParseUint(hex, 16, 32)
	return err == nil && c >= 0x80
}

// shown returns the expression as Puppet prints it. An expression with a fixed
// encoding has an additional option. Puppet prints it as a group with the
// options that are not set.
func (r *Regexp) shown(options string) string {
	if src := r.Source(); !fixedEncoding(src) {
		return src
	}
	return "(?-" + options + ":" + r.Source() + ")"
}
