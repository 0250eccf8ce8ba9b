package inventory

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// uri is a target's address in parts:
//
//	[scheme "://"] [user [":" password] "@"] host [":" port] [path…]
//
// The grammar is RFC 3986, read as leniently as Puppet Bolt reads it. The zero uri
// belongs to a target that has only a name.
type uri struct {
	scheme   string
	user     string // percent-decoded
	hasUser  bool
	password string // percent-decoded
	hasPass  bool
	host     string // IPv6 without brackets
	port     int    // 0 if there is none
}

// parseURI parses s. Its errors do not quote s, because a part that looks like a port
// or a host may belong to a password.
func parseURI(s string) (uri, error) {
	var u uri
	if s == "" {
		return u, errors.New("it is empty")
	}
	scheme, authority, before := splitURI(s)
	rest := s[len(before)+len(authority):]
	if scheme != "" && !validScheme(scheme) {
		return u, errors.New("the scheme must be a letter and then letters, digits and any of +-._")
	}
	u.scheme = scheme
	hostport := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		hostport = authority[i+1:]
		user, pass, hasPass := strings.Cut(authority[:i], ":")
		u.hasUser, u.hasPass = true, hasPass
		var err error
		if u.user, err = url.PathUnescape(user); err != nil {
			return u, errors.New("the user name has a percent sign that does not start an escape (write it as %25)")
		}
		if u.password, err = url.PathUnescape(pass); err != nil {
			return u, errors.New("the password has a percent sign that does not start an escape (write it as %25)")
		}
	}

	host, port, err := splitHostPort(hostport)
	if err != nil {
		return u, err
	}
	if host == "" && rest == "" && hierarchical(scheme) {
		return u, errors.New("the host name is missing")
	}
	u.host, u.port = host, port
	if strings.ContainsFunc(host, func(r rune) bool { return strings.ContainsRune(`<>{}\"`, r) || unicode.IsSpace(r) }) {
		return u, errors.New("the host name has a blank, a quote, a backslash or one of <>{}")
	}
	return u, nil
}

// hierarchical reports whether a URI with this scheme must have a host or a path. In
// Bolt's URI library this is true for schemes with a default port; winrm has none
// there.
func hierarchical(scheme string) bool {
	switch scheme {
	case "ssh", "http", "https", "ftp", "tftp", "sftp", "svn+ssh", "telnet", "nntp", "gopher", "wais", "ldap", "prospero":
		return true
	}
	return false
}

func splitHostPort(s string) (host string, port int, err error) {
	// An address with two or more colons is IPv6 even without brackets.
	if a, aerr := netip.ParseAddr(s); aerr == nil && a.Is6() {
		return s, 0, nil
	}
	host = s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", 0, errors.New("a bracket is not closed")
		}
		host = s[1:end]
		if s = s[end+1:]; s != "" && s[0] != ':' {
			return "", 0, errors.New("there is text between the closing bracket and the port")
		}
		if a, aerr := netip.ParseAddr(host); aerr != nil || !a.Is6() {
			return "", 0, errors.New("the brackets do not hold an IPv6 address")
		}
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		host, s = s[:i], s[i:]
		if strings.Contains(host, ":") {
			return "", 0, errors.New("the host name has a colon, and is not an IPv6 address")
		}
	} else {
		s = ""
	}
	if s == "" || s == ":" {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(s[1:], 10, 16)
	if err != nil {
		return "", 0, errors.New("the port is not a number from 0 to 65535")
	}
	return host, int(n), nil
}

// validScheme follows RFC 3986, section 3.1, and also accepts underscores.
func validScheme(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-._", r)) {
			return false
		}
	}
	return true
}

// splitURI splits a URI at the boundaries of its authority. before is the part before
// the authority: a scheme with "://", or "".
func splitURI(s string) (scheme, authority, before string) {
	rest := s
	if head, after, ok := strings.Cut(s, "://"); ok && head != "" && !strings.Contains(head, ":") {
		scheme, rest = head, after
	}
	authority = rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	return scheme, authority, s[:len(s)-len(rest)]
}

// SafeName returns the name or URI of a target without its password, for messages. It
// works on any string: if s is not a valid URI, everything from the first colon to the
// last "@" may be a password that contains slashes.
func SafeName(s string) string {
	if !strings.Contains(s, "@") {
		return s
	}
	_, authority, before := splitURI(s)
	rest := s[len(before):]
	at := strings.LastIndexByte(authority, '@')
	if _, err := parseURI(s); err != nil {
		at = strings.LastIndexByte(rest, '@')
	}
	if at < 0 {
		return s
	}
	user, _, hasPass := strings.Cut(rest[:at], ":")
	if !hasPass {
		return s
	}
	return before + user + rest[at:]
}
