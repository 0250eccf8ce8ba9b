package value

import (
	"strconv"
	"strings"
)

// A URI is a parsed URI as in RFC 3986.
type URI struct {
	scheme, userinfo, host, path, query, fragment, opaque string
	hasScheme, hasUserinfo, hasHost, hasQuery             bool
	hasFragment, hasOpaque, hasPath                       bool
	port                                                  int64
	hasPort                                               bool
	typecode                                              string // of ftp
}

func (*URI) value() {}

func badURI(s string) error { return convErr(KindValue, "%q is not a URI", clip(s)) }

// maxURI is the largest length of a URI.
const maxURI = 1 << 16

// ParseURI parses a URI. The error is a *[ConversionError].
func ParseURI(s string) (*URI, error) {
	if len(s) > maxURI {
		return nil, convErr(KindLimit, "a URI of %d bytes is too long", len(s))
	}
	for i := range len(s) {
		if s[i] >= 0x80 {
			return nil, convErr(KindValue, "the URI %q is not in ASCII", clip(s))
		}
	}
	u := &URI{}
	rest := s
	if n := scanScheme(s); n > 0 {
		u.scheme, u.hasScheme, rest = strings.ToLower(s[:n]), true, s[n+1:]
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 {
		u.fragment, u.hasFragment, rest = rest[i+1:], true, rest[:i]
		if !uriChars(u.fragment, "/?:@") {
			return nil, badURI(s)
		}
	}
	query, hasQuery := "", false
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		query, hasQuery, rest = rest[i+1:], true, rest[:i]
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		rest = rest[2:]
		authority := rest
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			authority = rest[:i]
		}
		rest = rest[len(authority):]
		if !u.setAuthority(authority) {
			return nil, badURI(s)
		}
		u.path, u.hasPath = rest, true
	case u.hasScheme && rest != "" && rest[0] != '/':
		if hasQuery {
			rest += "?" + query
			hasQuery = false
		}
		u.opaque, u.hasOpaque = rest, true
	default:
		u.path, u.hasPath = rest, true
	}
	path := u.path
	if u.hasOpaque {
		path, _, _ = strings.Cut(u.opaque, "?")
	}
	if !uriChars(path, "/:@") || strings.HasPrefix(path, "//") && !u.hasAuthority(s) ||
		!u.hasScheme && firstSegmentHasColon(path) {
		return nil, badURI(s)
	}
	if hasQuery {
		if err := u.setQuery(query); err != nil {
			return nil, err
		}
	}
	return u, u.finish(s)
}

// hasAuthority reports whether // preceded the path in the URI.
func (u *URI) hasAuthority(s string) bool {
	if u.hasScheme {
		s = s[len(u.scheme)+1:]
	}
	return strings.HasPrefix(s, "//")
}

// scanScheme returns the length of a scheme at the beginning of s, if a colon
// follows it.
func scanScheme(s string) int {
	for i := range len(s) {
		c := s[i]
		switch {
		case c == ':':
			return i
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return 0
		}
	}
	return 0
}

func firstSegmentHasColon(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return strings.IndexByte(first, ':') >= 0
}

// uriChars reports whether s contains only characters that need no escape,
// escapes, and characters of more.
func uriChars(s, more string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case isDigit(c), 'a' <= c|0x20 && c|0x20 <= 'z', strings.IndexByte("-._~!$&'()*+,;=", c) >= 0,
			strings.IndexByte(more, c) >= 0:
		case c == '%' && i+2 < len(s) && digitValue(s[i+1]) < 16 && digitValue(s[i+2]) < 16:
			i += 2
		default:
			return false
		}
	}
	return true
}

// setAuthority parses user@host:port.
func (u *URI) setAuthority(s string) bool {
	if i := strings.IndexByte(s, '@'); i >= 0 {
		if !uriChars(s[:i], ":") {
			return false
		}
		u.userinfo, u.hasUserinfo, s = s[:i], i > 0, s[i+1:]
	}
	host := s
	end := 0
	if strings.HasPrefix(s, "[") {
		end = strings.IndexByte(s, ']')
		if end < 0 || !isIPLiteral(s[1:end]) {
			return false
		}
		end++
	}
	if i := strings.IndexByte(s[end:], ':'); i >= 0 {
		host = s[:end+i]
		port := s[end+i+1:]
		if port != "" {
			n, err := strconv.ParseInt(port, 10, 64)
			if err != nil || !allDigits(port) {
				return false
			}
			u.port, u.hasPort = n, true
		}
	}
	if end > 0 && len(host) != end || end == 0 && !uriChars(host, "") {
		return false
	}
	u.host, u.hasHost = host, host != ""
	return true
}

