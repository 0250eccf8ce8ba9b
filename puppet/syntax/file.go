package syntax

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// A File is the source of nodes.
type File struct {
	Name string // its path, in the form that the user would write; "" for a string
	Src  string
	// Before is the number of lines before it, if it is a part of another file.
	// Positions include these lines.
	Before int

	once  sync.Once
	lines []uint32 // the offset of the first byte of each line
}

// NewFile returns a file with this name and content.
func NewFile(name, src string) *File { return &File{Name: name, Src: src} }

// A Position is a position in a file for messages. Both numbers begin at 1, and
// columns count characters.
type Position struct {
	File         string
	Line, Column int
}

// String returns "file:line:column" without the parts that are unknown.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Position converts an offset to a position.
func (f *File) Position(off uint32) Position {
	line := f.line(off)
	begin := f.lines[line]
	off = min(off, uint32(len(f.Src)))
	return Position{f.Name, f.Before + line + 1, utf8.RuneCountInString(f.Src[begin:off]) + 1}
}

// Line returns the line that contains an offset, without its line end.
func (f *File) Line(off uint32) string {
	line := f.line(off) // fills lines
	text := f.Src[f.lines[line]:]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "\r")
}

// bounds returns the beginning of the line that contains an offset, and the
// beginning of the next line.
func (f *File) bounds(off uint32) (begin, end uint32) {
	line := f.line(off) // fills lines
	if line+1 < len(f.lines) {
		return f.lines[line], f.lines[line+1]
	}
	return f.lines[line], uint32(len(f.Src))
}

// line returns the index of the line that contains an offset.
func (f *File) line(off uint32) int {
	f.once.Do(func() {
		f.lines = append(f.lines, 0)
		for i := 0; i < len(f.Src); i++ {
			if f.Src[i] == '\n' {
				f.lines = append(f.lines, uint32(i+1))
			}
		}
	})
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > off }) - 1
}
