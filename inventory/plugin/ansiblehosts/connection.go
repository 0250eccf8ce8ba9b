package ansiblehosts

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/safetext"
	"bolt/inventory/ansible"
	"bolt/transport"
)

// kinds maps Ansible's connections, without the names of their collections, to
// transports.
var kinds = map[string]string{
	"ssh": "ssh", "smart": "ssh", "paramiko": "ssh", "paramiko_ssh": "ssh", "libssh": "ssh",
	"local": "local", "docker": "docker", "docker_api": "docker", "podman": "podman", "lxd": "lxd", "jail": "jail",
	"winrm": "winrm", "psrp": "winrm",
	"network_cli": "remote", "netconf": "remote", "httpapi": "remote",
}

// names lists the variables that configuration comes from. Of several variables with
// one meaning, the last one that is set takes effect.
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
	"become user":   {"ansible_become_user"},
	"become pass":   {"ansible_become_pass", "ansible_become_password"},
	"become method": {"ansible_become_method"},
	"become exe":    {"ansible_become_exe"},
	"become flags":  {"ansible_become_flags", "ansible_sudo_flags", "ansible_su_flags", "ansible_doas_flags"},
	"sudo user":     {"ansible_sudo_user"},
	"sudo pass":     {"ansible_sudo_pass"},
	"sudo exe":      {"ansible_sudo_exe"},
	"su user":       {"ansible_su_user"},
	"su pass":       {"ansible_su_pass"},
	"su exe":        {"ansible_su_exe"},
	"doas user":     {"ansible_doas_user"},
	"doas pass":     {"ansible_doas_pass"},
	"doas exe":      {"ansible_doas_exe"},
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
	"winrm scheme":    {"ansible_winrm_scheme"},
	"winrm check":     {"ansible_winrm_server_cert_validation"},
	"winrm ca":        {"ansible_winrm_ca_trust_path"},
	"winrm transport": {"ansible_winrm_transport"},
	"winrm realm":     {"ansible_winrm_realm"},

	"psrp host":      {"ansible_psrp_host"},
	"psrp port":      {"ansible_psrp_port"},
	"psrp user":      {"ansible_psrp_user"},
	"psrp password":  {"ansible_winrm_pass", "ansible_winrm_password", "ansible_psrp_password"},
	"psrp scheme":    {"ansible_psrp_protocol"},
	"psrp check":     {"ansible_psrp_cert_validation"},
	"psrp ca":        {"ansible_psrp_cert_trust_path", "ansible_psrp_ca_cert"},
	"psrp transport": {"ansible_psrp_auth"},
	"psrp timeout":   {"ansible_psrp_connection_timeout"},
	"psrp proxy":     {"ansible_psrp_proxy"},
	"psrp endpoint":  {"ansible_psrp_configuration_name"},
	"psrp path":      {"ansible_psrp_path"},
	"psrp key":       {"ansible_psrp_certificate_pem", "ansible_psrp_certificate_key_pem"},
}

// decisive are the keys of names that decide the machine, the user or the key. If
// such a variable cannot be honoured, the target is refused. All other variables are
// then ignored with a warning.
var decisive = []string{"connection", "host", "port", "user", "key", "become", "become user", "become method", "become exe",
	"sudo user", "sudo exe", "su user", "su exe", "doas user", "doas exe", "ssh args", "common args", "extra args", "winrm host", "winrm port", "winrm user",
	"psrp host", "psrp port", "psrp user", "psrp proxy", "psrp endpoint", "psrp path", "psrp key"}

// consumed reports whether a variable is about connections. Such a variable is not
// copied to the target, because the configuration contains its value, or because it
// is secret.
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

// A connection makes a target's configuration from its variables.
type connection struct {
	scope
	inv      *ansible.Inventory
	defaults *ordered.Map // variables of an ansible.cfg
	password string       // file with the password of ansible-vault
	note     func(text string)

	refused   []string // the reasons why the target must not be used
	transport string
	section   *ordered.Map // of the transport
	acceptNew bool         // an earlier ssh argument set accept-new, so later arguments about host keys have no effect
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
			c.refuse("connection", fmt.Sprintf("the connection '%s' is not supported", name))
		}
	}
	switch c.transport {
	case "ssh":
		c.ssh()
	case "winrm":
		c.winrm(c.kind())
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
	} else {
		c.noBecome()
	}
	if len(c.refused) > 0 {
		// A string from an inventory must not look like a line that bolt prints.
		text := safetext.TerminalString(strings.Join(c.refused, "; "))
		c.put("refuse", strings.Join(strings.Fields(text), " "))
	}
	config := ordered.Of("transport", c.transport)
	if c.section.Len() > 0 {
		config.Set(c.transport, c.section)
	}
	return config
}

