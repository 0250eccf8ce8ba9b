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

// A Caller is on whose behalf connections are opened: what the ssh program of
// that caller would see. The zero value is a caller without environment,
// agent, or anybody to ask.
type Caller struct {
	// Home is the home directory whose .ssh holds the user's files, and what ~
	// stands for; "" for the Dialer's own.
	Home string
	// Dir is the working directory: of a ProxyCommand, and for relative paths in
	// ssh_config; "" for this process's.
	Dir string
	// Environ is the environment as "NAME=value": of a ProxyCommand, and for
	// what ssh_config mentions, and of Kerberos. nil is this process's for a
	// ProxyCommand, and none for the others.
	Environ []string

	// UserConfig and SystemConfig are the ssh_config files, "" for
	// Home/.ssh/config and /etc/ssh/ssh_config. They are read at the first
	// destination with LoadConfig set.
	UserConfig, SystemConfig string
	// AgentSocket is the path of the agent's socket (the value of
	// SSH_AUTH_SOCK); "" for none. ssh_config's IdentityAgent wins over it.
	AgentSocket string

	// Passphrase asks somebody for the passphrase of a key file. It is
	// called for one file at a time, and once for all machines, but again
	// (maxPassphraseTries in all) when the answer was another one than before
	// and wrong. The time it takes does not count against ConnectTimeout.
	// ErrNobody says that there is nobody to ask as yet, and is not
	// remembered; nil is the same for ever.
	Passphrase func(ctx context.Context, path string) (transport.Secret, error)

	// Warn is told of what is odd but no failure, with the warning's ID; the
	// same text is told once. It may be called from several goroutines at a
	// time. nil: it goes to the Dialer's Logger.
	Warn func(id, text string)
}

// ErrNobody says that nobody is there to ask for a passphrase. The error of a
// dial that fails for it names the key file in its Ask.
var ErrNobody = errors.New("nobody to ask for the passphrase")

// A View is a Dialer as one caller sees it: with that caller's settings,
// agent and passphrases, which it shares with nobody, and with the Dialer's
// caches and connections to jump hosts. It reads ssh_config and looks at key
// files once, so it is for one invocation. It is a transport.Router, safe for
// concurrent use, and needs no Close; its dials end with their contexts.
type View struct {
	d      *Dialer
	caller Caller
	local  config.Local
	keys   *keyring
	execs  *config.Execs

	environ  func() []byte        // digest of the environment, for route keys
	kerberos func() *krb5.Session // of this caller

	mu     sync.Mutex
	config map[bool]*config.Files // without and with ssh_config, once it was read
	warned map[string]bool        // texts of warnings, and lines of ssh_config in them
	stamps map[string]string      // of credentials on disk, for route keys
}

// As returns the Dialer as a caller sees it.
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
			return nil // ours, and that is always the same
		}
		return environDigest(c.Environ)
	})
	return v
}

// Dial returns an open, authenticated connection, which is a *Conn. Its errors
// are *transport.Error with the codes CONNECT_ERROR, AUTH_ERROR and
// HOST_KEY_ERROR. A handshake that a busy server sheds is tried again for up
// to throttleBudget, with to.ConnectTimeout for each try.
func (v *View) Dial(ctx context.Context, to transport.Dest) (transport.Conn, error) {
	r, err := v.route(ctx, to)
	if err != nil {
		return nil, err
	}
	return r.Dial(ctx)
}

// files returns the caller's ssh_config, or what holds without one.
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

// warn tells Caller.Warn, or the log if there is none, once for each text.
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
