// Package curl runs curl(1). Programs of the target download for providers, so the helper has no HTTP client. curl reads the configuration from its standard input, so the process list does not show credentials.
package curl

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
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

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "\n", `\n`, "\r", `\r`)

// Set sets an option to a string, if the string is not empty.
func (c *Config) Set(option, value string) {
	if value != "" {
		fmt.Fprintf(&c.b, "%s = \"%s\"\n", option, quoted.Replace(value))
	}
}

// Run runs curl with the configuration, and without configuration files of the target. It writes to a file; nil stands for the output
// that Run returns.
func (c *Config) Run(ctx context.Context, h *resource.Host, to *os.File, limit time.Duration) (*resource.Output, error) {
	program := &tool.Tool{Name: "curl", Hint: "Install it on the target", Limit: limit}
	out, err := program.Run(ctx, h, &resource.Command{Argv: []string{"--disable", "--config", "-"}, Stdin: c.Bytes(), Output: to})
	if err != nil {
		return nil, err
	}
	return out, out.Failure("curl")
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
