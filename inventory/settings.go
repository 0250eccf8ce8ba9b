package inventory

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/transport"
)

// Settings is a target's configuration in the terms of package transport.
type Settings struct {
	Host string // as configured, "" if there is none
	User string // "" if the inventory does not say

	// Dest is where to connect to. Its Protocol is the transport, which need
	// not be one that can be dialed.
	Dest transport.Dest
	// RunAs is as whom commands run; its password is the login's if there is
	// no other, except for su.
	RunAs transport.RunAs
	TTY   bool

	TmpDir       string              // parent of private directories, "" for the transport's own
	ScriptDir    string              // fixed name below TmpDir, "" for a random one
	Cleanup      bool                // remove private directories
	Interpreters map[string][]string // extension with its dot → words of a command
	Extensions   []string            // with their dots, of files that PowerShell may run beside those that it always may
}

// Settings translates the target's Data. It is computed once for each change;
// what it points to is shared and must not be changed. Errors are those of Data, and a
// bolt/validation-error for a target that is reached by its host and has none, and for one that is refused.
func (t *Target) Settings(ctx context.Context) (Settings, error) {
	now := t.now.Load()
	if s := now.settings.Load(); s != nil {
		return *s, nil
	}
	d, err := t.dataOf(ctx, now)
	if err != nil {
		return Settings{}, err
	}
	if why := (options{RevealMap(d.Config)}).text(refuseOption); why != "" {
		return Settings{}, fault.New("bolt/validation-error", "Target %s cannot be used: %s", t.SafeName(), why)
	}
	s := d.settings()
	if s.Host == "" && (d.Transport == "ssh" || d.Transport == "winrm" || contained(d.Transport)) {
		return Settings{}, fault.New("bolt/validation-error", "Target %s does not have a host", t.SafeName())
	}
	if d.Transport == "ssh" {
		if err := t.inv.warnMissingKey(ctx, s.Dest.PrivateKey); err != nil {
			return Settings{}, err
		}
	}
	now.settings.Store(&s)
	return s, nil
}

func (d *Data) settings() Settings {
	c := options{RevealMap(d.Config)}
	s := Settings{
		Host:         d.address.host,
		User:         c.text("user"),
		TTY:          c.flag("tty"),
		TmpDir:       c.text("tmpdir"),
		ScriptDir:    c.text("script-dir"),
		Cleanup:      c.flag("cleanup"),
		Interpreters: interpreters(c),
		Extensions:   extensions(c),
	}
	if s.Host == "" {
		s.Host = c.text("host")
	}
	if d.address.user != "" {
		s.User = d.address.user
	}
	password := c.secret("password")
	if d.address.hasPass {
		password = transport.NewSecret(d.address.password)
	}
	s.RunAs = transport.RunAs{
		User:       c.text("run-as"),
		Password:   c.secret("sudo-password"),
		Executable: c.text("sudo-executable"),
		Command:    c.words("run-as-command"),
	}
	if !s.RunAs.Password.IsSet() && s.RunAs.Method() != transport.MethodSu { // su asks for another user's
		s.RunAs.Password = password
	}
	s.Dest = transport.Dest{Protocol: d.Transport}
	if d.Transport == "local" {
		// There is one local machine, however it is called.
		return s
	}
	s.Dest.Host, s.Dest.User, s.Dest.Password = s.Host, s.User, password
	s.Dest.Port = d.address.port
	if s.Dest.Port == 0 {
		s.Dest.Port = c.number("port")
	}
	s.Dest.ConnectTimeout = time.Duration(c.number("connect-timeout")) * time.Second
	switch {
	case d.Transport == "ssh":
		d.ssh(c, &s.Dest)
		if c.flag("native-ssh") {
			native(c, &s.Dest)
		}
	case contained(d.Transport):
		d.container(c, &s.Dest)
	case d.Transport == "winrm":
		s.Dest.WinRM = transport.WinRM{
			SSL:       c.flag("ssl"),
			SSLVerify: c.flag("ssl-verify"),
			CACert:    c.text("cacert"),
			BasicOnly: c.flag("basic-auth-only"),
			Realm:     c.text("realm"),
		}
	}
	return s
}

// contained reports whether a transport's targets are containers.
func contained(transport string) bool {
	return transport == "docker" || transport == "podman" || transport == "lxd"
}

// container fills in what only containers have.
func (d *Data) container(c options, to *transport.Dest) {
	to.Port = 0
	to.ConnectTimeout = defaultConnect // for the program's first answer; there is no such option
	to.Tool = transport.Tool{Service: c.text("service-url"), Shell: transport.NewWords(c.words("shell-command"))}
	if d.Transport == "lxd" {
		to.Tool.Service = c.text("remote")
	}
}

