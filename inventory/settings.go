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

// Settings is a target's configuration in the types of package transport.
type Settings struct {
	Host string // as configured, "" if there is none
	User string // "" if the inventory does not set one

	// Dest is the address to connect to. Its Protocol is the transport, which this program need not
	// support.
	Dest transport.Dest
	// RunAs is the user that commands run as. If it has no password of its own, it has the login password,
	// except for su.
	RunAs      transport.RunAs
	TTY        bool
	PowerShell bool // commands on the target are PowerShell commands

	TmpDir       string              // parent of private directories, "" for the transport's default
	ScriptDir    string              // fixed name in TmpDir, "" for a random name
	Cleanup      bool                // remove private directories
	Interpreters map[string][]string // extension with its dot → arguments of a command
	Extensions   []string            // with their dots, of files that PowerShell may run besides the ones that it always may run
}

// Settings translates the target's Data. It is computed once for each change. The result shares its maps
// and slices, which must not be changed. Errors are the errors of Data, and a bolt/validation-error for a
// target that is refused, or that needs a host and has none.
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
	if !s.RunAs.Password.IsSet() && s.RunAs.Method() != transport.MethodSu { // su asks for the password of the other user
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

// warnMissingKey warns, once for each path, about a key file that cannot be read. This is not an error,
// because the agent or a password may work instead.
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
			byExt[ext] = []string{path} // a path may contain spaces
		} else {
			byExt[ext] = c.Words(ext)
		}
	}
	return byExt
}
