package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"bolt/apply/report"
	"bolt/apply/resource"
)

// Plan compares the state that Read found with the state that the resource describes.
func (f *item) Plan() ([]resource.Change, error) {
	w := &f.want
	switch {
	case !f.ensured():
		if err := f.mountError(); err != nil {
			return nil, err
		}
		return []resource.Change{f.planEnsure()}, nil
	case !f.is.exists() || w.ensure == absent:
		return nil, nil
	}
	var changes []resource.Change
	if w.differs {
		c := resource.Change{Property: "content", Is: f.is.sum, Should: w.sum}
		if f.secret() { // the checksum of a short text can be guessed
			c.Is, c.Should = report.Redacted, report.Redacted
		}
		if f.text.kept {
			c.Diff = f.diff
		}
		changes = append(changes, c)
	}
	if w.ensure == link && f.is.kind == link && f.is.target != w.target && w.target != "" && f.replace {
		changes = append(changes, resource.Change{Property: "target", Is: f.is.target, Should: w.target})
	}
	changes = appendAccount(changes, "owner", w.owner)
	changes = appendAccount(changes, "group", w.group)
	if w.mode != nil && f.is.kind != link {
		bits, err := w.mode.apply(f.is.mode(), f.is.kind == directory)
		if err != nil { // Do reports it
			changes = append(changes, resource.Change{Property: "mode", Is: octal(f.is.mode()), Should: w.mode.text})
		} else if bits != f.is.mode() {
			changes = append(changes, resource.Change{Property: "mode", Is: octal(f.is.mode()), Should: octal(bits)})
		}
	}
	return f.planLabel(changes), nil
}

// ensured reports whether ensure needs no change.
func (f *item) ensured() bool {
	switch ensure := f.want.ensure; {
	case ensure == "":
		return true
	case !f.is.exists():
		return ensure == absent
	case !f.replace || ensure == present:
		return true
	case ensure == absent:
		// Differs from Puppet: it reports each time that it has removed the directory.
		return f.is.kind == directory && !f.force
	default:
		return f.is.kind == ensure
	}
}

func (f *item) planEnsure() resource.Change {
	c := resource.Change{Property: "ensure", Is: f.is.String(), Should: f.want.ensure}
	switch f.want.ensure {
	case absent:
		c.Name, c.Message = "file_removed", "removed"
		return c
	case directory, link:
		c.Name = f.want.ensure + "_created"
	default:
		c.Name, c.Should = "file_created", regular
	}
	if !f.is.exists() {
		c.Message = "created"
		if f.want.sum != "" && !f.secret() {
			c.Message = "created with the content " + f.want.sum
		}
	}
	return c
}

func appendAccount(changes []resource.Change, property string, a *account) []resource.Change {
	if a == nil || a.now == "" {
		return changes
	}
	return append(changes, resource.Change{Property: property, Is: a.now, Should: a.names[0]})
}

// diff returns the difference of the contents. It is made once: the contents of many files would need much memory.
func (f *item) diff() string {
	defer func() { f.text = texts{} }()
	for _, text := range [][]byte{f.text.old, f.text.new} {
		if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
			return fmt.Sprintf("The binary contents of %s differ.\n", f.path)
		}
	}
	d := diff.Diff(f.path, f.text.old, f.path, f.text.new)
	if _, unified, found := bytes.Cut(d, []byte("\n")); found { // the first line is a command
		return string(unified)
	}
	return ""
}

// Do makes one change.
func (f *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	p, err := f.parent()
	if err != nil {
		return err
	}
	defer p.close()
	now, err := f.look(p)
	if err != nil {
		return err
	}
	// An object that was created since Read is not overwritten.
	if now.kind != f.is.kind && c.Property == "ensure" {
		return fmt.Errorf("the path was of the type %s, and has become %s meanwhile", &f.is, &now)
	}
	switch c.Property {
	case "ensure":
		return f.doEnsure(ctx, h, p)
	case "content":
		f.text = texts{}
		if now.kind != regular {
			return fmt.Errorf("the file has become %s meanwhile", &now)
		}
		return f.write(ctx, h, p, &now)
	case "target":
		return f.doLink(ctx, h, p)
	case "owner":
		return f.setOwner(p)
	case "group":
		return f.setGroup(p)
	case "mode":
		return f.setMode(p)
	}
	return f.setLabel(p)
}

func (f *item) doEnsure(ctx context.Context, h *resource.Host, p place) error {
	switch f.want.ensure {
	case absent:
		return f.remove(ctx, h, p)
	case directory:
		return f.makeDirectory(ctx, h, p)
	case link:
		return f.doLink(ctx, h, p)
	}
	return f.write(ctx, h, p, nil)
}

func (a *account) id(what string) (int, error) {
	if a.unknown != "" {
		return 0, fmt.Errorf("the %s %q does not exist", what, a.unknown)
	}
	return a.ids[0], nil
}

// finish sets the attributes that a new directory or link has got from its parent. As in Puppet, the directory
// or link stays in place after an error.
func (f *item) finish(p place) error {
	var set []func(place) error
	if f.want.owner != nil {
		set = append(set, f.setOwner)
	}
	if f.want.group != nil {
		set = append(set, f.setGroup)
	}
	if f.want.mode != nil && f.want.ensure != link {
		set = append(set, f.setMode)
	}
	for _, s := range append(set, f.setLabel) {
		if err := s(p); err != nil {
			return err
		}
	}
	return nil
}

var errNeedsForce = errors.New("it is a directory, and directories are replaced only with force => true")

// removable reports an error for a file that is never removed.
func (f *item) removable() error {
	if f.is.kind == directory {
		if !f.force {
			return errNeedsForce
		}
		return nil
	}
	if !slices.Contains([]string{regular, link, "fifo", "socket", ""}, f.is.kind) {
		return fmt.Errorf("it is of the type %s, which is not removed", f.is.kind)
	}
	return nil
}
