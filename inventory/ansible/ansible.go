// Package ansible reads Ansible inventories: files in INI and YAML, directories of
// them, programs that print one, and the files of group_vars and host_vars beside
// them. Its result is that of `ansible-inventory --list`: the hosts, their groups,
// and their variables.
//
//	inv, err := ansible.Read(ctx, ansible.Options{Paths: []string{"hosts"}})
//	vars, err := inv.Vars(ctx, inv.Hosts[0])
//
// Values are those of package ordered, and two more: Vaulted for an encrypted value,
// and transport.Secret for strings from an encrypted file. Templates remain strings.
//
// The formats are described in docs.ansible.com, "How to build your inventory" and
// "Using variables". Testdata contains inventories with the output of
// ansible-inventory.
//
// If a file in an inventory directory cannot be read, a warning names it, as with
// Ansible, and the content before the error is used.
//
// Differs from Ansible: if a source itself, or every file of a directory, cannot be
// read, that is an error. Ansible continues without it, and so with fewer hosts.
package ansible

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/transport"
)

// A Format is the format of an inventory.
type Format string

// The formats. If the format is Any, an executable file is a program. A file without
// an extension, or with .yml, .yaml or .json, is YAML if it can be parsed as YAML. A
// file with .toml is TOML. All others are INI.
const (
	Any    Format = ""
	INI    Format = "ini"
	YAML   Format = "yaml"
	TOML   Format = "toml"
	Script Format = "script"            // a program with --list
	Asked  Format = "ansible-inventory" // any format that Ansible supports: the program ansible-inventory reads it
)

// Formats lists the formats that have a name.
func Formats() []Format { return []Format{INI, YAML, TOML, Script, Asked} }

// Options set the files to read. Only Paths is required.
type Options struct {
	// Paths are the sources in order: later ones add to earlier ones.
	Paths  []string
	Format Format
	// Playbooks is a directory of playbooks. Its group_vars and host_vars override
	// those of the inventory; "" is none.
	Playbooks string
	// Run runs a program. Without it, no program is run. A file that the system
	// cannot run (ErrNoProgram) is read as text.
	Run func(ctx context.Context, argv ...string) ([]byte, error)
	// NoProgram reports whether an error of Run means that a file is not a program.
	NoProgram func(error) bool
	// Password returns the password of ansible-vault when it is needed; nil if there
	// is none.
	Password func(ctx context.Context) (transport.Secret, error)
	// Warn receives warnings; nil drops them.
	Warn func(text string)
}

// maxSources is the maximum number of files in a directory of inventories.
const maxSources = 10_000

// Read reads an inventory. Errors name the file.
func Read(ctx context.Context, o Options) (*Inventory, error) {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	r := reader{o: o, inv: newInventory()}
	for _, path := range o.Paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
		}
		dir := path
		if !info.IsDir() {
			dir = filepath.Dir(path)
		}
		if !slices.Contains(r.inv.files.dirs, dir) {
			r.inv.files.dirs = append(r.inv.files.dirs, dir)
		}
		if err := r.source(ctx, path, info, 0); err != nil {
			return nil, err
		}
	}
	if o.Playbooks != "" {
		r.inv.files.dirs = append(r.inv.files.dirs, o.Playbooks)
	}
	r.inv.files.decode = r.decode
	r.inv.files.read, r.inv.files.listed = make(map[string]*ordered.Map), make(map[string]map[string]bool)
	r.inv.finish()
	return r.inv, nil
}

type reader struct {
	o       Options
	inv     *Inventory
	sources int
}

