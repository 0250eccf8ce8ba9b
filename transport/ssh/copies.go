package ssh

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"

	"bolt/transport"
	"bolt/transport/archive"
	"bolt/transport/ssh/sftp"
)

// Copies by SFTP are for machines without tar. They behave like the copies with
// the shell: a file is written under another name and then renamed.

// withSFTP runs f with an SFTP client. When ctx ends, the session ends, and so
// does f.
func (c *Conn) withSFTP(ctx context.Context, f func(*sftp.Copier) error) error {
	s, err := c.start(ctx, "subsystem", ssh.Marshal(&struct{ Name string }{"sftp"}), false)
	if err != nil {
		if transport.ClassOf(err) == transport.ClassUnsupported {
			return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err,
				Msg: fmt.Sprintf("Could not copy to or from %s: it has neither tar nor SFTP", c.e.to.Host), Hint: "Install tar on the machine."}
		}
		return err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	if !c.work.start(func() { io.Copy(io.Discard, s.Stderr()) }) {
		return c.lostError("")
	}
	client, err := sftp.New(s, c.e.to.Host, c.listings, c.log)
	if err == nil {
		err = func() error { defer client.Close(); return f(client) }()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return c.interrupted(ctx, "copying files")
	case sftp.Lost(err) || c.isOver():
		return c.lostError("copying files")
	}
	return err
}

func (c *Conn) putBySFTP(ctx context.Context, src transport.Tree, dst string) error {
	return c.withSFTP(ctx, func(client *sftp.Copier) error { return client.Put(src, dst) })
}

func (c *Conn) getBySFTP(ctx context.Context, src, dst string, limits transport.Limits) error {
	return archive.Receive(src, c.e.to.Host, dst, limits, func(to io.Writer) error { return c.archiveBySFTP(ctx, src, to) })
}

// archiveBySFTP packs the archive of transport.Archiver on this side.
func (c *Conn) archiveBySFTP(ctx context.Context, src string, to io.Writer) error {
	_, base, err := archive.Source(src)
	if err != nil {
		return err
	}
	sink := &sinkWriter{w: to}
	err = c.withSFTP(ctx, func(client *sftp.Copier) error { return client.Archive(src, base, sink) })
	if sink.err != nil {
		return &transport.Error{Class: transport.ClassCancelled, Err: sink.err,
			Msg: fmt.Sprintf("download on %s was ended because its output could not be stored: %v", c.e.to.Host, sink.err)}
	}
	return err
}

// sinkWriter records the error of its writer.
type sinkWriter struct {
	w   io.Writer
	err error
}

func (s *sinkWriter) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}
