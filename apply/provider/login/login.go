// Package login finds users and groups of the host by name or number.
//
// It reads the files passwd and group of the host. For all other names, it runs getent(1) and
// id(1), which also query directories such as LDAP.
package login

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"bolt/apply/resource"
)

// A User is an account.
type User struct {
	Name     string
	UID, GID uint32
	Home     string
}

// ErrUnknown is wrapped by the errors for users and groups that do not exist.
var ErrUnknown = errors.New("does not exist")

// FindUser returns the user with a name, or with a number.
func FindUser(ctx context.Context, h *resource.Host, name string) (*User, error) {
	fields, err := find(ctx, h, "passwd", name, 7)
	if err != nil {
		return nil, fmt.Errorf("user %q %w", name, err)
	}
	uid, err := number(fields[2])
	if err != nil {
		return nil, fmt.Errorf("user %q has a wrong number: %v", name, err)
	}
	gid, err := number(fields[3])
	if err != nil {
		return nil, fmt.Errorf("user %q has a wrong group: %v", name, err)
	}
	return &User{Name: fields[0], UID: uid, GID: gid, Home: fields[5]}, nil
}

// FindGroup returns the number of the group with a name. A number is itself, also if no group has it.
func FindGroup(ctx context.Context, h *resource.Host, name string) (uint32, error) {
	if gid, err := number(name); err == nil {
		return gid, nil
	}
	fields, err := find(ctx, h, "group", name, 3)
	if err != nil {
		return 0, fmt.Errorf("group %q %w", name, err)
	}
	gid, err := number(fields[2])
	if err != nil {
		return 0, fmt.Errorf("group %q has a wrong number: %v", name, err)
	}
	return gid, nil
}

// Groups returns the numbers of all groups of a user.
func Groups(ctx context.Context, h *resource.Host, u *User) ([]uint32, error) {
	out, err := h.Run(ctx, &resource.Command{Argv: []string{"id", "-G", "--", u.Name}, Env: h.Env, Timeout: resource.QueryLimit})
	if err == nil && out.Code == 0 {
		var groups []uint32
		for _, word := range strings.Fields(string(out.Stdout)) {
			gid, err := number(word)
			if err != nil {
				return nil, fmt.Errorf("id -G %s printed %q", u.Name, word)
			}
			groups = append(groups, gid)
		}
		return groups, nil
	}
	return groupsInFile(h, u)
}

// Identity returns the identity for commands of a user and a group, each "" for that of the process. It is nil if
// the process has this identity already.
func Identity(ctx context.Context, h *resource.Host, user, group string) (*resource.Identity, error) {
	if user == "" && group == "" {
		return nil, nil
	}
	as := &resource.Identity{UID: uint32(os.Geteuid()), GID: uint32(os.Getegid())}
	if user != "" {
		u, err := FindUser(ctx, h, user)
		if err != nil {
			return nil, err
		}
		if os.Geteuid() != 0 && u.UID != as.UID {
			return nil, fmt.Errorf("only root can run commands as user %s", u.Name)
		}
		if u.UID != as.UID {
			if as.Groups, err = Groups(ctx, h, u); err != nil {
				return nil, err
			}
		}
		as.UID, as.GID = u.UID, u.GID
	}
	if group != "" {
		gid, err := FindGroup(ctx, h, group)
		if err != nil {
			return nil, err
		}
		as.GID = gid
	}
	if as.UID == uint32(os.Geteuid()) && as.GID == uint32(os.Getegid()) {
		return nil, nil
	}
	return as, nil
}

// groupsInFile is for hosts without id(1).
func groupsInFile(h *resource.Host, u *User) ([]uint32, error) {
	groups := []uint32{u.GID}
	data, err := os.ReadFile(h.Path("/etc/group"))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(fields) < 4 || !slices.Contains(strings.Split(fields[3], ","), u.Name) {
			continue
		}
		if gid, err := number(fields[2]); err == nil && !slices.Contains(groups, gid) {
			groups = append(groups, gid)
		}
	}
	return groups, nil
}

// find returns the entry of a database whose first field is the key, or whose third field is.
func find(ctx context.Context, h *resource.Host, database, key string, fields int) ([]string, error) {
	data, err := os.ReadFile(h.Path("/etc/" + database))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if e := entry(string(data), key, fields); e != nil {
		return e, nil
	}
	if h.Root != "" || key == "" || strings.HasPrefix(key, "-") {
		return nil, ErrUnknown
	}
	out, err := h.Run(ctx, &resource.Command{Argv: []string{"getent", database, key}, Env: h.Env, Timeout: resource.QueryLimit})
	if err != nil || out.Code != 0 { // also where there is no getent
		return nil, ErrUnknown
	}
	if e := entry(string(out.Stdout), key, fields); e != nil {
		return e, nil
	}
	return nil, ErrUnknown
}

// entry prefers a name to a number.
func entry(text, key string, fields int) (byNumber []string) {
	for line := range strings.Lines(text) {
		e := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(e) < fields {
			continue
		}
		if e[0] == key {
			return e
		}
		if byNumber == nil && e[2] == key {
			byNumber = e
		}
	}
	return byNumber
}

func number(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err
}