// isIPLiteral reports whether s is an address of IP version 6 or later.
func isIPLiteral(s string) bool {
	if strings.HasPrefix(s, "v") {
		version, rest, ok := strings.Cut(s[1:], ".")
		return ok && version != "" && strings.Trim(version, "0123456789abcdefABCDEF") == "" && rest != "" && uriChars(rest, ":")
	}
	head, tail, double := strings.Cut(s, "::")
	if double && strings.Contains(tail, "::") {
		return false
	}
	n, ok := ipGroups(head, !double)
	m, ok2 := 0, true
	if double {
		m, ok2 = ipGroups(tail, true)
	}
	if !ok || !ok2 {
		return false
	}
	if double {
		return n+m <= 7
	}
	return n == 8
}

// ipGroups counts the groups of 16 bits in s. If v4 is set, the last two can be
// an IPv4 address.
func ipGroups(s string, v4 bool) (n int, ok bool) {
	if s == "" {
		return 0, true
	}
	parts := strings.Split(s, ":")
	for i, p := range parts {
		if v4 && i == len(parts)-1 && strings.Contains(p, ".") {
			return n + 2, isIPv4(p)
		}
		if p == "" || len(p) > 4 || strings.Trim(p, "0123456789abcdefABCDEF") != "" {
			return 0, false
		}
		n++
	}
	return n, true
}

func isIPv4(s string) bool {
	parts := strings.Split(s, ".")
	for _, p := range parts {
		if !allDigits(p) || len(p) > 3 || len(p) > 1 && p[0] == '0' || atoi(p) > 255 {
			return false
		}
	}
	return len(parts) == 4
}

// setQuery sets the query. It escapes characters that are not allowed.
func (u *URI) setQuery(q string) error {
	var b strings.Builder
	for i := range len(q) {
		switch c := q[i]; {
		case c == '\t' || c == '\r' || c == '\n':
		case c == '%' && i+2 < len(q) && digitValue(q[i+1]) > 15 && digitValue(q[i+2]) > 15:
			return convErr(KindValue, "the query %q has a %% that is not an escape", clip(q))
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"#'<>`", c) >= 0:
			b.WriteByte('%')
			b.WriteByte(hexUpper[c>>4])
			b.WriteByte(hexUpper[c&15])
		default:
			b.WriteByte(c)
		}
	}
	u.query, u.hasQuery = b.String(), true
	return nil
}

// defaultPort returns the default port of a scheme.
func defaultPort(scheme string) (int64, bool) {
	switch scheme {
	case "http", "ws":
		return 80, true
	case "https", "wss":
		return 443, scheme == "https"
	case "ftp":
		return 21, true
	case "ldap":
		return 389, true
	case "ldaps":
		return 636, true
	}
	return 0, false
}

// finish applies the rules of the scheme.
func (u *URI) finish(s string) error {
	switch u.scheme {
	case "file":
		if u.host == "localhost" {
			u.host = ""
		}
		u.hasHost, u.hasPort, u.hasUserinfo = true, false, false
	case "ftp":
		if u.hasOpaque {
			return badURI(s)
		}
		u.ftpPath()
	case "mailto":
		if u.hasQuery && !u.hasOpaque {
			u.opaque, u.hasOpaque = "?"+u.query, true
		}
		to, _, _ := strings.Cut(u.opaque, "?")
		if !u.hasOpaque || !mailAddresses(to) {
			return badURI(s)
		}
	case "ldap", "ldaps":
		if u.hasFragment || !u.hasPath {
			return badURI(s)
		}
	}
	if port, ok := defaultPort(u.scheme); ok && !u.hasPort {
		u.port, u.hasPort = port, true
	}
	return nil
}

// ftpPath converts the path to the form that is sent to a server. It is
// relative, unless it begins with an escaped slash.
func (u *URI) ftpPath() {
	p := strings.TrimPrefix(u.path, "/")
	if rest, ok := strings.CutPrefix(p, "%2F"); ok {
		p = "/" + rest
	}
	if path, code, ok := strings.Cut(p, ";type="); ok {
		p, u.typecode = path, code
	}
	u.path = p
}

// mailAddresses reports whether s consists of mail addresses that are separated
// by , or ;.
func mailAddresses(s string) bool {
	for s != "" {
		end := strings.IndexAny(s, ",;")
		one, rest := s, ""
		if end >= 0 {
			one, rest = s[:end], s[end+1:]
		}
		name, host, ok := strings.Cut(one, "@")
		if !ok || name == "" || host == "" || strings.IndexByte(host, '@') >= 0 {
			return false
		}
		s = rest
	}
	return true
}

