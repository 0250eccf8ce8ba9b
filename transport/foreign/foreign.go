// Package foreign describes the transports of Puppet Bolt that bolt does not
// support. An inventory that configures them is valid; only a connection to
// such a target is an error.
package foreign

import (
	"strings"

	"bolt/format/ordered"
	"bolt/transport/option"
)

// Transports returns their configuration options
// (lib/bolt/config/transport/*.rb of Puppet Bolt).
func Transports() []option.Transport { return []option.Transport{jail(), choria()} }

func jail() option.Transport {
	return option.Transport{
		Name: "jail",
		Options: option.Sorted(append(option.RunAs(),
			option.Cleanup(), option.Host(), option.Interpreters(), option.Text("shell-command"), option.TmpDir(), option.User())...),
		Defaults: ordered.Of("cleanup", true),
	}
}

func choria() option.Transport {
	return option.Transport{
		Name: "choria",
		Options: option.Sorted(
			option.Seconds("broker-timeout"),
			option.Command("brokers"),
			option.Cleanup(),
			option.Text("collective"),
			option.Seconds("command-timeout"),
			option.Text("config-file"),
			option.Host(),
			option.Interpreters(),
			option.Text("mcollective-certname"),
			option.Text("puppet-environment"),
			option.Seconds("rpc-timeout"),
			option.Text("ssl-ca"),
			option.Text("ssl-cert"),
			option.Text("ssl-key"),
			option.Enum("task-agent", "bolt_tasks", "shell"),
			option.Seconds("task-timeout"),
			option.TmpDir(),
		),
		Defaults: ordered.Of("broker-timeout", int64(30), "cleanup", true, "command-timeout", int64(60),
			"puppet-environment", "production", "rpc-timeout", int64(30), "task-timeout", int64(300), "tmpdir", "/tmp"),
		Check: checkChoria,
	}
}

func checkChoria(c *option.Config) error {
	if dir := c.Text("tmpdir"); !strings.HasPrefix(dir, "/") {
		return c.Fail("tmpdir must be an absolute path, got '%s'", dir)
	}
	var missing []string
	all := []string{"ssl-ca", "ssl-cert", "ssl-key"}
	for _, o := range all {
		if _, ok := c.Get(o); !ok {
			missing = append(missing, o)
		}
	}
	if missing != nil && len(missing) < len(all) {
		return c.Fail("ssl-ca, ssl-cert and ssl-key must be given together; missing: %s", strings.Join(missing, ", "))
	}
	return nil
}
