// Package ansiblehosts is the plugin ansible: it makes targets and groups of
// Ansible's inventories.
//
//	_plugin: ansible          # the whole of inventory.yaml
//	path: /etc/ansible/hosts
//
// Package inventory/ansible reads the inventory; here its variables become
// configuration. Groups of Ansible's may have several parents, and their variables
// count in an order that Bolt does not have. So everything is worked out for each
// host and said of its target, which beats what is said of groups, and groups have
// members and nothing else. A group stands within its first parent; the others name
// its targets.
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
	// Project is the directory that paths start from.
	Project string
	// Home is what "~" in a path stands for; "" leaves it alone.
	Home string
	// Environ is what programs see of the environment: NAME=value. It also has the
	// variables that templates look up.
	Environ []string
	// Warn takes warnings.
	Warn func(id, text string)
}

// The shapes of what is resolved, for the places where a reference can stand.
const (
	whole   = "inventory" // the inventory itself
	groups  = "groups"    // a list of groups
	targets = "targets"   // a list of targets
)

// A request is what a reference asks for.
type request struct {
	paths     []string
	format    ansible.Format
	as        string
	playbooks string
	password  string // the file with it, "" for none
	timeout   time.Duration
	defaults  *ordered.Map // variables that count where no other does
}

// Configures reports whether a project can say it for all references.
func Configures(key string) bool { return key == "timeout" || key == "vault_password_file" }

// Resolve reads an inventory; or for a reference with vaulted, it decrypts that.
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
		r.Wrong("requires a 'path': an inventory of Ansible's, or a 'config': an ansible.cfg that names one")
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

// decrypt gives one value that ansible-vault has encrypted, as a secret.
func (p *Plugin) decrypt(ctx context.Context, q request, v ansible.Vaulted) (any, error) {
	if q.password == "" {
		return nil, errors.New("the value is encrypted by ansible-vault: say with vault_password_file, or with ANSIBLE_VAULT_PASSWORD_FILE, where the password is")
	}
	password, err := p.vaultPassword(ctx, q.password)
	if err != nil {
		return nil, err
	}
	text, err := ansible.Decrypt(string(v), password)
	return transport.NewSecret(string(text)), err
}

// vaultPassword reads the file with the password of ansible-vault. One that may be
// run prints it.
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

// path is a path from the project or the home directory.
func (p *Plugin) path(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && p.Home != "" {
		return filepath.Join(p.Home, rest)
	}
	return program.Path(p.Project, path)
}

// env is a variable of the environment, "" if it is not set.
func (p *Plugin) env(name string) string {
	for _, kv := range slices.Backward(p.Environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