// String returns the URI, with its scheme in lower case and without a default
// port.
func (u *URI) String() string {
	var b strings.Builder
	if u.hasScheme {
		b.WriteString(u.scheme)
		b.WriteByte(':')
	}
	if u.hasOpaque {
		b.WriteString(u.opaque)
	} else {
		if u.hasHost || u.scheme == "postgres" {
			b.WriteString("//")
		}
		if u.hasUserinfo {
			b.WriteString(u.userinfo)
			b.WriteByte('@')
		}
		b.WriteString(u.host)
		if port, ok := defaultPort(u.scheme); u.hasPort && (!ok || port != u.port) {
			b.WriteByte(':')
			b.WriteString(strconv.FormatInt(u.port, 10))
		}
		if u.scheme == "ftp" {
			b.WriteByte('/')
			if rest, ok := strings.CutPrefix(u.path, "/"); ok {
				b.WriteString("%2F")
				b.WriteString(rest)
			} else {
				b.WriteString(u.path)
			}
			if u.typecode != "" {
				b.WriteString(";type=")
				b.WriteString(u.typecode)
			}
		} else {
			b.WriteString(u.path)
		}
		if u.hasQuery {
			b.WriteByte('?')
			b.WriteString(u.query)
		}
	}
	if u.hasFragment {
		b.WriteByte('#')
		b.WriteString(u.fragment)
	}
	return b.String()
}

// Part returns a component: scheme, userinfo, host, port (an Int), path, query,
// fragment or opaque. If the component is missing, it returns Undef.
func (u *URI) Part(name string) Value {
	var s string
	var has bool
	switch name {
	case "scheme":
		s, has = u.scheme, u.hasScheme
	case "userinfo":
		s, has = u.userinfo, u.hasUserinfo
	case "host":
		s, has = u.host, u.hasHost
	case "path":
		s, has = u.path, u.hasPath
	case "query":
		s, has = u.query, u.hasQuery
	case "fragment":
		s, has = u.fragment, u.hasFragment
	case "opaque":
		s, has = u.opaque, u.hasOpaque
	case "port":
		if u.hasPort {
			return Int(u.port)
		}
	}
	if !has {
		return Undef{}
	}
	return String(s)
}

// NewURI returns the URI with the given components. Their names are those of
// [URI.Part]. The error is a *[ConversionError].
func NewURI(parts *Hash) (*URI, error) {
	u := &URI{}
	for k, v := range parts.All() {
		name, _ := k.(String)
		if n, ok := v.(Int); ok && name == "port" && n >= 0 {
			u.port, u.hasPort = int64(n), true
			continue
		}
		s, ok := v.(String)
		if !ok || s == "" {
			return nil, convErr(KindArguments, "the %s of a URI is a text that is not empty, not %s", clip(string(name)), article(v))
		}
		text := string(s)
		switch name {
		case "scheme":
			u.scheme, u.hasScheme = strings.ToLower(text), true
		case "userinfo":
			u.userinfo, u.hasUserinfo = text, true
		case "host":
			u.host, u.hasHost = text, true
		case "path":
			u.path, u.hasPath = text, true
		case "query":
			if err := u.setQuery(text); err != nil {
				return nil, err
			}
		case "fragment":
			u.fragment, u.hasFragment = text, true
		case "opaque":
			u.opaque, u.hasOpaque = text, true
		default:
			return nil, convErr(KindArguments, "a URI has no part %s", clip(Inspect(k)))
		}
	}
	return u, u.check()
}

// check returns an error if a component is invalid or the components cannot be
// combined.
func (u *URI) check() error {
	bad := func(part, s string) error {
		return convErr(KindValue, "%q is not a valid %s of a URI", clip(s), part)
	}
	switch {
	case u.hasScheme && scanScheme(u.scheme+":") != len(u.scheme):
		return bad("scheme", u.scheme)
	case u.hasUserinfo && !uriChars(u.userinfo, ":"):
		return bad("userinfo", u.userinfo)
	case u.hasOpaque && (u.hasHost || u.hasPort || u.hasUserinfo || u.hasPath || u.hasQuery):
		return convErr(KindValue, "a URI with opaque has no host, port, userinfo, path or query")
	case u.hasHost && !uriChars(strings.Trim(u.host, "[]"), ":"):
		return bad("host", u.host)
	case u.hasPath && (!uriChars(u.path, "/:@") || u.hasScheme && u.scheme != "ftp" && u.path[0] != '/'):
		return bad("path", u.path)
	case u.hasFragment && !uriChars(u.fragment, "/?:@"):
		return bad("fragment", u.fragment)
	}
	u.hasPath = !u.hasOpaque
	if u.scheme == "ftp" {
		if port, _ := defaultPort("ftp"); !u.hasPort {
			u.port, u.hasPort = port, true
		}
		return nil
	}
	return u.finish(u.String())
}
