package ansiblehosts

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/readfile"
)

// settings maps the sections and keys that are read from an ansible.cfg to the
// equivalent variable of a host.
var settings = map[string]string{
	"defaults.remote_user":               "ansible_user",
	"defaults.remote_port":               "ansible_port",
	"defaults.private_key_file":          "ansible_ssh_private_key_file",
	"defaults.host_key_checking":         "ansible_host_key_checking",
	"defaults.timeout":                   "ansible_timeout",
	"defaults.transport":                 "ansible_connection",
	"privilege_escalation.become":        "ansible_become",
	"privilege_escalation.become_user":   "ansible_become_user",
	"privilege_escalation.become_method": "ansible_become_method",
	"ssh_connection.ssh_args":            "ansible_ssh_args",
	"ssh_connection.ssh_common_args":     "ansible_ssh_common_args",
	"ssh_connection.ssh_extra_args":      "ansible_ssh_extra_args",
}

// configure adds the settings of an ansible.cfg. Its inventory is used if the
// reference sets none. Relative paths in the file are relative to its directory.
func (p *Plugin) configure(ctx context.Context, path string, q *request) error {
	data, err := readfile.Read(ctx, path, readfile.Key)
	if err != nil {
		return fmt.Errorf("the configuration of Ansible: %w", err)
	}
	dir := filepath.Dir(path)
	from := func(s string) string {
		s = strings.ReplaceAll(s, "{{CWD}}", ".")
		if strings.HasPrefix(s, "~/") {
			return p.path(s)
		}
		if filepath.IsAbs(s) {
			return s
		}
		return filepath.Join(dir, s)
	}
	q.defaults = &ordered.Map{}
	var inventory string
	for key, value := range configOf(string(data)) {
		switch name := settings[key]; {
		case value == "":
		case key == "defaults.inventory":
			inventory = value
		case key == "defaults.vault_password_file" && q.password == "":
			q.password = from(value)
		case key == "defaults.private_key_file":
			q.defaults.Set(name, from(value))
		case name != "":
			q.defaults.Set(name, value)
		}
	}
	if len(q.paths) > 0 {
		return nil
	}
	for name := range strings.SplitSeq(inventory, ",") {
		if name = strings.TrimSpace(name); name != "" {
			q.paths = append(q.paths, from(name))
		}
	}
	if len(q.paths) == 0 {
		return fmt.Errorf("%s does not set an inventory: set 'path' in the reference, or 'inventory' in [defaults] of that file", path)
	}
	return nil
}

// configOf parses the format of Python's configparser: keys in sections. It joins
// continuation lines.
func configOf(text string) map[string]string {
	values := make(map[string]string)
	section, last := "", ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
			continue
		case line[0] == ' ' || line[0] == '\t':
			if last != "" {
				values[last] += " " + trimmed
			}
			continue
		case trimmed[0] == '[':
			section, _, _ = strings.Cut(trimmed[1:], "]")
			last = ""
			continue
		}
		i := strings.IndexAny(trimmed, "=:")
		if i < 0 {
			continue
		}
		value := strings.TrimSpace(trimmed[i+1:])
		if j := strings.Index(value, " ;"); j >= 0 {
			value = strings.TrimSpace(value[:j])
		}
		last = section + "." + strings.ToLower(strings.TrimSpace(trimmed[:i]))
		values[last] = value
	}
	return values
}
