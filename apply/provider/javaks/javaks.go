// Package javaks applies resources of the type java_ks: entries of Java keystores.
//
// The rules come from the module java_ks. Keystores are read and changed with keytool(1). A JVM starts slowly, so
// one run of keytool reads all entries of a keystore for all its resources. Passwords reach keytool in its
// environment. keytool changes a copy, which then replaces the keystore, so a run that is killed leaves the old keystore.
package javaks

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// Type returns the type java_ks.
func Type() resource.Type { return entryType{} }

type entryType struct{}

// An item is one entry of a keystore.
type item struct {
	r      *resource.Resource
	alias  string
	ensure string
	store  store
	source source
	trust  bool // trustcacerts

	is struct {
		exists, same bool
		reset        bool // the keystore has another password, and is made again
	}
}

// A store is a keystore, and how it is read.
type store struct {
	path         string // of the file
	password     string
	passwordFile string // "" if the password is given
	reset        bool   // password_fail_reset
	kind         string // storetype: jks, jceks, pkcs12, or "" for the default
	search       string // the directories of keytool, with colons between them; "" for the PATH of the host
	timeout      time.Duration
}

// New implements resource.Type.
func (entryType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	name, target := split(r.Title)
	x := &item{
		r:      r,
		alias:  strings.ToLower(f.Text("name", name)),
		ensure: f.Text("ensure", "present"),
		trust:  f.Bool("trustcacerts", false),
		store: store{
			path:         f.Text("target", target),
			password:     f.Text("password", ""),
			passwordFile: f.Text("password_file", ""),
			reset:        f.Bool("password_fail_reset", false),
			kind:         f.Text("storetype", ""),
			search:       strings.Join(f.Texts("path"), ":"),
		},
		source: source{
			certificate: f.Text("certificate", ""), certificateText: f.Text("certificate_content", ""),
			key: f.Text("private_key", ""), keyText: f.Text("private_key_content", ""),
			chain:    f.Text("chain", ""),
			password: f.Text("source_password", ""), alias: f.Text("source_alias", ""), keyPassword: f.Text("destkeypass", ""),
		},
	}
	seconds, err := r.Int("keytool_timeout", 120)
	if err != nil {
		return nil, err
	}
	if seconds < 1 || seconds > 24*3600 {
		f.Refuse("keytool_timeout", "must be a number of seconds, at most a day")
	}
	x.store.timeout = time.Duration(seconds) * time.Second
	x.check(&f)
	return x, f.Err
}

// split returns the alias and the keystore of a title such as www:/etc/keystore.jks.
func split(title string) (name, target string) {
	if at := strings.LastIndex(title, ":"); at >= 0 {
		return title[:at], title[at+1:]
	}
	return title, ""
}

func (x *item) check(f *resource.Fields) {
	given := func(param string) bool { return f.R.Params.Value(param) != nil }
	both := func(a, b string) {
		if given(a) && given(b) {
			f.Refuse(b, "cannot be used together with "+a)
		}
	}
	both("password", "password_file")
	if x.ensure != "absent" {
		both("certificate", "certificate_content")
		both("private_key", "private_key_content")
		if x.source.certificate == "" && x.source.certificateText == "" {
			f.Refuse("certificate", "must be given, or certificate_content")
		}
		if x.store.kind == "pkcs12" && !x.source.hasKey() && x.source.certificateText != "" {
			f.Refuse("certificate_content", "cannot be used with the storetype pkcs12, because a PKCS #12 file is not text. Use certificate")
		}
	}
	switch {
	case !given("password") && !given("password_file"):
		f.Refuse("password", "must be given, or password_file")
	case x.store.kind == "pkcs12" && !given("source_password"):
		f.Refuse("source_password", "must be given with the storetype pkcs12")
	case x.alias == "" || strings.HasPrefix(x.alias, "-") || strings.ContainsAny(x.alias, "\r\n"):
		f.Refuse("name", "must be one line that does not begin with -")
	case strings.HasPrefix(x.source.alias, "-") || strings.ContainsAny(x.source.alias, "\r\n"):
		f.Refuse("source_alias", "must be one line that does not begin with -")
	}
	for param, text := range map[string]string{"password": x.store.password, "destkeypass": x.source.keyPassword} {
		if given(param) && len([]rune(text)) < 6 {
			f.Refuse(param, "must have six or more characters")
		}
	}
	for param, path := range map[string]string{
		"target": x.store.path, "certificate": x.source.certificate, "private_key": x.source.key, "chain": x.source.chain, "password_file": x.store.passwordFile,
	} {
		if (given(param) || param == "target") && !filepath.IsAbs(path) {
			f.RefuseValue(param, "must be an absolute path", path)
		}
	}
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) error {
	return entryType{}.ReadAll(ctx, h, []resource.Item{x})[0]
}

