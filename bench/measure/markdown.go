package measure

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Markdown prints a table that is also readable as text: columns are
// aligned. The first left columns are aligned to the left, figures to the
// right.
func Markdown(w io.Writer, left int, header []string, rows [][]string) error {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	var b strings.Builder
	line := func(row []string) {
		b.WriteByte('|')
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				b.WriteString(" " + cell + pad + " |")
			} else {
				b.WriteString(" " + pad + cell + " |")
			}
		}
		b.WriteByte('\n')
	}
	line(header)
	rule := make([]string, len(header))
	for i := range header {
		rule[i] = strings.Repeat("-", widths[i])
		if i >= left {
			rule[i] = rule[i][1:] + ":"
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Replace writes text into a file between the lines "<!-- NAME: begin -->"
// and "<!-- NAME: end -->".
func Replace(file, name, text string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	first, last := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	head, rest, ok := strings.Cut(string(data), first)
	_, tail, ended := strings.Cut(rest, last)
	if !ok || !ended {
		return fmt.Errorf("%s has no lines %q and %q", file, strings.TrimSpace(first), strings.TrimSpace(last))
	}
	return os.WriteFile(file, []byte(head+first+"\n"+strings.TrimSpace(text)+"\n\n"+last+tail), 0o644)
}
