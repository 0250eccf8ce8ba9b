package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bolt/format/fault"
	"bolt/format/yaml"
	"bolt/format/yamledit"
	"bolt/internal/atomicfile"
	"bolt/internal/filelock"
	"bolt/internal/lazyregexp"
	"bolt/modules"
)

// gitignore keeps what the program writes, and secrets, out of version control.
const gitignore = `# Installed by "bolt module install", from what bolt-project.yaml asks for.
.modules/
.resource_types/

# Written by every run.
bolt-debug.log
.rerun.json
.plan-runs/
.plan_cache.json
.plugin_cache.json
.task_cache.json

# Releases, rollouts and reports of runs.
.bolt-state/

# Facts of targets, where the user has no home directory.
.facts/

# The key that opens encrypted values.
keys/private_key.pkcs7.pem
`

// exampleInventory has comments only.
const exampleInventory = `# The machines of this project, and how to reach them. Take the marks (#)
# away from what you need; "bolt guide inventory" says more.
#
# groups:
#   - name: web
#     targets:
#       - web1.example.com
#       - name: web2
#         uri: 192.0.2.12
#     config:
#       ssh:
#         user: deploy
#         run-as: root
#   - name: db
#     targets:
#       - db1.example.com
#     vars:
#       backup: true
#
# config:
#   transport: ssh
#   ssh:
#     connect-timeout: 5
`

// oldFileName is the name of a project's file before Puppet Bolt 3.
const oldFileName = "bolt.yaml"

// moduleSpec matches the name of a module on the Forge: author-name.
var moduleSpec = lazyregexp.New(`^[a-zA-Z0-9]+[-/][a-z][a-z0-9_]*$`)

// Create creates a project in a directory: bolt-project.yaml, an example of
// inventory.yaml, and a .gitignore, unless they exist. If name is "", the project
// has the name of the directory. specs are the modules that it needs (author-name).
// The caller must install them, and can call undo to remove the files. If Create
// fails, it removes the files itself.
func Create(dir, name string, specs []string) (undo func(), err error) {
	for _, file := range []string{FileName, oldFileName, EmbeddedDir} { // Find prefers the last
		if _, err := os.Lstat(filepath.Join(dir, file)); err == nil {
			return nil, existingProject(filepath.Join(dir, file))
		}
	}
	if puppetfile := filepath.Join(dir, "Puppetfile"); len(specs) > 0 {
		if _, err := os.Lstat(puppetfile); err == nil {
			return nil, fault.New("bolt/existing-puppetfile-error", "Modules cannot be installed into the new project, "+
				"because '%s' exists. Make the project without --modules, or take the file away.", puppetfile)
		}
	}
	given := name != ""
	if !given {
		name = filepath.Base(dir)
	}
	if !modules.ValidName(name) || slices.Contains(builtins, name) {
		why := "a name is made of lowercase letters, digits and underscores, and begins with a letter"
		if slices.Contains(builtins, name) {
			why = "it belongs to a built-in module"
		}
		if given {
			return nil, fault.New("bolt/validation-error", "The project cannot be called '%s': %s.", name, why)
		}
		return nil, fault.New("bolt/validation-error", "The project cannot be called '%s', as its directory is: %s. "+
			"Say how to call it: bolt project init NAME.", name, why)
	}
	for _, spec := range specs {
		if !moduleSpec().MatchString(spec) {
			return nil, fault.New("bolt/validation-error", "'%s' is not a module name. Write AUTHOR-NAME, such as puppetlabs-stdlib.", spec)
		}
	}
	text := "---\nname: " + name + "\nmodules: []\n"
	if len(specs) > 0 {
		text = "---\nname: " + name + "\nmodules:\n- " + strings.Join(specs, "\n- ") + "\n"
	}
	var m made
	for _, f := range [][2]string{{"inventory.yaml", exampleInventory}, {".gitignore", gitignore}} {
		file := filepath.Join(dir, f[0])
		if err := m.file(file, f[1]); err != nil && !errors.Is(err, fs.ErrExist) {
			m.undo()
			return nil, unwritable(file, err)
		}
	}
	file := filepath.Join(dir, FileName)
	if err := m.file(file, text); err != nil {
		m.undo()
		if errors.Is(err, fs.ErrExist) {
			return nil, existingProject(file)
		}
		return nil, unwritable(file, err)
	}
	return m.undo, nil
}

func existingProject(file string) error {
	return fault.New("bolt/existing-project-error", "There is a project already: '%s' exists.", file)
}

func unwritable(file string, err error) error {
	return fault.File(file, err, "The file '%s' could not be written: %v", file, fault.WithoutPath(err))
}

// NewPlan creates a plan from a template, in the Puppet language or in YAML, and
// returns the path of its file.
func (p *Project) NewPlan(name string, puppet bool) (string, error) {
	base, err := p.place("plan", "plans", name, "bolt/unnamed-project-error")
	if err != nil {
		return "", err
	}
	for _, ext := range []string{".yaml", ".pp"} {
		if _, err := os.Lstat(base + ext); err == nil {
			return "", fault.New("bolt/existing-plan-error", "There is a plan '%s' already: '%s' exists.", name, base+ext)
		}
	}
	file, text := base+".yaml", yamlPlan
	if puppet {
		file, text = base+".pp", puppetPlan
	}
	var m made
	if err := m.all(file, strings.ReplaceAll(text, "NAME", name)); err != nil {
		m.undo()
		return "", err
	}
	return file, nil
}