// refuse adds a reason why the target cannot be used, with the place where the
// variable of a key is set.
func (c *connection) refuse(key, why string) {
	for _, name := range slices.Backward(names[key]) {
		if place := c.place(name); place != "" {
			why = fmt.Sprintf("%s, set in %s: %s", name, place, why)
			break
		}
	}
	if !slices.Contains(c.refused, why) {
		c.refused = append(c.refused, why)
	}
}

// place returns where a variable is set, "" if it is not set.
func (c *connection) place(name string) string {
	if _, set := c.vars.Get(name); set {
		return c.inv.Place(c.host, name)
	}
	if _, set := c.defaults.Get(name); set {
		return "the ansible.cfg"
	}
	return ""
}

// unusable is called for a variable that cannot be honoured.
func (c *connection) unusable(key, why string) {
	if slices.Contains(decisive, key) {
		c.refuse(key, why)
		return
	}
	c.note(fmt.Sprintf("%s is ignored: %s", names[key][0], why))
}

// raw returns the evaluated value of a variable; nil if the variable is empty or not
// set, or if it cannot be evaluated.
func (c *connection) raw(key string) any {
	for _, from := range []*ordered.Map{c.vars, c.defaults} {
		for _, name := range slices.Backward(names[key]) {
			v, set := from.Get(name)
			if !set || v == nil || v == "" {
				continue
			}
			v, err := c.value(v, 0)
			if err != nil {
				c.unusable(key, err.Error())
				return nil
			}
			if v != nil && v != "" {
				return v
			}
		}
	}
	return nil
}

// text returns a variable as a string.
func (c *connection) text(key string) string {
	v, err := c.opened(c.raw(key))
	if err != nil {
		c.unusable(key, err.Error())
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
	c.unusable(key, "it is not a string")
	return ""
}

// secret returns a variable as a password: a string, or, if it is encrypted, a
// reference that is decrypted when it is needed.
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
	c.unusable(key, "it is not a string")
	return nil
}

// flag returns a variable as a boolean.
func (c *connection) flag(key string) (yes, set bool) {
	switch strings.ToLower(c.text(key)) {
	case "":
		return false, false
	case "yes", "true", "on", "1", "1.0", "y", "t":
		return true, true
	case "no", "false", "off", "0", "0.0", "n", "f":
		return false, true
	}
	c.unusable(key, "it is neither yes nor no")
	return false, false
}

