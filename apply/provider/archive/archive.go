// Package archive applies resources of the type archive: files that are downloaded and perhaps extracted.
//
// The rules are those of the module archive. Files are downloaded with curl(1), and extracted with the
// programs that the module runs, such as tar(1) and unzip(1). A file is downloaded under another name and then
// renamed, so its path never has a part of it. A file with a wrong checksum does not replace an older one.
package archive

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/curl"
	"bolt/apply/provider/safepath"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

// Type returns the type archive.
func Type() resource.Type { return archiveType{} }

type archiveType struct{}

// An item is one archive.
type item struct {
	r      *resource.Resource
	path   string
	absent bool

	source, checksumURL string
	checksum            string // in lower case; "" if it is not known
	digest              string // the type of the checksum: none, md5, sha1, ...
	verify              bool   // the checksum of downloads
	tempDir             string
	web                 web

	extract     bool
	extractPath string
	command     string // the shell command that extracts the file
	creates     string
	cleanup     bool
	user, group string

	exists    bool   // Read: the file is there
	sum       string // of the file, if it was compared
	right     bool   // the file has the right checksum, or needs none
	extracted bool   // creates is there
	pending   bool   // a run has downloaded the file, but has not extracted it
}

// New implements resource.Type.
func (archiveType) New(r *resource.Resource) (resource.Item, error) {
	f := resource.Fields{R: r}
	x := &item{
		r:           r,
		path:        filepath.Clean(f.Text("path", r.Title)),
		absent:      f.Text("ensure", "present") == "absent",
		source:      f.Text("source", f.Text("url", "")),
		checksumURL: f.Text("checksum_url", f.Text("digest_url", "")),
		digest:      f.Text("checksum_type", f.Text("digest_type", "none")),
		verify:      f.Bool("checksum_verify", true),
		tempDir:     f.Text("temp_dir", ""),
		extract:     f.Bool("extract", false),
		extractPath: f.Text("extract_path", f.Text("target", "")),
		creates:     f.Text("creates", ""),
		cleanup:     f.Bool("cleanup", true),
		user:        f.Text("user", ""),
		group:       f.Text("group", ""),
	}
	x.readChecksum(&f)
	x.web.read(&f)
	x.readSources(&f)
	if x.extract && !x.absent {
		x.command = x.extraction(&f)
		if x.extractPath == "" {
			f.Refuse("extract_path", "is needed")
		}
	}
	for _, p := range []struct{ param, dir string }{{"extract_path", x.extractPath}, {"temp_dir", x.tempDir}, {"creates", x.creates}} {
		if p.dir != "" && !filepath.IsAbs(p.dir) {
			f.RefuseValue(p.param, "must be an absolute path", p.dir)
		}
	}
	switch provider := f.Text("provider", "curl"); provider {
	case "curl", "wget", "ruby":
	default:
		f.RefuseValue("provider", "must be curl, wget or ruby", provider)
	}
	return x, f.Err
}

var hexDigest = lazyregexp.New(`\b[0-9a-fA-F]{32,128}\b`)

func (x *item) readChecksum(f *resource.Fields) {
	switch sum := f.Text("checksum", f.Text("digest_string", "")); sum {
	case "true", "false":
		x.verify = sum == "true"
	case "", "undef":
	default:
		x.checksum = strings.ToLower(sum)
	}
	if x.checksum == "" && x.checksumURL == "" {
		if x.digest != "none" && x.verify && !x.absent {
			f.Refuse("checksum_type", "cannot be used without checksum or checksum_url")
		}
		x.digest = "none"
	}
}

func (x *item) readSources(f *resource.Fields) {
	if f.R.Params.Value("source") != nil && f.R.Params.Value("url") != nil && f.Text("source", "") != f.Text("url", "") {
		f.Refuse("url", "cannot be used together with source")
	}
	if f.R.Params.Value("checksum_url") != nil && f.R.Params.Value("digest_url") != nil && f.Text("checksum_url", "") != f.Text("digest_url", "") {
		f.Refuse("digest_url", "cannot be used together with checksum_url")
	}
	if x.source == "" && !x.absent && !x.extract {
		f.Refuse("source", "is needed")
	}
	for _, p := range []struct{ param, location string }{{"source", x.source}, {"checksum_url", x.checksumURL}} {
		param, location := p.param, p.location
		switch kind := kindOf(location); {
		case location == "" || x.absent:
		case strings.ContainsAny(location, "\r\n"): // curl reads a setting in each line
			f.Refuse(param, "must be one line")
		case kind == "":
			f.Refuse(param, "must be a URL with http, https, ftp, file, puppet, s3 or gs, or an absolute path")
		case kind == "puppet" && (param != "source" || f.R.File == nil):
			f.Refuse(param, "must be a file of the project if it is a URL with puppet (puppet:///modules/MODULE/FILE)")
		}
	}
}

// kindOf returns the first part of a location, "path" for a path, and "" for other texts.
func kindOf(location string) string {
	for _, kind := range []string{"http", "https", "ftp", "file", "puppet", "s3", "gs"} {
		if strings.HasPrefix(location, kind+"://") || kind == "file" && strings.HasPrefix(location, "file:/") {
			return kind
		}
	}
	if filepath.IsAbs(location) {
		return "path"
	}
	return ""
}

// marker is the file that is there while the archive is to be extracted. Without it, a run that was killed
// would leave an archive that no run extracts.
func (x *item) marker() string {
	return filepath.Join(filepath.Dir(x.path), "."+filepath.Base(x.path)+".bolt-extract")
}

// there reports whether a path exists.
func there(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDirectory(err) {
		return false, nil
	}
	return err == nil, err
}

