package cli

import (
	"fmt"
	"strings"
)

// Help returns the page for words that begin with the name of a command, the page
// of a group, or the general page.
//
// Differs from Bolt: it prints the general page for words that are no command.
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

// page is the help of one command.
func (p *Program) page(c *Command) string {
	t := p.Text(c)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s [options]\n\n%s\n\nExamples\n%s\n\nExit codes\n%s", t.Short,
		strings.TrimSpace(p.Name+" "+c.Name+" "+c.Args), t.Long, t.Examples, exitCodes(c.Exit+p.Mistake))
	b.WriteString(p.flagHelp(c))
	if t.Note != "" {
		b.WriteString("\n" + wrap(t.Note, helpWidth, "") + "\n")
	}
	return b.String()
}

// helpWidth is the width of the text of a help page.
const helpWidth = 78

// exitCodes renders what exit codes mean.
func exitCodes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		code, meaning, _ := strings.Cut(line, "  ")
		fmt.Fprintf(&b, "  %s  %s\n", code, wrap(meaning, helpWidth-5, "     "))
	}
	return b.String()
}

// groupPage is the help of a first word.
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

// generalPage is the help of the program.
func (p *Program) generalPage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage\n  %s <command> <action> [options]\n\nCommands\n", wrap(p.Description, helpWidth, ""), p.Name)
	for i := range p.Commands {
		c := &p.Commands[i]
		fmt.Fprintf(&b, "  %-18s %s\n", c.Name, p.Text(c).Short)
	}
	fmt.Fprintf(&b, "  %-18s %s\n", "completion SHELL", "Print the completion script for a shell")
	b.WriteString("\n" + p.read("closing"))
	return b.String()
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
			if f = f.with(c); f.Section != sec {
				continue
			}
			if first {
				b.WriteString("\n" + sec + "\n")
				first = false
			}
			b.WriteString(flagLine(f))
		}
	}
	return b.String()
}

// flagLine is a flag and its explanation, wrapped to a terminal of 100 columns.
func flagLine(f Flag) string {
	const left, width = 34, 100
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
