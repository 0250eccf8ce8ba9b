package install

import (
	"fmt"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
	"bolt/modules/install/gitcache"
	"bolt/modules/install/puppetfile"
	"bolt/modules/install/solver"
)

// A Spec describes a module that the project needs. If Git and Path are empty, the
// module is from the Forge.
type Spec struct {
	// Name is owner/name. For a module from a repository or a directory, it is the
	// short name, or "" if the name is in its metadata only.
	Name  string
	Range solver.Range

	Git string // the address of a repository, or ""
	Ref string

	Path string // a directory, absolute or relative to the project, or ""

	// AsIs is true if the module is installed without its dependencies.
	AsIs bool

	written string // the range as it was written
}

var (
	forgeName = lazyregexp.New(`^[a-zA-Z0-9]+[-/][a-z][a-z0-9_]*$`)
	gitName   = lazyregexp.New(`^(?:[a-zA-Z0-9]+[-/])?([a-z][a-z0-9_]*)$`)
)

// String returns the spec in one line, without a password.
func (s Spec) String() string {
	text := s.Name
	if s.Git != "" {
		text = "git " + gitcache.Redact(s.Git) + " " + s.Ref
		if s.Name != "" {
			text += " as " + s.Name
		}
	} else if s.written != "" {
		text += " " + s.written
	}
	if s.Path != "" {
		text = strings.TrimSpace("path " + s.Path + " " + s.Name)
	}
	if s.AsIs {
		text += " (not resolved)"
	}
	return text
}

// short returns the name of the module's directory, or "" if it is not known.
func (s Spec) short() string {
	if s.Name == "" {
		return ""
	}
	return solver.Name(s.Name)
}

