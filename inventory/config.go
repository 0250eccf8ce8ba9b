package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/format/schema"
	"bolt/transport"
)

// transportConfig merges and checks the options of a target's transport. What
// targets have from their groups alone is shared.
func (inv *Inventory) transportConfig(ctx context.Context, t *Target, name string, own *layer, groups *groupLayer) (*ordered.Map, error) {
	ownConfig, _ := own.config.Value(name).(*ordered.Map)
	if shared, ok := groups.config[name]; ok && ownConfig.Len() == 0 {
		return shared, nil
	}
	base, err := inv.baseConfig(ctx, name)
	if err != nil {
		return nil, err
	}
	groupConfig, _ := groups.layer.config.Value(name).(*ordered.Map)
	config, err := inv.finishConfig(name, base.Merge(groupConfig).Merge(ownConfig), "target "+t.SafeName())
	if err != nil {
		return nil, err
	}
	if ownConfig.Len() == 0 {
		groups.config[name] = config
	}
	return config, nil
}

// baseConfig is the configuration that lies below the inventory's, with
// references resolved.
func (inv *Inventory) baseConfig(ctx context.Context, name string) (*ordered.Map, error) {
	if m, ok := inv.base[name]; ok {
		return m, nil
	}
	m := inv.opts.Config[name]
	if hasReference(m) {
		v, err := inv.resolve(ctx, m, placeOf("the configuration of transports", name))
		if err != nil {
			return nil, err
		}
		resolved, ok := v.(*ordered.Map)
		if !ok {
			return nil, fault.New("bolt/validation-error", "The configuration of transport %s must be a Hash, not %s", name, typeName(v))
		}
		m = compact(resolved)
	}
	inv.base[name] = m
	return m, nil
}

// finishConfig checks merged options of a transport, lays them over the
// defaults, drops what is no option of it, and puts them in order. where is
// for messages.
func (inv *Inventory) finishConfig(name string, merged *ordered.Map, where string) (*ordered.Map, error) {
	var secret []string // options that are from a plugin that keeps secrets
	if hides(merged) {
		for o, v := range merged.All() {
			if hides(v) {
				secret = append(secret, o)
			}
		}
		merged = RevealMap(merged)
	}
	info := inv.transports[name]
	options := info.options
	native := name == "ssh" && merged.Value("native-ssh") == true
	if native {
		options = info.native
	} else if name == "ssh" {
		options = append([]string{"ssh-command", "native-ssh"}, options...)
	}
	config := info.defaults.Clone()
	for _, o := range options {
		if v := merged.Value(o); v != nil {
			config.Set(o, v)
		}
	}
	if v := merged.Value("connect-timeout"); native && v != nil {
		config.Set("connect-timeout", v)
	}
	if info.open {
		for o, v := range merged.All() {
			config.Set(o, v)
		}
	}
	if err := schema.Validate(config, inv.schemas.Properties[name], name+" configuration of "+where, nil); err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) error {
		return schema.ValidationError(name+" configuration of "+where, []string{fmt.Sprintf(format, args...)})
	}
	if m, ok := config.Value("interpreters").(*ordered.Map); ok {
		config.Set("interpreters", normalizeInterpreters(m))
	}
	var err error
	switch name {
	case "ssh":
		err = inv.checkSSH(config, merged, native, fail)
	case "winrm":
		err = inv.checkWinRM(config, fail)
	case "choria":
		err = checkChoria(config, fail)
	}
	if err != nil {
		return nil, err
	}
	for _, o := range secret {
		if v, ok := config.Get(o); ok {
			config.Set(o, Hide(v))
		}
	}
	hideSecrets(config)
	return config, nil
}

type failFunc func(format string, args ...any) error

