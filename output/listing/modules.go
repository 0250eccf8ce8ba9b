package listing

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/output/layout"
)

// ModuleGroup is one directory of the module path, for "module show".
type ModuleGroup struct {
	Path    string // of the directory; of built-in modules a name for programs
	Title   string // what people know it as; "" for the path
	Modules []ModuleEntry
}

// ModuleEntry is one module of a ModuleGroup.
type ModuleEntry struct {
	Name    string // owner/name, or name
	Version string // "" if nobody knows
	BuiltIn bool
}

// ModuleInfo is what "module show NAME" shows.
type ModuleInfo struct {
	Name     string // owner/name, or name
	Metadata *ordered.Map
	Path     string
	BuiltIn  bool
	Tasks    []Described
	Plans    []Described
}

// ModuleChange is what an installation did to a module. Old and New are
// versions: "" for none, "?" for one that nobody knows.
type ModuleChange struct{ Name, Old, New string }

// words says it to people.
func (c ModuleChange) words() string {
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
func PrintModules(w io.Writer, o Options, groups []ModuleGroup) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		all := &ordered.Map{}
		for _, g := range groups {
			list := []any{}
			for _, m := range g.Modules {
				var version any
				if m.Version != "" {
					version = m.Version
				}
				e := ordered.Of("name", m.Name, "version", version)
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
			version := m.Version
			switch {
			case version != "":
			case m.BuiltIn:
				version = "(built-in)"
			default:
				version = "(no metadata)"
			}
			rows = append(rows, [2]string{m.Name, version})
		}
		table(out, rows, 3)
		_ = out.WriteByte('\n')
	}
	heading(out, o.Color, "Additional information")
	_, _ = out.WriteString("  'bolt module show MODULE' tells more of one module.\n")
	return out.Flush()
}

// PrintModule prints what is known of one module to w.
func PrintModule(w io.Writer, o Options, m *ModuleInfo) error {
	out := bufio.NewWriter(w)
	if o.Format.IsJSON() {
		metadata := m.Metadata
		if metadata == nil {
			metadata = &ordered.Map{}
		}
		line := ordered.Of("name", m.Name, "metadata", metadata, "path", m.Path, "plans", pairs(m.Plans), "tasks", pairs(m.Tasks))
		return layout.WriteDocument(w, line)
	}
	_, _ = out.WriteString(layout.Paint(layout.Cyan, o.Color, terminalLine(m.Name)))
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
	section("Tasks", described(m.Tasks))
	section("Plans", described(m.Plans))
	section("Operating system support", systems(m.Metadata.Value("operatingsystem_support")))
	section("Dependencies", dependencies(m.Metadata.Value("dependencies")))
	heading(out, o.Color, "Path")
	path := safetext.TerminalString(m.Path)
	if m.BuiltIn {
		path = "built-in module"
	}
	_, _ = out.WriteString("  " + path + "\n")
	return out.Flush()
}

// systems are the operating systems of a module's metadata, whatever it holds.
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

// ModuleSteps shows how the installation of modules gets on: to people on
// standard output, and in JSON to whoever looks at standard error.
type ModuleSteps struct {
	w    io.Writer
	json bool
}

// NewModuleSteps makes one that writes to w.
func NewModuleSteps(w io.Writer, f layout.Format) *ModuleSteps { return &ModuleSteps{w, f.IsJSON()} }

// Begin says what is done as a whole.
func (s *ModuleSteps) Begin(text string) error {
	if s.json {
		_, err := fmt.Fprintln(s.w, safetext.TerminalString(text))
		return err
	}
	_, err := fmt.Fprintf(s.w, "%s\n\n", safetext.TerminalString(text))
	return err
}

// Step says what is done next.
func (s *ModuleSteps) Step(text string) error {
	if s.json {
		_, err := fmt.Fprintln(s.w, safetext.TerminalString(text))
		return err
	}
	_, err := fmt.Fprintf(s.w, "  → %s\n\n", strings.Join(wrapped(text), "\n    "))
	return err
}

// PrintInstalled prints the end of an installation to w.
func PrintInstalled(w io.Writer, o Options, puppetfile, dir string, changes []ModuleChange) error {
	if o.Format.IsJSON() {
		return layout.WriteDocument(w, ordered.Of("success", true, "puppetfile", puppetfile, "moduledir", dir))
	}
	out := bufio.NewWriter(w)
	if len(changes) == 0 {
		_, _ = out.WriteString(layout.Paint(layout.Green, o.Color, safetext.TerminalString("Nothing has changed: modules are as in "+puppetfile+", in "+dir)) + "\n")
		return out.Flush()
	}
	var rows [][2]string
	for _, c := range changes {
		rows = append(rows, [2]string{c.Name, c.words()})
	}
	heading(out, o.Color, "Changes")
	table(out, rows, 3)
	_, _ = out.WriteString("\n" + layout.Paint(layout.Green, o.Color, safetext.TerminalString("Successfully synced modules from "+puppetfile+" to "+dir)) + "\n")
	return out.Flush()
}
