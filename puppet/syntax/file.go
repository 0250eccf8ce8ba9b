package syntax

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"
)

// A File is a text that nodes have been made from.
type File struct {
	Name string // its path as the user would write it; "" for a text without one
	Src  string
	// Before is how many lines are before it where it is a piece of another file;
	// positions count them.
	Before int

	once  sync.Once
	lines []uint32 // the offset of each line's first byte
}

// NewFile returns a file of this name with this text.
func NewFile(name, src string) *File { return &File{Name: name, Src: src} }

// A Position is a place in a file for people: both numbers begin at 1, and
// columns count characters.
type Position struct {
	File         string
	Line, Column int
}

// String returns "file:line:column" without what is not known.
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

// Position returns where an offset is.
func (f *File) Position(off uint32) Position {
	line := f.line(off)
	begin := f.lines[line]
	off = min(off, uint32(len(f.Src)))
	return Position{f.Name, f.Before + line + 1, utf8.RuneCountInString(f.Src[begin:off]) + 1}
}

// Line returns the text of the line an offset is in, without its end.
func (f *File) Line(off uint32) string {
	line := f.line(off) // which fills lines
	text := f.Src[f.lines[line]:]
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(text, "\r")
}

// bounds returns where the line an offset is in begins, and where the next one
// does.
func (f *File) bounds(off uint32) (begin, end uint32) {
	line := f.line(off) // which fills lines
	if line+1 < len(f.lines) {
		return f.lines[line], f.lines[line+1]
	}
	return f.lines[line], uint32(len(f.Src))
}

// line returns the index of the line an offset is in.
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
