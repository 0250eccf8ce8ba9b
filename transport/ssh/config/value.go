package config

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"bolt/transport/ssh/pattern"
)

// option is a keyword of ssh_config that bolt uses. All others are ignored.
type option uint8

const (
	optNone option = iota
	optHostName
	optPort
	optUser
	optIdentityFile
	optCertificateFile
	optIdentitiesOnly
	optIdentityAgent
	optProxyJump
	optProxyCommand
	optUserKnownHostsFile
	optGlobalKnownHostsFile
	optHostKeyAlias
	optHashKnownHosts
	optStrictHostKeyChecking
	optHostKeyAlgorithms
	optCiphers
	optKexAlgorithms
	optMACs
	optPubkeyAcceptedAlgorithms
	optConnectTimeout
	optServerAliveInterval
	optServerAliveCountMax
	optRevokedHostKeys
	optRequiredRSASize
	optCASignatureAlgorithms
	optBindAddress
	optAddressFamily
	optGSSAPIAuthentication
	optGSSAPIDelegateCredentials
	optSetEnv
	optSendEnv
	optRequestTTY
	optForwardAgent

	// The following options are read only for a warning.
	optKnownHostsCommand
	optBindInterface
	optForwardX11
	optLocalForward
	optRemoteForward
	optDynamicForward
	optTunnel
	optPermitLocalCommand
	optLocalCommand
	optRemoteCommand
	optProxyUseFdpass
	optCanonicalizeHostname
	optPKCS11Provider
	optSecurityKeyProvider
	optPubkeyAuthentication
	optHostbasedAuthentication
	optVerifyHostKeyDNS
	optCount
)

// unevaluated are the settings that bolt ignores although they change the
// command, the connection or the login. harmless are the values without effect.
// Keywords that are not options here do not change these (Compression,
// LogLevel, ControlMaster, …).
var unevaluated = []struct {
	opt      option
	keyword  string
	harmless []string
	why      string
}{
	{optKnownHostsCommand, "KnownHostsCommand", []string{"none"}, notEvaluated},
	{optBindInterface, "BindInterface", []string{"none"}, notEvaluated},
	{optForwardX11, "ForwardX11", []string{"no", "false"}, notEvaluated},
	{optLocalForward, "LocalForward", nil, "no ports are forwarded"},
	{optRemoteForward, "RemoteForward", nil, "no ports are forwarded"},
	{optDynamicForward, "DynamicForward", nil, "no ports are forwarded"},
	{optTunnel, "Tunnel", []string{"no", "false"}, notEvaluated},
	{optLocalCommand, "LocalCommand", []string{"none"}, notEvaluated},
	{optRemoteCommand, "RemoteCommand", []string{"none"}, "bolt runs its own command instead"},
	{optProxyUseFdpass, "ProxyUseFdpass", []string{"no", "false"}, notEvaluated},
	{optCanonicalizeHostname, "CanonicalizeHostname", []string{"no", "false", "none"}, notEvaluated},
	{optPKCS11Provider, "PKCS11Provider", []string{"none"}, "bolt does not use its keys; add them to ssh-agent"},
	{optSecurityKeyProvider, "SecurityKeyProvider", []string{"internal"}, notEvaluated},
	{optPubkeyAuthentication, "PubkeyAuthentication", []string{"yes", "true", "unbound", "host-bound"}, notEvaluated},
	{optHostbasedAuthentication, "HostbasedAuthentication", []string{"no", "false"}, notEvaluated},
	{optVerifyHostKeyDNS, "VerifyHostKeyDNS", []string{"no", "false"}, notEvaluated},
}

const notEvaluated = "this setting is not evaluated"

