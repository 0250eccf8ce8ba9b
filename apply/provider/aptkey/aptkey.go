// Package aptkey applies resources of the type apt_key: OpenPGP keys that apt trusts for all repositories.
//
// The rules come from the module puppetlabs-apt. Keys are read and changed with apt-key(8), which Debian 13 and
// later do not have.
package aptkey

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/curl"
	"bolt/apply/provider/textfile"
	"bolt/apply/provider/tool"
	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// limit ends a program that hangs, such as a download from a key server.
const limit = 5 * time.Minute

// maxKey is the size of the largest file with keys that is downloaded, in bytes.
const maxKey = 4 << 20

func aptKey() *tool.Tool {
	return &tool.Tool{Name: "apt-key", Hint: "Debian 13 and later do not have it: put the key in a file, with apt::keyring", Limit: limit,
		Vars: []string{"APT_KEY_DONT_WARN_ON_DANGEROUS_USAGE=1"}}
}

// Type returns the type apt_key.
func Type() resource.Type { return keys{} }

type keys struct{}

// An item is one key.
type item struct {
	r               *resource.Resource
	id              string // 8, 16 or 40 hexadecimal digits in upper case
	absent          bool
	content, source string
	server, options string
	refresh         bool
	insecure        bool
	found           *key // Read: nil if apt does not have the key
}

var (
	idForm     = lazyregexp.New(`^(0x)?([0-9a-fA-F]{8}|[0-9a-fA-F]{16}|[0-9a-fA-F]{40})$`)
	sourceForm = lazyregexp.New(`^(https?://|ftp://|/\w)`)
	serverForm = lazyregexp.New(`^((hkp|hkps|http|https)://)?([a-z\d])([a-z\d-]{0,61}\.)+[a-z\d]+(:\d{2,5})?(/[a-zA-Z\d\-_.]+)*/?$`)
)

// readOnly are the properties that only `puppet resource` shows.
var readOnly = []string{"fingerprint", "long", "short", "expired", "expiry", "size", "type", "created"}

// New implements resource.Type.
func (keys) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r:        r,
		absent:   f.Text("ensure", "present") == "absent",
		content:  f.Text("content", ""),
		source:   f.Text("source", ""),
		server:   f.Text("server", "keyserver.ubuntu.com"),
		options:  f.Text("options", ""),
		refresh:  f.Bool("refresh", false),
		insecure: f.Bool("weak_ssl", false),
	}
	id := f.Text("id", f.Text("name", r.Title))
	if !idForm().MatchString(id) {
		f.RefuseValue("id", "must have 8, 16 or 40 hexadecimal digits", id)
	}
	x.id = strings.ToUpper(strings.TrimPrefix(id, "0x"))
	switch {
	case x.absent && x.refresh:
		f.Refuse("refresh", "cannot be used with ensure => absent")
	case x.content != "" && x.source != "":
		f.Refuse("source", "cannot be used together with content")
	case x.source != "" && (!sourceForm().MatchString(x.source) || strings.ContainsAny(x.source, "\r\n")):
		f.RefuseValue("source", "must be an absolute path, or a URL with http, https or ftp", x.source)
	case !serverForm().MatchString(x.server):
		f.RefuseValue("server", "must be a host name or a URL with hkp, hkps, http or https", x.server)
	}
	for _, p := range readOnly {
		if _, given, _ := r.Text(p); given {
			f.Refuse(p, "cannot be set: it is part of the key")
		}
	}
	for _, p := range []string{"server", "options"} {
		if r.Secret(p) {
			f.Refuse(p, "must not be Sensitive: it becomes an argument of a program, and every user of the machine can see arguments")
		}
	}
	return x, f.Err
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return keys{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader: one query lists all keys.
func (keys) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	return tool.ReadAll(items, func() ([]key, error) {
		text, err := aptKey().Query(ctx, h, "adv", "--no-tty", "--list-keys", "--with-colons", "--fingerprint", "--fixed-list-mode")
		return parse(text), err
	}, func(x *item, all []key) error {
		if len(x.id) < 40 {
			h.Logf(x.r.Ref, report.Warning, "The id should be a full fingerprint of 40 digits, because other keys can have the same end")
		}
		x.found = nil
		if i := slices.IndexFunc(all, func(k key) bool { return strings.HasSuffix(k.fingerprint, x.id) }); i >= 0 {
			x.found = &all[i]
		}
		return nil
	})
}