// Read implements resource.Item.
func (x *item) Read(ctx context.Context, h *resource.Host) (err error) {
	x.extracted, x.right = false, false
	if x.exists, err = there(x.path); err != nil {
		return err
	}
	if x.creates != "" {
		if x.extracted, err = there(x.creates); err != nil {
			return err
		}
	}
	if x.pending, err = there(x.marker()); err != nil || x.absent || !x.exists {
		return err
	}
	if x.digest == "none" {
		x.right = true
		return nil
	}
	if err := x.findChecksum(ctx, h); err != nil {
		return err
	}
	f, err := openFile(x.path)
	if err != nil {
		return err
	}
	defer f.Close()
	x.sum, err = x.sumOf(f)
	x.right = x.sum == x.checksum
	return err
}

// Watch implements resource.Watcher. A checksum at a URL can change without an event.
func (x *item) Watch(context.Context, *resource.Host) []resource.Watch {
	list := resource.Paths(x.path, x.marker())
	if x.creates != "" {
		list = append(list, resource.Watch{Path: x.creates})
	}
	if x.checksum == "" && x.digest != "none" && !x.absent {
		list = append(list, resource.Watch{Poll: true})
	}
	return list
}

// findChecksum downloads the checksum if it is not a parameter.
func (x *item) findChecksum(ctx context.Context, h *resource.Host) error {
	if x.checksum != "" {
		return nil
	}
	text, err := x.fetchText(ctx, h, x.checksumURL)
	if err != nil {
		return err
	}
	if x.checksum = strings.ToLower(hexDigest().FindString(text)); x.checksum == "" {
		return fmt.Errorf("%s has no checksum", curl.Named(x.checksumURL, x.r.Secret("checksum_url")))
	}
	return nil
}

// sumOf returns the checksum of a file.
func (x *item) sumOf(f io.Reader) (string, error) {
	var d hash.Hash
	switch x.digest {
	case "md5":
		d = md5.New()
	case "sha1":
		d = sha1.New()
	case "sha384":
		d = sha512.New384()
	case "sha512":
		d = sha512.New()
	default: // sha2 is the default of Ruby's class: sha256
		d = sha256.New()
	}
	_, err := io.Copy(d, f)
	return fmt.Sprintf("%x", d.Sum(nil)), err
}

// Plan implements resource.Item.
func (x *item) Plan() ([]resource.Change, error) {
	switch {
	case x.absent && x.exists:
		return []resource.Change{{Property: "ensure", Name: "archive_removed", Is: "present", Should: "absent", Message: "remove archive: " + x.path}}, nil
	case x.absent:
		return nil, nil
	case x.pending || !(x.right || !x.exists && x.extracted):
		return []resource.Change{x.creation()}, nil
	case x.extract && x.creates != "" && !x.extracted:
		return []resource.Change{{Property: "creates", Is: "archive not extracted", Should: fmt.Sprintf("extracting in %s to create %s", x.extractPath, x.creates)}}, nil
	}
	return nil, nil
}

// creation describes the change with Puppet's words.
func (x *item) creation() resource.Change {
	c := resource.Change{Property: "ensure", Name: "archive_created", Is: "absent", Should: "present"}
	if x.sum != "" && !x.right {
		c.Is, c.Should = fmt.Sprintf("(%s)%s", x.digest, x.sum), fmt.Sprintf("(%s)%s", x.digest, x.checksum)
		c.Message = fmt.Sprintf("replace archive: %s from %s to %s", x.path, c.Is, c.Should)
		return c
	}
	c.Message = fmt.Sprintf("download archive from %s to %s", curl.Named(x.source, x.r.Secret("source")), x.path)
	if x.r.Secret("source") || x.r.Secret("url") {
		c.Message = "download archive to " + x.path
	}
	if x.extract {
		c.Message += " and extracted in " + x.extractPath
	}
	if x.cleanup {
		c.Message += " with cleanup"
	} else {
		c.Message += " without cleanup"
	}
	return c
}

// Do implements resource.Item.
func (x *item) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	switch {
	case c.Property == "creates":
		return x.unpackAgain(ctx, h)
	case x.absent:
		return errors.Join(remove(x.path), remove(x.marker()))
	}
	if !x.right {
		if err := x.download(ctx, h); err != nil {
			return err
		}
	}
	if !x.extract {
		return nil
	}
	if err := remove(filepath.Join(filepath.Dir(x.path), tempName(filepath.Base(x.path)))); err != nil { // of a run that was killed
		return err
	}
	err := x.unpack(ctx, h)
	// An extraction that failed can have made a part of creates. Then only the marker lets the next run extract the archive again.
	done := err == nil || x.cleanup && x.creates == ""
	if x.cleanup {
		err = errors.Join(err, remove(x.path))
	}
	if done {
		err = errors.Join(err, remove(x.marker()))
	}
	return err
}

// unpackAgain extracts an archive that was there before. A marker cannot be made beside a file on a read-only file system; it is then left out.
func (x *item) unpackAgain(ctx context.Context, h *resource.Host) error {
	dir, _, err := safepath.Parent(x.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := mark(dir, filepath.Base(x.marker())); err != nil && !errors.Is(err, unix.EROFS) {
		return err
	}
	if err := x.unpack(ctx, h); err != nil {
		return err
	}
	return remove(x.marker())
}

// remove removes a file, if it is there. A link of a user on the way does not lead to files of another user.
func remove(path string) error {
	dir, name, err := safepath.Parent(path)
	if err == nil {
		defer dir.Close()
		if err = unix.Unlinkat(int(dir.Fd()), name, 0); err != nil {
			err = &fs.PathError{Op: "remove", Path: path, Err: err}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
