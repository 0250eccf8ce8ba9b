package listing

import (
	"bufio"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// PrintNewPlan prints the file of a new plan. Text output also has the next commands.
func PrintNewPlan(w io.Writer, o Options, name, path string) error {
	return printCreated(w, o, "plan", name, path, "Show this plan with:\n    bolt plan show "+name+"\nRun this plan with:\n    bolt plan run "+name+"\n")
}

// PrintNewPolicy prints the file of a new policy. Text output also has the next commands.
func PrintNewPolicy(w io.Writer, o Options, name, path string) error {
	return printCreated(w, o, "policy", name, path,
		"Apply this policy with:\n    bolt policy apply "+name+" --targets <TARGETS>\nShow available policies with:\n    bolt policy show\n")
}

func printCreated(w io.Writer, o Options, kind, name, path, next string) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("name", name, "path", path))
	}
	_, err := io.WriteString(w, safetext.TerminalString("Created "+kind+" '"+name+"' at '"+path+"'")+"\n\n"+next)
	return err
}

// Policies is the data of "policy show".
type Policies struct {
	Names      []string
	Modulepath []string
}

// PrintPolicies prints names of policies, and the directories that are searched
// for their classes.
func PrintPolicies(w io.Writer, o Options, p *Policies) error {
	if o.Format.Data {
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
	if o.Format.Data {
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
	if o.Format.Data {
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