func (inv *Inventory) checkSSH(config, merged *ordered.Map, native bool, fail failFunc) error {
	switch key := config.Value("private-key").(type) {
	case string:
		path := inv.expandPath(key)
		config.Set("private-key", path)
		if native {
			if err := checkKey(path); err != nil {
				return err
			}
		}
	case *ordered.Map:
		if native {
			return fail("private-key must be a path to a file when native-ssh is used, not key-data")
		}
	}
	if config.Value("login-shell") == "powershell" {
		for _, o := range []string{"tty", "run-as"} {
			if v := config.Value(o); v != nil && v != false {
				return fail("%s is not supported when using PowerShell", o)
			}
		}
	}
	_, command := config.Get("ssh-command")
	switch {
	case native && merged.Value("load-config") == false:
		return fail("native-ssh cannot be used with load-config set to false")
	case config.Value("batch-mode") == false && !command:
		return fail("ssh-command must be set when batch-mode is set to false")
	case command && !native:
		config.Delete("ssh-command")
		if !inv.toldNative {
			inv.toldNative = true
			inv.opts.Warn("native_ssh_disabled", "ssh-command is ignored, because native-ssh is not enabled.")
		}
	}
	return nil
}

// checkKey checks the file of a key for the ssh program. The built-in client
// reports a key that cannot be read when it needs the key.
func checkKey(path string) error {
	problem := ""
	f, err := os.Open(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.IsDir() {
			problem = "is not a file"
		}
		_ = f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		problem = "does not exist"
	case err != nil:
		problem = "is unreadable"
	}
	if problem == "" {
		return nil
	}
	return fault.File(path, err, "The ssh key '%s' %s", path, problem)
}

func (inv *Inventory) checkWinRM(config *ordered.Map, fail failFunc) error {
	if path, ok := config.Value("cacert").(string); ok {
		config.Set("cacert", inv.expandPath(path))
	}
	ssl := config.Value("ssl") == true
	switch {
	case ssl && config.Value("file-protocol") == "smb":
		return fail("SMB file transfers are not allowed with SSL enabled")
	case !ssl && config.Value("basic-auth-only") == true:
		return fail("Basic auth is only allowed when using SSL")
	}
	return nil
}

func checkChoria(config *ordered.Map, fail failFunc) error {
	if dir, _ := config.Value("tmpdir").(string); !strings.HasPrefix(dir, "/") {
		return fail("tmpdir must be an absolute path, got '%s'", dir)
	}
	var missing []string
	all := []string{"ssl-ca", "ssl-cert", "ssl-key"}
	for _, o := range all {
		if _, ok := config.Get(o); !ok {
			missing = append(missing, o)
		}
	}
	if missing != nil && len(missing) < len(all) {
		return fail("ssl-ca, ssl-cert and ssl-key must be given together; missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

// expandPath makes path absolute, from the project and the home directory.
func (inv *Inventory) expandPath(path string) string {
	if inv.opts.Home != "" && (path == "~" || strings.HasPrefix(path, "~/")) {
		return filepath.Join(inv.opts.Home, path[1:])
	}
	if filepath.IsAbs(path) || inv.opts.Project == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(inv.opts.Project, path)
}

// normalizeInterpreters gives extensions their dot.
func normalizeInterpreters(m *ordered.Map) *ordered.Map {
	n := &ordered.Map{}
	for ext, v := range m.All() {
		n.Set("."+strings.TrimPrefix(ext, "."), v)
	}
	return n
}

// secretOptions are never shown.
var secretOptions = [...]string{"password", "sudo-password"}

// hideSecrets makes Secret values of the options that are nobody's business.
func hideSecrets(config *ordered.Map) {
	for k, v := range config.All() {
		if s, ok := v.(string); ok && slices.Contains(secretOptions[:], k) {
			config.Set(k, transport.NewSecret(s))
		}
	}
	if key, ok := config.Value("private-key").(*ordered.Map); ok {
		if s, ok := key.Value("key-data").(string); ok {
			key = key.Clone()
			key.Set("key-data", transport.NewSecret(s))
			config.Set("private-key", key)
		}
	}
}
