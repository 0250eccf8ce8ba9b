package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"bolt/apply/provider/curl"
	"bolt/apply/provider/safepath"
	"bolt/apply/resource"
)

// Limits of a download. A transfer is ended if it stops for stallLimit.
const (
	downloadLimit = 6 * time.Hour
	stallLimit    = 5 * time.Minute
	maxBytes      = 100 << 30
	maxSum        = 1 << 20 // of the file with a checksum
	maxRedirects  = 5
)

// web has the parameters for servers.
type web struct {
	username, password, cookie string
	headers                    []string
	proxy                      string
	insecure                   bool
	secretCookie               bool
	options                    []string // of curl, aws or gsutil
}

func (w *web) read(f *resource.Fields) {
	*w = web{
		username: f.Text("username", ""),
		password: f.Text("password", ""),
		cookie:   f.Text("cookie", ""),
		headers:  f.Texts("headers"),
		proxy:    f.Text("proxy_server", ""),
		insecure: f.Bool("allow_insecure", false),

		secretCookie: f.R.Secret("cookie"),
		options:      f.Texts("download_options"),
	}
	if kind := f.Text("proxy_type", "none"); w.proxy != "" && !strings.Contains(w.proxy, "://") && kind != "none" {
		w.proxy = kind + "://" + w.proxy
	}
	if f.R.Secret("download_options") && len(w.options) > 0 {
		f.Refuse("download_options", "must not be secret, because every user of the machine can see arguments of programs. Use headers, cookie, username and password")
	}
	for _, p := range []struct{ param, text string }{
		{"headers", strings.Join(w.headers, "")}, {"cookie", w.cookie}, {"username", w.username}, {"password", w.password}, {"proxy_server", w.proxy},
	} {
		if strings.ContainsAny(p.text, "\r\n") {
			f.Refuse(p.param, "must be one line")
		}
	}
}

// config is the configuration file of curl for a download. curl reads it from its standard input, so the process
// list of the host does not show credentials.
func (w *web) config(location string, most int64) []byte {
	c := curl.New(location)
	c.Flag("fail")
	c.Number("max-redirs", maxRedirects)
	c.Number("speed-limit", 1)
	c.Number("speed-time", int64(stallLimit.Seconds()))
	c.Number("max-filesize", most)
	for _, header := range w.headers {
		c.Set("header", header)
	}
	if w.username != "" {
		c.Set("user", w.username+":"+w.password)
	}
	if w.secretCookie { // curl sends a header with this name to the host of the URL only, but a cookie also to hosts of redirects
		c.Set("header", "Cookie: "+w.cookie)
	} else {
		c.Set("cookie", w.cookie)
	}
	c.Set("proxy", w.proxy)
	if w.insecure {
		c.Flag("insecure")
	}
	return c.Bytes()
}

// download brings the source to the path.
func (x *item) download(ctx context.Context, h *resource.Host) error {
	if x.source == "" {
		return &resource.ParamError{Param: "source", Problem: "is needed"}
	}
	if err := safepath.MakeAll(filepath.Dir(x.path)); err != nil {
		return err
	}
	dir, name, err := safepath.Parent(x.path)
	if err != nil {
		return err
	}
	defer dir.Close()
	at := dir
	if x.tempDir != "" {
		if at, _, err = safepath.Parent(filepath.Join(x.tempDir, name)); err != nil {
			return fmt.Errorf("the temporary directory cannot be used: %w", err)
		}
		defer at.Close()
	}
	temp, err := newTemp(at, name)
	if err != nil {
		return err
	}
	defer temp.discard()
	if err := x.fetch(ctx, h, x.source, temp.File, maxBytes); err != nil {
		return err
	}
	if err := x.check(ctx, h, temp.File); err != nil {
		return err
	}
	if x.extract {
		if err := mark(dir, filepath.Base(x.marker())); err != nil {
			return err
		}
	}
	return temp.place(dir, name)
}

// mark makes an empty file, if it is not there. It does not follow links.
func mark(dir *os.File, name string) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "create", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return unix.Close(fd)
}

// check compares the checksum of a downloaded file.
func (x *item) check(ctx context.Context, h *resource.Host, f *os.File) error {
	if !x.verify || x.digest == "none" {
		return nil
	}
	if err := x.findChecksum(ctx, h); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	sum, err := x.sumOf(f)
	if err == nil && sum != x.checksum {
		err = fmt.Errorf("the file from %s has the %s checksum %s, and must have %s", curl.Named(x.source, x.r.Secret("source")), x.digest, sum, x.checksum)
	}
	return err
}