func optionOf(keyword string) option {
	switch keyword {
	case "hostname":
		return optHostName
	case "port":
		return optPort
	case "user":
		return optUser
	case "identityfile", "identityfile2":
		return optIdentityFile
	case "certificatefile":
		return optCertificateFile
	case "identitiesonly":
		return optIdentitiesOnly
	case "identityagent":
		return optIdentityAgent
	case "proxyjump":
		return optProxyJump
	case "proxycommand":
		return optProxyCommand
	case "userknownhostsfile":
		return optUserKnownHostsFile
	case "globalknownhostsfile":
		return optGlobalKnownHostsFile
	case "hostkeyalias":
		return optHostKeyAlias
	case "hashknownhosts":
		return optHashKnownHosts
	case "stricthostkeychecking":
		return optStrictHostKeyChecking
	case "hostkeyalgorithms":
		return optHostKeyAlgorithms
	case "ciphers":
		return optCiphers
	case "kexalgorithms":
		return optKexAlgorithms
	case "macs":
		return optMACs
	case "pubkeyacceptedalgorithms", "pubkeyacceptedkeytypes":
		return optPubkeyAcceptedAlgorithms
	case "connecttimeout":
		return optConnectTimeout
	case "serveraliveinterval":
		return optServerAliveInterval
	case "serveralivecountmax":
		return optServerAliveCountMax
	case "revokedhostkeys":
		return optRevokedHostKeys
	case "requiredrsasize":
		return optRequiredRSASize
	case "casignaturealgorithms":
		return optCASignatureAlgorithms
	case "bindaddress":
		return optBindAddress
	case "addressfamily":
		return optAddressFamily
	case "gssapiauthentication":
		return optGSSAPIAuthentication
	case "gssapidelegatecredentials":
		return optGSSAPIDelegateCredentials
	case "setenv":
		return optSetEnv
	case "sendenv":
		return optSendEnv
	case "requesttty":
		return optRequestTTY
	case "forwardagent":
		return optForwardAgent
	case "permitlocalcommand":
		return optPermitLocalCommand
	}
	for _, o := range unevaluated {
		if strings.EqualFold(o.keyword, keyword) {
			return o.opt
		}
	}
	return optNone
}

// setting is one line "keyword arguments".
type setting struct {
	opt  option
	args []string // at least one, not expanded
	n    int      // the value of a number, a time (seconds) or a flag
	at   position
	err  error // the value cannot be used, and to ignore the line would be worse than an error
}

// none reports whether the value is "none".
func (s *setting) none() bool { return len(s.args) == 1 && strings.EqualFold(s.args[0], "none") }

func (s *setting) errorf(err error) error { return fmt.Errorf("%s: %w", s.at, err) }

// newSetting parses the arguments of an option. A setting with optNone has no
// effect (a time of "none").
func newSetting(opt option, rest string, at position) (setting, error) {
	s := setting{opt: opt, at: at}
	if opt == optProxyCommand || opt == optProxyJump {
		rest = strings.TrimLeft(rest, space+"=")
		if rest == "" {
			return s, errNoArgument
		}
		s.args = []string{rest}
		if opt == optProxyJump {
			s.args[0], s.err = parseJump(rest)
		}
		return s, nil
	}
	if opt >= optKnownHostsCommand {
		s.args = []string{strings.Trim(strings.TrimSpace(rest), `"`)}
		return s, nil
	}
	args, err := splitArgs(rest)
	switch {
	case err != nil:
	case len(args) == 0 || slices.Contains(args, ""):
		err = errNoArgument
	case opt == optRevokedHostKeys && len(args) > 1:
		err = moreThanOne(args)
	}
	s.args = args
	if opt == optRevokedHostKeys {
		// Without the file, the revoked keys are unknown.
		if s.err = err; err != nil {
			s.args = []string{rest}
		}
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if opt == optUserKnownHostsFile || opt == optGlobalKnownHostsFile {
		if len(args) > 1 && slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, "none") }) {
			return s, errors.New(`"none" cannot be combined with files`)
		}
		return s, nil
	}
	switch {
	case opt == optSendEnv:
		return s, nil
	case opt == optSetEnv:
		for _, a := range args {
			if name, _, ok := strings.Cut(a, "="); !ok || name == "" {
				return s, fmt.Errorf("%q is not NAME=value", a)
			}
		}
		return s, nil
	case len(args) > 1:
		return s, moreThanOne(args)
	}
	return s, s.parseValue()
}

func moreThanOne(args []string) error { return fmt.Errorf("more than one argument: %q", args[1]) }

