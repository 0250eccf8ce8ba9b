package ssh

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/krb5"
	"bolt/transport/ssh/config"
)

// A Caller is the user and environment for which connections are opened: the
// same as for the ssh program of that user. The zero value is a caller without
// environment, agent or passphrases.
type Caller struct {
	// Home is the home directory: its .ssh holds the user's files, and ~ stands
	// for it. "" means the home directory of the Dialer.
	Home string
	// Dir is the working directory of a ProxyCommand, and the base of relative
	// paths in ssh_config. "" means the working directory of this process.
	Dir string
	// Environ is the environment as "NAME=value", for a ProxyCommand, variables
	// in ssh_config, and Kerberos. If it is nil, a ProxyCommand gets the
	// environment of this process, and the others get none.
	Environ []string

	// UserConfig and SystemConfig are the ssh_config files; "" means
	// Home/.ssh/config and /etc/ssh/ssh_config. They are read for the first
	// destination that has LoadConfig set.
	UserConfig, SystemConfig string
	// AgentSocket is the path of the agent's socket (the value of
	// SSH_AUTH_SOCK); "" for none. IdentityAgent in ssh_config overrides it.
	AgentSocket string

	// Passphrase returns the passphrase of a key file, usually by asking the
	// user. It is called for one file at a time, and once for all machines. It
	// is called again (maxPassphraseTries in all) if its answer is wrong and
	// differs from the previous one. The time for the answer does not count
	// towards ConnectTimeout. If nobody can be asked at present, it must return
	// ErrNobody, which is not cached. nil means that nobody can ever be asked.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)

	// Warn receives warnings with their IDs, each text once. It can be called
	// from several goroutines at a time. nil means that warnings go to the
	// Dialer's Logger.
	Warn func(id, text string)
}

// ErrNobody is the error if no user can be asked for a passphrase. If a dial
// fails for this reason, the Ask of its error is the path of the key file.
var ErrNobody = errors.New("no user can be asked for the passphrase")

// A View is a Dialer for one caller. The caller's settings, agent and
// passphrases are not shared with other callers. The caches and the connections
// to jump hosts are the Dialer's. A View reads ssh_config once and looks at key
// files once, so it must be used for one invocation only. It is a
// transport.Router and safe for concurrent use. It needs no Close; its dials
// end with their contexts.
type View struct {
	d      *Dialer
	caller Caller
	local  config.Local
	keys   *keyring
	execs  *config.Execs

	environ  func() []byte        // digest of the environment, for route keys
	kerberos func() *krb5.Session // of this caller

	mu     sync.Mutex
	config map[bool]*config.Files // without and with ssh_config, after it was read
	warned map[string]bool        // texts of warnings, and lines of ssh_config in them
	stamps map[string]string      // states of credential files, for route keys
}

// As returns the View of a caller.
func (d *Dialer) As(c Caller) *View {
	c.Home = cmp.Or(c.Home, d.home)
	c.UserConfig = cmp.Or(c.UserConfig, filepath.Join(c.Home, ".ssh", "config"))
	c.SystemConfig = cmp.Or(c.SystemConfig, "/etc/ssh/ssh_config")
	d.viewed.Store(int64(time.Since(d.made)))
	v := &View{d: d, caller: c, local: config.CurrentLocal(c.Home, config.EnvironOf(c.Environ)), keys: newKeyring(d.files, c.Passphrase),
		execs:  config.NewExecs(c.Dir, c.Environ),
		config: make(map[bool]*config.Files), warned: make(map[string]bool), stamps: make(map[string]string)}
	v.kerberos = sync.OnceValue(func() *krb5.Session {
		return krb5.New(krb5.Options{Env: config.EnvironOf(c.Environ), Dir: c.Dir})
	})
	v.environ = sync.OnceValue(func() []byte {
		if c.Environ == nil {
			return nil // the environment of this process, which is always the same
		}
		return environDigest(c.Environ)
	})
	return v
}

// Dial returns an open, authenticated connection, which is a *Conn. Its errors
// are *transport.Error with the codes CONNECT_ERROR, AUTH_ERROR and
// HOST_KEY_ERROR. If a busy server refuses a handshake, Dial tries again for up
// to throttleBudget. to.ConnectTimeout applies to each attempt.
func (v *View) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	r, err := v.route(ctx, to)
	if err != nil {
		return nil, err
	}
	return r.Dial(ctx)
}

// files returns the caller's ssh_config, or the settings without any
// ssh_config.
func (v *View) files(withConfig bool) (*config.Files, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c := v.config[withConfig]; c != nil {
		return c, nil
	}
	user, system := "", ""
	if withConfig {
		user, system = v.caller.UserConfig, v.caller.SystemConfig
	}
	c, err := v.d.configs.Load(v.local, user, system)
	if err == nil {
		v.config[withConfig] = c
	}
	return c, err
}

// warnUnused warns about lines of ssh_config that are not used, once for each line.
func (v *View) warnUnused(lines []string) {
	var first []string
	v.mu.Lock()
	for _, line := range lines {
		if !v.warned[line] {
			v.warned[line] = true
			first = append(first, line)
		}
	}
	v.mu.Unlock()
	if len(first) > 0 {
		v.warn("ssh_config", "Not used in ssh_config: "+strings.Join(first, "; "))
	}
}

// warn passes a warning to Caller.Warn, or to the log if Warn is nil, once for
// each text.
func (v *View) warn(id, text string) {
	v.mu.Lock()
	again := v.warned[text]
	v.warned[text] = true
	v.mu.Unlock()
	switch {
	case again:
	case v.caller.Warn != nil:
		v.caller.Warn(id, text)
	default:
		v.d.log.Warn(text, "id", id)
	}
}
