package ssh

import (
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
	"bolt/transport/option"
)

// Protocol is the name of the transport.
const Protocol = "ssh"

// Transport returns the configuration options of the transport.
func Transport() option.Transport {
	return option.Transport{
		Name:      Protocol,
		NeedsHost: true,
		Options: slices.Concat([]option.Option{
			// These options belong to native-ssh. They are also shown here if
			// they are set.
			option.Command("ssh-command"), option.Flag("native-ssh"),
		}, option.Sorted(append(option.RunAs(),
			option.Flag("batch-mode"),
			option.Cleanup(),
			option.ConnectTimeout(),
			option.Seconds("disconnect-timeout"),
			option.Set("encryption-algorithms"),
			option.Extensions(),
			option.Flag("forward-agent"),
			option.Flag("gssapi-authentication"),
			option.Flag("gssapi-delegate-credentials"),
			option.Host(),
			option.Set("host-key-algorithms"),
			option.Flag("host-key-check"),
			option.Interpreters(),
			option.Seconds("keepalive"),
			option.Set("kex-algorithms"),
			option.Flag("load-config"),
			option.Enum("login-shell", "sh", "bash", "zsh", "dash", "ksh", "csh", "tcsh", "fish", "powershell"),
			option.Set("mac-algorithms"),
			option.Password(),
			option.LoginPort(),
			option.Option{Name: "private-key", Path: true, Secret: true, Schema: &schema.Schema{
				Type: schema.Hash | schema.String, Plugins: schema.PluginsAllowed, Required: []string{"key-data"},
				Properties: map[string]*schema.Schema{"key-data": {Type: schema.String}},
			}},
			option.Text("proxy-command"),
			option.Text("proxyjump"),
			option.ScriptDir(),
			option.TmpDir(),
			option.TTY(),
			option.User(),
		)...)),
		Defaults: ordered.Of("batch-mode", true, "cleanup", true, "connect-timeout", int64(10), "disconnect-timeout", int64(5),
			"load-config", true, "login-shell", "bash", "tty", false),
		Check: check,
		Dest:  complete,
	}
}

func check(c *option.Config) error {
	if c.Text("login-shell") == "powershell" {
		for _, o := range []string{"tty", "run-as"} {
			if v := c.Value(o); v != nil && v != false {
				return c.Fail("%s is not supported when using PowerShell", o)
			}
		}
	}
	_, command := c.Get("ssh-command")
	switch {
	case command:
		c.Delete("ssh-command")
		c.Warn("native_ssh_disabled", "ssh-command is ignored, because native-ssh is not enabled.")
	case !c.Flag("batch-mode"):
		return c.Fail("ssh-command must be set when batch-mode is set to false")
	}
	return nil
}

// complete sets the fields of a Dest that only SSH uses.
func complete(config option.Values, to *transport.Dest) {
	to.Keepalive = config.Seconds("keepalive")
	to.DisconnectTimeout = config.Seconds("disconnect-timeout")
	to.PrivateKey = config.Text("private-key")
	to.KeyData = config.Hash("private-key").Secret("key-data")
	switch config.Choice("host-key-check") {
	case transport.ChoiceYes:
		to.HostKeyCheck = transport.CheckStrict
	case transport.ChoiceNo:
		to.HostKeyCheck = transport.CheckNone
	}
	to.GSSAPI, to.GSSAPIDelegate = config.Choice("gssapi-authentication"), config.Choice("gssapi-delegate-credentials")
	to.ForwardAgent = config.Choice("forward-agent")
	to.LoginShell = config.Text("login-shell")
	to.LoadConfig = config.Flag("load-config")
	to.ProxyJump, to.ProxyCommand = config.Text("proxyjump"), config.Text("proxy-command")
	list := func(name string) string { return strings.Join(config.Words(name), ",") }
	to.Ciphers, to.Kex = list("encryption-algorithms"), list("kex-algorithms")
	to.MACs, to.HostKeyAlgorithms = list("mac-algorithms"), list("host-key-algorithms")
}
