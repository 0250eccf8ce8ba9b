// Package account applies users and groups.
//
// The state comes from /etc/passwd, /etc/shadow and /etc/group, read once for all users or groups
// that can be applied, and from getent for names that the files do not have. Changes are made by the
// programs of shadow (useradd, usermod, chage, groupadd), or by those of BusyBox where shadow is not
// installed: they can create and remove accounts, set passwords, and change the groups of a user. With
// forcelocal, the programs of libuser are used if the host has them.
//
// A password hash is passed to chpasswd on its standard input. All other properties are arguments of
// programs: they end in files that every user of the machine can read, except for the ages of
// passwords and the date of expiry.
package account

import (
	"context"
	"fmt"
	"strings"

	"bolt/apply/resource"
)

// run runs a program of the host with the input stdin. The program must end with exit code 0.
func run(ctx context.Context, h *resource.Host, stdin string, program string, args ...string) error {
	path := h.Find(program)
	if path == "" {
		return fmt.Errorf("the program %s is missing", program)
	}
	out, err := h.Run(ctx, &resource.Command{Argv: append([]string{path}, args...), Env: h.Environ(), Stdin: []byte(stdin), Timeout: resource.ChangeLimit})
	if err != nil {
		return fmt.Errorf("%s: %v", program, err)
	}
	return out.Failure(program)
}

// has reports whether the host has a program.
func has(h *resource.Host, program string) bool { return h.Find(program) != "" }

// name is the name of the account: the parameter or the title.
func name(r *resource.Resource) (string, error) {
	text, given, err := r.Text("name")
	if !given {
		text = r.Title
	}
	switch {
	case err != nil:
		return "", err
	case text == "" || strings.HasPrefix(text, "-") || strings.ContainsAny(text, ":,\n\x00"):
		return "", &resource.ParamError{Param: "name", Problem: fmt.Sprintf("is %q: a name must not be empty, begin with -, or have a colon, a comma or the end of a line in it", text)}
	}
	return text, nil
}

// provider checks the parameter of that name.
func provider(r *resource.Resource, allowed string) error {
	text, given, err := r.Text("provider")
	if err == nil && given && text != allowed {
		err = &resource.ParamError{Param: "provider", Problem: fmt.Sprintf("must be %s, and is %q", allowed, text)}
	}
	return err
}

// absent reads the parameter ensure.
func absent(r *resource.Resource) (bool, error) {
	text, given, err := r.Text("ensure")
	switch {
	case err != nil || !given || text == "present":
		return false, err
	case text == "absent":
		return true, nil
	}
	return false, &resource.ParamError{Param: "ensure", Problem: "must be present or absent" + r.Shown("ensure", text)}
}

// items converts the items of a type.
func items[T resource.Item](list []resource.Item) []T {
	own := make([]T, len(list))
	for i, x := range list {
		own[i] = x.(T)
	}
	return own
}

// fill is a list with the same error n times.
func fill(n int, err error) []error {
	errs := make([]error, n)
	for i := range errs {
		errs[i] = err
	}
	return errs
}