// ReadAll implements resource.Reader: each keystore is read once.
func (entryType) ReadAll(ctx context.Context, h *resource.Host, items []resource.Item) []error {
	type result struct {
		entries entries
		err     error
	}
	stores := make(map[store]result)
	errs := make([]error, len(items))
	for i, it := range items {
		x := it.(*item)
		found, known := stores[x.store]
		if !known {
			found.entries, found.err = x.store.list(ctx, h)
			stores[x.store] = found
		}
		errs[i] = x.see(ctx, h, found.entries, found.err)
	}
	return errs
}

// Watch implements resource.Watcher. With ensure => latest, Read compares the entry with the files of the certificate.
func (x *item) Watch(context.Context, *resource.Host) []resource.Watch {
	paths := []string{x.store.path, x.store.passwordFile}
	if x.ensure == "latest" {
		paths = append(paths, x.source.certificate, x.source.chain)
	}
	return resource.Paths(slices.DeleteFunc(paths, func(p string) bool { return p == "" })...)
}

// see takes the state of an item from the entries of its keystore.
func (x *item) see(ctx context.Context, h *resource.Host, found entries, err error) error {
	x.is.exists, x.is.same, x.is.reset = false, false, false
	if errors.Is(err, errPassword) && x.store.reset {
		x.is.reset = true
		return nil
	}
	if err != nil {
		return err
	}
	certs, exists := found[x.alias]
	if x.is.exists = exists; !exists || x.ensure != "latest" {
		return nil
	}
	wanted, err := x.wanted(ctx, h)
	if err != nil || wanted == nil {
		return err
	}
	x.is.same = contains(certs, wanted)
	return nil
}

// contains reports whether all wanted certificates are there.
func contains(certs, wanted [][]byte) bool {
	there := make(map[[sha256.Size]byte]bool)
	for _, der := range certs {
		there[sha256.Sum256(der)] = true
	}
	for _, der := range wanted {
		if !there[sha256.Sum256(der)] {
			return false
		}
	}
	return true
}

// wanted returns the certificates that an entry must have; nil if a file of them does not exist, such as with noop
// before it is made.
func (x *item) wanted(ctx context.Context, h *resource.Host) ([][]byte, error) {
	hasKey := x.source.hasKey()
	if x.store.kind == "pkcs12" && !hasKey { // as add does
		from := x.store
		from.path, from.password, from.passwordFile = x.source.certificate, x.source.password, ""
		all, err := from.list(ctx, h)
		if one, has := all[strings.ToLower(x.source.alias)]; has && x.source.alias != "" {
			return one, err
		}
		var certs [][]byte
		for _, of := range all {
			certs = append(certs, of...)
		}
		return certs, err
	}
	certs, err := x.source.certificates(ctx)
	if err != nil || certs == nil {
		return nil, err
	}
	if !hasKey || x.source.chain != "" { // add leaves the other certificates out, too
		certs = certs[:1:1]
	}
	if !hasKey || x.source.chain == "" {
		return certs, nil
	}
	chain, err := certificatesOf(ctx, x.source.chain)
	if err != nil || chain == nil {
		return nil, err
	}
	return append(certs, chain...), nil
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	c := resource.Change{Property: "ensure", Is: "absent", Should: x.ensure}
	if x.is.exists {
		c.Is = "present"
	}
	switch {
	case x.ensure == "absent" && x.is.exists:
		c.Name = "java_ks_removed"
	case x.ensure == "present" && !x.is.exists:
		c.Name = "java_ks_created"
	case x.ensure == "latest" && !(x.is.exists && x.is.same):
		c.Name = "java_ks_changed"
	default:
		return nil, nil
	}
	if x.is.reset && x.ensure != "absent" {
		c.Message = "created, in a new keystore: the old one has another password"
	}
	if x.is.reset && x.ensure == "absent" {
		return nil, nil
	}
	return []resource.Change{c}, nil
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, _ *resource.Change) error {
	s := &x.store
	text, exists, err := textfile.Read(ctx, s.path)
	if err != nil {
		return err
	}
	k, err := s.open(ctx, h)
	if err != nil {
		return err
	}
	w, err := newWork()
	if err != nil {
		return err
	}
	defer w.close()
	if x.is.reset { // unless another resource has made the keystore again
		if _, err := s.list(ctx, h); errors.Is(err, errPassword) {
			text = ""
		}
	}
	if err := w.put(text); err != nil {
		return err
	}
	if x.is.exists {
		if err := k.run(ctx, "-delete", "-alias", x.alias, "-keystore", w.store, k.kind("-storetype", "jceks")); err != nil {
			return err
		}
	}
	if x.ensure != "absent" {
		if err := x.add(ctx, h, k, w); err != nil {
			return err
		}
	}
	after, err := w.result()
	if err != nil {
		return err
	}
	if exists && text != "" {
		if err := h.Backup(s.path); err != nil {
			return err
		}
	}
	if err := textfile.Write(s.path, after, 0o644); err != nil {
		return fmt.Errorf("the keystore cannot be written: %w", err)
	}
	return nil
}