// number returns a variable as an integer from 1 to most; 0 if it is not set.
func (c *connection) number(key string, most int64) int64 {
	s := c.text(key)
	if s == "" {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 || n > most {
		c.unusable(key, fmt.Sprintf("it is not a whole number from 1 to %d", most))
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

// address returns the network address of the machine.
func (c *connection) address(key string) string {
	h := c.text(key)
	if h == "" {
		return c.host.Name
	}
	return strings.Trim(h, "[]")
}

// login sets the options that are needed to connect and log in.
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
		c.note(fmt.Sprintf("the ansible_shell_type '%s' is not supported", shell))
	}
	for _, key := range []string{"ssh args", "common args", "extra args"} {
		if line := c.text(key); line != "" {
			c.sshArguments(key, line)
		}
	}
}

// kind returns Ansible's connection, without the name of its collection.
func (c *connection) kind() string {
	kind := c.text("connection")
	return kind[strings.LastIndexByte(kind, '.')+1:]
}

// winrm sets the options for the connections winrm and psrp. The variables of each of
// them override the variables for all connections.
func (c *connection) winrm(kind string) {
	first := func(a, b any) any {
		if a != nil && a != "" && a != int64(0) {
			return a
		}
		return b
	}
	key := func(name string) string { return kind + " " + name }
	c.login()
	if c.text(key("host")) != "" {
		c.put("host", c.address(key("host")))
	}
	port, _ := first(c.number(key("port"), maxPort), c.number("port", maxPort)).(int64)
	c.put("port", port)
	c.put("user", c.text(key("user")))
	c.put("password", c.secret(key("password")))
	switch scheme := c.text(key("scheme")); {
	case scheme == "http", scheme == "" && port == 5985:
		c.put("ssl", false)
		if port == 0 {
			c.put("port", int64(5985))
		}
	case scheme != "" && scheme != "https":
		c.note(fmt.Sprintf("the scheme '%s' is not supported: https is used", scheme))
	}
	if c.text(key("check")) == "ignore" {
		c.put("ssl-verify", false)
	}
	c.put("cacert", c.text(key("ca")))
	if kind == "psrp" {
		c.psrp()
	}
	switch by := c.text(key("transport")); by {
	case "", "ntlm", "negotiate", "plaintext", "ssl":
	case "basic":
		if c.section.Value("ssl") != false {
			c.put("basic-auth-only", true)
		}
	case "kerberos":
		user := cmp.Or(c.text(key("user")), c.text("user"))
		_, realm, _ := strings.Cut(user, "@")
		c.put("realm", first(c.text("winrm realm"), strings.ToUpper(realm)))
	default:
		c.note(fmt.Sprintf("the WinRM authentication method '%s' is not supported", by))
	}
}

// psrp sets the options that only the connection psrp has. It refuses the target if a
// variable would lead to another machine, user or key.
func (c *connection) psrp() {
	const hour = 3600
	c.put("connect-timeout", c.number("psrp timeout", hour))
	for _, o := range []struct{ key, usual string }{{"psrp proxy", ""}, {"psrp endpoint", "microsoft.powershell"}, {"psrp path", "wsman"}, {"psrp key", ""}} {
		if v := c.text(o.key); v != "" && strings.ToLower(v) != o.usual {
			c.refuse(o.key, "it is not supported")
		}
	}
}

// become sets the user that commands run as.
func (c *connection) become() {
	if yes, _ := c.flag("become"); !yes {
		return
	}
	method := c.text("become method")
	if method = method[strings.LastIndexByte(method, '.')+1:]; method == "" {
		method = "sudo"
	}
	if !slices.Contains([]string{"sudo", "su", "doas"}, method) {
		c.refuse("become method", fmt.Sprintf("the method '%s' is not supported; use sudo, su or doas", method))
		return
	}
	// Variables of the method override the variables of become.
	of := func(what string) string { return cmp.Or(c.text(method+" "+what), c.text("become "+what)) }
	exe := of("exe")
	if exe == "" && method != "sudo" {
		exe = method
	}
	if as := (transport.RunAs{Executable: exe}); string(as.Method()) != method {
		c.refuse("become exe", fmt.Sprintf("the program of the method '%[1]s' must be named %[1]s", method))
		return
	}
	if c.text("become flags") != "" {
		c.note("ansible_become_flags is ignored")
	}
	c.put("sudo-executable", exe)
	password := c.secret(method + " pass")
	if password == nil {
		password = c.secret("become pass")
	}
	c.put("sudo-password", password)
	c.put("run-as", cmp.Or(of("user"), "root"))
}

// noBecome refuses a target whose variables set become but whose transport has no
// run-as. A device without a become method is not refused, because it can have a
// method of its own.
func (c *connection) noBecome() {
	method := c.text("become method")
	if yes, _ := c.flag("become"); !yes || c.transport == "remote" && method == "" {
		return
	}
	key := "become method"
	if method == "" {
		key = "become"
	}
	c.refuse(key, "run-as is not supported with the transport "+c.transport)
}

// interpreters sets the programs that run tasks of some languages.
func (c *connection) interpreters() {
	byExtension := map[string]string{".py": "python", ".rb": "ruby", ".pl": "perl"}
	found := &ordered.Map{}
	for _, ext := range slices.Sorted(maps.Keys(byExtension)) {
		// Values that are not paths (auto) set how Ansible finds an interpreter.
		if path := c.text(byExtension[ext]); strings.HasPrefix(path, "/") {
			found.Set(ext, path)
		}
	}
	if found.Len() > 0 {
		c.put("interpreters", found)
	}
}
