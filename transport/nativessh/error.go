package nativessh

import (
	"slices"
	"strings"

	"bolt/transport"
)

// A complaint is an error of ssh, recognized by a part of its text.
type complaint struct {
	texts      []string
	class      transport.Class
	code, hint string
}

const (
	codeConnect = "CONNECT_ERROR"
	codeHostKey = "HOST_KEY_ERROR"
	codeAuth    = "AUTH_ERROR"
)

// complaints returns the known errors, in the order in which they are searched.
func complaints() []complaint {
	return []complaint{
		{[]string{"REMOTE HOST IDENTIFICATION HAS CHANGED", "revoked host key", "host key is marked as revoked"}, transport.ClassHostKeyChanged, codeHostKey,
			"If the key was changed on purpose, remove the old one with ssh-keygen -R."},
		{[]string{"Host key verification failed", "No ED25519 host key is known", "host key is known for"}, transport.ClassHostKeyUnknown, codeHostKey,
			"Add the host's key to known_hosts, or set host-key-check to false."},
		{[]string{"Permission denied (", "Too many authentication failures", "No more authentication methods"}, transport.ClassAuth, codeAuth,
			"native-ssh logs in with ssh: try the same login with ssh itself."},
		{[]string{"Could not resolve hostname", "Name or service not known"}, transport.ClassResolve, codeConnect, ""},
		{[]string{"timed out"}, transport.ClassTimeout, codeConnect, ""},
		{[]string{"no matching ", "Protocol major versions differ", "Invalid ssh identification string"}, transport.ClassProtocol, codeConnect, ""},
		{[]string{"Exceeded MaxStartups"}, transport.ClassThrottled, codeConnect, ""},
		{[]string{"unknown option", "illegal option", "usage: ", "Bad configuration option", "terminating, "}, transport.ClassUnsupported, codeConnect,
			"Check ssh-command and ssh_config."},
	}
}

// refused returns the error for an ssh that has not logged in.
func (s *starter) refused(said string) *transport.Error {
	for _, c := range complaints() {
		if slices.ContainsFunc(c.texts, func(t string) bool { return strings.Contains(said, t) }) {
			e := connectError(c.class, s.to.Host, nil, said, c.hint)
			e.Code = c.code
			return e
		}
	}
	return connectError(transport.ClassConnect, s.to.Host, nil, said, "")
}
