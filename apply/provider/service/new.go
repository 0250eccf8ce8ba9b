package service

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bolt/apply/resource"
)

// providers are the names of the managers. others are providers of Puppet for other platforms, and some that bolt does not
// have: a resource with one of them fails when it is applied, as in Puppet.
var (
	providers = []string{"base", "debian", "init", "openrc", "redhat", "systemd"}
	others    = []string{"bsd", "daemontools", "freebsd", "gentoo", "launchd", "openbsd", "openwrt", "rcng", "runit", "service", "smf", "src", "upstart", "windows"}
)

// New checks the parameters.
func (serviceType) New(r *resource.Resource) (resource.Item, error) {
	x := &item{r: r, name: r.Title, commands: make(map[string]command)}
	for param, to := range map[string]*string{"name": &x.name, "ensure": &x.ensure, "enable": &x.enable, "provider": &x.provider, "binary": &x.binary} {
		text, given, err := r.Text(param)
		if err != nil {
			return nil, err
		}
		if given {
			*to = text
		}
	}
	if x.name == "" || strings.HasPrefix(x.name, "-") || strings.ContainsAny(x.name, "\n\x00") {
		return nil, bad("name", "must be the name of a service%s", r.Shown("name", x.name))
	}
	switch x.ensure {
	case "true":
		x.ensure = "running"
	case "false":
		x.ensure = "stopped"
	}
	if x.provider != "" && !slices.Contains(providers, x.provider) && !slices.Contains(others, x.provider) {
		return nil, bad("provider", "must be one of %s, and is %q", strings.Join(providers, ", "), x.provider)
	}
	switch {
	case x.enable == "manual" || x.enable == "delayed":
		return nil, bad("enable", "cannot be %s on Linux", x.enable)
	case x.enable == "mask" && x.provider != "" && x.provider != "systemd":
		return nil, bad("enable", "cannot be mask with the provider %s", x.provider)
	}
	var err error
	if x.hasstatus, err = r.Bool("hasstatus", true); err != nil {
		return nil, err
	}
	if x.hasrestart, err = r.Bool("hasrestart", false); err != nil {
		return nil, err
	}
	dirs, _, err := r.Texts("path")
	if err != nil {
		return nil, err
	}
	for _, d := range dirs {
		x.path = append(x.path, strings.Split(d, ":")...)
	}
	for _, param := range []string{"start", "stop", "status", "restart"} {
		if err := x.readCommand(param); err != nil {
			return nil, err
		}
	}
	return x, x.readPattern()
}

func bad(param, format string, a ...any) error {
	return &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
}

// readCommand reads a command. A list is not given to the shell.
func (x *item) readCommand(param string) error {
	words, given, err := x.r.Texts(param)
	if err != nil || !given || len(words) == 0 || words[0] == "" {
		return err
	}
	c := program(words...)
	if _, list := x.r.Params.Value(param).([]any); !list {
		c = line(words[0])
		c.secret = x.r.Secret(param)
	}
	x.commands[param] = c
	return nil
}

// readPattern reads the pattern for the command lines of processes. A pattern that Go does not understand
// can be one of Ruby, and may not be needed.
func (x *item) readPattern() error {
	text, given, err := x.r.Text("pattern")
	if err != nil {
		return err
	}
	if !given {
		text = x.name
		if x.binary != "" {
			text = x.binary
		}
	}
	x.pattern, x.noPattern = regexp.Compile(text)
	return nil
}