// Watch implements resource.Watcher. A key expires without an event.
func (x *item) Watch(_ context.Context, h *resource.Host) []resource.Watch {
	list := []resource.Watch{{Path: h.Path("/etc/apt/trusted.gpg")}, {Path: h.Path("/etc/apt/trusted.gpg.d"), Tree: true}}
	if x.refresh {
		list = append(list, resource.Watch{Poll: true})
	}
	return list
}

// A key is a primary key of a keyring.
type key struct {
	fingerprint string
	expired     bool // the key, or all of its subkeys
}

// parse reads a list of keys in the format of gpg --with-colons, which the file DETAILS of GnuPG describes.
func parse(text string) (list []key) {
	var subkeys, dead int
	fresh := false // the next fingerprint is the fingerprint of the primary key
	end := func() {
		if n := len(list); n > 0 && subkeys > 0 && subkeys == dead {
			list[n-1].expired = true
		}
		subkeys, dead = 0, 0
	}
	var expired bool
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		if len(f) < 10 {
			continue
		}
		switch f[0] {
		case "pub":
			end()
			fresh, expired = true, f[1] == "e"
		case "sub":
			subkeys++
			if f[1] == "e" || f[1] == "r" {
				dead++
			}
		case "fpr":
			if fresh {
				list, fresh = append(list, key{f[9], expired}), false
			}
		}
	}
	end()
	return list
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	has := x.found != nil && !(x.refresh && x.found.expired)
	switch {
	case x.absent && has:
		return resource.Removed("apt_key"), nil
	case !x.absent && !has:
		return resource.Created("apt_key"), nil
	}
	return nil, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	if x.absent {
		return aptKey().Change(ctx, h, "del", x.found.fingerprint)
	}
	if x.content == "" && x.source == "" {
		args := []string{"adv", "--no-tty", "--keyserver", x.server}
		if x.options != "" {
			args = append(args, "--keyserver-options", x.options)
		}
		return aptKey().Change(ctx, h, append(args, "--recv-keys", x.id)...)
	}
	text, err := x.text(ctx, h)
	if err != nil {
		return err
	}
	if err := x.check(ctx, h, text); err != nil {
		return err
	}
	return aptKey().Feed(ctx, h, text, "add", "-")
}

// text returns the keys of the resource.
func (x *item) text(ctx context.Context, h *resource.Host) (string, error) {
	if x.source == "" {
		return x.content, nil
	}
	if path.IsAbs(x.source) {
		text, exists, err := textfile.Read(ctx, x.source)
		if err == nil && !exists {
			err = fmt.Errorf("the file %s does not exist", x.source)
		}
		return text, err
	}
	c := curl.New(x.source)
	c.Flag("fail")
	c.Set("proto", "=http,https,ftp")
	c.Number("max-filesize", maxKey)
	if x.insecure {
		c.Flag("insecure")
	}
	out, err := c.Run(ctx, h, nil, limit)
	if err != nil {
		return "", fmt.Errorf("download of %s: %w", curl.Named(x.source, x.r.Secret("source")), err)
	}
	return string(out.Stdout), nil
}

// check compares the fingerprints of the keys with a full id, before apt trusts them.
func (x *item) check(ctx context.Context, h *resource.Host, text string) error {
	if len(x.id) < 40 {
		return nil
	}
	gpg := &tool.Tool{Name: "gpg", Hint: "Install the package gnupg on the target", Limit: limit}
	home, err := os.MkdirTemp(h.Path("/tmp"), "bolt-gpg")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	out, err := gpg.Run(ctx, h, &resource.Command{Stdin: []byte(text),
		Argv: []string{"--homedir", "/tmp/" + path.Base(home), "--no-tty", "--batch", "--with-fingerprint", "--with-colons", "-"}})
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Split(line, ":"); f[0] == "fpr" && len(f) > 9 && f[9] == x.id {
			return nil
		}
	}
	if out.Code != 0 {
		return fmt.Errorf("gpg cannot read the keys of content or source (exit code %d), so none was added", out.Code)
	}
	return errors.New("the keys of content or source do not have the fingerprint of the id, so none was added")
}
