package inventory

import (
	"fmt"
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
// The grammar is RFC 3986 read as leniently as Puppet Bolt reads it. The zero
// uri is that of a target that has only a name.
type uri struct {
	scheme   string
	user     string // percent-decoded
	hasUser  bool
	password string // percent-decoded
	hasPass  bool
	host     string // IPv6 without brackets
	port     int    // 0 if there is none
}

func parseURI(s string) (uri, error) {
	var u uri
	if s == "" {
		return u, fmt.Errorf("the URI is empty")
	}
	scheme, authority, _ := splitURI(s)
	if scheme != "" && !validScheme(scheme) {
		return u, fmt.Errorf("%q is not a good scheme", scheme)
	}
	u.scheme = scheme
	hostport := authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		hostport = authority[i+1:]
		user, pass, hasPass := strings.Cut(authority[:i], ":")
		u.hasUser, u.hasPass = true, hasPass
		var err error
		if u.user, err = url.PathUnescape(user); err != nil {
			return u, fmt.Errorf("the user name has a percent sign that is no escape")
		}
		if u.password, err = url.PathUnescape(pass); err != nil {
			return u, fmt.Errorf("the password has a percent sign that is no escape (write it as %%25)")
		}
	}

	host, port, err := splitHostPort(hostport)
	if err != nil {
		return u, err
	}
	u.host, u.port = host, port
	if i := strings.IndexFunc(host, func(r rune) bool { return strings.ContainsRune(`<>{}\"`, r) || unicode.IsSpace(r) }); i >= 0 {
		return u, fmt.Errorf("the host name has the character %q", host[i:i+1])
	}
	return u, nil
}

func splitHostPort(s string) (host string, port int, err error) {
	// An address with two colons or more is IPv6 even without brackets.
	if a, aerr := netip.ParseAddr(s); aerr == nil && a.Is6() {
		return s, 0, nil
	}
	host = s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", 0, fmt.Errorf("a bracket is not closed")
		}
		host = s[1:end]
		if s = s[end+1:]; s != "" && s[0] != ':' {
			return "", 0, fmt.Errorf("there is text between the closing bracket and the port")
		}
		if a, aerr := netip.ParseAddr(host); aerr != nil || !a.Is6() {
			return "", 0, fmt.Errorf("%q in brackets is not an IPv6 address", host)
		}
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		host, s = s[:i], s[i:]
	} else {
		s = ""
	}
	if s == "" || s == ":" {
		return host, 0, nil
	}
	n, err := strconv.ParseUint(s[1:], 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not a port number", s[1:])
	}
	return host, int(n), nil
}

// validScheme follows RFC 3986, section 3.1; underscores pass too.
func validScheme(s string) bool {
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-._", r)) {
			return false
		}
	}
	return true
}

// splitURI cuts a URI at the borders of its authority. before is what comes in
// front of it: a scheme with "://", or nothing.
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

// safeName is a name or URI without a password. It works on text that is no
// good URI too.
func safeName(s string) string {
	_, authority, before := splitURI(s)
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return s
	}
	user, _, hasPass := strings.Cut(authority[:at], ":")
	if !hasPass {
		return s
	}
	return before + user + s[len(before)+at:]
}
