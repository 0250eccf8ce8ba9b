package cli

import (
	"fmt"
	"strings"
)

// Help returns the page of a command or a group whose name words begin with, or the general page.
// Its text fits Program.Width.
//
// Differs from Bolt: Bolt prints the general page for words that are not a command.
func (p *Program) Help(words []string) (string, error) {
	if len(words) == 0 || words[0] == "help" {
		return p.generalPage(), nil
	}
	if len(words) == 1 {
		if g := p.group(words[0]); g != nil {
			return p.groupPage(g), nil
		}
	}
	c, _, err := p.Find(words)
	if err != nil {
		return "", err
	}
	return p.page(c), nil
}

// page returns the help page of one command.
func (p *Program) page(c *Command) string {
	t := p.Text(c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s [options]\n\n%s\n\nExamples\n%s\n\nExit codes\n%s", t.Short,
		strings.TrimSpace(p.Name+" "+c.Name+" "+c.Args), p.refit(t.Long), t.Examples, p.exitCodes(c.Exit+p.Mistake))
	b.WriteString(p.flagHelp(c))
	if t.Note != "" {
		b.WriteString("\n" + wrap(t.Note, p.textWidth(), "") + "\n")
	}
	return b.String()
}

// The widths of help pages, in columns.
const (
	minWidth     = 40
	maxWidth     = 100
	defaultWidth = 80 // if the width of the terminal is not known
	maxText      = 78 // of sentences
)

// width returns the width of a help page.
func (p *Program) width() int {
	if p.Width <= 0 {
		return defaultWidth
	}
	return min(max(p.Width, minWidth), maxWidth)
}

// textWidth returns the width of the sentences of a help page.
func (p *Program) textWidth() int { return min(p.width(), maxText) }

// exitCodes renders the meanings of exit codes.
func (p *Program) exitCodes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, meaning, _ := strings.Cut(line, "  ")
		fmt.Fprintf(&b, "  %s  %s\n", code, wrap(meaning, p.textWidth()-5, "     "))
	}
	return b.String()
}

// groupPage returns the help page of a group.
func (p *Program) groupPage(g *Group) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s %s <action> [options]\n\nActions\n", g.Short, p.Name, g.Name)
	for i := range p.Commands {
		c := &p.Commands[i]
		if first, action, _ := strings.Cut(c.Name, " "); first == g.Name {
			fmt.Fprintf(&b, "  %-12s %s\n", action, p.Text(c).Short)
		}
	}
	fmt.Fprintf(&b, "\nMore\n  %s help %s <action>\n", p.Name, g.Name)
	return b.String()
}

// generalPage returns the help page of the program: the commands of one word and the groups, by
// task.
func (p *Program) generalPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s <command> [<action>] [options]\n", wrap(p.Description, p.textWidth(), ""), p.Name)
	const left = 14
	for _, ch := range p.Chapters {
		fmt.Fprintf(&b, "\n%s\n", ch.Title)
		for _, name := range ch.Names {
			fmt.Fprintf(&b, "  %-*s%s\n", left-2, name, wrap(p.summary(name), p.width()-left, strings.Repeat(" ", left)))
		}
	}
	b.WriteString("\n" + p.read("closing"))
	return b.String()
}

// summary returns the sentence about a group, or about a command of one word.
func (p *Program) summary(name string) string {
	if g := p.group(name); g != nil {
		return g.Short
	}
	for i := range p.Commands {
		if p.Commands[i].Name == name {
			return p.Text(&p.Commands[i]).Short
		}
	}
	return p.Extra[name]
}

// flagHelp renders the flags of c's help page, by section.
func (p *Program) flagHelp(c *Command) string {
	var b strings.Builder
	for _, sec := range p.Sections {
		first := true
		for _, f := range p.Flags {
			if !c.Takes(&f) {
				continue
			}
			if f = f.For(c); f.Section != sec {
				continue
			}
			if first {
				b.WriteString("\n" + sec + "\n")
				first = false
			}
			b.WriteString(p.flagLine(f))
		}
	}
	return b.String()
}

// flagLine returns a flag and its explanation. On a narrow terminal, the explanation is below the
// flag.
func (p *Program) flagLine(f Flag) string {
	left, width := 34, p.width()
	if width < 70 {
		left = 8
	}
	head := "    "
	if f.Short != "" {
		head = "-" + f.Short + ", "
	}
	if f.Negatable {
		head += "--[no-]" + f.Name
	} else {
		head += "--" + f.Name
	}
	if f.Arg != "" {
		head += " " + f.Arg
	}
	head = "  " + head
	var b strings.Builder
	b.WriteString(head)
	if len(head) > left-2 {
		b.WriteString("\n" + strings.Repeat(" ", left))
	} else {
		b.WriteString(strings.Repeat(" ", left-len(head)))
	}
	b.WriteString(wrap(f.Help, width-left, strings.Repeat(" ", left)))
	b.WriteString("\n")
	return b.String()
}

// refit wraps the paragraphs of a text that is written for maxText columns, if the terminal is narrower.
// Indented lines, such as lists, stay as they are.
func (p *Program) refit(text string) string {
	if p.textWidth() == maxText {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, one := range paragraphs {
		if !strings.HasPrefix(one, " ") && !strings.Contains(one, "\n ") {
			paragraphs[i] = wrap(one, p.textWidth(), "")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// wrap breaks text into lines of at most width, each but the first after indent.
func wrap(text string, width int, indent string) string {
	var b strings.Builder
	n := 0
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len(w) > width:
			b.WriteString("\n" + indent)
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(w)
		n += len(w)
	}
	return b.String()
}
