package file

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// Show implements resource.Shower. The content is a checksum, as in Puppet.
func (t *Type) Show(ctx context.Context, h *resource.Host, name string) ([]*resource.Resource, error) {
	if name == "" {
		return nil, resource.ErrNeedsName
	}
	made, err := t.New(&resource.Resource{Ref: catalog.Ref{Type: "File", Title: name}, Params: &ordered.Map{}})
	if err != nil {
		return nil, err
	}
	f := itemOf(made)
	p, err := f.near()
	if err != nil {
		return nil, err
	}
	defer p.close()
	is, err := f.look(p)
	if err != nil {
		return nil, err
	}
	params := ordered.Of("ensure", absent)
	if is.exists() {
		params.Set("ensure", is.kind)
		if is.kind == regular {
			in, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
			if err != nil {
				return nil, err
			}
			defer in.Close()
			sum, err := kind("sha256").of(&cancelled{ctx, in})
			if err != nil {
				return nil, err
			}
			params.Set("content", sum)
		}
		moment := func(t unix.Timespec) string { return time.Unix(t.Unix()).UTC().Format("2006-01-02 15:04:05 -0700") }
		params.Set("ctime", moment(is.st.Ctim))
		params.Set("group", t.accounts.name(ctx, h, groups, int(is.st.Gid)))
		params.Set("mode", fmt.Sprintf("%04o", is.mode()))
		params.Set("mtime", moment(is.st.Mtim))
		params.Set("owner", t.accounts.name(ctx, h, users, int(is.st.Uid)))
		if is.kind == link {
			params.Set("target", is.target)
		}
		params.Set("type", is.kind)
	}
	return []*resource.Resource{{Ref: catalog.Ref{Type: "File", Title: name}, Params: params}}, nil
}
