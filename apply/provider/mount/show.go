package mount

import (
	"context"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Show implements resource.Shower. All mounts are those of fstab; a mount that is not in it is shown by name only.
func (mountType) Show(_ context.Context, h *resource.Host, name string) (list []*resource.Resource, err error) {
	lines, err := readLines(h.Path(fstab))
	if err != nil {
		return nil, err
	}
	mounts, err := readLines(h.Path(mountsFile))
	if err != nil {
		return nil, err
	}
	names := []string{trim(name)}
	if name == "" {
		names = nil
		for _, l := range lines {
			if l.name != "" && l.name != "none" {
				names = append(names, l.name)
			}
		}
	}
	for _, n := range names {
		l, mounted := find(lines, n), find(mounts, n)
		params := ordered.Of("ensure", "absent")
		switch {
		case mounted != nil:
			params.Set("ensure", "mounted")
		case l != nil:
			params.Set("ensure", "unmounted")
		}
		if l == nil {
			l = mounted
		}
		if l != nil {
			for f := range fieldCount {
				if v := l.fields[f]; v != "" {
					params.Set(fieldNames[f], v)
				}
			}
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Mount", Title: n}, Params: params})
	}
	return list, nil
}
