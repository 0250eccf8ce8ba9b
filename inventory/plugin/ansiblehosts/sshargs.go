package ansiblehosts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bolt/inventory/ansible"
)

// without are options of ssh that do not matter here, because bolt keeps connections
// open by other means. sshOption reads the two for keepalives itself: they matter for
// a target, and not for an ssh that a ProxyCommand runs.
var without = []string{"controlmaster", "controlpersist", "controlpath", "serveraliveinterval", "serveralivecountmax", "tcpkeepalive",
	"compression", "loglevel", "batchmode", "connectionattempts", "passwordauthentication", "kbdinteractiveauthentication",
	"preferredauthentications", "pubkeyauthentication", "identitiesonly", "requesttty"}

// leading are the options of ssh that decide the machine, the user or the key.
var leading = []string{"-F", "-I", "-J", "-i", "-l", "-p", "-P", "-W", "-w",
	"hostname", "hostkeyalias", "proxyjump", "proxycommand", "proxyusefdpass", "user", "port", "identityfile", "certificatefile",
	"identityagent", "pkcs11provider", "securitykeyprovider", "include", "tag", "canonicalizehostname", "remotecommand", "knownhostscommand"}

// sshArguments converts the known arguments of ssh (man ssh). The first value of an
// option takes effect, as in ssh. For an unknown option, the target is refused if the
// option is in leading. Otherwise a warning names the option, without its value, which
// can be secret.
func (c *connection) sshArguments(key, line string) {
	variable := names[key][0]
	words, err := ansible.Words(line, false)
	if err != nil {
		c.refuse(key, err.Error())
		return
	}
	unknown := func(what, option string) {
		if slices.Contains(leading, option) {
			c.refuse(key, what+" is not supported")
			return
		}
		c.note(fmt.Sprintf("in %s, %s is not supported and is ignored", variable, what))
	}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if len(w) < 2 || w[0] != '-' {
			unknown("an argument that is not an option", "")
			continue
		}
		option, value := w[:2], w[2:]
		if strings.Contains("bcDEeFIiJLlmOopQRSWw", option[1:]) && value == "" {
			if i++; i == len(words) {
				unknown(option, option)
				return
			}
			value = words[i]
		}
		switch option {
		case "-o":
			key, value, ok := strings.Cut(value, "=")
			if !ok {
				key, value, _ = strings.Cut(strings.TrimSpace(key), " ")
			}
			name := strings.ToLower(strings.TrimSpace(key))
			value = strings.Trim(strings.TrimSpace(value), `"`)
			if name == "stricthostkeychecking" && strings.EqualFold(value, "accept-new") {
				// No option of a target sets this.
				c.acceptNew = true
				c.note(fmt.Sprintf("in %s, StrictHostKeyChecking=accept-new is ignored: new keys are accepted only if ssh_config sets it for the host", variable))
				continue
			}
			if !c.sshOption(name, value) {
				unknown("-o "+key, name)
			}
		case "-J":
			c.sshOption("proxyjump", value)
		case "-i":
			c.first("private-key", value)
		case "-l":
			c.first("user", value)
		case "-p":
			if !c.sshOption("port", value) {
				unknown("-p", "-p")
			}
		case "-C", "-q", "-T", "-x", "-4", "-v", "-S":
		default:
			unknown(option, option)
		}
	}
}

// first sets an option that is not set yet.
func (c *connection) first(option string, value any) {
	if c.section.Value(option) == nil {
		c.put(option, value)
	}
}

// sshOption converts one option of ssh_config; it reports whether the option is known.
func (c *connection) sshOption(key, value string) bool {
	switch key {
	case "proxyjump":
		if value != "none" && c.section.Value("proxy-command") == nil {
			c.first("proxyjump", value)
		}
	case "proxycommand":
		// If both ProxyJump and ProxyCommand are given, the first one takes effect.
		switch jump := jumpOf(value); {
		case value == "":
			return false
		case value == "none", c.section.Value("proxyjump") != nil, c.section.Value("proxy-command") != nil:
		case jump != "":
			c.put("proxyjump", jump)
		default:
			c.put("proxy-command", value)
		}
	case "stricthostkeychecking":
		if c.acceptNew {
			return true
		}
		switch strings.ToLower(value) {
		case "no", "off":
			c.first("host-key-check", false)
		case "yes", "ask": // there is no user to ask
			c.first("host-key-check", true)
		default:
			return false
		}
	case "userknownhostsfile", "globalknownhostsfile":
		return value == "/dev/null"
	case "user":
		c.first("user", value)
	case "identityfile":
		c.first("private-key", value)
	case "port", "connecttimeout", "serveraliveinterval":
		// A ServerAliveInterval of 0 is off in ssh. bolt cannot turn keepalives off.
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 || n > maxPort {
			return false
		}
		c.first(map[string]string{"port": "port", "connecttimeout": "connect-timeout", "serveraliveinterval": "keepalive"}[key], n)
	case "serveralivecountmax":
		return value == "3" // the default of ssh and of bolt
	default:
		return slices.Contains(without, key)
	}
	return true
}

// jumpOf returns the jump host of a ProxyCommand, for the forms from before ProxyJump:
// ssh -W %h:%p BASTION, and ssh BASTION nc %h %p; "" for any other command.
func jumpOf(command string) string {
	words, err := ansible.Words(command, false)
	if err != nil || len(words) == 0 || words[0] != "ssh" && !strings.HasSuffix(words[0], "/ssh") {
		return ""
	}
	var user, port, host string
	through := false
	for i := 1; i < len(words); i++ {
		w := words[i]
		if w == "" || w[0] != '-' {
			if host != "" {
				through = through || slices.Contains([]string{"nc", "netcat", "ncat"}, w) && strings.HasSuffix(command, "%h %p")
				break
			}
			host = w
			continue
		}
		if len(w) < 2 {
			return ""
		}
		value := w[2:]
		if strings.Contains("Wopl", w[1:2]) && value == "" {
			if i++; i == len(words) {
				return ""
			}
			value = words[i]
		}
		switch w[1] {
		case 'W':
			through = value == "%h:%p" || value == "[%h]:%p"
		case 'l':
			user = value
		case 'p':
			port = value
		case 'o':
			key, _, _ := strings.Cut(strings.ToLower(value), "=")
			if !slices.Contains(without, key) && key != "stricthostkeychecking" && key != "userknownhostsfile" && key != "forwardagent" {
				return ""
			}
		case 'q', 'A', 'a', 'x', 'T', 'C', '4', '6':
		default:
			return ""
		}
	}
	if !through || host == "" || strings.Contains(host, "%") {
		return ""
	}
	if user != "" && !strings.Contains(host, "@") {
		host = user + "@" + host
	}
	if port != "" {
		host += ":" + port
	}
	return host
}
