package gitcache

import (
	"net/url"
	"strings"
)

// Variables of git's environment that hold the credentials of an address.
const (
	nameVariable     = "BOLT_GIT_USERNAME"
	passwordVariable = "BOLT_GIT_PASSWORD"
)

// helper is a credential helper (gitcredentials(7)) that prints the credentials. git
// runs it with a shell, whose printf is a builtin. So the credentials do not appear in
// the arguments of a process.
const helper = `!f() { test "$1" != get || printf 'username=%s\npassword=%s\n' "$` + nameVariable + `" "$` + passwordVariable + `"; }; f`

// credentials are the user and the password of an address for HTTP.
type credentials struct {
	scope       string // the server that they are for, as a URL
	name        string
	password    string
	hasPassword bool
}

// splitCredentials removes the user and the password from an HTTP address, because
// all users can read the arguments of git's processes. It returns other addresses
// unchanged.
func splitCredentials(address string) (string, *credentials) {
	u, err := url.Parse(address)
	before, _, after := splitUser(address)
	if err != nil || u.User == nil || !isHTTP(before) {
		return address, nil
	}
	c := &credentials{scope: u.Scheme + "://" + u.Host, name: u.User.Username()}
	c.password, c.hasPassword = u.User.Password()
	return before + strings.TrimPrefix(after, "@"), c
}

// settings make git use the credentials, for their server only. If there is no
// password, git queries the user's own helpers. If there is a password, the helpers
// are disabled, because git would also have them store it.
func (c *credentials) settings() [][2]string {
	key := "credential." + c.scope + "."
	if !c.hasPassword {
		return [][2]string{{key + "username", c.name}}
	}
	return [][2]string{{key + "helper", ""}, {key + "helper", helper}}
}

// environment returns the variables that the helper prints.
func (c *credentials) environment() []string {
	if !c.hasPassword {
		return nil
	}
	return []string{nameVariable + "=" + c.name, passwordVariable + "=" + c.password}
}
