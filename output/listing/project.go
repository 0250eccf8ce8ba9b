package listing

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// Created is a new file that the user is meant to edit.
type Created struct {
	Kind, Name, Path string // "plan", its name, its file
	Next             []Described
}

// PrintCreated prints the new file. Text output also has the next commands, one
// sentence each, from Next.
func PrintCreated(w io.Writer, o Options, c *Created) error {
	if o.Format.IsJSON() {
		return layout.WriteDocument(w, ordered.Of("name", c.Name, "path", c.Path))
	}
	out := bufio.NewWriter(w)
	_, _ = out.WriteString(safetext.TerminalString("Created "+c.Kind+" '"+c.Name+"' at '"+c.Path+"'") + "\n\n")
	for _, n := range c.Next {
		_, _ = out.WriteString(n.Description + "\n    " + n.Name + "\n")
	}
	return out.Flush()
}

// Policies is the data of "policy show".
type Policies struct {
	Names      []string
	Modulepath []string
}

// PrintPolicies prints names of policies, and the directories that are searched
// for their classes.
func PrintPolicies(w io.Writer, o Options, p *Policies) error {
	if o.Format.IsJSON() {
		return layout.WriteDocument(w, ordered.Of("policies", p.Names, "modulepath", p.Modulepath))
	}
	out := bufio.NewWriter(w)
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
func PrintTopics(w io.Writer, o Options, topics []string) error {
	if o.Format.IsJSON() {
		return layout.WriteDocument(w, ordered.Of("topics", topics))
	}
	out := bufio.NewWriter(w)
	heading(out, o.Color, "Topics")
	for _, name := range topics {
		_, _ = out.WriteString("  " + name + "\n")
	}
	_ = out.WriteByte('\n')
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  Read one of them with 'bolt guide <TOPIC>'\n")
	return out.Flush()
}

// PrintGuide prints a guide and the names of further documents.
func PrintGuide(w io.Writer, o Options, topic, text string, documents []string) error {
	if o.Format.IsJSON() {
		return layout.WriteDocument(w, ordered.Of("topic", topic, "guide", text, "documentation", documents))
	}
	out := bufio.NewWriter(w)
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
