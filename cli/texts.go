package cli

import (
	"io/fs"
	"strings"
)

// A Text is the text of a command's help page.
type Text struct {
	Short    string // one line
	Long     string
	Examples string
	Note     string // about flags that the help does not list; "" for none
}

// ParseText reads the source form of a Text: the line Short, an empty line, Long, and
// the sections Examples and Note, whose headings are on separate lines.
func ParseText(text string) Text {
	var t Text
	text, t.Note, _ = strings.Cut(strings.TrimSuffix(text, "\n"), "\n\nNote\n")
	text, t.Examples, _ = strings.Cut(text, "\n\nExamples\n")
	t.Short, t.Long, _ = strings.Cut(text, "\n\n")
	return t
}

// Text returns the text of a command's help page.
func (p *Program) Text(c *Command) Text {
	return ParseText(p.read(strings.ReplaceAll(c.Name, " ", "-")))
}

// Occasion returns the text for an occasion on which flags apply; "" for an unknown
// occasion.
func (p *Program) Occasion(on string) string {
	for line := range strings.Lines(p.read("occasions")) {
		if name, words, _ := strings.Cut(line, ": "); name == on {
			return strings.TrimSuffix(words, "\n")
		}
	}
	return ""
}

// read returns the file of Texts with a name. The program and its texts are built
// together, so a missing file is a bug.
func (p *Program) read(name string) string {
	text, err := fs.ReadFile(p.Texts, name+".txt")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// A manual holds the parts of the manual page that are not on the help pages.
type manual struct {
	description string      // a paragraph after the program's description
	environment [][2]string // variables, with their meanings
	files       [][2]string // files, with their contents
	seeAlso     string      // in roff
}

// parseManual reads the source form of a manual: the sections Description,
// Environment, Files and See also. An entry of a list is a line with its name and an
// indented line with its meaning.
func parseManual(text string) manual {
	var m manual
	text, m.seeAlso, _ = strings.Cut(text, "\n\nSee also\n")
	text, files, _ := strings.Cut(text, "\n\nFiles\n")
	text, environment, _ := strings.Cut(text, "\n\nEnvironment\n")
	m.description = strings.TrimPrefix(text, "Description\n")
	m.environment, m.files = parseEntries(environment), parseEntries(files)
	return m
}

func parseEntries(text string) (list [][2]string) {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		list = append(list, [2]string{lines[i], strings.TrimSpace(lines[i+1])})
	}
	return list
}
