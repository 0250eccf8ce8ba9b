package ansiblehosts

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bolt/internal/ansible"
	"bolt/internal/ordered"
	"bolt/transport"
)

// kinds are the transports for Ansible's connections, without the names of their
// collections.
var kinds = map[string]string{
	"ssh": "ssh", "smart": "ssh", "paramiko": "ssh", "paramiko_ssh": "ssh", "libssh": "ssh",
	"local": "local", "docker": "docker", "docker_api": "docker", "podman": "podman", "lxd": "lxd", "jail": "jail",
	"winrm": "winrm", "psrp": "winrm",
	"network_cli": "remote", "netconf": "remote", "httpapi": "remote",
}

// names are the variables that configuration comes from. Of several with one
// meaning the last one that is set counts.
var names = map[string][]string{
	"connection":    {"ansible_connection"},
	"host":          {"ansible_host", "ansible_ssh_host"},
	"port":          {"ansible_port", "ansible_ssh_port"},
	"user":          {"ansible_user", "ansible_ssh_user"},
	"password":      {"ansible_password", "ansible_ssh_pass", "ansible_ssh_password"},
	"key":           {"ansible_private_key_file", "ansible_ssh_private_key_file"},
	"checking":      {"ansible_host_key_checking", "ansible_ssh_host_key_checking"},
	"timeout":       {"ansible_timeout", "ansible_ssh_timeout"},
	"become":        {"ansible_sudo", "ansible_become"},
	"become user":   {"ansible_sudo_user", "ansible_become_user"},
	"become pass":   {"ansible_sudo_pass", "ansible_become_pass", "ansible_become_password"},
	"become method": {"ansible_become_method"},
	"become exe":    {"ansible_sudo_exe", "ansible_become_exe"},
	"shell":         {"ansible_shell_type"},
	"python":        {"ansible_python_interpreter"},
	"ruby":          {"ansible_ruby_interpreter"},
	"perl":          {"ansible_perl_interpreter"},
	"ssh args":      {"ansible_ssh_args"},
	"common args":   {"ansible_ssh_common_args"},
	"extra args":    {"ansible_ssh_extra_args"},

	"winrm host":      {"ansible_winrm_host"},
	"winrm port":      {"ansible_winrm_port"},
	"winrm user":      {"ansible_winrm_user"},
	"winrm password":  {"ansible_winrm_pass", "ansible_winrm_password"},
	"winrm scheme":    {"ansible_psrp_protocol", "ansible_winrm_scheme"},
	"winrm check":     {"ansible_psrp_cert_validation", "ansible_winrm_server_cert_validation"},
	"winrm ca":        {"ansible_psrp_ca_cert", "ansible_winrm_ca_trust_path"},
	"winrm transport": {"ansible_psrp_auth", "ansible_winrm_transport"},
	"winrm realm":     {"ansible_winrm_realm"},
}

// consumed reports whether a variable is about connections, and so none of a
// target's: what it says is in the configuration, or is a secret.
func consumed(name string) bool {
	if !strings.HasPrefix(name, "ansible_") {
		return false
	}
	for _, list := range names {
		if slices.Contains(list, name) {
			return true
		}
	}
	for _, word := range []string{"pass", "password", "passphrase", "secret", "token"} {
		if strings.HasSuffix(name, "_"+word) {
			return true
		}
	}
	return false
}

// A connection makes a target's configuration of its variables.
type connection struct {
	scope
	defaults *ordered.Map // variables of an ansible.cfg
	password string       // the file with that of ansible-vault
	note     func(text string)

	transport string
	section   *ordered.Map // of the transport
	acceptNew bool         // arguments for ssh say so first: what they say later of host keys does not count
}

// config returns the configuration: the transport, and its section.
func (c *connection) config() *ordered.Map {
	c.section = &ordered.Map{}
	c.transport = "ssh"
	if kind := c.text("connection"); kind != "" {
		name := kind[strings.LastIndexByte(kind, '.')+1:]
		if t, known := kinds[name]; known {
			c.transport = t
		} else {
			c.note(fmt.Sprintf("the connection '%s' is not known: ssh is taken", name))
		}
	}
	switch c.transport {
	case "ssh":
		c.ssh()
	case "winrm":
		c.winrm()
	case "remote":
		c.login()
	case "local":
	case "lxd":
		if h := c.text("host"); h != "" && h != c.host.Name {
			c.note("containers of lxd are called as the target: ansible_host does not count")
		}
	default:
		c.put("host", c.address("host"))
	}
	if c.transport != "winrm" && c.transport != "remote" {
		c.become()
		c.interpreters()
	}
	config := ordered.Of("transport", c.transport)
	if c.section.Len() > 0 {
		config.Set(c.transport, c.section)
	}
	return config
}

// raw is what a variable says, evaluated; nil if it says nothing. What cannot be
// evaluated counts as not set, and is told.
func (c *connection) raw(key string) any {
	for _, from := range []*ordered.Map{c.vars, c.defaults} {
		for _, name := range slices.Backward(names[key]) {
			v, set := from.Get(name)
			if !set || v == nil || v == "" {
				continue
			}
			v, err := c.value(v, 0)
			if err != nil {
				c.note(fmt.Sprintf("%s does not count: %v", name, err))
				return nil
			}
			if v != nil && v != "" {
				return v
			}
		}
	}
	return nil
}

// text is a variable as text.
func (c *connection) text(key string) string {
	v, err := c.opened(c.raw(key))
	if err != nil {
		c.note(fmt.Sprintf("%s does not count: %v", names[key][0], err))
		return ""
	}
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.TrimSpace(v)
	case transport.Secret:
		return v.Reveal()
	case int64, float64, bool, *big.Int:
		return fmt.Sprint(v)
	}
	c.note(names[key][0] + " does not count: it is not a text")
	return ""
}

