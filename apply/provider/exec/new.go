package exec

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// secrets are the parameters that make all commands of an exec secret.
var secrets = []string{"command", "unless", "onlyif", "refresh", "environment"}

// New checks the parameters.
func (execType) New(r *resource.Resource) (resource.Item, error) {
	x := &item{r: r, secret: slices.ContainsFunc(secrets, r.Secret)}
	for _, read := range []func() error{x.readProvider, x.readPaths, x.readCommands, x.readChecks, x.readIdentity, x.readEnvironment, x.readLimits, x.readOutput} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func bad(param, format string, a ...any) error {
	return &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
}

// quoted is the end of a problem: the value, unless it is secret.
func (x *item) quoted(param, text string) string {
	if x.secret && slices.Contains(secrets, param) {
		return ""
	}
	return x.r.Shown(param, text)
}

func (x *item) readProvider() error {
	provider, given, err := x.r.Text("provider")
	if err != nil {
		return err
	}
	if given && !slices.Contains([]string{"posix", "shell", "windows"}, provider) {
		return bad("provider", "must be posix or shell%s", x.quoted("provider", provider))
	}
	x.shell, x.windows = provider == "shell", provider == "windows"
	return nil
}

func (x *item) readPaths() (err error) {
	dirs, given, err := x.r.Texts("path")
	if err != nil {
		return err
	}
	if given {
		x.path = []string{}
		for _, d := range dirs {
			x.path = append(x.path, strings.Split(d, ":")...)
		}
	}
	if x.cwd, _, err = x.r.Text("cwd"); err != nil {
		return err
	}
	if x.creates, _, err = x.r.Texts("creates"); err != nil {
		return err
	}
	if x.cwd != "" && !path.IsAbs(x.cwd) {
		return bad("cwd", "must be an absolute path%s", x.quoted("cwd", x.cwd))
	}
	for _, c := range x.creates {
		if !path.IsAbs(c) {
			return bad("creates", "must be an absolute path%s", x.quoted("creates", c))
		}
	}
	return nil
}

func (x *item) readCommands() error {
	var v any = x.r.Title
	for _, param := range []string{"name", "command"} {
		if given := x.r.Params.Value(param); given != nil {
			v = given
		}
	}
	c, err := x.readCommand("command", v)
	if err != nil {
		return err
	}
	x.command = *c
	if v := x.r.Params.Value("refresh"); v != nil {
		if x.refresh, err = x.readCommand("refresh", v); err != nil {
			return err
		}
	}
	return nil
}

// readCommand reads a command, which can be a list.
func (x *item) readCommand(param string, v any) (*command, error) {
	c := &command{}
	switch v := v.(type) {
	case string:
		c.line = v
	case []any:
		for _, word := range v {
			switch word.(type) {
			case string, int64, float64, bool:
			default:
				return nil, bad(param, "must be a string or a list of strings")
			}
			c.list = append(c.list, fmt.Sprint(word))
		}
	default:
		return nil, bad(param, "must be a string or a list of strings")
	}
	if c.line == "" && len(c.list) == 0 {
		return nil, bad(param, "must not be empty")
	}
	program := c.program()
	if !x.shell && x.path == nil && !path.IsAbs(program) {
		return nil, bad(param, "must begin with the absolute path of a program, because the parameter path is not given%s", x.quoted(param, program))
	}
	return c, nil
}

func (x *item) readChecks() (err error) {
	if x.refreshonly, err = x.r.Bool("refreshonly", false); err != nil {
		return err
	}
	if x.unless, err = x.readCheck("unless"); err != nil {
		return err
	}
	x.onlyif, err = x.readCheck("onlyif")
	return err
}

// readCheck reads a list of commands.
func (x *item) readCheck(param string) (checks []command, err error) {
	v := x.r.Params.Value(param)
	if v == nil {
		return nil, nil
	}
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, v := range list {
		c, err := x.readCommand(param, v)
		if err != nil {
			return nil, err
		}
		checks = append(checks, *c)
	}
	return checks, nil
}

var umask = lazyregexp.New(`^0?[0-7]{1,4}$`)

func (x *item) readIdentity() (err error) {
	if x.user, _, err = x.r.Text("user"); err != nil {
		return err
	}
	if x.group, _, err = x.r.Text("group"); err != nil {
		return err
	}
	v := x.r.Params.Value("umask")
	text, is := v.(string)
	if v != nil && (!is || !umask().MatchString(text)) {
		return bad("umask", "must be a string of octal digits, such as '0022'")
	}
	x.umask = text
	return nil
}

var variable = lazyregexp.New(`(?s)\w+=`)

func (x *item) readEnvironment() error {
	settings, _, err := x.r.Texts("environment")
	if err != nil {
		return err
	}
	for _, s := range settings {
		if !variable().MatchString(s) {
			return bad("environment", "must have the form NAME=value%s", x.quoted("environment", s))
		}
		if loc := variable().FindStringIndex(s); loc[0] == 0 { // Puppet ignores settings such as a-b=c
			x.environment = append(x.environment, s)
		}
	}
	return nil
}

// seconds reads a number of seconds. The largest is about 30 years.
func (x *item) seconds(param string, without float64) (time.Duration, error) {
	v := x.r.Params.Value(param)
	if list, is := v.([]any); is && len(list) > 0 {
		v = list[0]
	}
	n := without
	switch v := v.(type) {
	case nil:
	case int64:
		n = float64(v)
	case float64:
		n = v
	case string:
		var err error
		if n, err = strconv.ParseFloat(strings.TrimSpace(v), 64); err != nil {
			return 0, bad(param, "must be a number of seconds%s", x.quoted(param, v))
		}
	default:
		return 0, bad(param, "must be a number of seconds")
	}
	return time.Duration(min(n, 1e9) * float64(time.Second)), nil
}

func (x *item) readLimits() (err error) {
	if x.timeout, err = x.seconds("timeout", 300); err != nil {
		return err
	}
	x.timeout = max(x.timeout, 0)
	if x.pause, err = x.seconds("try_sleep", 0); err != nil {
		return err
	}
	if x.pause < 0 {
		return bad("try_sleep", "must not be negative")
	}
	if x.tries, err = x.r.Int("tries", 1); err != nil {
		return err
	}
	if x.tries < 1 {
		return bad("tries", "must be 1 or more")
	}
	return nil
}

func (x *item) readOutput() error {
	returns, given, err := x.r.Texts("returns")
	if err != nil {
		return err
	}
	x.returns = []string{"0"}
	if given {
		x.returns = returns
	}
	output, given, err := x.r.Text("logoutput")
	if err != nil {
		return err
	}
	switch {
	case !given || output == "on_failure":
		x.logs = true
	case output == "true":
		x.logsAll = true
	case output != "false":
		return bad("logoutput", "must be true, false or on_failure%s", x.quoted("logoutput", output))
	}
	x.level, err = x.r.LogLevel()
	return err
}
