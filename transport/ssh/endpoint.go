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

// An endpoint is a destination with everything decided: what the Dest leaves
// open comes from ssh_config, then from the defaults.
type endpoint struct {
	to   transport.Dest
	conf *config.Host // shared, not to be changed

	host, user string
	port       int
	hostport   string // the name in known_hosts

	timeout, disconnect, keepalive time.Duration
	keepaliveMisses                int

	algorithms algorithmSet
	lists      algorithmLists  // what decided over algorithms
	jump       *transport.Dest // the machine to go through, or nil
	command    string          // ProxyCommand, or ""

	env []string // NAME=value, for every session

	gssapi, delegate bool // a Kerberos ticket is tried, and handed on

	agent string // the socket of the agent that is forwarded; "" for none
}

// resolve makes the endpoint of a destination.
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
	if v != v.d.own { // that caller reads the log, where these lines are as well
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
	// Differs from OpenSSH: ServerAliveInterval 0 does not switch the questions
	// off but means the default. Nobody sits at a run to see that it hangs.
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
	for _, kv := range slices.Backward(environ) { // the last one counts, as in exec.Cmd
		name, _, _ := strings.Cut(kv, "=")
		if !named[name] && slices.ContainsFunc(conf.SendEnv, func(p string) bool { return pattern.Match(p, name) }) {
			named[name] = true
			list = append(list, kv)
		}
	}
	slices.Sort(list)
	return list
}

// loginName is our own name.
func loginName() (string, error) {
	u, err := user.Current()
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

// patience is how long a peer can be silent as a command begins: the connect timeout,
// or one keepalive interval (at most the default interval) if that is longer, because
// other callers of the connection may have a longer connect timeout. 0 means no limit
// (ServerAliveCountMax 0).
func (e *endpoint) patience() time.Duration {
	if e.timeout <= 0 || e.keepaliveMisses < 0 {
		return 0
	}
	return max(e.timeout, min(e.keepalive, defaultKeepalive))
}

// kept is what an open connection needs to know of it: no secrets.
func (e *endpoint) kept() *endpoint {
	k := *e
	k.to.Password, k.to.KeyData = transport.Secret{}, transport.Secret{}
	k.algorithms = algorithmSet{authority: e.algorithms.authority}
	k.lists, k.jump, k.command = algorithmLists{}, nil, ""
	return &k
}

// address is what the TCP connection goes to.
func (e *endpoint) address() string { return net.JoinHostPort(e.host, strconv.Itoa(e.port)) }

// identity names the endpoint for the search of loops.
func (e *endpoint) identity() string { return e.user + "@" + e.address() }

// throughJump says of a jump host's error for which machine it matters. The
// class and code stay.
func (e *endpoint) throughJump(err error) error {
	out := *asError(err, e.to.Host)
	out.Msg = fmt.Sprintf("Failed to connect to %s through the jump host %s: %s", e.to.Host, e.jump.Host, out.Msg)
	out.Err = err
	return &out
}

// jumpDest is the destination of the last hop of a list as in ssh -J. It is
// to be reached through those before it; the first of them by its own
// settings in ssh_config.
//
// A hop gets the target's key, never its password, nor its ticket to keep, nor the
// agent. Its host key is checked as
// ssh_config says, as "ssh -J" does: to trust any key of the target, which may
// be why there is a hop, is not to trust any key of the hop.
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

// parseHop reads [user@]host[:port] or ssh://[user@]host[:port]; an IPv6
// address with a port stands in brackets (ssh_config(5), ProxyJump).
func parseHop(s string) (login, host string, port int, err error) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "ssh://") {
		u, err := url.Parse(s)
		if err != nil {
			return "", "", 0, fmt.Errorf("hop is no ssh URI: %w", err)
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
			return "", "", 0, fmt.Errorf("%q is no port number", p)
		}
		host, port = h, int(n)
	} else if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
		host = s[1 : len(s)-1]
	}
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsAny(host, " \t[]@/") {
		return "", "", 0, fmt.Errorf("%q is no host name", host)
	}
	return login, host, port, nil
}
