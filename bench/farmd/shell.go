package main

import (
	"bytes"
	"fmt"
	"regexp"
)

// What a login shell would do with the lines that clients send, as far as a
// client waits for it; every command counts as true. The forms are those of
// package transport/shell.
var (
	// proof is how a line begins that says that a shell runs it.
	proof = regexp.MustCompile(`^command printf '%s!\\n' (bolt%[0-9a-f]+) >&2; `)
	// resident is the end of a line that makes the shell say so, and then run
	// what it reads, line after line.
	resident = regexp.MustCompile(`; printf '%s\\n' '(bolt%[0-9A-Za-z]+)' >&2; while IFS= TMOUT= read -r (\w+); do [^;]*; eval "\$(\w+)"; done; }$`)
	// told is the end of a line for such a shell that asks how the rest ended.
	told = regexp.MustCompile(`; printf '\\n%s %d\\n' (\S+) \$\?$`)
)

// plainShell is the line for a shell that reads its input.
const plainShell = "exec sh"

// exec runs a line.
func (s *server) exec(l *link, c *channel, id uint32, line []byte) {
	if string(line) == plainShell {
		c.shell = true
		return
	}
	if m := resident.FindSubmatch(line); m != nil && bytes.Equal(m[2], m[3]) {
		c.shell = true
		mark := append(bytes.Clone(m[1]), '\n')
		print(l, id, mark)
		complain(l, id, mark)
		return
	}
	if m := proof.FindSubmatch(line); m != nil {
		complain(l, id, append(bytes.Clone(m[1]), "!\n"...))
	}
	if len(s.output) > 0 {
		print(l, id, s.output)
	}
	c.end(l, id)
}

// maxLine bounds what is held of a line.
const maxLine = 64 << 10

// read gives a shell its input.
func (s *server) read(l *link, c *channel, id uint32, data []byte) error {
	for {
		line, rest, whole := bytes.Cut(data, []byte{'\n'})
		if len(c.line) > 0 {
			if c.line = append(c.line, line...); len(c.line) > maxLine {
				return fmt.Errorf("a line of %d bytes", len(c.line))
			}
			line = c.line
		} else if !whole && len(line) > 0 {
			c.line = bytes.Clone(line)
		}
		if !whole {
			return nil
		}
		print(l, id, s.answer(line))
		c.line, data = nil, rest
	}
}

// answer is what a shell prints for a line, which without a way of its own to
// ask is taken for "true; echo $?".
func (s *server) answer(line []byte) []byte {
	m := told.FindSubmatch(line)
	if m == nil {
		return []byte("0\n")
	}
	return fmt.Appendf(nil, "%s\n%s 0\n", s.output, m[1])
}