const yamlPlan = `# What the plan is for. Lists and "bolt plan show" print it.
description: A plan created with bolt plan new

# What the plan takes: each parameter has a type, and perhaps a default.
parameters:
  targets:
    type: TargetSpec
    description: A list of targets to run actions on
    default: localhost

# What the plan does, one step after the other. A step with a name keeps its
# result in a variable of that name.
steps:
  - message: Hello from NAME
  - name: command_step
    command: whoami
    targets: $targets

# What the plan returns.
return: $command_step
`

const puppetPlan = `# A plan created with bolt plan new.
#
# @param targets A list of targets to run actions on.
# @return [ResultSet] What the command answered on each target.
plan NAME (
  TargetSpec $targets = "localhost"
) {
  # Say something to whoever runs the plan.
  out::message("Hello from NAME")

  # Run a command on the targets, and keep the results.
  $command_result = run_command('whoami', $targets)

  return $command_result
}
`

// NewPolicy creates an empty class, adds its name to the project's policies, and
// returns the path of its file.
func (p *Project) NewPolicy(ctx context.Context, name string) (string, error) {
	base, err := p.place("policy", "manifests", name, "bolt/validation-error")
	if err != nil {
		return "", err
	}
	file := base + ".pp"
	if _, err := os.Lstat(file); err == nil {
		return "", fault.New("bolt/existing-policy-error", "There is a policy '%s' already: '%s' exists.", name, file)
	}
	var m made
	if err = m.all(file, "class "+name+" {\n\n}\n"); err == nil {
		err = p.addPolicy(ctx, name)
	}
	if err != nil {
		m.undo()
		return "", err
	}
	return file, nil
}

// addPolicy adds a name to the list in the project's file, unless the list has it.
func (p *Project) addPolicy(ctx context.Context, name string) error {
	unlock, err := filelock.Dir(ctx, p.Dir)
	if err != nil {
		return fault.File(p.Dir, err, "The project '%s' could not be locked: %v", p.Dir, fault.WithoutPath(err))
	}
	defer unlock()
	text, err := yaml.Read(ctx, p.File(), "project")
	if err != nil {
		return err
	}
	settings, err := yaml.DecodeMap(text, p.File(), "project")
	if err != nil {
		return err
	}
	if list, _ := settings.Value("policies").([]any); slices.Contains(list, any(name)) {
		return nil
	}
	text, err = yamledit.AppendTo(text, "policies", name)
	if err != nil {
		return fault.File(p.File(), err, "The policy '%s' could not be added to '%s': %v. Add it to the list 'policies' there, and make its class by hand.",
			name, p.File(), err)
	}
	if err := atomicfile.Write(p.File(), text, 0o644); err != nil {
		return unwritable(p.File(), err)
	}
	return nil
}

// place returns the path, without its extension, of a plan or policy of the project.
// unnamed is the kind of the error if the project has no name.
//
// Differs from Bolt: "project::init" is an error, because it would have the same file
// as "project".
func (p *Project) place(what, dir, name, unnamed string) (string, error) {
	if p.Name == "" {
		return "", fault.New(unnamed, "The project '%s' needs a name before it can have a %s. "+
			"Add a 'name' to %s.", p.Dir, what, p.File())
	}
	parts := strings.Split(name, "::")
	for _, part := range parts {
		if !modules.ValidName(part) {
			return "", fault.New("bolt/validation-error", "The %s cannot be called '%s': a name is made of parts with :: between them, "+
				"each of lowercase letters, digits and underscores, beginning with a letter.", what, name)
		}
	}
	if parts[0] != p.Name {
		return "", fault.New("bolt/validation-error", "The %s cannot be called '%s': names in this project are '%s' and those that begin with '%s::'.",
			what, name, p.Name, p.Name)
	}
	switch {
	case len(parts) == 1:
		parts = append(parts, "init")
	case len(parts) == 2 && parts[1] == "init":
		return "", fault.New("bolt/validation-error", "The %s cannot be called '%s': the file init is that of the %s '%s'.", what, name, what, p.Name)
	}
	return filepath.Join(p.Dir, dir, filepath.Join(parts[1:]...)), nil
}

// made records new files and directories, so that undo can remove them.
type made struct{ paths []string }

// all creates a file, which must not exist, and the directories above it.
func (m *made) all(file, text string) error {
	if err := m.dir(filepath.Dir(file)); err != nil {
		return &fault.Error{Kind: "bolt/existing-file-error", Err: err,
			Msg: fmt.Sprintf("The directory '%s' could not be made: %v", filepath.Dir(file), fault.WithoutPath(err))}
	}
	if err := m.file(file, text); err != nil {
		return unwritable(file, err)
	}
	return nil
}

func (m *made) dir(path string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := m.dir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		if isDir(path) { // another process has created it
			return nil
		}
		return err
	}
	m.paths = append(m.paths, path)
	return nil
}

func (m *made) file(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	m.paths = append(m.paths, path)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// undo removes the files and directories in reverse order. Directories with other
// content remain.
func (m *made) undo() {
	for _, path := range slices.Backward(m.paths) {
		_ = os.Remove(path) // fails for a directory with other content
	}
}
