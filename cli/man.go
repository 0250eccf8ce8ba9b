package cli

import (
	"fmt"
	"strings"
)

// ManPage returns the manual page of the program in the man macros (man(7)), made
// from the same tables as the help pages.
func (p *Program) ManPage() string {
	var b strings.Builder
	manual := parseManual(p.read("manual"))
	b.WriteString(".TH " + strings.ToUpper(p.Name) + " 1\n.SH NAME\n" + p.Name + " \\- " + roff(p.Purpose) + "\n.SH SYNOPSIS\n")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, ".B %s %s\n%s\n.br\n", p.Name, c.Name, synopsis(c.Args+" [options]"))
	}
	b.WriteString(".B " + p.Name + " help\n" + synopsis("[COMMAND]") + "\n.br\n.B " + p.Name + " completion\n" + synopsis("SHELL") + "\n")
	b.WriteString(".SH DESCRIPTION\n" + roff(p.Description) + "\n.PP\n" + roff(manual.description) + "\n")
	b.WriteString(".SH COMMANDS\n")
	for i := range p.Commands {
		c := &p.Commands[i]
		t := p.Text(c)
		fmt.Fprintf(&b, ".SS %s %s\n%s\n", c.Name, roff(c.Args), roff(t.Long))
		if t.Note != "" {
			b.WriteString(".PP\n" + roff(t.Note) + "\n")
		}
		fmt.Fprintf(&b, ".PP\nExamples:\n.PP\n.nf\n%s\n.fi\n", roff(t.Examples))
	}
	b.WriteString(".SS completion SHELL\nPrints the completion script for bash, zsh, fish or powershell.\n")
	b.WriteString(".SH OPTIONS\nLong options may be shortened as far as they stay unambiguous. The help of a command lists those that mean " +
		"something to it, and its formats.\n")
	for _, sec := range p.Sections {
		fmt.Fprintf(&b, ".SS %s\n", sec)
		for _, f := range p.Flags {
			if f.Section != sec {
				continue
			}
			head := "\\-\\-" + roff(f.Name)
			if f.Negatable {
				head = "\\-\\-[no\\-]" + roff(f.Name)
			}
			if f.Short != "" {
				head = "\\-" + f.Short + ", " + head
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", strings.TrimSpace(head+" "+f.Arg), roff(f.Help))
		}
	}
	b.WriteString(".SH EXIT STATUS\n.TP\n.B 0\nEverything succeeded: on every target, or with every file.\n.TP\n.B 1\n" +
		"Something failed, or " + p.Mistake + ".\n.PP\nSee the help of each command.\n")
	for _, list := range []struct {
		title, font string
		entries     [][2]string
	}{{"ENVIRONMENT", "B", manual.environment}, {"FILES", "I", manual.files}} {
		b.WriteString(".SH " + list.title + "\n")
		for _, e := range list.entries {
			fmt.Fprintf(&b, ".TP\n.%s %s\n%s\n", list.font, roff(e[0]), roff(e[1]))
		}
	}
	b.WriteString(".SH SEE ALSO\n" + manual.seeAlso)
	return b.String()
}

// synopsis formats the parts that the user replaces in italics.
func synopsis(args string) string {
	words := strings.Fields(args)
	for i, w := range words {
		name := strings.Trim(w, "[].")
		if name == strings.ToUpper(name) {
			words[i] = strings.Replace(roff(w), name, `\fI`+name+`\fR`, 1)
		}
	}
	return strings.Join(words, " ")
}

// roff escapes text for man(7).
func roff(s string) string {
	s = strings.ReplaceAll(s, `\`, `\e`)
	s = strings.ReplaceAll(s, "-", `\-`)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
