// Package ansiblehosts is the plugin ansible: it makes targets and groups from
// Ansible inventories.
//
//	_plugin: ansible          # the whole of inventory.yaml
//	path: /etc/ansible/hosts
//
// Package inventory/ansible reads the inventory; this package converts its
// variables to configuration. Ansible's groups can have several parents, and their
// variables are merged in an order that Bolt does not have. So the plugin computes
// all data for each host and sets it in the target, which overrides data of groups.
// Groups have only members. A group is defined in its first parent; the other
// parents list its targets.
package ansiblehosts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/inventory/ansible"
	"bolt/inventory/plugin/options"
	"bolt/inventory/plugin/program"
	"bolt/transport"
)

// A Plugin resolves references.
type Plugin struct {
	// Project is the directory that relative paths are relative to.
	Project string
	// Home replaces "~" in a path; if it is "", "~" is not replaced.
	Home string
	// Environ is the environment of programs: NAME=value. Templates look up its
	// variables, too.
	Environ []string
	// Warn receives warnings.
	Warn func(id, text string)
}

// The shapes of results, for the positions where a reference can be.
const (
	whole   = "inventory" // the inventory itself
	groups  = "groups"    // a list of groups
	targets = "targets"   // a list of targets
)

// A request holds the options of a reference.
type request struct {
	paths     []string
	format    ansible.Format
	as        string
	playbooks string
	password  string // the password file, "" for none
	timeout   time.Duration
	defaults  *ordered.Map // variables that are used if no other sets them
}

// Configures reports whether a project can set the key for all references.
func Configures(key string) bool { return key == "timeout" || key == "vault_password_file" }

// Resolve reads an inventory, or decrypts the value of a reference with the key
// vaulted.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New("ansible", ref, config)
	vaulted := r.Text("vaulted")
	q := request{paths: r.Texts("path"), format: ansible.Format(r.Text("format")), as: r.Text("as"),
		playbooks: r.Text("playbook_dir"), password: r.Text("vault_password_file"), timeout: r.Seconds("timeout", program.DefaultTimeout)}
	cfg := r.Text("config")
	if q.as == "" {
		q.as = whole
	}
	switch {
	case len(q.paths) == 0 && cfg == "" && vaulted == "":
		r.Wrong("requires a 'path' (an Ansible inventory) or a 'config' (an ansible.cfg that sets one)")
	case q.as != whole && q.as != groups && q.as != targets:
		r.Wrong("requires that 'as' is inventory, groups or targets")
	case q.format != ansible.Any && !slices.Contains(ansible.Formats(), q.format):
		r.Wrong("requires that 'format' is ini, yaml, toml, script or ansible-inventory")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	for i, path := range q.paths {
		q.paths[i] = p.path(path)
	}
	if q.playbooks != "" {
		q.playbooks = p.path(q.playbooks)
	}
	if q.password == "" {
		q.password = p.env("ANSIBLE_VAULT_PASSWORD_FILE")
	}
	if cfg != "" {
		if err := p.configure(ctx, p.path(cfg), &q); err != nil {
			return nil, err
		}
	}
	if q.password != "" {
		q.password = p.path(q.password)
	}
	if vaulted != "" {
		return p.decrypt(ctx, q, ansible.Vaulted(vaulted))
	}
	return p.inventory(ctx, q)
}

func (p *Plugin) inventory(ctx context.Context, q request) (any, error) {
	ctx, done := context.WithTimeoutCause(ctx, q.timeout, fmt.Errorf("the inventory was not read within %v", q.timeout))
	defer done()
	o := ansible.Options{
		Paths: q.paths, Format: q.format, Playbooks: q.playbooks,
		Run: func(ctx context.Context, argv ...string) ([]byte, error) {
			return program.Run(ctx, program.Command{Argv: argv, Dir: p.Project, Env: p.Environ})
		},
		NoProgram: func(err error) bool { return errors.Is(err, program.ErrFormat) },
		Warn:      p.warn,
	}
	if q.password != "" {
		var known transport.Secret
		o.Password = func(ctx context.Context) (_ transport.Secret, err error) {
			if !known.IsSet() {
				known, err = p.vaultPassword(ctx, q.password)
			}
			return known, err
		}
	}
	inv, err := ansible.Read(ctx, o)
	if err != nil {
		return nil, err
	}
	b := builder{inv: inv, request: q, lookup: p.env}
	if o.Password != nil {
		b.open = func(v ansible.Vaulted) ([]byte, error) {
			password, err := o.Password(ctx)
			if err != nil {
				return nil, err
			}
			return ansible.Decrypt(string(v), password)
		}
	}
	data, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	b.notes.tell(p.warn)
	return data, nil
}

// decrypt returns a value that ansible-vault has encrypted, as a secret.
func (p *Plugin) decrypt(ctx context.Context, q request, v ansible.Vaulted) (any, error) {
	if q.password == "" {
		return nil, errors.New("the value is encrypted by ansible-vault: set vault_password_file, or ANSIBLE_VAULT_PASSWORD_FILE, to the file with the password")
	}
	password, err := p.vaultPassword(ctx, q.password)
	if err != nil {
		return nil, err
	}
	text, err := ansible.Decrypt(string(v), password)
	return transport.NewSecret(string(text)), err
}

// vaultPassword reads the file with the password of ansible-vault. An executable
// file is run and prints the password.
func (p *Plugin) vaultPassword(ctx context.Context, path string) (transport.Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return transport.Secret{}, fmt.Errorf("the vault password file: %w", err)
	}
	var text []byte
	if info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		text, err = program.Run(ctx, program.Command{Argv: []string{path}, Dir: p.Project, Env: p.Environ, Timeout: program.DefaultTimeout})
	} else {
		text, err = readfile.Read(ctx, path, readfile.Key)
	}
	if err != nil {
		return transport.Secret{}, fmt.Errorf("the vault password file: %w", err)
	}
	password := strings.TrimSpace(string(text))
	if password == "" {
		return transport.Secret{}, fmt.Errorf("the vault password file %s is empty", path)
	}
	return transport.NewSecret(password), nil
}

func (p *Plugin) warn(text string) { p.Warn("ansible_inventory", text) }

// path returns a path relative to the project or the home directory.
func (p *Plugin) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.Home != "" {
		return filepath.Join(p.Home, rest)
	}
	return program.Path(p.Project, path)
}

// env returns a variable of the environment, "" if it is not set.
func (p *Plugin) env(name string) string {
	for _, kv := range slices.Backward(p.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