// ignored lists the extensions of files that are ignored in a directory.
var ignored = []string{".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".ini", ".cfg", ".retry"}

// source reads one source; for a directory, it reads all files, sorted by name.
func (r *reader) source(ctx context.Context, path string, info fs.FileInfo, depth int) error {
	if r.sources++; r.sources > maxSources || depth > maxNested {
		return limited("%s: more than %d files, or directories nested more than %d deep", path, maxSources, maxNested)
	}
	if !info.IsDir() || r.o.Format == Asked {
		r.inv.source = path
		err := r.file(ctx, path, info)
		if err == nil && len(r.inv.order) > MaxGroups {
			err = errGroups
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	var failed error
	read := false
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || name == "group_vars" || name == "host_vars" || name == "vars_plugins" ||
			slices.ContainsFunc(ignored, func(ext string) bool { return strings.HasSuffix(name, ext) }) {
			continue
		}
		full := filepath.Join(path, name)
		info, err := os.Stat(full)
		if err != nil {
			err = fmt.Errorf("%s: %w", full, withoutPath(err))
		} else {
			err = r.source(ctx, full, info, depth+1)
		}
		if _, limit := errors.AsType[limitError](err); limit || ctx.Err() != nil {
			return err
		}
		if err != nil && failed != nil {
			r.o.Warn(leftOut(failed))
		}
		if read = read || err == nil; err != nil {
			failed = err
		}
	}
	switch {
	case failed != nil && !read:
		return failed
	case failed != nil:
		r.o.Warn(leftOut(failed))
	}
	return nil
}

func leftOut(err error) string {
	return err.Error() + ": the rest of this file is ignored"
}

// A limitError is an error of the whole inventory. Skipping one file does not help.
type limitError string

func (e limitError) Error() string { return string(e) }

func limited(format string, args ...any) error { return limitError(fmt.Sprintf(format, args...)) }

func (r *reader) file(ctx context.Context, path string, info fs.FileInfo) error {
	switch r.o.Format {
	case Asked:
		return r.ask(ctx, "ansible-inventory", "-i", path)
	case Script:
		return r.ask(ctx, path)
	}
	data, err := readfile.Read(ctx, path, readfile.Config)
	if err != nil {
		return withoutPath(err)
	}
	program := info.Mode()&0o111 != 0
	if r.o.Format == Any && (program || strings.HasPrefix(string(data), "#!")) {
		if err = r.ask(ctx, path); err == nil || r.o.NoProgram == nil || !r.o.NoProgram(err) {
			return err
		}
	}
	if IsVaulted(string(data)) {
		if data, err = r.open(ctx, data); err != nil {
			return err
		}
	}
	if r.o.Format == INI {
		return r.inv.readINI(data)
	}
	return r.text(path, data)
}

// text reads a file that is not a program.
func (r *reader) text(path string, data []byte) error {
	ext := filepath.Ext(path)
	named := ext == ".yml" || ext == ".yaml" || ext == ".json" || r.o.Format == YAML
	if ext == ".toml" && r.o.Format == Any || r.o.Format == TOML {
		return r.inv.readTOML(data, func(text string) { r.o.Warn(path + ": " + text) })
	}
	if !named && ext != "" {
		return r.inv.readINI(data)
	}
	v, err := decode(data, path)
	m, groups := v.(*ordered.Map)
	switch {
	case groups:
		return r.inv.readYAML(m, func(text string) { r.o.Warn(path + ": " + text) })
	case r.o.Format == Any && LooksLike(data): // Ansible reads INI under any name
	case named && err != nil:
		return err
	case named && v != nil:
		return errors.New("it is not a map of groups")
	case v == nil && err == nil:
		return nil
	}
	return r.inv.readINI(data)
}

// ask runs a dynamic inventory.
func (r *reader) ask(ctx context.Context, argv ...string) error {
	if r.o.Run == nil {
		return errors.New("it is a program; this command does not run programs")
	}
	out, err := r.o.Run(ctx, append(slices.Clone(argv), "--list")...)
	if err != nil {
		return err
	}
	return r.inv.readScript(ctx, out, func(ctx context.Context, host string) ([]byte, error) {
		return r.o.Run(ctx, append(slices.Clone(argv), "--host", host)...)
	})
}

// decode reads a file of variables. If the whole file is encrypted and there is no
// password, the file is ignored.
func (r *reader) decode(ctx context.Context, path string, data []byte) (any, error) {
	if !IsVaulted(string(data)) {
		return decode(data, path)
	}
	if r.o.Password == nil {
		r.o.Warn(path + " is encrypted by ansible-vault and is ignored: set vault_password_file to the file with the password")
		return nil, nil
	}
	data, err := r.open(ctx, data)
	if err != nil {
		return nil, err
	}
	v, err := decode(data, path)
	return secret(v), err
}

func (r *reader) open(ctx context.Context, data []byte) ([]byte, error) {
	if r.o.Password == nil {
		return nil, errors.New("it is encrypted by ansible-vault: set vault_password_file to the file with the password")
	}
	password, err := r.o.Password(ctx)
	if err != nil {
		return nil, err
	}
	return Decrypt(string(data), password)
}

// LooksLike reports whether data that is not a map can be an Ansible inventory in
// place of a Bolt inventory: it has INI sections, or only names.
func LooksLike(text []byte) bool {
	for line := range bytes.Lines(text) {
		if iniSection().Match(bytes.TrimSpace(line)) {
			return true
		}
	}
	v, err := decode(text, "")
	_, names := v.(string)
	return err == nil && names
}

// HasGroups reports whether data can only be an Ansible inventory in place of a Bolt
// inventory: it has no keys of Bolt's, and it has groups with hosts or children.
func HasGroups(data *ordered.Map) bool {
	for _, key := range []string{"version", "targets", "groups", "config", "_plugin"} {
		if _, has := data.Get(key); has {
			return false
		}
	}
	for _, v := range data.All() {
		g, _ := v.(*ordered.Map)
		for _, key := range []string{"hosts", "children"} {
			if _, ok := g.Value(key).(*ordered.Map); ok {
				return true
			}
		}
	}
	return false
}