// secret is a variable as a password: text, or a reference for one that is
// encrypted, which is decrypted when somebody needs it.
func (c *connection) secret(key string) any {
	switch v := c.raw(key).(type) {
	case nil:
		return nil
	case ansible.Vaulted:
		ref := ordered.Of("_plugin", "ansible", "vaulted", string(v))
		if c.password != "" {
			ref.Set("vault_password_file", c.password)
		}
		return ref
	case transport.Secret:
		return v.Reveal()
	case string:
		return v
	case int64, float64, *big.Int:
		return fmt.Sprint(v)
	}
	c.note(names[key][0] + " does not count: it is not a text")
	return nil
}

// flag is a variable as yes or no.
func (c *connection) flag(key string) (yes, set bool) {
	switch strings.ToLower(c.text(key)) {
	case "":
		return false, false
	case "yes", "true", "on", "1", "1.0", "y", "t":
		return true, true
	case "no", "false", "off", "0", "0.0", "n", "f":
		return false, true
	}
	c.note(names[key][0] + " does not count: it is neither yes nor no")
	return false, false
}

// number is a variable as a whole number from 1 to most; 0 if it is not set.
func (c *connection) number(key string, most int64) int64 {
	s := c.text(key)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > most {
		c.note(fmt.Sprintf("%s does not count: it is not a whole number from 1 to %d", names[key][0], most))
		return 0
	}
	return n
}

// put sets an option that is not empty.
func (c *connection) put(option string, value any) {
	if value != nil && value != "" && value != int64(0) {
		c.section.Set(option, value)
	}
}

const maxPort = 65535

// address is the name of the machine for the network.
func (c *connection) address(key string) string {
	h := c.text(key)
	if h == "" {
		return c.host.Name
	}
	return strings.Trim(h, "[]")
}

// login sets what is needed to reach a machine, and get in.
func (c *connection) login() {
	c.put("host", c.address("host"))
	c.put("port", c.number("port", maxPort))
	c.put("user", c.text("user"))
	c.put("password", c.secret("password"))
}

func (c *connection) ssh() {
	c.login()
	c.put("private-key", c.text("key"))
	if check, set := c.flag("checking"); set && !check {
		c.put("host-key-check", false)
	}
	const hour = 3600
	c.put("connect-timeout", c.number("timeout", hour))
	switch shell := c.text("shell"); shell {
	case "csh", "fish", "powershell":
		c.put("login-shell", shell)
	case "", "sh":
	default:
		c.note(fmt.Sprintf("the ansible_shell_type '%s' is not known", shell))
	}
	for _, key := range []string{"ssh args", "common args", "extra args"} {
		if line := c.text(key); line != "" {
			c.sshArguments(names[key][0], line)
		}
	}
}

func (c *connection) winrm() {
	first := func(a, b any) any {
		if a != nil && a != "" && a != int64(0) {
			return a
		}
		return b
	}
	c.login()
	if c.text("winrm host") != "" {
		c.put("host", c.address("winrm host"))
	}
	port, _ := first(c.number("winrm port", maxPort), c.number("port", maxPort)).(int64)
	c.put("port", port)
	c.put("user", c.text("winrm user"))
	c.put("password", c.secret("winrm password"))
	switch scheme := c.text("winrm scheme"); {
	case scheme == "http", scheme == "" && port == 5985:
		c.put("ssl", false)
		if port == 0 {
			c.put("port", int64(5985))
		}
	case scheme != "" && scheme != "https":
		c.note(fmt.Sprintf("the scheme '%s' is not known: https is taken", scheme))
	}
	if c.text("winrm check") == "ignore" {
		c.put("ssl-verify", false)
	}
	c.put("cacert", c.text("winrm ca"))
	switch by := c.text("winrm transport"); by {
	case "", "ntlm", "negotiate", "plaintext", "ssl":
	case "basic":
		if c.section.Value("ssl") != false {
			c.put("basic-auth-only", true)
		}
	case "kerberos":
		_, realm, _ := strings.Cut(c.text("user"), "@")
		c.put("realm", first(c.text("winrm realm"), strings.ToUpper(realm)))
	default:
		c.note(fmt.Sprintf("the way '%s' to log in by WinRM is not known", by))
	}
}

// become sets the user that commands run as.
func (c *connection) become() {
	if yes, _ := c.flag("become"); !yes {
		return
	}
	user := c.text("become user")
	if user == "" {
		user = "root"
	}
	switch method := c.text("become method"); method[strings.LastIndexByte(method, '.')+1:] {
	case "", "sudo":
		c.put("sudo-executable", c.text("become exe"))
		c.put("sudo-password", c.secret("become pass"))
	case "doas":
		c.put("run-as-command", []any{"doas", "-u"})
	default:
		c.note(fmt.Sprintf("the ansible_become_method '%s' is not known: commands run as the user who logs in", method))
		return
	}
	c.put("run-as", user)
}

// interpreters sets what runs tasks in some languages.
func (c *connection) interpreters() {
	byExtension := map[string]string{".py": "python", ".rb": "ruby", ".pl": "perl"}
	found := &ordered.Map{}
	for _, ext := range slices.Sorted(maps.Keys(byExtension)) {
		// Other values than paths (auto) say how Ansible is to find one.
		if path := c.text(byExtension[ext]); strings.HasPrefix(path, "/") {
			found.Set(ext, path)
		}
	}
	if found.Len() > 0 {
		c.put("interpreters", found)
	}
}
