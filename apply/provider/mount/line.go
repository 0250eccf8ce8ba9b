package mount

import (
	"strconv"
	"strings"
)

const fstab = "/etc/fstab"

// A field is one of the fields of a line, without the name of the mount.
type field int

const (
	device field = iota
	fstype
	options
	pass
	dump
	fieldCount // in the order in which Puppet changes them
)

var fieldNames = [fieldCount]string{"device", "fstype", "options", "pass", "dump"}

// A line is one of fstab. The name is "" for comments and for lines that are not understood.
type line struct {
	text   string // as it was read
	name   string
	fields [fieldCount]string // "" for those that are not there
}

func parse(text string) *line {
	l := &line{text: text}
	words := strings.Fields(text)
	if len(words) < 2 || strings.HasPrefix(words[0], "#") {
		return l
	}
	l.fields[device], l.name = decode(words[0]), trim(decode(words[1]))
	for i, f := range []field{fstype, options, dump, pass} {
		if i+2 < len(words) {
			l.fields[f] = words[i+2]
		}
	}
	return l
}

// String is the line with its present values. Fields in the middle that are not there get the value that
// stands for it.
func (l *line) String() string {
	words := []string{encode(l.fields[device]), encode(l.name), l.fields[fstype], l.fields[options], l.fields[dump], l.fields[pass]}
	missing := []string{"none", "none", "auto", "defaults", "0", "0"}
	for words[len(words)-1] == "" {
		words = words[:len(words)-1]
	}
	for i := range words {
		if words[i] == "" {
			words[i] = missing[i]
		}
	}
	return strings.Join(words, "\t")
}

// find returns the line of a mount, the last one of several as in Puppet; nil if there is none.
func find(lines []*line, name string) (found *line) {
	for _, l := range lines {
		if l.name == name {
			found = l
		}
	}
	return found
}

// trim removes slashes at the end.
func trim(name string) string {
	if t := strings.TrimRight(name, "/"); t != "" {
		return t
	}
	return name
}

// decode reads the octal escapes of fstab(5), such as \040 for a space.
func decode(word string) string {
	var b strings.Builder
	for i := 0; i < len(word); i++ {
		if word[i] == '\\' && i+3 < len(word) {
			if n, err := strconv.ParseUint(word[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(word[i])
	}
	return b.String()
}

func encode(text string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(text)
}