// fetch writes the content of a location to a file. most is the limit in bytes for curl.
func (x *item) fetch(ctx context.Context, h *resource.Host, location string, to *os.File, most int64) error {
	var err error
	switch kind := kindOf(location); kind {
	case "puppet":
		var in io.ReadCloser
		if in, err = h.Content(strings.TrimPrefix(x.r.File.Sum, "{sha256}")); err == nil {
			defer in.Close()
			_, err = io.Copy(to, in)
		}
	case "file", "path":
		path := location
		if kind == "file" {
			path = "/" + strings.TrimLeft(strings.TrimPrefix(location, "file:"), "/")
		}
		err = copyFile(path, to)
	default:
		err = x.run(ctx, h, location, to, most)
	}
	if err != nil {
		return fmt.Errorf("download of %s: %w", curl.Named(location, x.r.Secret("source") || x.r.Secret("checksum_url")), err)
	}
	return nil
}

// fetchText returns the content of a small file.
func (x *item) fetchText(ctx context.Context, h *resource.Host, location string) (string, error) {
	f, err := os.CreateTemp("", "")
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return "", err
	}
	if err := x.fetch(ctx, h, location, f, maxSum); err != nil {
		return "", err
	}
	if _, err = f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSum))
	return string(text), err
}

// run downloads with a program, which writes to its standard output.
func (x *item) run(ctx context.Context, h *resource.Host, location string, to *os.File, most int64) error {
	c := &resource.Command{Env: h.Environ(), Output: to, Timeout: downloadLimit}
	switch kindOf(location) {
	case "s3":
		c.Argv = append([]string{"aws", "s3", "cp", location, "-"}, x.web.options...)
	case "gs":
		c.Argv = append([]string{"gsutil", "cp", location, "-"}, x.web.options...)
	default:
		c.Argv = append([]string{"curl", "--config", "-"}, x.web.options...)
		c.Stdin = x.web.config(location, most)
	}
	program := c.Argv[0]
	if c.Argv[0] = h.Find(program); c.Argv[0] == "" {
		return fmt.Errorf("the program %s is missing. Install it on the target", program)
	}
	out, err := h.Run(ctx, c)
	if err != nil {
		return err
	}
	if err = out.Failure(program); err != nil {
		// The program does not print why it cannot write to its standard output. The file is not used any more.
		if _, reason := to.Write([]byte{0}); reason != nil {
			return fmt.Errorf("%w (%w)", err, reason)
		}
	}
	return err
}

func copyFile(path string, to *os.File) error {
	in, err := openFile(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(to, in)
	return err
}

// openFile opens a regular file for reading.
func openFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // without waiting for the other side of a FIFO
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is not a regular file")})
	}
	return f, nil
}

func isNotDirectory(err error) bool { return errors.Is(err, unix.ENOTDIR) }

// A temp is a file that gets its name when it is complete.
type temp struct {
	*os.File
	dir  *os.File
	name string
	done bool
}

func tempName(name string) string { return "." + name + ".bolt" }

// newTemp makes a file in a directory. It replaces the file of a run that was killed.
func newTemp(dir *os.File, name string) (*temp, error) {
	name = tempName(name)
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(dir.Fd()), name, flags, 0o600)
	if err == unix.EEXIST {
		if err = unix.Unlinkat(int(dir.Fd()), name, 0); err == nil {
			fd, err = unix.Openat(int(dir.Fd()), name, flags, 0o600)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: filepath.Join(dir.Name(), name), Err: err}
	}
	return &temp{File: os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name)), dir: dir, name: name}, nil
}

// place gives the file its name. If it is on another file system, it is copied to a temp first.
func (t *temp) place(dir *os.File, name string) error {
	if err := t.Chmod(0o644); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	err := unix.Renameat(int(t.dir.Fd()), t.name, int(dir.Fd()), name)
	if err == unix.EXDEV {
		near, err := newTemp(dir, name)
		if err != nil {
			return err
		}
		defer near.discard()
		if _, err := t.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(near, t); err != nil {
			return err
		}
		return near.place(dir, name)
	}
	if err != nil {
		return &fs.PathError{Op: "rename", Path: t.Name(), Err: err}
	}
	t.done = true
	return nil
}

// discard closes the file, and removes it if it was not placed.
func (t *temp) discard() {
	t.Close()
	if !t.done {
		_ = unix.Unlinkat(int(t.dir.Fd()), t.name, 0) // the next run removes it otherwise
	}
}