// native fills in what only the system's ssh is told, which is a transport of its
// own.
func native(c options, to *transport.Dest) {
	to.Protocol = NativeSSH
	to.Password = transport.Secret{} // ssh takes none
	if to.ConnectTimeout == defaultConnect {
		to.ConnectTimeout = 0 // ssh_config's counts, unless another one is asked for
	}
	to.Tool = transport.Tool{SSH: transport.NewWords(c.words("ssh-command")), Copy: transport.NewWords(c.words("copy-command")), Batch: c.flag("batch-mode")}
}

// defaultConnect is connect-timeout's default.
const defaultConnect = 10 * time.Second

// NativeSSH is the protocol of ssh targets that are reached by the system's ssh.
const NativeSSH = "native-ssh"

// ssh fills in what only SSH has.
func (d *Data) ssh(c options, to *transport.Dest) {
	to.Keepalive = time.Duration(c.number("keepalive")) * time.Second
	to.DisconnectTimeout = time.Duration(c.number("disconnect-timeout")) * time.Second
	switch key := c.Value("private-key").(type) {
	case string:
		to.PrivateKey = key
	case *ordered.Map:
		to.KeyData = options{key}.secret("key-data")
	}
	switch c.Value("host-key-check") {
	case true:
		to.HostKeyCheck = transport.CheckStrict
	case false:
		to.HostKeyCheck = transport.CheckNone
	}
	to.GSSAPI, to.GSSAPIDelegate = c.choice("gssapi-authentication"), c.choice("gssapi-delegate-credentials")
	to.ForwardAgent = c.choice("forward-agent")
	to.LoginShell = c.text("login-shell")
	to.LoadConfig = c.flag("load-config")
	to.ProxyJump, to.ProxyCommand = c.text("proxyjump"), c.text("proxy-command")
	to.Ciphers = strings.Join(c.words("encryption-algorithms"), ",")
	to.Kex = strings.Join(c.words("kex-algorithms"), ",")
	to.MACs = strings.Join(c.words("mac-algorithms"), ",")
	to.HostKeyAlgorithms = strings.Join(c.words("host-key-algorithms"), ",")
}

// warnMissingKey warns, once for each path, of a key file that is not there.
// It is no error: the agent or a password may do instead.
func (inv *Inventory) warnMissingKey(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	if err := inv.takeTurn(ctx); err != nil {
		return err
	}
	defer inv.endTurn()
	if inv.checkedKey[path] {
		return nil
	}
	inv.checkedKey[path] = true
	f, err := os.Open(path)
	if err != nil {
		inv.opts.Warn("invalid_ssh_key", fmt.Sprintf("The private key '%s' cannot be read: %v. It is not used.", path, fault.WithoutPath(err)))
		return nil
	}
	return f.Close()
}

func extensions(c options) []string {
	list := c.words("extensions")
	for i, ext := range list {
		if !strings.HasPrefix(ext, ".") {
			list[i] = "." + ext
		}
	}
	return list
}

func interpreters(c options) map[string][]string {
	m, _ := c.Value("interpreters").(*ordered.Map)
	if m.Len() == 0 {
		return nil
	}
	byExt := make(map[string][]string)
	for ext, v := range m.All() {
		if path, ok := v.(string); ok {
			byExt[ext] = []string{path} // a path may have spaces
		} else {
			byExt[ext] = options{m}.words(ext)
		}
	}
	return byExt
}

// options reads a map whose types have been checked, in clear.
type options struct{ *ordered.Map }

func (o options) text(k string) string { s, _ := o.Value(k).(string); return s }

// choice is a flag that may be left open.
func (o options) choice(k string) transport.Choice {
	switch o.Value(k) {
	case true:
		return transport.ChoiceYes
	case false:
		return transport.ChoiceNo
	}
	return transport.ChoiceByConfig
}

func (o options) flag(k string) bool  { b, _ := o.Value(k).(bool); return b }
func (o options) number(k string) int { n, _ := o.Value(k).(int64); return int(n) }

func (o options) secret(k string) transport.Secret { return transport.NewSecret(o.text(k)) }

// words reads a command: a list of words, or a string that is split at spaces.
func (o options) words(k string) []string {
	switch v := o.Value(k).(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var list []string
		for _, e := range v {
			list = append(list, fmt.Sprint(e))
		}
		return list
	}
	return nil
}
