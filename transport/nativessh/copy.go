package nativessh

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"bolt/transport"
	"bolt/transport/archive"
	"bolt/transport/process"
	"bolt/transport/shell"
)

// Conn is a machine to which each session makes a new connection. It is safe
// for concurrent use.
//
// Files are copied as a tar stream through a session, unless a copy program is
// configured (Tool.Copy). The copy program is not used for files of another
// user (RunAs), or for a tree that is not in this machine's file system. If the
// machine has no tar, scp copies.
type Conn struct {
	*shell.Conn
	starter *starter
	opts    shell.Options
}

// defaultCopy returns the copy program for machines without tar.
func defaultCopy() []string { return []string{"scp", "-r"} }

// Put implements transport.Conn.
func (c *Conn) Put(ctx context.Context, src transport.Tree, dst string, o transport.FileOptions) error {
	words := c.starter.program.Copy.List()
	mayCopy := src.FS == nil && !c.escalates(o)
	if words == nil || !mayCopy {
		err := c.Conn.Put(ctx, src, dst, o)
		if !errors.Is(err, shell.ErrNoTar) || !mayCopy {
			return err
		}
		words = defaultCopy()
	}
	return c.Do(ctx, func(ctx context.Context) error {
		return shell.PutBy(ctx, c.starter, src, dst, o, c.opts, func(ctx context.Context, dir string) error {
			near, err := filepath.Abs(src.Path) // scp takes a path without a slash before a colon for a host
			if err == nil {
				err = c.starter.copies(ctx, words, near, c.starter.far(dir+"/"+archive.Name(src)))
			}
			return copyError("upload", "to", archive.Describe(src), c.name(o), err)
		})
	})
}

// Get implements transport.Conn.
func (c *Conn) Get(ctx context.Context, src, dst string, o transport.FileOptions) error {
	words := c.starter.program.Copy.List()
	if words == nil || c.escalates(o) {
		err := c.Conn.Get(ctx, src, dst, o)
		if !errors.Is(err, shell.ErrNoTar) || c.escalates(o) {
			return err
		}
		words = defaultCopy()
	}
	return c.Do(ctx, func(ctx context.Context) error {
		if _, _, err := archive.Source(src); err != nil {
			return err
		}
		near, err := filepath.Abs(dst)
		if err != nil {
			return copyError("download", "from", src, c.name(o), err)
		}
		undo, err := archive.MakeDir(near)
		if err != nil {
			return err
		}
		err = c.starter.copies(ctx, words, c.starter.far(src), near)
		if err != nil {
			undo()
		}
		return copyError("download", "from", src, c.name(o), err)
	})
}

// escalates reports whether the files belong to a user other than the login
// user.
func (c *Conn) escalates(o transport.FileOptions) bool {
	return o.RunAs.User != "" && o.RunAs.User != c.opts.User
}

func (c *Conn) name(o transport.FileOptions) string {
	if o.Label != "" {
		return o.Label
	}
	return c.starter.to.Host
}

// far returns a path on the machine in the format of scp.
func (s *starter) far(path string) string {
	host := s.to.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + path
}

// copies runs a copy program.
func (s *starter) copies(ctx context.Context, words []string, from, to string) error {
	path, err := exec.LookPath(words[0])
	if err != nil {
		return s.noProgram(words[0], err)
	}
	args := append(slices.Clone(words), s.options()...)
	_, said, err := process.Output(ctx, process.Options{Path: path, Args: append(args, from, to)})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return err
	case said != "":
		return fmt.Errorf("%s: %s", words[0], shell.FirstLines(said))
	}
	return fmt.Errorf("%s: %w", words[0], err)
}

// copyError returns the error of a failed copy, or nil if err is nil.
func copyError(verb, way, what, host string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*transport.Error](err); ok {
		return err
	}
	class := transport.ClassFile
	switch {
	case errors.Is(err, context.Canceled):
		class = transport.ClassCancelled
	case errors.Is(err, context.DeadlineExceeded):
		class = transport.ClassTimeout
	}
	return &transport.Error{Class: class, Code: "COPY_ERROR", Err: err, Msg: fmt.Sprintf("Could not %s %s %s %s: %v", verb, what, way, host, err)}
}
