package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/safepath"
	"bolt/apply/report"
	"bolt/apply/resource"
)

// wanted is the state that a resource describes, with the attributes of its source.
type wanted struct {
	ensure, target string
	owner, group   *account
	mode           *mode
	label          label
	from           *metadata // of the source
	// sum is the checksum that the content must have; "" if the content is not managed, or is as wanted.
	sum string
	// since is the earliest time that the file can have, for the kinds of checksums that are times.
	since time.Time
	// differs is set if the content is not as wanted.
	differs bool
}

// An account is a wanted owner or group.
type account struct {
	names   []string
	ids     []int  // that are as good as the first
	unknown string // a name that nothing knows
	now     string // the present one, for people; "" if it is as good
}

// Read finds the state of the file, and the metadata of a source on the host.
func (f *item) Read(ctx context.Context, h *resource.Host) error {
	f.want = wanted{ensure: f.ensure, target: f.target, mode: f.mode}
	f.text = texts{}
	p, err := f.near()
	if unreachable(err) {
		f.is, err = state{}, nil
	} else if err == nil {
		defer p.close()
		f.is, err = f.look(p)
	}
	if err != nil {
		return err
	}
	if err := f.readSource(ctx, h); err != nil {
		return err
	}
	if f.recurse != "" && f.target != "" {
		f.want.ensure, f.want.target = directory, ""
	}
	f.want.owner = f.accounts(ctx, h, users, f.owner, f.want.owner)
	f.want.group = f.accounts(ctx, h, groups, f.group, f.want.group)
	if o := f.want.owner; o != nil && o.unknown == "" && f.is.exists() && !o.has(f.is.st.Uid) && os.Geteuid() != 0 {
		h.Logf(f.r.Ref, report.Warning, "The owner is left as it is: only root can change owners.")
		f.want.owner = nil
	}
	if f.is.exists() {
		f.compare(ctx, h, users, f.want.owner, f.is.st.Uid)
		f.compare(ctx, h, groups, f.want.group, f.is.st.Gid)
	}
	f.known = inodeOf(&f.is.st)
	f.readLabel(ctx, h)
	f.readMount()
	f.warn(h)
	if !f.managesContent() {
		return nil
	}
	return f.readContent(ctx, h, p)
}

func (f *item) accounts(ctx context.Context, h *resource.Host, d database, names []string, source *account) *account {
	if names == nil {
		return source
	}
	a := &account{names: names}
	for _, name := range names {
		id, found := f.t.accounts.id(ctx, h, d, name)
		if !found {
			a.unknown = name
			return a
		}
		a.ids = append(a.ids, id)
	}
	return a
}

// unreachable reports whether an error means that a generated file cannot be reached: its directory does not
// exist, or is not a directory any more. With noop, the directory is missing if another resource would make it.
// Do then fails.
func unreachable(err error) bool {
	var code unix.Errno
	var refused *safepath.LinkError
	switch {
	case err == nil, errors.As(err, &refused):
		return false
	case errors.As(err, &code):
		return code == unix.ENOENT || code == unix.ENOTDIR || code == unix.ELOOP
	}
	return true // the error of an os.Root for a link that leads out
}

// compare finds the name of the present owner or group if it is not one of the wanted accounts.
func (f *item) compare(ctx context.Context, h *resource.Host, d database, a *account, id uint32) {
	if a != nil && (a.unknown != "" || !a.has(id)) {
		a.now = f.t.accounts.name(ctx, h, d, int(id))
	}
}

func (a *account) has(id uint32) bool { return slices.Contains(a.ids, int(id)) }

// warn logs the parameters that have no effect on this file.
func (f *item) warn(h *resource.Host) {
	switch {
	case f.want.ensure == absent && f.is.kind == directory && !f.force && f.replace:
		h.Logf(f.r.Ref, report.Warning, "The directory is not removed: that needs force => true.")
	case f.want.ensure == present && f.is.exists() && f.is.kind != regular && (f.hasContent || f.sources != nil):
		h.Logf(f.r.Ref, report.Warning, "The content is left as it is: the path is of the type %s, and ensure is present.", f.is.kind)
	}
}

// managesContent reports whether the content of an existing or new file comes from the resource.
func (f *item) managesContent() bool {
	if !f.hasContent && f.sources == nil {
		return false
	}
	switch f.want.ensure {
	case regular:
	case present, "":
		if f.is.exists() && f.is.kind != regular || !f.is.exists() && f.want.ensure == "" {
			return false
		}
	default:
		return false
	}
	return !f.is.exists() || f.replace
}

