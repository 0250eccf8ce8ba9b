package listing

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/modules"
	"bolt/modules/install"
	"bolt/output/layout"
	"bolt/plans"
	"bolt/tasks"
)

// Contents is a module with its tasks and plans.
type Contents struct {
	modules.Described
	Tasks []tasks.Summary
	Plans []plans.Summary
}

// listed returns the tasks and plans for lists. As in Bolt, only "plan show"
// lists plans in subdirectories.
func (c *Contents) listed() (named, planned []Described) {
	top := slices.DeleteFunc(slices.Clone(c.Plans), func(p plans.Summary) bool { return path.Dir(p.File) != "plans" })
	return PublicTasks(c.Tasks), PublicPlans(top)
}

// changeWords describes the change of a module in words. An unknown version is
// "?".
func changeWords(c install.Change) string {
	switch {
	case c.New == "":
		return "removed"
	case c.Old == "":
		return c.New + " (new)"
	case c.Old == "?":
		return c.New + " (replaced)"
	case c.Old == c.New:
		return c.New + " (again)"
	}
	return c.Old + " to " + c.New
}

// PrintModules prints the modules of all directories to w.
func PrintModules(w io.Writer, o Options, groups []modules.Group) error {
	out := bufio.NewWriter(w)
	if o.Format.Data {
		all := &ordered.Map{}
		for _, g := range groups {
			list := []any{}
			for _, m := range g.Modules {
				e := ordered.Of("name", m.FullName(), "version", textOrNull(m.Version()))
				if g.Title != "" {
					e.Set("internal_module_group", g.Title)
				}
				list = append(list, e)
			}
			all.Set(g.Path, list)
		}
		return layout.WriteDocument(w, all)
	}
	for _, g := range groups {
		title := g.Title
		if title == "" || len(g.Modules) == 0 {
			title = g.Path
		}
		heading(out, o.Color, safetext.TerminalString(title))
		if len(g.Modules) == 0 {
			_, _ = out.WriteString("(no modules installed)\n")
		}
		var rows [][2]string
		for _, m := range g.Modules {
			version := m.Version()
			switch {
			case version != "":
			case m.BuiltIn():
				version = "(built-in)"
			default:
				version = "(no metadata)"
			}
			rows = append(rows, [2]string{m.FullName(), version})
		}
		table(out, rows, 3)
		_ = out.WriteByte('\n')
	}
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  'bolt module show MODULE' shows details of one module.\n")
	return out.Flush()
}

// PrintModule prints the description of one module to w.
func PrintModule(w io.Writer, o Options, m *Contents) error {
	named, planned := m.listed()
	out := bufio.NewWriter(w)
	if o.Format.Data {
		metadata := m.Metadata
		if metadata == nil {
			metadata = &ordered.Map{}
		}
		line := ordered.Of("name", m.FullName(), "metadata", metadata, "path", m.Dir, "plans", pairs(planned), "tasks", pairs(named))
		return layout.WriteDocument(w, line)
	}
	_, _ = out.WriteString(layout.Paint(layout.Cyan, o.Color, terminalLine(m.FullName())))
	if version, ok := m.Metadata.Value("version").(string); ok {
		_, _ = out.WriteString(" [" + terminalLine(version) + "]")
	}
	_ = out.WriteByte('\n')
	summary, _ := m.Metadata.Value("summary").(string)
	if strings.TrimSpace(summary) == "" {
		summary = "No description available."
	}
	for _, line := range wrapped(summary) {
		_, _ = out.WriteString("  " + line + "\n")
	}
	_ = out.WriteByte('\n')
	section := func(title string, rows [][2]string) {
		if len(rows) > 0 {
			heading(out, o.Color, title)
			table(out, rows, 5)
			_ = out.WriteByte('\n')
		}
	}
	section("Tasks", described(named))
	section("Plans", described(planned))
	section("Operating system support", systems(m.Metadata.Value("operatingsystem_support")))
	section("Dependencies", dependencies(m.Metadata.Value("dependencies")))
	heading(out, o.Color, "Path")
	dir := safetext.TerminalString(m.Dir)
	if m.BuiltIn() {
		dir = "built-in module"
	}
	_, _ = out.WriteString("  " + dir + "\n")
	return out.Flush()
}

// systems returns the operating systems in a module's metadata, and ignores
// malformed parts.
func systems(v any) [][2]string {
	var rows [][2]string
	list, _ := v.([]any)
	for _, e := range list {
		m, _ := e.(*ordered.Map)
		name, _ := m.Value("operatingsystem").(string)
		releases, _ := m.Value("operatingsystemrelease").([]any)
		var words []string
		for _, r := range releases {
			words = append(words, fmt.Sprint(r))
		}
		if name != "" {
			rows = append(rows, [2]string{name, strings.Join(words, ", ")})
		}
	}
	return rows
}

func dependencies(v any) [][2]string {
	var rows [][2]string
	list, _ := v.([]any)
	for _, e := range list {
		m, _ := e.(*ordered.Map)
		name, _ := m.Value("name").(string)
		version, _ := m.Value("version_requirement").(string)
		if name != "" {
			rows = append(rows, [2]string{name, version})
		}
	}
	return rows
}

// ModuleSteps shows the progress of an installation of modules: on standard
// output or, with JSON, on standard error.
type ModuleSteps struct {
	w    io.Writer
	json bool
}

// NewModuleSteps returns a ModuleSteps that writes to w.
func NewModuleSteps(w io.Writer, f layout.Format) *ModuleSteps { return &ModuleSteps{w, f.Data} }

// Begin prints the description of the whole installation.
func (s *ModuleSteps) Begin(text string) error {
	if s.json {
		_, err := fmt.Fprintln(s.w, safetext.TerminalString(text))
		return err
	}
	_, err := fmt.Fprintf(s.w, "%s\n\n", safetext.TerminalString(text))
	return err
}

// Step prints the next step.
func (s *ModuleSteps) Step(text string) error {
	if s.json {
		_, err := fmt.Fprintln(s.w, safetext.TerminalString(text))
		return err
	}
	_, err := fmt.Fprintf(s.w, "  → %s\n\n", strings.Join(wrapped(text), "\n    "))
	return err
}

// PrintInstalled prints the end of an installation to w.
func PrintInstalled(w io.Writer, o Options, r *install.Result) error {
	if o.Format.Data {
		return layout.WriteDocument(w, ordered.Of("success", true, "puppetfile", r.Puppetfile, "moduledir", r.ModuleDir))
	}
	out := bufio.NewWriter(w)
	if len(r.Changes) == 0 {
		_, _ = out.WriteString(layout.Paint(layout.Green, o.Color, safetext.TerminalString("Nothing has changed: modules are as in "+r.Puppetfile+", in "+r.ModuleDir)) + "\n")
		return out.Flush()
	}
	var rows [][2]string
	for _, c := range r.Changes {
		rows = append(rows, [2]string{c.Name, changeWords(c)})
	}
	heading(out, o.Color, "Changes")
	table(out, rows, 3)
	_, _ = out.WriteString("\n" + layout.Paint(layout.Green, o.Color, safetext.TerminalString("Successfully synced modules from "+r.Puppetfile+" to "+r.ModuleDir)) + "\n")
	return out.Flush()
}
