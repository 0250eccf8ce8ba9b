package gitcache

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"bolt/internal/lazyregexp"
)

var (
	helperAddress = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9+.-]*::`)
	scpAddress    = lazyregexp.New(`^([A-Za-z0-9._~+-]+@)?[A-Za-z0-9_\[][A-Za-z0-9._:%\[\]-]*:[^:]`)
)

// schemes lists the schemes of addresses that git supports without helper
// programs.
var schemes = []string{"https", "http", "ssh", "git", "file", "git+ssh", "ssh+git"}

// CheckURL returns an error if the address of a repository is invalid. It may be
// a URL, user@host:path, or an absolute path.
func CheckURL(address string) error {
	for _, r := range address {
		if r < ' ' || r == 0x7f {
			return fmt.Errorf("the address %q has a control character", Redact(address))
		}
	}
	switch {
	case address == "":
		return fmt.Errorf("the address is empty")
	case strings.HasPrefix(address, "-"):
		return fmt.Errorf("the address %q begins with a dash, as an option does", Redact(address))
	case helperAddress().MatchString(address):
		return fmt.Errorf("the address %q is one of a helper program: only %s and paths are fetched from", Redact(address), strings.Join(schemes[:5], ", "))
	case filepath.IsAbs(address):
		return nil
	}
	if scheme, _, ok := strings.Cut(address, "://"); ok {
		for _, s := range schemes {
			if !strings.EqualFold(s, scheme) {
				continue
			}
			u, err := url.Parse(address)
			if err != nil {
				return fmt.Errorf("the address is not a URL") // the text may have a password
			}
			if err := checkUser(u); err != nil {
				return err
			}
			if s != "file" && (u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-")) {
				return fmt.Errorf("the address %q has no host", Redact(address))
			}
			return nil
		}
		return fmt.Errorf("the address %q is neither of %s, nor a path", Redact(address), strings.Join(schemes[:5], ", "))
	}
	if scpAddress().MatchString(address) {
		return nil
	}
	return fmt.Errorf("%q is not the address of a repository: give a URL (https://, ssh://), git@HOST:PATH, or a path that begins with / or ./", address)
}

// checkUser returns an error if git cannot use the user or the password of a URL.
func checkUser(u *url.URL) error {
	password, has := u.User.Password()
	switch {
	case strings.ContainsFunc(u.User.Username()+password, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("the user or the password in the address has a control character")
	case has && u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the address %q has a password, which git uses for http and https only: use an SSH key", Redact(u.String()))
	}
	return nil
}

// CheckRef returns an error if the name of a branch, tag or commit is invalid
// (git-check-ref-format(1)).
func CheckRef(ref string) error {
	bad := ref == "" || strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") ||
		strings.HasSuffix(ref, ".") || strings.HasSuffix(ref, ".lock") || strings.Contains(ref, "..") ||
		strings.Contains(ref, "@{") || strings.Contains(ref, "//") || ref == "@" || len(ref) > 1024
	for _, r := range ref {
		bad = bad || r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r)
	}
	if bad {
		return fmt.Errorf("%q is not a valid name of a branch, tag or commit", ref)
	}
	return nil
}
