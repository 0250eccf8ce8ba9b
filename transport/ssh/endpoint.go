package ssh

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/internal/readfile"
	"bolt/transport"
	"bolt/transport/ssh/config"
	"bolt/transport/ssh/pattern"
)

// An endpoint is a destination with all its settings decided. Settings that the
// Dest leaves open come from ssh_config, or else from the defaults.
type endpoint struct {
	to   transport.Dest
	conf *config.Host // shared; must not be changed

	host, user string
	port       int
	hostport   string // the name that is looked up in known_hosts

	timeout, disconnect, keepalive time.Duration
	keepaliveMisses                int

	algorithms algorithmSet
	lists      algorithmLists  // the settings that decided algorithms
	jump       *transport.Dest // the jump host, or nil
	command    string          // ProxyCommand, or ""

	env []string // NAME=value, for every session

	gssapi, delegate bool // try a Kerberos ticket, and forward it

	agent string // socket of the agent to forward; "" for none
}

// resolve returns the endpoint of a destination.
func (v *View) resolve(ctx context.Context, to transport.Dest) (*endpoint, error) {
	fail := func(err error) (*endpoint, error) {
		return nil, connectError(transport.ClassConnect, to.Host, err, "")
	}
	files, err := v.files(to.LoadConfig)
	if readfile.OutOfFiles(err) {
		return nil, limitError(to.Host, err)
	}
	if err != nil {
		return fail(fmt.Errorf("ssh_config: %w", err))
	}
	conf, err := files.Find(ctx, config.Query{Alias: to.Host, User: to.User, Port: to.Port, Env: v.local.Env, Execs: v.execs, ExecLimit: to.ConnectTimeout})
	var unused []string
	if v != v.d.own { // the default caller's log has these lines already
		unused = files.Unreadable()
		if err == nil {
			unused = append(unused, conf.Unused...)
		}
	}
	if err == nil && conf.ForwardAgentAt != "" && to.ForwardAgent == transport.ChoiceByConfig {
		unused = append(unused, conf.ForwardAgentAt+": ForwardAgent: bolt forwards the agent only if the inventory sets forward-agent")
	}
	v.warnUnused(unused)
	if err != nil {
		return nil, err
	}
	conf = conf.In(v.caller.Dir)
	e := &endpoint{to: to, conf: conf, host: cmp.Or(conf.HostName, to.Host), user: cmp.Or(to.User, conf.User), port: cmp.Or(to.Port, conf.Port)}
	if e.user == "" {
		if e.user, err = v.d.login(); err != nil {
			return fail(fmt.Errorf("login name: %w", err))
		}
	}
	e.port = cmp.Or(e.port, 22)
	e.hostport = cmp.Or(conf.HostKeyAlias, net.JoinHostPort(e.host, strconv.Itoa(e.port)))
	e.timeout = cmp.Or(to.ConnectTimeout, conf.ConnectTimeout)
	e.disconnect = cmp.Or(to.DisconnectTimeout, defaultDisconnectTimeout)
	// This differs from OpenSSH: a ServerAliveInterval of 0 does not switch
	// keepalives off but means the default. A run that hangs may be unattended.
	e.keepalive = cmp.Or(to.Keepalive, conf.ServerAliveInterval, defaultKeepalive)
	if e.keepalive < 0 {
		e.keepalive = defaultKeepalive
	}
	e.keepaliveMisses = cmp.Or(conf.ServerAliveCountMax, defaultKeepaliveMisses)
	e.env = sentEnv(v.caller.Environ, conf)
	e.gssapi = to.GSSAPI.Of(conf.GSSAPIAuthentication)
	e.delegate = e.gssapi && to.GSSAPIDelegate.Of(conf.GSSAPIDelegateCredentials)
	if to.ForwardAgent == transport.ChoiceYes {
		if e.agent = v.agentSocket(e); e.agent == "" {
			return nil, noAgentError(to.Host, errNoAgent)
		}
	}
	e.lists = algorithmLists{
		kex: to.Kex, ciphers: to.Ciphers, macs: to.MACs, hostKey: to.HostKeyAlgorithms,
		confKex: conf.KexAlgorithms, confCiphers: conf.Ciphers, confMACs: conf.MACs, confHostKey: conf.HostKeyAlgorithms,
		confPublicKey: conf.PubkeyAcceptedAlgorithms, confAuthority: conf.CASignatureAlgorithms,
	}
	if e.algorithms, err = v.d.chooseAlgorithms(e.lists); err != nil {
		return nil, connectError(transport.ClassUnsupported, to.Host, err, "")
	}
	switch jumps := to.ProxyJump; {
	case strings.EqualFold(jumps, "none"):
	case jumps != "":
		e.jump, err = jumpDest(to, jumps)
	case strings.EqualFold(to.ProxyCommand, "none"):
	case to.ProxyCommand != "":
		e.command, err = v.local.ExpandCommand(to.ProxyCommand, config.Peer{Alias: to.Host, HostName: e.host, User: e.user, Port: e.port})
		if err != nil {
			err = fmt.Errorf("proxy-command: %w", err)
		}
	case conf.ProxyJump != "":
		e.jump, err = jumpDest(to, conf.ProxyJump)
	default:
		e.command = conf.ProxyCommand
	}
	if err != nil {
		return fail(err)
	}
	return e, nil
}

