package install

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/modules/install/gitcache"
	"bolt/modules/install/solver"
	"bolt/puppet/semver"
)

// metadata holds the name, version and dependencies from a module's metadata.json.
type metadata struct {
	name     string // owner/name, or name
	version  *semver.Version
	requires []solver.Demand
}

func parseVersion(text string) (*semver.Version, error) {
	return semver.Parse(strings.TrimSpace(text))
}

// parseMetadata parses a metadata.json. Messages use where as its name.
func parseMetadata(data []byte, where string) (metadata, error) {
	v, err := ordered.ParseJSON(data)
	if err != nil {
		return metadata{}, &fault.Error{Kind: "bolt/metadata-parse-error", Msg: "Unable to parse " + where + " as JSON: " + err.Error(), Err: err}
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		return metadata{}, fault.New("bolt/invalid-module-metadata-error", "Invalid metadata in %s: it is not a JSON object.", where)
	}
	var md metadata
	name, _ := m.Value("name").(string)
	if name == "" {
		return md, fault.New("bolt/missing-module-name-error", "Invalid metadata in %s: it has no 'name'.", where)
	}
	if !gitName().MatchString(name) {
		return md, fault.New("bolt/invalid-module-metadata-error", "Invalid metadata in %s: %q is not a valid module name.", where, name)
	}
	md.name = strings.Replace(name, "-", "/", 1)
	if text, ok := m.Value("version").(string); ok {
		md.version, _ = parseVersion(text) // without a valid version, the module meets all ranges
	}
	list, _ := m.Value("dependencies").([]any)
	for _, d := range list {
		dep, _ := d.(*ordered.Map)
		name, _ := dep.Value("name").(string)
		demand, err := parseDemand(name, dep.Value("version_requirement"))
		if err != nil {
			return md, fault.New("bolt/invalid-module-metadata-error", "Invalid metadata in %s: the dependency %q: %v.", where, name, err)
		}
		md.requires = append(md.requires, demand)
	}
	return md, nil
}

func parseDemand(name string, requirement any) (solver.Demand, error) {
	if !forgeName().MatchString(name) {
		return solver.Demand{}, errors.New("its name is not owner/name")
	}
	text, _ := requirement.(string)
	r, err := solver.ParseRange(text)
	return solver.Demand{Module: strings.Replace(name, "-", "/", 1), Range: r}, err
}

// fixedModule is a module with one version: a commit of a repository, or a
// directory.
type fixedModule struct {
	metadata
	name   string // of its directory
	commit string
}

// lookAt reads the metadata of a spec's repository. If commit is not empty, it
// replaces the spec's ref.
func (in *Installer) lookAt(ctx context.Context, s Spec, commit string) (fixedModule, error) {
	shown := gitcache.Redact(s.Git)
	if commit == "" {
		var err error
		if commit, err = in.o.Git.Commit(ctx, in.address(s.Git), s.Ref); err != nil {
			return fixedModule{}, gitFault(err, shown, s.Ref)
		}
	}
	data, err := in.o.Git.File(ctx, in.address(s.Git), commit, "metadata.json")
	if errors.Is(err, gitcache.ErrNoFile) {
		return fixedModule{}, fault.New("bolt/missing-metadata-file-error", "The repository %s has no metadata.json at %s (commit %.12s), so its name and "+
			"dependencies are not known. Give it a 'name' and 'resolve: false' in bolt-project.yaml.", shown, s.Ref, commit)
	}
	if err != nil {
		return fixedModule{}, gitFault(err, shown, s.Ref)
	}
	md, err := parseMetadata(data, "metadata.json of "+shown+" at "+s.Ref)
	if err != nil {
		return fixedModule{}, err
	}
	return fixed(s, md, commit), nil
}

func fixed(s Spec, md metadata, commit string) fixedModule {
	m := fixedModule{metadata: md, commit: commit, name: s.Name}
	if m.name == "" {
		m.name = solver.Name(md.name)
	}
	return m
}

// lookInto reads the metadata of a spec's directory.
func (in *Installer) lookInto(ctx context.Context, s Spec) (fixedModule, error) {
	file := filepath.Join(in.directory(s.Path), "metadata.json")
	data, err := readfile.Read(ctx, file, readfile.Config)
	if errors.Is(err, fs.ErrNotExist) && isDir(filepath.Dir(file)) {
		return fixedModule{}, fault.New("bolt/missing-metadata-file-error", "The directory %s has no metadata.json, so its name and "+
			"dependencies are not known. Give it a 'name' and 'resolve: false' in bolt-project.yaml.", s.Path)
	}
	if err != nil {
		return fixedModule{}, fault.File(file, err, "The module in the directory %s cannot be read: %v", s.Path, fault.WithoutPath(err))
	}
	md, err := parseMetadata(data, file)
	return fixed(s, md, ""), err
}

// gitFault returns the *fault.Error for an error of a repository.
func gitFault(err error, address, ref string) error {
	if errors.Is(err, gitcache.ErrNoRef) {
		return &fault.Error{Kind: "bolt/invalid-ref-error", Err: err,
			Msg: "The repository " + address + " has no branch, tag or commit '" + ref + "'."}
	}
	return &fault.Error{Kind: "bolt/missing-module-metadata-error", Err: err, Msg: "The repository " + address + " could not be read at '" + ref + "': " + err.Error()}
}
