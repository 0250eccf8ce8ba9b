package value

import (
	"slices"
	"strings"
)

// Join resolves ref against u, as Ruby's URI#merge does: by RFC 2396, with some
// differences. The error is a *[ConversionError].
func (u *URI) Join(ref *URI) (*URI, error) {
	switch {
	case ref.hasScheme:
		return ref, nil
	case !u.hasScheme:
		return nil, convErr(KindValue, "both URIs are relative")
	}
	out := *u
	authority := ref.hasUserinfo || ref.hasHost || ref.hasPort
	if ref.path == "" && !authority && !ref.hasQuery {
		if ref.hasFragment {
			out.fragment, out.hasFragment = ref.fragment, true
		}
		return &out, nil
	}
	if ref.hasQuery && u.hasOpaque {
		return nil, convErr(KindValue, "the query %q cannot be added to the URI %q, which has no path", clip(ref.query), clip(u.String()))
	}
	switch {
	case authority:
		out.setPath(ref.path)
	case u.hasPath:
		out.setPath(joinPath(u.path, ref.path))
	}
	if u.scheme != "file" { // a file URI has neither
		if ref.hasUserinfo {
			out.setUserinfo(ref.userinfo)
		}
		if ref.hasPort {
			out.port, out.hasPort = ref.port, true
		}
	}
	if ref.hasHost {
		if out.host, out.hasHost = ref.host, true; u.scheme == "file" && ref.host == "localhost" {
			out.host = ""
		}
	}
	out.query, out.hasQuery = ref.query, ref.hasQuery
	out.fragment, out.hasFragment = ref.fragment, ref.hasFragment
	return &out, nil
}

func (u *URI) setPath(p string) {
	if rest, ok := strings.CutPrefix(p, "%2F"); ok && u.scheme == "ftp" {
		p = "/" + rest
	}
	u.path, u.hasPath = p, true
}

// setUserinfo sets the user and the password. If info does not contain a
// password, the old password is kept.
func (u *URI) setUserinfo(info string) {
	if !strings.Contains(info, ":") {
		if _, password, ok := strings.Cut(u.userinfo, ":"); ok {
			info += ":" + password
		}
	}
	u.userinfo, u.hasUserinfo = info, true
}

// joinPath resolves a path against another path. The part after ".." at the
// beginning of a path is kept, and "/.." loses its slash.
func joinPath(base, ref string) string {
	at, rest := segments(base), segments(ref)
	if len(at) > 0 && at[len(at)-1] == ".." {
		at = append(at, "")
	}
	for {
		i := slices.Index(at, "..")
		if i < 0 {
			break
		}
		if i == 0 {
			i = len(at) // Ruby counts from the end
		}
		at = slices.Delete(at, i-1, min(i+1, len(at)))
	}
	if len(rest) > 0 && rest[0] == "" {
		at, rest = nil, rest[1:]
	}
	if n := len(rest); n > 0 && (rest[n-1] == "." || rest[n-1] == "..") {
		rest = append(rest, "")
	}
	var way []string
	for _, s := range rest {
		switch {
		case s == ".":
		case s == ".." && len(way) > 0 && way[len(way)-1] != "..":
			way = way[:len(way)-1]
		default:
			way = append(way, s)
		}
	}
	slash := len(way) > 0
	switch {
	case len(at) == 0:
		at = []string{""}
	case slash:
		at = at[:len(at)-1]
	}
	for i, s := range way {
		if s != ".." {
			at = append(at, way[i:]...)
			slash = false
			break
		}
		if len(at) > 1 {
			at = at[:len(at)-1]
		}
	}
	if slash {
		at = append(at, "")
	}
	return strings.Join(at, "/")
}

func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}