// ParseSpecs reads the setting "modules" of a project. Errors are *fault.Error.
func ParseSpecs(list []any) ([]Spec, error) {
	var specs []Spec
	for _, v := range list {
		var s Spec
		var err error
		switch v := v.(type) {
		case string:
			s, err = parseForge(ordered.Of("name", v))
		case *ordered.Map:
			s, err = parseSpec(v)
		default:
			err = invalid("A module in bolt-project.yaml is neither a name nor a hash: %v", v)
		}
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	return specs, unique(specs)
}

func invalid(format string, args ...any) error {
	return fault.New("bolt/validation-error", format, args...)
}

func only(m *ordered.Map, keys ...string) bool {
	return !slices.ContainsFunc(m.Keys(), func(k string) bool { return !slices.Contains(keys, k) })
}

func parseSpec(m *ordered.Map) (Spec, error) {
	_, named := m.Get("name")
	_, git := m.Get("git")
	_, ref := m.Get("ref")
	_, path := m.Get("path")
	switch {
	case named && only(m, "name", "resolve", "version_requirement"):
		return parseForge(m)
	case git && ref && only(m, "git", "name", "ref", "resolve"):
		return parseGit(m)
	case path && only(m, "path", "name", "resolve"):
		return parsePath(m)
	}
	return Spec{}, invalid("Invalid module specification:\n%s\nA module from the Forge has the key name, and can have version_requirement and resolve. "+
		"A module from a repository has git and ref, and can have name and resolve. A directory has path, and can have name and resolve.", indented(m))
}

// indented returns a specification as indented YAML, without a password.
func indented(m *ordered.Map) string {
	m = m.Clone()
	if git, ok := m.Get("git"); ok {
		if address, ok := git.(string); ok {
			m.Set("git", gitcache.Redact(address))
		}
	}
	text := strings.TrimPrefix(string(yaml.Marshal(m)), "---\n")
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

func text(m *ordered.Map, key string) (string, error) {
	v, _ := m.Get(key)
	if v == nil {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", invalid("The option '%s' of a module specification must be a string (put it in quotes):\n%s", key, indented(m))
	}
	return s, nil
}

func asIs(m *ordered.Map) (bool, error) {
	v, given := m.Get("resolve")
	resolve, ok := v.(bool)
	if given && !ok {
		return false, invalid("The option 'resolve' of a module specification must be a Boolean:\n%s", indented(m))
	}
	return given && !resolve, nil
}

func parseForge(m *ordered.Map) (s Spec, err error) {
	if s.Name, err = text(m, "name"); err != nil {
		return s, err
	}
	if err := checkName(s.Name); err != nil {
		return s, err
	}
	s.Name = strings.Replace(s.Name, "-", "/", 1)
	if s.written, err = text(m, "version_requirement"); err != nil {
		return s, err
	}
	if s.Range, err = solver.ParseRange(s.written); err != nil {
		return s, invalid("Invalid version requirement for Forge module specification %s: %q. Write a version (1.2.3), the beginning of a version (1.x), "+
			"or a range ('>= 1.0.0 < 3.0.0').", s.Name, s.written)
	}
	s.AsIs, err = asIs(m)
	return s, err
}

// checkName returns an error if a name cannot be that of a module from the Forge.
func checkName(name string) error {
	if !forgeName().MatchString(name) {
		return invalid("Invalid name for Forge module specification: %s. Write owner/name: an owner of letters and digits, "+
			"and a name of lower-case letters, digits and underscores that begins with a letter.", name)
	}
	return nil
}

func parseGit(m *ordered.Map) (s Spec, err error) {
	for key, into := range map[string]*string{"git": &s.Git, "ref": &s.Ref, "name": &s.Name} {
		if *into, err = text(m, key); err != nil {
			return s, err
		}
	}
	if s.AsIs, err = asIs(m); err != nil {
		return s, err
	}
	if s.Name != "" {
		match := gitName().FindStringSubmatch(s.Name)
		if match == nil {
			return s, invalid("Invalid name for Git module specification: %s. Write 'name' or 'owner/name': an owner of letters and digits, "+
				"and a name of lower-case letters, digits and underscores that begins with a letter.", s.Name)
		}
		s.Name = match[1]
	} else if s.AsIs {
		return s, invalid("Missing name for Git module specification: %s. A module with 'resolve: false' needs a 'name'.", gitcache.Redact(s.Git))
	}
	if !isRelative(s.Git) {
		if err := gitcache.CheckURL(s.Git); err != nil {
			return s, invalid("Invalid address in a Git module specification: %v.", err)
		}
	}
	if err := gitcache.CheckRef(s.Ref); err != nil {
		return s, invalid("Invalid ref in the Git module specification %s: %v.", gitcache.Redact(s.Git), err)
	}
	return s, nil
}

// parsePath reads the specification of a directory. Bolt does not have such modules.
func parsePath(m *ordered.Map) (s Spec, err error) {
	for key, into := range map[string]*string{"path": &s.Path, "name": &s.Name} {
		if *into, err = text(m, key); err != nil {
			return s, err
		}
	}
	if s.AsIs, err = asIs(m); err != nil {
		return s, err
	}
	match := gitName().FindStringSubmatch(s.Name)
	switch {
	case s.Path == "" || strings.ContainsRune(s.Path, 0):
		return s, invalid("The path of a module specification must name a directory:\n%s", indented(m))
	case s.Name == "" && s.AsIs:
		return s, invalid("Missing name for the module specification with the path %s. A module with 'resolve: false' needs a 'name'.", s.Path)
	case s.Name != "" && match == nil:
		return s, invalid("Invalid name for the module specification with the path %s: %s. Write 'name' or 'owner/name'.", s.Path, s.Name)
	case s.Name != "":
		s.Name = match[1]
	}
	return s, nil
}

// isRelative reports whether an address is a path relative to the project.
func isRelative(address string) bool {
	return strings.HasPrefix(address, "./") || strings.HasPrefix(address, "../")
}

// unique returns an error if two specs have the same name.
func unique(specs []Spec) error {
	seen := map[string]Spec{}
	for _, s := range specs {
		if s.Name == "" {
			continue
		}
		if before, twice := seen[s.short()]; twice {
			return fault.New("bolt/duplicate-spec-name-error", "Detected multiple module specifications with name %s:\n  %s\n  %s\nRemove one of them from bolt-project.yaml.",
				s.short(), before, s)
		}
		seen[s.short()] = s
	}
	return nil
}

// meets reports whether a module of a Puppetfile meets the spec.
func (s Spec) meets(m *puppetfile.Module) bool {
	if s.Git != "" {
		return m.Git == s.Git && (!gitcache.IsCommit(s.Ref) || m.Ref == s.Ref) && (s.Name == "" || s.Name == m.Name())
	}
	if s.Path != "" {
		return m.Path == s.Path && (s.Name == "" || s.Name == m.Name())
	}
	if m.Git != "" || m.Path != "" || m.Local || !strings.EqualFold(s.Name, m.FullName()) {
		return false
	}
	if s.AsIs && s.written == "" {
		return true
	}
	v, err := parseVersion(m.Version)
	return err == nil && s.Range.Includes(v)
}

// checkMeets returns an error if a Puppetfile does not meet specs.
func checkMeets(path string, f *puppetfile.File, specs []Spec) error {
	var missing, loose []string
	for _, s := range specs {
		if !slices.ContainsFunc(f.Modules, func(m puppetfile.Module) bool { return s.meets(&m) }) {
			missing = append(missing, "  "+s.String())
		}
	}
	for _, m := range f.Modules {
		asIs := slices.ContainsFunc(specs, func(s Spec) bool { return s.AsIs && s.meets(&m) })
		if m.Git == "" && m.Path == "" && !m.Local && !asIs && (m.Version == "" || m.Version == puppetfile.Latest) {
			loose = append(loose, "  "+m.String())
		}
	}
	const remedy = "Bolt did not write it. To replace it, run 'bolt module install --force'. To install its modules, run 'bolt module install --no-resolve'."
	switch {
	case missing != nil:
		return fault.New("bolt/missing-module-specs", "The Puppetfile at %s does not have these modules of bolt-project.yaml, or has other versions:\n%s\n%s",
			path, strings.Join(missing, "\n"), remedy)
	case loose != nil:
		return fault.New("bolt/missing-module-version-specs", "The Puppetfile at %s has modules from the Forge without a version:\n%s\n%s",
			path, strings.Join(loose, "\n"), remedy)
	}
	return nil
}

// canonical returns the specs in the form of the lock file, sorted.
func canonical(specs []Spec) []string {
	list := []string{}
	for _, s := range specs {
		list = append(list, fmt.Sprint(s))
	}
	slices.Sort(list)
	return list
}
