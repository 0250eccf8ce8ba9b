// Package puppetfile reads and writes Puppetfiles: lists of modules with their
// versions and sources.
//
// A Puppetfile is a program in Ruby, of which Parse reads what lists consist
// of: forge, moduledir and mod with texts, symbols and hashes in both notations,
// and comments. Everything else is an error with its line; nothing is ever
// evaluated. The directives and their options are those of r10k
// (doc/puppetfile.mkd) as far as Puppet Bolt has use for them.
package puppetfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"bolt/internal/lazyregexp"
)

// managedLine begins a Puppetfile that Bolt writes and may replace.
const managedLine = "# This Puppetfile is managed by Bolt. Do not edit."

// A File is what a Puppetfile says.
type File struct {
	Managed   bool   // it begins with managedLine
	ModuleDir string // where modules go, relative to the Puppetfile or absolute; "" for the usual place
	Modules   []Module
}

// A Module is one line of the list. It has at most one of Git, Path and Local;
// with none it is from the Forge.
type Module struct {
	Title string // as it is written: owner/name, owner-name or name
	Line  int    // where it stands, from 1; 0 if it was not read

	// Version is that of a module from the Forge; "" for any, Latest for the
	// newest.
	Version string

	Git     string // address of a repository
	Ref     string // a branch, tag or commit of it; "" for the usual branch
	Default string // the branch to take if there is no Ref; "" for none

	Path string // a directory elsewhere, which is linked to

	Local bool // it is there, and stays as it is

	InstallPath string // the directory for it instead of ModuleDir, "" for none
	KeepSpec    bool   // its tests are installed, too
}

// Latest is the Version of a module that shall be as new as can be.
const Latest = "latest"

// Name is the module's short name, which is that of its directory.
func (m *Module) Name() string {
	if _, name, ok := strings.Cut(m.FullName(), "/"); ok {
		return name
	}
	return m.Title
}

// FullName is the title with a slash behind the owner, if it has one.
func (m *Module) FullName() string { return strings.Replace(m.Title, "-", "/", 1) }

var titlePattern = lazyregexp.New(`^(?:[A-Za-z0-9_]+[-/])?[a-z][a-z0-9_]*$`)

// versionPattern is what a version may be made of. Whether it is one is for its
// user to say.
var versionPattern = lazyregexp.New(`^[0-9A-Za-z.+-]+$`)

