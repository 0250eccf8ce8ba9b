package mount

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"bolt/apply/resource"
)

// New checks the parameters.
func (mountType) New(r *resource.Resource) (resource.Item, error) {
	x := &item{r: r, name: r.Title}
	x.want[pass], x.want[dump] = "0", "0"
	x.managed[pass], x.managed[dump] = true, true
	provider := ""
	for param, to := range map[string]*string{"name": &x.name, "ensure": &x.ensure, "target": &x.target, "provider": &provider} {
		text, given, err := r.Text(param)
		if err != nil {
			return nil, err
		}
		if given {
			*to = text
		}
	}
	for f := range fieldCount {
		text, given, err := r.Text(fieldNames[f])
		if err != nil {
			return nil, err
		}
		if given {
			x.want[f], x.managed[f] = text, true
		}
	}
	if x.ensure == "present" {
		x.ensure = "defined"
	}
	x.name = trim(x.name)
	var err error
	if x.remount, err = r.Bool("remounts", true); err != nil {
		return nil, err
	}
	if _, err = r.Bool("atboot", true); err != nil { // the option noauto decides on Linux
		return nil, err
	}
	if provider != "" && provider != "parsed" {
		return nil, bad("provider", "must be parsed%s", r.Shown("provider", provider))
	}
	return x, x.check()
}

func bad(param, format string, a ...any) error {
	return &resource.ParamError{Param: param, Problem: fmt.Sprintf(format, a...)}
}

func (x *item) check() error {
	switch {
	case x.name == "" || strings.ContainsAny(x.name, "\n\x00") || strings.HasPrefix(x.name, "-"):
		return bad("name", "must be the path of a mount%s", x.r.Shown("name", x.name))
	case x.target != "" && !path.IsAbs(x.target):
		return bad("target", "must be an absolute path%s", x.r.Shown("target", x.target))
	case x.want[dump] != "0" && x.want[dump] != "1":
		return bad("dump", "must be 0 or 1")
	}
	if _, err := strconv.ParseUint(x.want[pass], 10, 8); err != nil {
		return bad("pass", "must be a small number")
	}
	if text := x.want[device]; x.managed[device] && (text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, "\n\x00")) {
		return bad("device", "must be the name of a device")
	}
	for _, f := range []field{fstype, options} {
		if x.managed[f] && (x.want[f] == "" || strings.ContainsAny(x.want[f], " \t\n\x00")) {
			return bad(fieldNames[f], "must be one word without spaces")
		}
	}
	return nil
}
