package yamlplan

import (
	"sort"
	"strings"

	"bolt/format/yaml"
)

// lineOffsets returns the offset of each line of src.
func lineOffsets(src string) []int {
	offsets := []int{0}
	for i := range len(src) {
		if src[i] == '\n' {
			offsets = append(offsets, i+1)
		}
	}
	return offsets
}

// line returns the text of a line without its line end. Numbers begin at 1.
// After the last line it returns "".
func (p *Plan) line(number int) string {
	if number < 1 || number > len(p.lines) {
		return ""
	}
	text, _, _ := strings.Cut(p.src[p.lines[number-1]:], "\n")
	return strings.TrimSuffix(text, "\r")
}

// starts returns the offset in the file of each line of a scalar's text. If an
// offset is unknown, it is the offset of the scalar.
func (p *Plan) starts(n *yaml.Node) []int {
	lines := strings.Split(n.Text, "\n")
	at := make([]int, len(lines))
	off := n.Offset
	for i, line := range lines {
		at[i] = off
		if n.Style != yaml.Literal {
			continue
		}
		number := n.Line + 1 + i
		if raw := p.line(number); strings.HasSuffix(raw, line) && number <= len(p.lines) {
			at[i] = p.lines[number-1] + len(raw) - len(line)
		}
	}
	return at
}

// verbatim reports whether the file contains the text of a one-line scalar
// unchanged, and returns its offset.
func (p *Plan) verbatim(n *yaml.Node) (off int, ok bool) {
	off = n.Offset
	if n.Style == yaml.DoubleQuoted {
		off++
	}
	return off, off <= len(p.src) && strings.HasPrefix(p.src[off:], n.Text)
}

// lineOf returns the line in the file of a line of a scalar's text. Line
// numbers begin at 1.
func (p *Plan) lineOf(n *yaml.Node, line int) int {
	starts := p.starts(n)
	off := starts[min(max(line, 1), len(starts))-1]
	return p.lineAt(off)
}

// lineAt returns the line of an offset. Line numbers begin at 1.
func (p *Plan) lineAt(off int) int { return sort.SearchInts(p.lines, off+1) }
