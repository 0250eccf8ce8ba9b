package account

import (
	"context"
	"fmt"
	"os"
	"strings"

	"bolt/apply/resource"
)

// Do implements resource.Item.
func (u *user) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	if !has(h, "useradd") && has(h, "adduser") {
		return u.busybox(ctx, h, c)
	}
	switch {
	case c.Property == "ensure" && u.absent:
		return u.remove(ctx, h)
	case c.Property == "ensure":
		return u.create(ctx, h)
	}
	return u.modify(ctx, h, c.Property)
}

// tool is the name of a program, or of libuser's variant of it for a user that must be local.
func (u *user) tool(h *resource.Host, name string) string {
	if u.forcelocal && has(h, "l"+name) {
		return "l" + name
	}
	return name
}

// flags are the options of useradd, usermod and chage.
var flags = map[string]string{
	"comment": "-c", "expiry": "-e", "gid": "-g", "groups": "-G", "home": "-d", "shell": "-s", "uid": "-u",
	"password_min_age": "-m", "password_max_age": "-M", "password_warn_days": "-W",
}

// created are the properties that useradd sets.
var created = []string{"comment", "expiry", "gid", "groups", "home", "shell", "uid"}

func (u *user) create(ctx context.Context, h *resource.Host) error {
	if err := u.checkShell(h); err != nil {
		return err
	}
	add := u.tool(h, "useradd")
	local := add != "useradd"
	if local && !u.allowdupe {
		if err := u.unique(); err != nil {
			return err
		}
	}
	var args []string
	if _, given := u.want["gid"]; !given && u.groupExists(ctx, h) {
		args = append(args, "-g", u.name)
	}
	for _, p := range created {
		// libuser cannot set these two when it creates a user.
		if v := u.want[p]; v != "" && !(local && (p == "groups" || p == "expiry")) {
			args = append(args, flags[p], argument(p, v))
		}
	}
	if u.allowdupe && !local {
		args = append(args, "-o")
	}
	switch {
	case !u.managehome:
		args = append(args, "-M")
	case !local: // libuser makes the directory without an option
		args = append(args, "-m")
	}
	if u.system {
		args = append(args, "-r")
	}
	if err := run(ctx, h, "", add, append(args, u.name)...); err != nil {
		return err
	}
	if local {
		for _, p := range []string{"groups", "expiry"} {
			if v := u.want[p]; v != "" {
				if err := run(ctx, h, "", "usermod", flags[p], argument(p, v), u.name); err != nil {
					return err
				}
			}
		}
	}
	var ages []string
	for _, p := range []string{"password_min_age", "password_max_age", "password_warn_days"} {
		if v, given := u.want[p]; given {
			ages = append(ages, flags[p], v)
		}
	}
	if ages != nil {
		if err := run(ctx, h, "", u.tool(h, "chage"), append(ages, u.name)...); err != nil {
			return err
		}
	}
	if _, given := u.want["password"]; given {
		return u.setPassword(ctx, h)
	}
	return nil
}

// groupExists reports whether there is a group with the name of the user: it becomes the primary group.
func (u *user) groupExists(ctx context.Context, h *resource.Host) bool {
	db, err := load(ctx, h, nil, []string{u.name})
	return err == nil && db.groups[u.name] != nil
}

// unique is an error if another user has the number. useradd checks it itself, and libuser does not.
func (u *user) unique() error {
	for name, is := range u.db.users {
		if uid := u.want["uid"]; uid != "" && is.uid == uid {
			return fmt.Errorf("the number %s is the one of the user %s. Set allowdupe to use it twice", uid, name)
		}
	}
	return nil
}

func (u *user) remove(ctx context.Context, h *resource.Host) error {
	args := []string{u.name}
	if u.managehome {
		args = []string{"-r", u.name}
	}
	return run(ctx, h, "", u.tool(h, "userdel"), args...)
}

// argument is a value as the programs take it.
func argument(property, value string) string {
	if property == "expiry" && value == "absent" {
		return ""
	}
	return value
}

