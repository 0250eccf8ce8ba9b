package config

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// Local holds the values of tokens about this machine and its user.
type Local struct {
	home string
	user string
	uid  int
	host string // as returned by gethostname(2)
	Env  Environment
}

// CurrentLocal queries the system. home is the value of ~; "" means the home
// directory in the password file. env looks up environment variables and may be
// nil.
func CurrentLocal(home string, env Environment) Local {
	f := Local{home: home, uid: os.Getuid(), Env: env}
	f.host, _ = os.Hostname()
	if u, err := user.Current(); err == nil {
		f.user = u.Username
		if f.home == "" {
			f.home = u.HomeDir
		}
	} else {
		// In containers, the user ID is often not in the password file.
		f.user = strconv.Itoa(f.uid)
	}
	return f
}

// token expands the tokens that do not depend on the remote host.
func (f Local) token(token byte) (string, error) {
	switch token {
	case 'd':
		return f.home, nil
	case 'i':
		return strconv.Itoa(f.uid), nil
	case 'L':
		short, _, _ := strings.Cut(f.host, ".")
		return short, nil
	case 'l':
		return f.host, nil
	case 'u':
		return f.user, nil
	}
	return "", errNoToken
}

// tilde expands a leading ~ or ~user.
func (f Local) tilde(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~")
	if !ok {
		return path, nil
	}
	name, below, _ := strings.Cut(rest, "/")
	home := f.home
	if name != "" {
		u, err := user.Lookup(name)
		if err != nil {
			return "", fmt.Errorf("%s: no user %q", path, name)
		}
		home = u.HomeDir
	}
	return strings.TrimSuffix(home, "/") + "/" + strings.TrimLeft(below, "/"), nil
}

// tokens are the values of %x for one host (ssh_config(5), TOKENS).
type tokens struct {
	local    Local
	alias    string // %n
	hostName string // %h
	user     string // %r
	port     int    // %p
	keyAlias string // %k
	jump     string // %j
}

func (e *evaluation) tokens(h *Host) *tokens {
	t := &tokens{
		local:    e.local,
		alias:    e.key.alias,
		hostName: e.name,
		user:     e.user(),
		port:     h.Port,
		keyAlias: h.HostKeyAlias,
	}
	if t.port == 0 {
		t.port = defaultPort
	}
	if t.keyAlias == "" {
		t.keyAlias = t.alias
	}
	if s := e.first[optProxyJump]; s != nil && !s.none() {
		t.jump = lastHop(s.args[0])
	}
	return t
}

// defaultPort is the port of a host without a port setting (RFC 4253, section
// 4.1).
const defaultPort = 22

// lastHop returns the host of the last element of a ProxyJump.
func lastHop(jump string) string {
	hop := jump[strings.LastIndexByte(jump, ',')+1:]
	hop = hop[strings.LastIndexByte(hop, '@')+1:]
	if inner, _, ok := strings.Cut(hop, "]"); ok && strings.HasPrefix(inner, "[") {
		return inner[1:]
	}
	hop, _, _ = strings.Cut(hop, ":")
	return hop
}

// expand expands the tokens in paths: all tokens of CertificateFile,
// IdentityAgent, IdentityFile and UserKnownHostsFile.
func (t *tokens) expand(token byte) (string, error) {
	switch token {
	case 'C':
		sum := sha1.Sum([]byte(t.local.host + t.hostName + strconv.Itoa(t.port) + t.user + t.jump))
		return hex.EncodeToString(sum[:]), nil
	case 'j':
		return t.jump, nil
	case 'k':
		return t.keyAlias, nil
	case 'h', 'n', 'p', 'r':
		return t.forProxy(false)(token)
	}
	return t.local.token(token)
}

// A Peer is the machine that a command connects to.
type Peer struct {
	Alias    string // %n, the name that was given
	HostName string // %h
	User     string // %r
	Port     int    // %p
}

// ExpandCommand expands a ProxyCommand that is not from ssh_config.
func (f Local) ExpandCommand(command string, to Peer) (string, error) {
	t := tokens{local: f, alias: to.Alias, hostName: to.HostName, user: to.User, port: to.Port}
	return expandText(command, false, f, t.forProxy(true))
}

// forProxy returns a function that expands the tokens of ProxyJump and
// ProxyCommand. Values for a shell must not have a meaning in it, because host
// and user names come from inventories.
func (t *tokens) forProxy(shell bool) func(byte) (string, error) {
	return func(token byte) (string, error) {
		var value string
		switch token {
		case 'h':
			value = t.hostName
		case 'n':
			value = t.alias
		case 'r':
			value = t.user
		case 'p':
			value = strconv.Itoa(t.port)
		default:
			return "", errNoToken
		}
		if shell && !shellSafe(value) {
			return "", fmt.Errorf("%q has characters that are not allowed in a command", value)
		}
		return value, nil
	}
}

// shellSafe reports whether a name is one word in a shell and not an option of
// a program. A backslash is allowed (DOMAIN\user); it is harmless before a
// character that is itself allowed.
func shellSafe(name string) bool {
	if strings.HasPrefix(name, "-") || strings.HasSuffix(name, `\`) {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return c <= ' ' || c == 0x7f || strings.ContainsRune("'`\"$;&<>|(){}*?[]!#", c)
	})
}

// errNoToken is the error of a token function for an unknown letter.
var errNoToken = errors.New("unknown token")

// path expands ~, tokens and ${ENV} in a path. If t is nil, it expands only ~.
func (s *setting) path(local Local, text string, t *tokens) (string, error) {
	p, err := local.tilde(text)
	if err == nil && t != nil {
		p, err = expandText(p, true, local, t.expand)
	}
	if err != nil {
		return "", s.errorf(err)
	}
	return p, nil
}

// expand expands the tokens in the whole argument.
func (s *setting) expand(local Local, env bool, token func(byte) (string, error)) (string, error) {
	text, err := expandText(s.args[0], env, local, token)
	if err != nil {
		return "", s.errorf(err)
	}
	return text, nil
}

// expandText replaces %x, %% and, if env is set, ${NAME}.
func expandText(s string, env bool, local Local, token func(byte) (string, error)) (string, error) {
	if !strings.ContainsAny(s, "%$") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case env && strings.HasPrefix(s[i:], "${"):
			name, _, ok := strings.Cut(s[i+2:], "}")
			if !ok || name == "" {
				return "", fmt.Errorf("%q: a ${NAME} is not complete", s)
			}
			value, ok := local.Env.get(name)
			if !ok {
				return "", fmt.Errorf("%q: environment variable %s is not set", s, name)
			}
			b.WriteString(value)
			i += len("${}") + len(name) - 1
		case s[i] != '%':
			b.WriteByte(s[i])
		case i+1 == len(s):
			return "", fmt.Errorf("%q: a %% is at the end", s)
		case s[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			value, err := token(s[i+1])
			if errors.Is(err, errNoToken) {
				return "", fmt.Errorf("%q: the token %%%c is not allowed here", s, s[i+1])
			}
			if err != nil {
				return "", fmt.Errorf("%q: %w", s, err)
			}
			b.WriteString(value)
			i++
		}
	}
	return b.String(), nil
}
