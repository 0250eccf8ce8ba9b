package facts

import (
	"strconv"
	"strings"
)

// identity returns the user that facts are collected as.
func (c *collector) identity() (any, error) {
	uid, gid := c.o.sys.ids()
	out := object{"uid": uid, "gid": gid, "privileged": uid == 0}
	if f := c.account("passwd", uid); f != nil {
		out["user"] = f[0]
		// As facter does, take the group of the account rather than that of the process.
		if n, err := strconv.Atoi(f[3]); err == nil {
			out["gid"], gid = n, n
		}
	}
	if f := c.account("group", gid); f != nil {
		out["group"] = f[0]
	}
	return out, nil
}

// account returns the entry of an id in a database of accounts, nil if there is none. The id is the third
// field of both databases, and both have four fields or more.
func (c *collector) account(database string, id int) []string {
	text, _ := c.read("/etc/" + database)
	if f := findAccount(text, id); f != nil {
		return f
	}
	// The account can be in a directory such as LDAP, which only the C library can query.
	if getent := c.program("getent"); getent != "" {
		if out, err := c.output(answerLimit, getent, database, strconv.Itoa(id)); err == nil {
			return findAccount(string(out.Stdout), id)
		}
	}
	return nil
}

func findAccount(text string, id int) []string {
	want := strconv.Itoa(id)
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(f) >= 4 && f[2] == want && f[0] != "" {
			return f
		}
	}
	return nil
}