func (u *user) modify(ctx context.Context, h *resource.Host, property string) error {
	program, value := u.tool(h, "usermod"), argument(property, u.want[property])
	switch property {
	case "password":
		return u.setPassword(ctx, h)
	case "password_min_age", "password_max_age", "password_warn_days":
		program = u.tool(h, "chage")
	case "shell":
		if err := u.checkShell(h); err != nil {
			return err
		}
	case "groups":
		program, value = "usermod", strings.Join(u.allGroups(), ",")
	case "expiry":
		program = "usermod"
	case "gid":
		if value = u.db.gid(value); value == "" {
			return fmt.Errorf("group %q does not exist", u.want["gid"])
		}
	}
	args := []string{flags[property], value}
	if property == "uid" && u.allowdupe && program == "usermod" {
		args = append(args, "-o")
	}
	return run(ctx, h, "", program, append(args, u.name)...)
}

func (u *user) setPassword(ctx context.Context, h *resource.Host) error {
	return run(ctx, h, u.name+":"+u.want["password"]+"\n", "chpasswd", "-e")
}

// checkShell is an error if the shell is not a program.
func (u *user) checkShell(h *resource.Host) error {
	shell := u.want["shell"]
	if shell == "" {
		return nil
	}
	info, err := os.Stat(h.Path(shell))
	switch {
	case err != nil:
		return fmt.Errorf("shell %s: the file does not exist", shell)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("shell %s: the file is not executable", shell)
	}
	return nil
}

// busybox makes a change with the programs of BusyBox.
func (u *user) busybox(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case c.Property == "ensure" && u.absent && u.managehome:
		return run(ctx, h, "", "deluser", "--remove-home", u.name)
	case c.Property == "ensure" && u.absent:
		return run(ctx, h, "", "deluser", u.name)
	case c.Property == "ensure":
		return u.busyboxCreate(ctx, h)
	case c.Property == "password":
		return u.setPassword(ctx, h)
	case c.Property == "groups":
		return u.busyboxGroups(ctx, h, u.db.groupsOf(u.name), u.allGroups())
	}
	return fmt.Errorf("%s of an existing user: BusyBox has no program that changes it. Install the package shadow", c.Property)
}

func (u *user) busyboxCreate(ctx context.Context, h *resource.Host) error {
	for _, p := range []string{"expiry", "password_min_age", "password_max_age", "password_warn_days"} {
		if v := u.want[p]; v != "" && v != "absent" {
			return fmt.Errorf("%s: BusyBox has no program that sets it. Install the package shadow", p)
		}
	}
	if err := u.checkShell(h); err != nil {
		return err
	}
	args := []string{"-D"} // without a password
	if !u.managehome {
		args = append(args, "-H")
	}
	if u.system {
		args = append(args, "-S")
	}
	gid, given := u.want["gid"]
	if !given && u.groupExists(ctx, h) {
		gid = u.name
	}
	if isNumber(gid) { // adduser takes the name only
		for name, g := range u.db.groups {
			if g.gid == gid {
				gid = name
				break
			}
		}
	}
	for _, o := range []struct{ flag, value string }{{"-g", u.want["comment"]}, {"-h", u.want["home"]}, {"-s", u.want["shell"]}, {"-u", u.want["uid"]}, {"-G", gid}} {
		if strings.ContainsAny(o.value, ":\n") { // adduser does not look at all values
			return fmt.Errorf("adduser %s: the value %q has a colon or the end of a line in it", o.flag, o.value)
		}
		if o.value != "" {
			args = append(args, o.flag, o.value)
		}
	}
	if err := run(ctx, h, "", "adduser", append(args, u.name)...); err != nil {
		return err
	}
	if err := u.busyboxGroups(ctx, h, nil, u.groups); err != nil {
		return err
	}
	if _, given := u.want["password"]; given {
		return u.setPassword(ctx, h)
	}
	return nil
}

// busyboxGroups changes the groups one by one.
func (u *user) busyboxGroups(ctx context.Context, h *resource.Host, is, should []string) error {
	for _, g := range without(should, is) {
		if err := run(ctx, h, "", "addgroup", u.name, g); err != nil {
			return err
		}
	}
	for _, g := range without(is, should) {
		if err := run(ctx, h, "", "delgroup", u.name, g); err != nil {
			return err
		}
	}
	return nil
}

// without returns the elements of a that are not in b.
func without(a, b []string) (list []string) {
	for _, x := range a {
		found := false
		for _, y := range b {
			found = found || x == y
		}
		if !found {
			list = append(list, x)
		}
	}
	return list
}