// sentEnv lists the variables that each session sends: the caller's variables that
// SendEnv names, then the variables of SetEnv, which override them.
func sentEnv(environ []string, conf *config.Host) []string {
	var list []string
	named := make(map[string]bool)
	for _, kv := range conf.SetEnv {
		if name, _, _ := strings.Cut(kv, "="); !named[name] {
			named[name] = true
			list = append(list, kv)
		}
	}
	if len(conf.SendEnv) == 0 {
		return list
	}
	for _, kv := range slices.Backward(environ) { // the last one takes effect, as in exec.Cmd
		name, _, _ := strings.Cut(kv, "=")
		if !named[name] && slices.ContainsFunc(conf.SendEnv, func(p string) bool { return pattern.Match(p, name) }) {
			named[name] = true
			list = append(list, kv)
		}
	}
	slices.Sort(list)
	return list
}

// loginName returns the name of the user that runs this process.
func loginName() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

// patience returns the time for which a peer can be silent after a command begins.
// It is the connect timeout, or one keepalive interval (at most the default
// interval) if that is longer: other callers of the connection may have a
// longer connect timeout. 0 means no limit (ServerAliveCountMax 0).
func (e *endpoint) patience() time.Duration {
	if e.timeout <= 0 || e.keepaliveMisses < 0 {
		return 0
	}
	return max(e.timeout, min(e.keepalive, defaultKeepalive))
}

// kept returns a copy for an open connection, without secrets and settings that
// only dialing needs.
func (e *endpoint) kept() *endpoint {
	k := *e
	k.to.Password, k.to.KeyData = transport.Secret{}, transport.Secret{}
	k.algorithms = algorithmSet{authority: e.algorithms.authority}
	k.lists, k.jump, k.command = algorithmLists{}, nil, ""
	return &k
}

// address returns the address for the TCP connection.
func (e *endpoint) address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// identity returns a name of the endpoint, for the detection of loops.
func (e *endpoint) identity() string { return e.user + "@" + e.address() }

// throughJump adds the destination to the message of a jump host's error. Class
// and code stay the same.
func (e *endpoint) throughJump(err error) error {
	out := *asError(err, e.to.Host)
	out.Msg = fmt.Sprintf("Failed to connect to %s through the jump host %s: %s", e.to.Host, e.jump.Host, out.Msg)
	out.Err = err
	return &out
}

// jumpDest returns the destination of the last hop in a list as in ssh -J. That
// hop is reached through the hops before it. The first hop is reached by its
// own settings in ssh_config.
//
// A hop gets the target's key, but never its password or the agent, and the
// ticket is not forwarded to it. The hop's host key is checked by ssh_config,
// as in "ssh -J". A user who accepts any key of a target behind a hop does not
// thereby accept any key of the hop.
func jumpDest(to transport.Dest, list string) (*transport.Dest, error) {
	list = strings.TrimSpace(list)
	before, last := "", list
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		before, last = list[:i], list[i+1:]
	}
	u, host, port, err := parseHop(last)
	if err != nil {
		return nil, fmt.Errorf("proxyjump %q: %w", list, err)
	}
	hop := to
	hop.Protocol, hop.User, hop.Host, hop.Port, hop.ProxyJump = "ssh", u, host, port, before
	hop.ProxyCommand = ""
	hop.Password, hop.HostKeyCheck = transport.Secret{}, transport.CheckByConfig
	hop.GSSAPIDelegate, hop.ForwardAgent = transport.ChoiceByConfig, transport.ChoiceNo
	hop.Ciphers, hop.Kex, hop.MACs, hop.HostKeyAlgorithms = "", "", "", ""
	return &hop, nil
}

// parseHop parses [user@]host[:port] or ssh://[user@]host[:port]. An IPv6
// address with a port must be in brackets (ssh_config(5), ProxyJump).
func parseHop(s string) (login, host string, port int, err error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "ssh://") {
		u, err := url.Parse(s)
		if err != nil {
			return "", "", 0, fmt.Errorf("hop is not an ssh URI: %w", err)
		}
		if u.User != nil {
			login = u.User.Username()
		}
		s = strings.TrimSuffix(u.Host, "/")
	} else if i := strings.LastIndexByte(s, '@'); i >= 0 {
		login, s = s[:i], s[i+1:]
	}
	host = s
	if h, p, splitErr := net.SplitHostPort(s); splitErr == nil {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 {
			return "", "", 0, fmt.Errorf("%q is not a port number", p)
		}
		host, port = h, int(n)
	} else if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
	}
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t[]@/") {
		return "", "", 0, fmt.Errorf("%q is not a host name", host)
	}
	return login, host, port, nil
}