// An Error says why text is not a Puppetfile that we read.
type Error struct {
	Line    int // from 1
	Problem string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

// Format returns a Puppetfile that Bolt manages.
func (f *File) Format() []byte {
	var b strings.Builder
	b.WriteString(managedLine + "\n")
	b.WriteString("# It is made from the modules in bolt-project.yaml; change these, and run 'bolt module install'.\n\n")
	if f.ModuleDir != "" {
		b.WriteString("# Modules go to the managed directory, which is on the module path.\n")
		b.WriteString("moduledir " + quote(f.ModuleDir) + "\n\n")
	}
	for i := range f.Modules {
		b.WriteString(f.Modules[i].String() + "\n")
	}
	return []byte(b.String())
}

// String returns the module as a Puppetfile has it.
func (m *Module) String() string {
	s := "mod " + quote(m.Title)
	if m.Git == "" && m.Path == "" && !m.Local && m.InstallPath == "" && !m.KeepSpec {
		switch m.Version {
		case "":
			return s
		case Latest:
			return s + ", :latest"
		}
		return s + ", " + quote(m.Version)
	}
	add := func(key, value string) {
		if value != "" {
			s += ",\n  " + key + ": " + value
		}
	}
	text := func(key, value string) {
		if value != "" {
			add(key, quote(value))
		}
	}
	switch {
	case m.Local:
		add("local", "true")
	case m.Path != "":
		text("path", m.Path)
	case m.Git != "":
		text("git", m.Git)
		text("ref", m.Ref)
		text("default_branch", m.Default)
	default:
		add("type", "'forge'")
		text("version", m.Version)
	}
	text("install_path", m.InstallPath)
	if m.KeepSpec {
		add("exclude_spec", "false")
	}
	return s
}

// quote writes a text in Ruby's single quotes.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// newModule makes a module of a title and its options.
func newModule(title string, line int, options []option) (Module, error) {
	m := Module{Title: title, Line: line}
	fail := func(line int, format string, args ...any) error {
		return &Error{line, fmt.Sprintf("module %s: ", title) + fmt.Sprintf(format, args...)}
	}
	if !titlePattern().MatchString(title) {
		return m, &Error{line, fmt.Sprintf("%q is not a module name: write owner/name, where name has lower-case letters, digits and underscores", title)}
	}
	var kind, source, refKey string
	for _, o := range options {
		if (o.key == "local" || o.key == "exclude_spec") != (o.value.kind == tokenBool) {
			if o.value.kind == tokenNil {
				continue
			}
			return m, fail(o.line, "the option %s cannot be %s", o.key, o.value)
		}
		if o.value.kind == tokenNil {
			continue
		}
		text := o.value.text
		symbol := o.value.kind == tokenSymbol
		if symbol && (o.key != "version" || text != Latest) && o.key != "type" {
			return m, fail(o.line, "the option %s cannot be the symbol :%s here", o.key, text)
		}
		switch o.key {
		case "git":
			kind, m.Git = "git", text
		case "path": // as librarian-puppet has it
			kind, m.Path = "path", text
		case "type":
			kind = text
		case "source":
			source = text
		case "version":
			m.Version = text
		case "ref", "tag", "branch", "commit":
			if refKey != "" {
				return m, fail(o.line, "it has both %s and %s", refKey, o.key)
			}
			refKey, m.Ref = o.key, text
		case "default_branch":
			m.Default = text
		case "local":
			m.Local = o.value.text == "true"
		case "install_path":
			m.InstallPath = text
		case "exclude_spec":
			m.KeepSpec = o.value.text == "false"
		case "svn", "tarball":
			return m, fail(o.line, "modules are installed from the Forge and with git, not with %s", o.key)
		default:
			return m, fail(o.line, "unknown option %q", o.key)
		}
	}
	if m.Path != "" && kind != "path" {
		return m, fail(line, "it has a path, and another source")
	}
	if m.Local {
		if kind != "" && kind != "local" || source != "" || refKey != "" {
			return m, fail(line, "it is local, and so has no source")
		}
		kind = "local"
	}
	switch kind {
	case "", "forge":
		if refKey != "" || m.Default != "" {
			return m, fail(line, "it has a ref, and no git")
		}
		if !strings.Contains(m.FullName(), "/") {
			return m, fail(line, "a module from the Forge is named owner/name")
		}
		if m.Version != "" && !versionPattern().MatchString(m.Version) {
			return m, fail(line, "%q is not a version", m.Version)
		}
	case "git":
		if m.Git == "" {
			m.Git = source
		}
		if m.Git == "" {
			return m, fail(line, "it has no address of a repository")
		}
		if m.Ref == "" {
			m.Ref = m.Version
		}
		m.Version = ""
	case "path":
		if m.Git != "" || source != "" || refKey != "" || m.Version != "" || m.Default != "" {
			return m, fail(line, "it is a directory, and so has no other source and no version")
		}
	case "local":
		if m.Path != "" {
			return m, fail(line, "it is local, and so has no source")
		}
		m.Local, m.Version, m.Default = true, "", ""
	default:
		return m, fail(line, "unknown type %q: use forge, git, path or local", kind)
	}
	if m.InstallPath != "" && !filepath.IsLocal(m.InstallPath) {
		return m, fail(line, "its install_path %q is not below the directory of the Puppetfile", m.InstallPath)
	}
	return m, nil
}
