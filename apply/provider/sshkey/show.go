package sshkey

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Show implements resource.Shower. The keys are those in ~/.ssh/authorized_keys of the users of /etc/passwd. Each
// file is read with the rights of its user.
func (a *authorized) Show(ctx context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	data, err := os.ReadFile(h.Path("/etc/passwd"))
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for l := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(l), ":")
		if len(f) < 7 || !filepath.IsAbs(f[5]) {
			continue
		}
		uid, err1 := strconv.ParseInt(f[2], 10, 32)
		gid, err2 := strconv.ParseInt(f[3], 10, 32)
		path := h.Path(filepath.Join(f[5], ".ssh/authorized_keys"))
		if err1 != nil || err2 != nil || seen[path] {
			continue
		}
		seen[path] = true
		as := &textfile.Identity{UID: int(uid), GID: int(gid)}
		if os.Geteuid() != 0 {
			as = nil
		}
		var text string
		err := textfile.As(as, func() (err error) {
			text, _, err = textfile.Read(ctx, path)
			return err
		})
		if err != nil { // a file that its user cannot read has no keys that work
			continue
		}
		var lines []string
		for _, line := range textfile.Lines(text) {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
		for _, r := range a.parse(path, lines) {
			if r.Name == "" || name != "" && name != r.Name {
				continue
			}
			params := ordered.Of("ensure", "present", "key", r.Values["key"])
			if o := r.Values["options"]; o != "" {
				params.Set("options", ordered.Strings(splitOptions(o)))
			}
			params.Set("type", r.Values["type"])
			params.Set("user", f[0])
			list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Ssh_authorized_key", Title: r.Name}, Params: params})
		}
	}
	if name != "" && list == nil {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Ssh_authorized_key", Title: name}, Params: ordered.Of("ensure", "absent")})
	}
	return list, nil
}
