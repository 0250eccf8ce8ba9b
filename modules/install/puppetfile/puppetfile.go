// Package puppetfile reads and writes Puppetfiles: lists of modules with their
// versions and sources.
//
// A Puppetfile is a Ruby program. Parse does not evaluate it. It reads comments
// and the directives forge, moduledir and mod, with strings, symbols and hashes in
// both notations. Anything else is an error with a line number. The directives and
// their options are the subset of r10k's (doc/puppetfile.mkd) that Puppet Bolt uses.
package puppetfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"bolt/internal/lazyregexp"
)

// managedLine begins a Puppetfile that Bolt writes and may replace.
const managedLine = "# This Puppetfile is managed by Bolt. Do not edit."

// A File is the content of a Puppetfile.
type File struct {
	Managed   bool   // whether it begins with managedLine
	ModuleDir string // the directory for modules, relative to the Puppetfile or absolute; "" for the default
	Modules   []Module
}

// A Module is one module of the list. At most one of Git, Path and Local is set. If
// none is set, the module is from the Forge.
type Module struct {
	Title string // as in the file: owner/name, owner-name or name
	Line  int    // the line number, from 1; 0 if the module is not from a file

	// Version is the version of a module from the Forge; "" for any version, Latest
	// for the newest.
	Version string

	Git     string // the address of a repository
	Ref     string // a branch, tag or commit; "" for the default branch
	Default string // the branch to use if Ref does not exist; "" for none

	Path string // a directory that the module is a link to

	Local bool // the module is in the directory already, and is not changed

	InstallPath string // the directory for the module instead of ModuleDir; "" for ModuleDir
	KeepSpec    bool   // whether the module's tests are installed, too
}

// Latest is the Version that stands for the newest release.
const Latest = "latest"

// Name returns the module's short name, which is the name of its directory.
func (m *Module) Name() string {
	if _, name, ok := strings.Cut(m.FullName(), "/"); ok {
		return name
	}
	return m.Title
}

// FullName returns the title. If it has an owner, a slash follows the owner.
func (m *Module) FullName() string { return strings.Replace(m.Title, "-", "/", 1) }

var titlePattern = lazyregexp.New(`^(?:[A-Za-z0-9_]+[-/])?[a-z][a-z0-9_]*$`)

// versionPattern matches the characters of a version. It does not check the form.
var versionPattern = lazyregexp.New(`^[0-9A-Za-z.+-]+$`)

// An Error is a problem in the text of a Puppetfile.
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

// String returns the module in the syntax of a Puppetfile.
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

// quote returns s as a Ruby string in single quotes.
func quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// newModule returns the module with a title and options.
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
		case "path": // an option of librarian-puppet
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
		return m, fail(line, "it has a path and another source")
	}
	if m.Local {
		if kind != "" && kind != "local" || source != "" || refKey != "" {
			return m, fail(line, "it is local, and cannot have a source")
		}
		kind = "local"
	}
	switch kind {
	case "", "forge":
		if refKey != "" || m.Default != "" {
			return m, fail(line, "it has a ref, but not git")
		}
		if !strings.Contains(m.FullName(), "/") {
			return m, fail(line, "the name of a module from the Forge must be owner/name")
		}
		if m.Version != "" && !versionPattern().MatchString(m.Version) {
			return m, fail(line, "%q is not a version", m.Version)
		}
	case "git":
		if m.Git == "" {
			m.Git = source
		}
		if m.Git == "" {
			return m, fail(line, "it does not have the address of a repository")
		}
		if m.Ref == "" {
			m.Ref = m.Version
		}
		m.Version = ""
	case "path":
		if m.Git != "" || source != "" || refKey != "" || m.Version != "" || m.Default != "" {
			return m, fail(line, "it is a directory, and cannot have another source or a version")
		}
	case "local":
		if m.Path != "" {
			return m, fail(line, "it is local, and cannot have a source")
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
