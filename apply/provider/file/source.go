package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/curl"
	"bolt/apply/resource"
	"bolt/catalog"
)

// metadata has the known attributes of a source.
type metadata struct {
	kind         string // as in ensure
	target       string // of a link
	owner, group string
	mode         uint32
	sum          string
	time         time.Time // if sum is a time
	path         string    // on the host; "" if the content comes with the catalog
	url          string    // on a web server
}

// errNoSource is the error for a source on a file server that has no metadata in the catalog.
const errNoSource = "is not a file of a module that the catalog was compiled with, and bolt does not use a file server"

// readSource finds the first source that exists. It takes over the attributes that the resource does not set itself.
func (f *item) readSource(ctx context.Context, h *resource.Host) (err error) {
	// If the resource has a checksum, the wanted content is known, so the source is not read before it is needed.
	if f.sources == nil || f.want.ensure == absent || f.sum != "" {
		return nil
	}
	var m *metadata
	if top := f.top(); top != nil {
		m = fromCatalog(top)
	} else if m, err = f.fromHost(ctx, h); err != nil {
		return err
	}
	f.want.from = m
	if m.url == "" && (f.permissions == "use" || f.permissions == "use_when_creating" && !f.is.exists()) {
		f.want.owner = f.accounts(ctx, h, users, []string{m.owner}, nil)
		f.want.group = f.accounts(ctx, h, groups, []string{m.group}, nil)
		if f.want.mode == nil && m.kind != link {
			f.want.mode = &mode{octal: true, bits: m.mode}
		}
	}
	switch m.kind {
	case regular, directory:
		f.want.ensure = m.kind
	case link:
		f.want.ensure, f.want.target = link, m.target
	default:
		return fmt.Errorf("the source is of the type %s, which cannot be copied", m.kind)
	}
	return nil
}

// top returns the metadata of the source itself in the catalog; nil if the catalog has none.
func (f *item) top() *catalog.FileMeta {
	if f.r.File != nil {
		return f.r.File
	}
	for _, tree := range f.r.Trees {
		for _, m := range tree.Files {
			if m.Relative == "." || m.Relative == "" {
				return m
			}
		}
	}
	return nil
}

func fromCatalog(m *catalog.FileMeta) *metadata {
	_, sum, _ := parts(m.Sum)
	at, _ := parseTime(sum) // the zero time for other kinds
	return &metadata{kind: m.Type, target: m.Destination, owner: number(m.Owner), group: number(m.Group), mode: uint32(m.Mode), sum: m.Sum, time: at}
}

// number returns the ID of an owner or group of the catalog; root if the catalog has none.
func number(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return v
	}
	return "0"
}

// fromHost returns the metadata of the first source that exists on the host or on a web server.
func (f *item) fromHost(ctx context.Context, h *resource.Host) (*metadata, error) {
	for _, source := range f.sources {
		if onWeb(source) {
			if m, err := f.head(ctx, h, source); m != nil || err != nil {
				return m, err
			}
			continue
		}
		if !strings.HasPrefix(source, "/") {
			return nil, fmt.Errorf("the source %s %s", source, errNoSource)
		}
		m, err := f.stat(ctx, source)
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			return m, err
		}
	}
	return nil, f.noSource()
}

func (f *item) noSource() error {
	if len(f.sources) == 1 {
		return fmt.Errorf("the source %s does not exist", curl.Named(f.sources[0], f.r.Secret("source")))
	}
	var shown []string
	for _, source := range f.sources {
		shown = append(shown, curl.Named(source, f.r.Secret("source")))
	}
	return fmt.Errorf("none of the sources exists: %s", strings.Join(shown, ", "))
}

func (f *item) stat(ctx context.Context, source string) (*metadata, error) {
	var st unix.Stat_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if f.follow {
		flags = 0
	}
	p := place{dir: unix.AT_FDCWD, name: source}
	if err := unix.Fstatat(p.dir, p.name, &st, flags); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: source, Err: err}
	}
	m := &metadata{
		kind: kindOf(st.Mode), path: source, mode: st.Mode & 0o7777,
		owner: strconv.Itoa(int(st.Uid)), group: strconv.Itoa(int(st.Gid)),
	}
	var err error
	switch {
	case m.kind == link:
		// As in Puppet, a broken link is not a source. A broken link among the files of a directory is copied.
		if f.r.Within == "" {
			if _, err := os.Stat(source); err != nil {
				return nil, err
			}
		}
		m.target, err = readLink(p)
	case m.kind != regular:
	case f.kind == mtime:
		m.time = time.Unix(st.Mtim.Sec, 0)
		m.sum = f.kind.text(m.time.Format(timeFormat))
	case f.kind == ctime:
		m.time = time.Unix(st.Ctim.Sec, 0)
		m.sum = f.kind.text(m.time.Format(timeFormat))
	default:
		var file io.ReadCloser
		if file, err = openRegular(source); err == nil {
			defer file.Close()
			m.sum, err = f.kind.of(&cancelled{ctx, file})
		}
	}
	return m, err
}

// firstSource opens the first source that exists. It is for files whose content is known only by its checksum.
func (f *item) firstSource(ctx context.Context, h *resource.Host) (io.ReadCloser, error) {
	for i, source := range f.sources {
		if onWeb(source) {
			if i < len(f.sources)-1 {
				if m, err := f.head(ctx, h, source); err != nil {
					return nil, err
				} else if m == nil {
					continue
				}
			}
			return f.get(ctx, h, source)
		}
		if !strings.HasPrefix(source, "/") {
			return nil, fmt.Errorf("the source %s %s", source, errNoSource)
		}
		r, err := openRegular(source)
		if !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return nil, f.noSource()
}

// openRegular opens a file that must be a regular file.
func openRegular(path string) (io.ReadCloser, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