// parseValue checks the only argument of s and sets s.n.
func (s *setting) parseValue() (err error) {
	arg := s.args[0]
	switch s.opt {
	case optPort:
		s.n, err = net.LookupPort("tcp", arg)
		if err != nil || s.n <= 0 {
			return fmt.Errorf("port %q is not between 1 and 65535", arg)
		}
	case optIdentitiesOnly, optHashKnownHosts, optGSSAPIAuthentication, optGSSAPIDelegateCredentials:
		switch pattern.Lower(arg) {
		case "yes", "true":
			s.n = 1
		case "no", "false":
		default:
			return fmt.Errorf("%q is neither yes nor no", arg)
		}
	case optStrictHostKeyChecking:
		switch v := pattern.Lower(arg); v {
		case "true":
			s.args[0] = "yes"
		case "false":
			s.args[0] = "no"
		case "yes", "no", "ask", "accept-new", "off":
			s.args[0] = v
		default:
			return fmt.Errorf("%q is not yes, no, ask, accept-new or off", arg)
		}
	case optRequestTTY:
		switch s.args[0] = pattern.Lower(arg); s.args[0] {
		case "yes", "true", "no", "false", "auto", "force":
		default:
			return fmt.Errorf("%q is not yes, no, force or auto", arg)
		}
	case optAddressFamily:
		switch v := pattern.Lower(arg); v {
		case "any":
			s.args[0] = ""
		case "inet", "inet6":
			s.args[0] = v
		default:
			return fmt.Errorf("%q is not any, inet or inet6", arg)
		}
	case optServerAliveCountMax, optRequiredRSASize:
		if s.n, err = strconv.Atoi(arg); err != nil || s.n < 0 {
			return fmt.Errorf("%q is not a number", arg)
		}
	case optConnectTimeout, optServerAliveInterval:
		if arg == "none" {
			s.opt = optNone
			return nil
		}
		s.n, err = parseSeconds(arg)
	}
	return err
}

// parseSeconds parses a time in the format of sshd_config(5), TIME FORMATS:
// "90", "1m30s", "2h".
func parseSeconds(text string) (int, error) {
	bad := fmt.Errorf("%q is not a time", text)
	total := 0
	for rest := text; rest != ""; {
		i := 0
		for i < len(rest) && rest[i] >= '0' && rest[i] <= '9' {
			i++
		}
		n, err := strconv.ParseInt(rest[:i], 10, 32)
		if err != nil {
			return 0, bad
		}
		unit := int64(1)
		if rest = rest[i:]; rest != "" {
			switch rest[0] {
			case 's', 'S':
			case 'm', 'M':
				unit = 60
			case 'h', 'H':
				unit = 3600
			case 'd', 'D':
				unit = 24 * 3600
			case 'w', 'W':
				unit = 7 * 24 * 3600
			default:
				return 0, bad
			}
			rest = rest[1:]
		}
		if n*unit > math.MaxInt32-int64(total) {
			return 0, bad
		}
		total += int(n * unit)
	}
	return total, nil
}

// parseJump converts the argument of ProxyJump to the form
// [user@]host[:port][,…], without a comment and ssh:// prefixes.
func parseJump(arg string) (string, error) {
	arg, _, _ = strings.Cut(arg, "#")
	arg = strings.TrimRight(arg, space)
	if strings.EqualFold(arg, "none") {
		return arg, nil
	}
	hops := strings.Split(arg, ",")
	for i, hop := range hops {
		hop = strings.TrimSuffix(strings.TrimPrefix(hop, "ssh://"), "/")
		hops[i] = hop
		host := hop[strings.LastIndexByte(hop, '@')+1:]
		port := ""
		if inner, after, ok := strings.Cut(host, "]"); ok && strings.HasPrefix(inner, "[") {
			host, port = inner[1:], after
		} else if j := strings.IndexByte(host, ':'); j >= 0 {
			host, port = host[:j], host[j:]
		}
		if host == "" || strings.HasPrefix(hop, "@") || strings.ContainsAny(hop, space+`"'`) {
			return arg, fmt.Errorf("ProxyJump %q is not [user@]host[:port]", arg)
		}
		if port != "" {
			n, err := strconv.Atoi(strings.TrimPrefix(port, ":"))
			if port[0] != ':' || err != nil || n < 1 || n > math.MaxUint16 {
				if port != ":%p" {
					return arg, fmt.Errorf("ProxyJump %q: port %q is not between 1 and 65535", arg, strings.TrimPrefix(port, ":"))
				}
			}
		}
	}
	return strings.Join(hops, ","), nil
}