// readContent compares the content with the wanted content.
func (f *item) readContent(ctx context.Context, h *resource.Host, p place) error {
	same := f.hasContent && f.sum == "" && f.kind == sha && f.is.st.Size == int64(len(f.content))
	if f.is.kind == regular && same {
		equal, err := f.equals(p)
		if equal || err != nil {
			return err
		}
	}
	f.want.sum = f.wantedSum()
	if f.is.kind != regular {
		return nil
	}
	k, _, _ := parts(f.want.sum)
	if !k.hashed() {
		f.is.sum = k.text(f.time(k).Format(timeFormat))
		f.want.differs = f.time(k).Before(f.want.since)
		return f.keepTexts(ctx, h, p)
	}
	file, err := f.open(p)
	if err != nil {
		return err
	}
	defer file.Close()
	sum, err := k.of(&cancelled{ctx, file})
	if err != nil {
		return err
	}
	f.is.sum, f.want.differs = sum, sum != f.want.sum
	return f.keepTexts(ctx, h, p)
}

// equals reports whether the file has the wanted content. It is called for files of the same size.
func (f *item) equals(p place) (bool, error) {
	file, err := f.open(p)
	if err != nil {
		return false, err
	}
	defer file.Close()
	buf := make([]byte, min(len(f.content)+1, 256<<10))
	for rest := f.content; ; {
		n, err := file.Read(buf)
		if !strings.HasPrefix(rest, string(buf[:n])) {
			return false, nil
		}
		rest = rest[n:]
		switch {
		case err == io.EOF:
			return len(rest) == 0, nil
		case err != nil:
			return false, err
		case len(rest) == 0 && n < len(buf):
			return true, nil // a regular file gives less than was asked for at its end alone
		}
	}
}

// wantedSum returns the checksum of the content that the resource describes.
func (f *item) wantedSum() string {
	switch {
	case f.sum != "":
		if !f.kind.hashed() {
			f.want.since, _ = parseTime(f.sum)
		}
		return f.kind.text(f.sum)
	case f.hasContent:
		sum, _ := f.kind.of(strings.NewReader(f.content)) // reading memory does not fail
		return sum
	case f.want.from != nil:
		f.want.since = f.want.from.time
		return f.want.from.sum
	}
	return ""
}

// time returns the time of the file that a kind of checksum compares, in seconds as in Puppet.
func (f *item) time(k kind) time.Time {
	if k == ctime {
		return time.Unix(f.is.st.Ctim.Sec, 0)
	}
	return time.Unix(f.is.st.Mtim.Sec, 0)
}

// A cancelled reader ends with the error of its context.
type cancelled struct {
	ctx context.Context //nolint:containedctx // of one call of Read
	io.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.Reader.Read(p)
}

// texts are the contents before and after a change, if a diff is wanted.
type texts struct {
	old, new []byte
	kept     bool
}

// maxDiff is the size of contents above which no diff is made.
const maxDiff = 1 << 20

// keepTexts reads the contents for a diff. A file of a web server would be downloaded twice, so it has no diff.
func (f *item) keepTexts(ctx context.Context, h *resource.Host, p place) error {
	if !f.want.differs || !h.Diffs || f.quiet || f.secret() || f.is.st.Size > maxDiff || slices.ContainsFunc(f.sources, onWeb) {
		return nil
	}
	file, err := f.open(p)
	if err != nil {
		return err
	}
	defer file.Close()
	if f.text.old, err = io.ReadAll(io.LimitReader(file, maxDiff+1)); err != nil {
		return err
	}
	from, err := f.contents(ctx, h)
	if err != nil {
		return nil // the change itself reports it
	}
	defer from.Close()
	f.text.new, err = io.ReadAll(io.LimitReader(from, maxDiff+1))
	f.text.kept = err == nil && len(f.text.old) <= maxDiff && len(f.text.new) <= maxDiff
	return nil
}

// secret reports whether the content must not be shown.
func (f *item) secret() bool { return f.r.Secret("content") || f.r.Secret("source") }

// contents opens the wanted content of the file.
func (f *item) contents(ctx context.Context, h *resource.Host) (io.ReadCloser, error) {
	switch {
	case f.hasContent:
		return io.NopCloser(strings.NewReader(f.content)), nil
	case f.want.from != nil && f.want.from.url != "":
		return f.get(ctx, h, f.want.from.url)
	case f.want.from != nil && f.want.from.path == "":
		k, sum, _ := parts(f.want.from.sum)
		if k != sha {
			return nil, fmt.Errorf("the source has a checksum of the kind %s, but bolt finds contents only by their sha256", k)
		}
		r, err := h.Content(sum)
		if errors.Is(err, os.ErrNotExist) {
			return nil, errors.New("the content of the source was not sent")
		}
		return r, err
	case f.want.from != nil:
		return openRegular(f.want.from.path)
	case f.sources != nil:
		return f.firstSource(ctx, h)
	}
	return io.NopCloser(strings.NewReader("")), nil
}
