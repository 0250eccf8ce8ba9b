// Package curl writes configuration files of curl(1). Programs of the target download for providers, so the helper has no
// HTTP client. curl reads the configuration from its standard input, so the process list does not show credentials.
package curl

import (
	"fmt"
	"strings"
)

// A Config has lines of a configuration file.
type Config struct{ b strings.Builder }

// New returns the settings of all downloads of a location. Only errors are printed, and redirects are followed.
func New(location string) *Config {
	c := &Config{}
	for _, flag := range []string{"silent", "show-error", "location", "globoff"} {
		c.Flag(flag)
	}
	c.Number("connect-timeout", 60)
	c.Set("url", location)
	return c
}

// Flag sets an option without a value.
func (c *Config) Flag(option string) { fmt.Fprintf(&c.b, "%s\n", option) }

// Number sets an option to a number.
func (c *Config) Number(option string, n int64) { fmt.Fprintf(&c.b, "%s = %d\n", option, n) }

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`)

// Set sets an option to a string, if the string is not empty. The string must be one line.
func (c *Config) Set(option, value string) {
	if value != "" {
		fmt.Fprintf(&c.b, "%s = \"%s\"\n", option, quoted.Replace(value))
	}
}

// Bytes returns the configuration file.
func (c *Config) Bytes() []byte { return []byte(c.b.String()) }

// Named returns a location for messages: without the user and password of a URL, and not at all if it is secret.
func Named(location string, secret bool) string {
	if secret {
		return "(Sensitive)"
	}
	return Shown(location)
}

// Shown returns a location without the user and password of a URL, for messages.
func Shown(location string) string {
	scheme, rest, is := strings.Cut(location, "://")
	if !is {
		return location
	}
	host, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndex(host, "@")
	if _, port, is := strings.Cut(host, ":"); at < 0 && is && strings.Trim(port, "0123456789") != "" {
		at = strings.LastIndex(rest, "@") // the password may have a slash
		host, path, slash = rest, "", false
	}
	if at < 0 {
		return location
	}
	shown := scheme + "://" + host[at+1:]
	if slash {
		shown += "/" + path
	}
	return shown
}
