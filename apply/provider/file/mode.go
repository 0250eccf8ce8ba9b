package file

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A mode is a parsed value of the parameter mode.
type mode struct {
	text  string
	octal bool
	bits  uint32 // if octal
}

// parseMode parses an octal mode or a symbolic mode, such as "u=rw,g+r". It accepts the same values as Puppet.
// Some symbolic modes fail only when they are applied.
func parseMode(text string) (m mode, ok bool) {
	m.text = text
	if len(text) > 0 && strings.Trim(text, "01234567") == "" {
		if len(text) > 5 || len(text) == 5 && text[0] != '0' {
			return m, false
		}
		n, _ := strconv.ParseUint(text, 8, 32)
		m.octal, m.bits = true, uint32(n)
		return m, true
	}
	for part := range strings.SplitSeq(text, ",") {
		rest := strings.TrimLeft(part, "ugoa")
		if rest == "" || !strings.ContainsRune("-+=", rune(rest[0])) || strings.Trim(rest, "-+=rstwxXugo") != "" {
			return m, false
		}
	}
	return m, true
}

// For people: Puppet writes octal modes with four digits.
func (m mode) String() string {
	if m.octal {
		return octal(m.bits)
	}
	return m.text
}

func octal(bits uint32) string { return fmt.Sprintf("%04o", bits) }

const (
	anyExecute = 0o111
	sticky     = 1
)

// apply returns the mode that a file with the mode from gets. In octal modes, directories can be
// entered where they can be read.
func (m mode) apply(from uint32, directory bool) (uint32, error) {
	if m.octal {
		if directory {
			return m.bits | m.bits&0o444>>2, nil
		}
		return m.bits, nil
	}
	// The three digits and the special bits, by their letters. The letters are as in chmod, except that "="
	// leaves the special bits alone and "o+s" is "o+t".
	bits := map[byte]uint32{'s': from >> 9 & 7, 'u': from >> 6 & 7, 'g': from >> 3 & 7, 'o': from & 7}
	for part := range strings.SplitSeq(m.text, ",") {
		ops := strings.TrimLeft(part, "ugoa")
		who := part[:len(part)-len(ops)]
		if who == "" || strings.Contains(who, "a") {
			who = "ugo"
		}
		// All of a part refers to the modes before it.
		before := map[byte]uint32{'u': bits['u'], 'g': bits['g'], 'o': bits['o']}
		for i := range len(who) {
			if strings.IndexByte(who, who[i]) < i {
				continue // a letter that was there before
			}
			value, special, err := run(ops, who[i], before, bits['s'], directory || from&anyExecute != 0)
			if err != nil {
				return 0, err
			}
			bits[who[i]], bits['s'] = value, special
		}
	}
	return bits['s']<<9 | bits['u']<<6 | bits['g']<<3 | bits['o'], nil
}

// run applies the operations of one part to one digit. x reports whether X sets the execute bit.
func run(ops string, who byte, before map[byte]uint32, special uint32, x bool) (value, newSpecial uint32, err error) {
	value = before[who]
	var action byte
	change := func(to *uint32, bit uint32) {
		if action == '-' {
			*to &^= bit
		} else {
			*to |= bit
		}
	}
	for i := range len(ops) {
		switch c := ops[i]; c {
		case '-', '+', '=':
			action = c
			if c == '=' {
				value = 0
			}
		case 'u', 'g', 'o':
			change(&value, before[c])
		case 'r':
			change(&value, 4)
		case 'w':
			change(&value, 2)
		case 'x':
			change(&value, 1)
		case 'X':
			if action != '+' {
				return 0, 0, errors.New("the permission X is possible only after +")
			}
			if x {
				value |= 1
			}
		case 't':
			change(&special, sticky)
		case 's':
			change(&special, map[byte]uint32{'u': 4, 'g': 2, 'o': sticky}[who])
		}
	}
	return value, special, nil
}
