package inventory

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/format/fault"
	"bolt/transport"
	"bolt/transport/option"
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
	RunAs      transport.RunAs
	TTY        bool
	PowerShell bool // commands there are PowerShell's

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
	config := option.Values{Map: RevealMap(d.Config)}
	if why := config.Text(refuseOption); why != "" {
		return Settings{}, fault.New("bolt/validation-error", "Target %s cannot be used: %s", t.SafeName(), why)
	}
	table := t.inv.transports[d.Transport]
	s := d.settings(table, config)
	if s.Host == "" && table.NeedsHost {
		return Settings{}, fault.New("bolt/validation-error", "Target %s does not have a host", t.SafeName())
	}
	if err := t.inv.warnMissingKey(ctx, s.Dest.PrivateKey); err != nil {
		return Settings{}, err
	}
	now.settings.Store(&s)
	return s, nil
}

func (d *Data) settings(table *table, c option.Values) Settings {
	chosen := table.chosen(c.Map)
	s := Settings{
		Host:         d.address.host,
		User:         c.Text("user"),
		TTY:          c.Flag("tty"),
		PowerShell:   chosen.PowerShell,
		TmpDir:       c.Text("tmpdir"),
		ScriptDir:    c.Text("script-dir"),
		Cleanup:      c.Flag("cleanup"),
		Interpreters: interpreters(c.Hash("interpreters")),
		Extensions:   extensions(c),
	}
	if s.Host == "" {
		s.Host = c.Text("host")
	}
	if d.address.user != "" {
		s.User = d.address.user
	}
	password := c.Secret("password")
	if d.address.hasPass {
		password = transport.NewSecret(d.address.password)
	}
	s.RunAs = transport.RunAs{
		User:       c.Text("run-as"),
		Password:   c.Secret("sudo-password"),
		Executable: c.Text("sudo-executable"),
		Command:    c.Words("run-as-command"),
	}
	if !s.RunAs.Password.IsSet() && s.RunAs.Method() != transport.MethodSu { // su asks for another user's
		s.RunAs.Password = password
	}
	s.Dest = transport.Dest{
		Protocol:       chosen.Name,
		Host:           s.Host,
		User:           s.User,
		Password:       password,
		Port:           d.address.port,
		ConnectTimeout: c.Seconds("connect-timeout"),
	}
	if s.Dest.Port == 0 {
		s.Dest.Port = c.Number("port")
	}
	if table.Dest != nil {
		table.Dest(c, &s.Dest)
	}
	if chosen != &table.Transport && chosen.Dest != nil {
		chosen.Dest(c, &s.Dest)
	}
	return s
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

func extensions(c option.Values) []string {
	list := c.Words("extensions")
	for i, ext := range list {
		if !strings.HasPrefix(ext, ".") {
			list[i] = "." + ext
		}
	}
	return list
}

func interpreters(c option.Values) map[string][]string {
	if c.Len() == 0 {
		return nil
	}
	byExt := make(map[string][]string)
	for ext, v := range c.All() {
		if path, ok := v.(string); ok {
			byExt[ext] = []string{path} // a path may have spaces
		} else {
			byExt[ext] = c.Words(ext)
		}
	}
	return byExt
}
