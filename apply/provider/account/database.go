package account

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/resource"
)

// A passwd is an entry of /etc/passwd.
type passwd struct{ uid, gid, comment, home, shell string }

// A shadow is an entry of /etc/shadow, as texts: "-1" for a number that is not set, "absent" for no expiry.
type shadow struct{ hash, min, max, warn, expiry string }

// A member is an entry of /etc/group.
type entry struct {
	gid     string
	members []string
}

// A database has the users and groups of the host.
type database struct {
	users   map[string]*passwd
	shadows map[string]*shadow
	groups  map[string]*entry
}

// load reads the files, and with getent the users and groups of these names that are not in the files.
func load(ctx context.Context, h *resource.Host, users, groups []string) (*database, error) {
	d := &database{make(map[string]*passwd), make(map[string]*shadow), make(map[string]*entry)}
	for _, f := range []struct {
		file string
		add  func([]string)
	}{{"/etc/passwd", d.user}, {"/etc/group", d.group}, {"/etc/shadow", d.secret}} {
		data, err := os.ReadFile(h.Path(f.file))
		// Users other than root see no passwords and ages, as in Puppet.
		hidden := f.file == "/etc/shadow" && errors.Is(err, fs.ErrPermission)
		if err != nil && !hidden && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the accounts: %v", err)
		}
		parse(string(data), f.add)
	}
	if err := getent(ctx, h, "passwd", missing(users, d.users), d.user); err != nil {
		return nil, err
	}
	return d, getent(ctx, h, "group", missing(groups, d.groups), d.group)
}

func missing[T any](names []string, known map[string]T) (list []string) {
	for _, n := range names {
		if _, is := known[n]; !is && !slices.Contains(list, n) {
			list = append(list, n)
		}
	}
	return list
}

// getent queries the name service for entries. Unknown names are not an error.
func getent(ctx context.Context, h *resource.Host, table string, names []string, add func([]string)) error {
	program := h.Find("getent")
	if program == "" || len(names) == 0 {
		return nil
	}
	out, err := h.Run(ctx, &resource.Command{Argv: append([]string{program, table}, names...), Env: h.Environ(), Timeout: resource.QueryLimit})
	if err != nil {
		return fmt.Errorf("getent %s: %v", table, err)
	}
	const unknown = 2 // the exit code if a name is not known; the others are printed
	if out.Code != unknown {
		if err := out.Failure("getent"); err != nil {
			return err
		}
	}
	parse(string(out.Stdout), add)
	return nil
}

// parse calls add with the fields of each line.
func parse(text string, add func([]string)) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			add(strings.Split(line, ":"))
		}
	}
}

// The first of several entries of one name takes effect, as in the C library.

func (d *database) user(f []string) {
	if len(f) >= 7 && d.users[f[0]] == nil {
		d.users[f[0]] = &passwd{uid: f[2], gid: f[3], comment: f[4], home: f[5], shell: f[6]}
	}
}

func (d *database) group(f []string) {
	if len(f) >= 4 && d.groups[f[0]] == nil {
		d.groups[f[0]] = &entry{gid: f[2], members: strings.FieldsFunc(f[3], func(c rune) bool { return c == ',' })}
	}
}

func (d *database) secret(f []string) {
	if len(f) < 8 || d.shadows[f[0]] != nil {
		return
	}
	number := func(text string) string {
		if text == "" {
			return "-1"
		}
		return text
	}
	s := &shadow{hash: f[1], min: number(f[3]), max: number(f[4]), warn: number(f[5]), expiry: "absent"}
	if days, err := strconv.Atoi(f[7]); err == nil && days >= 0 {
		s.expiry = time.Unix(0, 0).UTC().AddDate(0, 0, days).Format(time.DateOnly)
	}
	d.shadows[f[0]] = s
}

// groupsOf returns the groups that have a user as a member, sorted. The primary group is not one of them.
func (d *database) groupsOf(user string) (list []string) {
	for name, g := range d.groups {
		if slices.Contains(g.members, user) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// gid returns the number of a group, which is given by name or number; "" if the name is unknown.
func (d *database) gid(group string) string {
	if isNumber(group) {
		return group
	}
	if g := d.groups[group]; g != nil {
		return g.gid
	}
	return ""
}

// isNumber reports whether Puppet takes a text for a number.
func isNumber(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// Watch implements resource.Watcher.
func (g *group) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	return resource.Paths(h.Path("/etc/group"), h.Path("/etc/gshadow"))
}

// Watch implements resource.Watcher.
func (u *user) Watch(ctx context.Context, h *resource.Host) []resource.Watch {
	list := resource.Paths(h.Path("/etc/passwd"), h.Path("/etc/shadow"), h.Path("/etc/group"))
	if len(u.keys) > 0 {
		list = append(list, resource.Watch{Poll: true})
	}
	return list
}
