package account

import (
	"context"
	"fmt"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
	"bolt/internal/lazyregexp"
)

// readKeys reads the parameter purge_ssh_keys: true, false, or a list of files.
func (u *user) readKeys() error {
	files, given, err := u.r.Texts("purge_ssh_keys")
	if err != nil || !given {
		return err
	}
	if len(files) == 1 && (files[0] == "true" || files[0] == "false") {
		if files[0] == "true" {
			u.keys = []string{""}
		}
		return nil
	}
	for _, f := range files {
		if !strings.HasPrefix(f, "/") && !strings.HasPrefix(f, "~/") && !strings.HasPrefix(f, "%h/") {
			return &resource.ParamError{Param: "purge_ssh_keys", Problem: fmt.Sprintf("must be true, false, or a list of paths that begin with /, ~/ or %%h/, and has %q", f)}
		}
	}
	u.keys = files
	return nil
}

// A key line: options, the type, the key, and the comment that is the name of the resource.
var keyLine = lazyregexp.New(`^(?:.+\s+)?(?:(?:sk-)?(?:ssh-dss|ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521))(?:@openssh\.com|-cert-v01@openssh\.com)?|ecdsa-sk|ed25519-sk)\s+[^ ]+\s*(.*)$`)

// inherited are the metaparameters that a purged key has from its user.
var inherited = []string{"noop", "loglevel", "schedule", "tag"}

// Generate implements resource.Generator: for each key of the user, it returns a resource that removes the key.
// The engine leaves out keys that the catalog has.
func (u *user) Generate(ctx context.Context, h *resource.Host) ([]*resource.Resource, error) {
	if len(u.keys) == 0 {
		return nil, nil
	}
	home, err := u.home(ctx, h)
	if err != nil {
		return nil, err
	}
	var list []*resource.Resource
	seen := make(map[string]bool)
	for _, file := range u.keys {
		if !strings.HasPrefix(file, "/") {
			if home == "" { // the user does not exist yet
				continue
			}
			file = strings.TrimPrefix(strings.TrimPrefix(file, "~/"), "%h/")
			if file == "" {
				file = ".ssh/authorized_keys"
			}
			file = strings.TrimSuffix(home, "/") + "/" + file
		}
		names, err := keyNames(ctx, h.Path(file), file)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if seen[name] {
				continue
			}
			seen[name] = true
			params := ordered.Of("name", name, "ensure", "absent", "user", u.name, "target", file)
			for _, p := range inherited {
				if v, given := u.r.Params.Get(p); given {
					params.Set(p, v)
				}
			}
			list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Ssh_authorized_key", Title: name}, Params: params, Tags: u.r.Tags})
		}
	}
	return list, nil
}

// home is the home directory that the resource wants, or else that of the present user; "" if there is none.
func (u *user) home(ctx context.Context, h *resource.Host) (string, error) {
	if home := u.want["home"]; home != "" {
		return home, nil
	}
	db, err := load(ctx, h, []string{u.name}, nil)
	if err != nil || db.users[u.name] == nil {
		return "", err
	}
	return db.users[u.name].home, nil
}

// keyNames returns the comments of the keys in a file. A key without a comment is named by the file and
// its number, as by the type ssh_authorized_key. A file that does not exist has no keys.
func keyNames(ctx context.Context, path, file string) (names []string, err error) {
	text, _, err := textfile.Read(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	unnamed := 0
	for line := range strings.Lines(text) {
		m := keyLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		name := m[1]
		if name == "" {
			unnamed++
			name = fmt.Sprintf("%s:unnamed-%d", file, unnamed)
		}
		names = append(names, name)
	}
	return names, nil
}
