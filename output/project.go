package output

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
)

// Created is a file that was made for people to go on with.
type Created struct {
	Kind, Name, Path string // "plan", its name, its file
	Next             []Described
}

// PrintCreated prints what was made; as text also what can be done with it: in
// Next a sentence for each command.
func PrintCreated(w io.Writer, o ListOptions, c *Created) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		if err := writeLine(out, ordered.Of("name", c.Name, "path", c.Path)); err != nil {
			return err
		}
		return out.Flush()
	}
	_, _ = out.WriteString(safetext.TerminalString("Created "+c.Kind+" '"+c.Name+"' at '"+c.Path+"'") + "\n\n")
	for _, n := range c.Next {
		_, _ = out.WriteString(n.Description + "\n    " + n.Name + "\n")
	}
	return out.Flush()
}

// Policies are what "policy show" shows.
type Policies struct {
	Names      []string
	Modulepath []string
}

// PrintPolicies prints names of policies, and where their classes are looked
// for.
func PrintPolicies(w io.Writer, o ListOptions, p *Policies) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		if err := writeLine(out, ordered.Of("policies", p.Names, "modulepath", p.Modulepath)); err != nil {
			return err
		}
		return out.Flush()
	}
	heading(out, o.Color, "Policies")
	if len(p.Names) == 0 {
		_, _ = out.WriteString("  No policies\n")
	}
	for _, name := range p.Names {
		_, _ = out.WriteString("  " + safetext.TerminalString(name) + "\n")
	}
	printModulepath(out, o.Color, p.Modulepath)
	return out.Flush()
}

// PrintTopics prints the names of guides.
func PrintTopics(w io.Writer, o ListOptions, topics []string) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		if err := writeLine(out, ordered.Of("topics", topics)); err != nil {
			return err
		}
		return out.Flush()
	}
	heading(out, o.Color, "Topics")
	for _, name := range topics {
		_, _ = out.WriteString("  " + name + "\n")
	}
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  Read one of them with 'bolt guide <TOPIC>'\n")
	return out.Flush()
}

// PrintGuide prints a guide, and the documents that say more.
func PrintGuide(w io.Writer, o ListOptions, topic, text string, documents []string) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		if err := writeLine(out, ordered.Of("topic", topic, "guide", text, "documentation", documents)); err != nil {
			return err
		}
		return out.Flush()
	}
	section := func(title, body string) {
		heading(out, o.Color, title)
		for line := range strings.Lines(body) {
			if line != "\n" {
				line = "  " + line
			}
			_, _ = out.WriteString(line)
		}
	}
	section(topic, text)
	if len(documents) > 0 {
		_ = out.WriteByte('\n')
		section("Documentation", strings.Join(documents, "\n")+"\n")
	}
	return out.Flush()
}
