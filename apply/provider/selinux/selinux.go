// Package selinux applies resources that change the SELinux policy. They are booleans and modules (selboolean, selmodule), types of
// ports (selinux_port), contexts of files (selinux_fcontext, selinux_fcontext_equivalence), and permissive types (selinux_permissive).
//
// The rules come from the modules selinux_core and puppet-selinux. The policy is read and changed with getsebool(8),
// setsebool(8), semodule(8) and semanage(8), and contexts of files are read from the files of the policy.
package selinux

import (
	"context"
	"fmt"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
	"bolt/internal/safetext"
)

// limit ends a program that hangs. A change of the policy can take minutes.
const limit = 30 * time.Minute

func program(name string) *tool.Tool {
	return &tool.Tool{Name: name, Hint: "Install the tools of SELinux on the target", Limit: limit}
}

type booleans struct{}

// Boolean returns the type selboolean.
func Boolean() resource.Type { return booleans{} }

// A boolean is a selboolean.
type boolean struct {
	name       string
	want       string // on or off; "" if the value is not managed
	persistent bool
	is         string
}

// New implements resource.Type.
func (booleans) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &boolean{name: f.Name("/"), persistent: f.Bool("persistent", false)}
	switch value := f.Text("value", ""); value {
	case "":
	case "on", "true":
		x.want = "on"
	case "off", "false":
		x.want = "off"
	default:
		f.RefuseValue("value", "must be on, off, true or false", value)
	}
	return x, f.Err
}

// state ends the output of getsebool.
var state = lazyregexp.New(` (on|off)\s*$`)

// Read implements resource.Item.
func (x *boolean) Read(ctx context.Context, h *resource.Host) error {
	if x.want == "" {
		return nil
	}
	text, err := program("getsebool").Query(ctx, h, x.name)
	if err != nil {
		return err
	}
	m := state().FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("getsebool printed %q, which has no state", safetext.Message(text))
	}
	x.is = m[1]
	return nil
}

// Plan implements resource.Item.
func (x *boolean) Plan() ([]resource.Change, error) {
	if x.is == x.want {
		return nil, nil
	}
	return []resource.Change{{Property: "value", Is: x.is, Should: x.want}}, nil
}

// Do implements resource.Item.
func (x *boolean) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	args := []string{x.name, x.want}
	if x.persistent {
		args = append([]string{"-P"}, args...)
	}
	err := program("setsebool").Change(ctx, h, args...)
	return err
}
