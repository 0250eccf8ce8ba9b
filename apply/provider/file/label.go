package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/file/secontext"
	"bolt/apply/resource"
)

// A label is the SELinux context of a file; an empty part is not known, or not wanted.
type label struct{ user, role, typ, rng string }

// labelAttribute is the extended attribute that has the context.
const labelAttribute = "security.selinux"

func parseLabel(text string) label {
	p := strings.SplitN(strings.TrimRight(text, "\x00"), ":", 4)
	p = append(p, "", "", "", "")
	return label{p[0], p[1], p[2], p[3]}
}

func (l label) String() string {
	text := l.user + ":" + l.role + ":" + l.typ
	if l.rng != "" {
		text += ":" + l.rng
	}
	return text
}

// over returns l, with the parts of other in place of empty parts.
func (l label) over(other label) label {
	pick := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	return label{pick(l.user, other.user), pick(l.role, other.role), pick(l.typ, other.typ), pick(l.rng, other.rng)}
}

// A labelPart is a parameter for one part of a label.
type labelPart struct {
	property string
	of       func(*label) *string
}

// labelParts are the properties in Puppet's order.
func labelParts() []labelPart {
	return []labelPart{
		{"seluser", func(l *label) *string { return &l.user }},
		{"selrole", func(l *label) *string { return &l.role }},
		{"seltype", func(l *label) *string { return &l.typ }},
		{"selrange", func(l *label) *string { return &l.rng }},
	}
}

// labels holds the SELinux policy of the host, if the host has SELinux.
type labels struct {
	once   sync.Once
	policy *secontext.Policy // nil without SELinux
}

func (l *labels) load(h *resource.Host) *secontext.Policy {
	l.once.Do(func() {
		if _, err := os.Stat(h.Path("/sys/fs/selinux/enforce")); err == nil {
			l.policy = secontext.Load(h.Path("/etc/selinux"))
		}
	})
	return l.policy
}

// readLabel finds the present label, and the label that the policy gives to the path. Without SELinux, the
// parameters are ignored, as in Puppet.
func (f *item) readLabel(_ context.Context, h *resource.Host) {
	policy := f.t.labels.load(h)
	if policy == nil {
		return
	}
	f.want.label = f.label
	if !f.noDefaultLabels {
		kind := f.is.kind
		if f.want.ensure != "" && f.want.ensure != present {
			kind = f.want.ensure
		}
		if text, found := policy.Lookup(f.path, kind); found {
			f.want.label = f.label.over(parseLabel(text))
		}
	}
	if !f.is.exists() {
		return
	}
	get := unix.Lgetxattr
	if f.follow {
		get = unix.Getxattr
	}
	buf := make([]byte, 4096)
	n, err := get(f.path, labelAttribute, buf)
	if err != nil {
		f.want.label = label{} // the file system has no labels
		return
	}
	f.is.label = parseLabel(string(buf[:n]))
}

func (f *item) planLabel(changes []resource.Change) []resource.Change {
	if f.is.label == (label{}) {
		return changes
	}
	for _, part := range labelParts() {
		is, should := *part.of(&f.is.label), *part.of(&f.want.label)
		if should != "" && is != should {
			changes = append(changes, resource.Change{Property: part.property, Is: is, Should: should})
		}
	}
	return changes
}

// setLabel gives the file at a place its whole label.
func (f *item) setLabel(p place) error {
	if f.want.label == (label{}) {
		return nil
	}
	set := func(fd int) error {
		return setLabelOf(fmt.Sprintf("/proc/self/fd/%d", fd), f.want.label.over(f.is.label))
	}
	if f.follow && f.r.Within == "" {
		return f.behind(set)
	}
	return f.held(p, func(fd int, _ *unix.Stat_t) error { return set(fd) })
}

// labelNew gives a temporary file the label of the old file, or the label of the policy for a new file.
func (f *item) labelNew(t *temp, old *state) error {
	wanted := f.want.label
	if old != nil {
		wanted = wanted.over(f.is.label)
	}
	if wanted == (label{}) {
		return nil
	}
	return setLabelOf(filepath.Join("/proc/self/fd", fmt.Sprint(t.Fd())), wanted)
}

func setLabelOf(path string, l label) error {
	if l.user == "" || l.role == "" || l.typ == "" {
		var now [4096]byte
		n, err := unix.Getxattr(path, labelAttribute, now[:])
		if err == nil {
			l = l.over(parseLabel(string(now[:n])))
		}
	}
	err := unix.Setxattr(path, labelAttribute, append([]byte(l.String()), 0), 0)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil // the file system has no labels
	}
	if err != nil {
		return fmt.Errorf("SELinux context %s: %w", l, err)
	}
	return nil
}
