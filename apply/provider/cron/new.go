package cron

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// specials are the words that can stand for the times.
var specials = []string{"reboot", "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly", "absent"}

// New checks the parameters.
func (cronType) New(r *resource.Resource) (resource.Item, error) {
	x := &item{r: r, name: r.Title, ensure: "present", times: make(map[string][]string)}
	provider := ""
	for param, to := range map[string]*string{"name": &x.name, "ensure": &x.ensure, "user": &x.user, "provider": &provider} {
		text, given, err := r.Text(param)
		if err != nil {
			return nil, err
		}
		if given {
			*to = text
		}
	}
	if strings.ContainsAny(x.name, "\n\x00") {
		return nil, bad("name", "must be one line%s", r.Shown("name", x.name))
	}
	if provider != "" && provider != "crontab" {
		return nil, bad("provider", "must be crontab%s", r.Shown("provider", provider))
	}
	target, given, err := r.Text("target")
	if err != nil {
		return nil, err
	}
	if given {
		x.user = target // the crontab decides, as in Puppet
	}
	if strings.HasPrefix(x.user, "-") || x.user != path.Base(x.user) && x.user != "" {
		return nil, bad("user", "must be the name of a user%s", r.Shown("user", x.user))
	}
	for _, read := range []func() error{x.readCommand, x.readTimes, x.readSpecial, x.readEnvironment} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func bad(param, format string, a ...any) error {
	return &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
}

func (x *item) readCommand() error {
	words, given, err := x.r.Texts("command")
	if err != nil || !given {
		return err
	}
	if len(words) != 1 || strings.TrimSpace(words[0]) == "" || strings.ContainsAny(strings.TrimSpace(words[0]), "\n\x00") {
		return bad("command", "must be one line")
	}
	text := strings.TrimSpace(words[0])
	x.command = &text
	return nil
}

// A field describes the possible values of one part of a time.
type field struct {
	low, high int
	names     []string // the first stands for low
}

var fields = map[string]field{
	"minute":   {0, 59, nil},
	"hour":     {0, 23, nil},
	"monthday": {1, 31, nil},
	"month": {1, 12, []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}},
	"weekday": {0, 7, []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}},
}

func (x *item) readTimes() error {
	for _, f := range timeFields {
		v := x.r.Params.Value(f)
		if v == nil {
			continue
		}
		words := flatten(v)
		times := []string{}
		for _, w := range words {
			t, ok := fields[f].read(fmt.Sprint(w))
			if !ok {
				return bad(f, "must be a number from %d to %d%s, a range such as 1-5 or */2, or a list of these%s", fields[f].low, fields[f].high,
					fields[f].named(), x.r.Shown(f, fmt.Sprint(w)))
			}
			times = append(times, t)
		}
		if len(times) > 0 && times[0] == "" {
			times = nil // absent
		}
		x.times[f] = times
	}
	return nil
}

func flatten(v any) []any {
	list, is := v.([]any)
	if !is {
		return []any{v}
	}
	var out []any
	for _, x := range list {
		out = append(out, flatten(x)...)
	}
	return out
}

var (
	verbatim = lazyregexp.New(`^(\*/[0-9]+|[0-9]+-[0-9]+(/[0-9]+)?)$`)
	digits   = lazyregexp.New(`^[0-9]+$`)
)

func (f field) named() string {
	if f.names == nil {
		return ""
	}
	return fmt.Sprintf(", a name such as %s", f.names[0])
}

// read returns a time as crontabs have it; "" for *.
func (f field) read(word string) (text string, ok bool) {
	switch {
	case word == "absent" || word == "*":
		return "", true
	case verbatim().MatchString(word):
		return word, true
	case digits().MatchString(word):
		n, err := strconv.Atoi(word)
		return word, err == nil && n >= f.low && n <= f.high
	}
	for i, name := range f.names {
		if w := strings.ToLower(word); w == name || w == name[:3] {
			return strconv.Itoa(f.low + i), true
		}
	}
	return "", false
}

func (x *item) readSpecial() error {
	special, given, err := x.r.Text("special")
	if err != nil || !given {
		return err
	}
	if !slices.Contains(specials, special) {
		return bad("special", "must be one of %s%s", strings.Join(specials, ", "), x.r.Shown("special", special))
	}
	if special == "absent" {
		special = ""
	}
	x.special = &special
	if special == "" {
		return nil
	}
	for _, f := range timeFields {
		if len(x.times[f]) > 0 {
			return bad("special", "cannot be given together with %s", f)
		}
	}
	return nil
}

var environmentLine = lazyregexp.New(`^\s*\w+\s*=`)

func (x *item) readEnvironment() error {
	lines, given, err := x.r.Texts("environment")
	if err != nil || !given {
		return err
	}
	env := []string{}
	for _, l := range lines {
		if l == "absent" {
			continue
		}
		if !environmentLine().MatchString(l) || strings.ContainsAny(l, "\n\x00") {
			return bad("environment", "must have the form NAME=value%s", x.r.Shown("environment", l))
		}
		env = append(env, l)
	}
	x.env = &env
	return nil
}
