package powershell

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"bolt/transport/archive"
)

// Put copies a file or directory to the machine as transport.Conn's Put does,
// without permission bits, which Windows does not have. It writes the copy next
// to its destination and then renames it, so TmpDir has no effect.
func Put(ctx context.Context, s Starter, src transport.Tree, dst string, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	if err := checkRunAs(fo.RunAs, &o); err != nil {
		return err
	}
	if dst == "" || strings.Contains(dst, "\x00") {
		return unsupported("upload destination %q is not a path", dst)
	}
	name := archive.Name(src)
	if err := archive.CheckName(name); err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	info, err := fs.Stat(archive.Files(src), src.Path)
	if err != nil {
		return copyError(fmt.Sprintf("Could not read: %v", err), err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return copyError(fmt.Sprintf("Could not upload %s: neither a regular file nor a directory", archive.Describe(src)), nil)
	}
	x := newExchange("upload", &o)
	f := &framer{w: &x.asks}
	f.text("do", "put")
	f.text("base", name)
	f.text("to", dst)
	x.asked()

	tarred, tarring := io.Pipe()
	framed, framing := io.Pipe()
	x.send = framed
	var packed, sent error
	var wg sync.WaitGroup
	wg.Go(func() {
		a := archive.NewWriter(tarring, time.Now())
		packed = a.Tree(src)
		if packed == nil {
			packed = a.Close()
		}
		tarring.CloseWithError(packed)
	})
	wg.Go(func() {
		sent = (&framer{w: framing}).tree(tarred)
		tarred.CloseWithError(cmp.Or(sent, errDone))
		framing.CloseWithError(sent)
	})
	_, err = x.run(ctx, s, nil, nil)
	framed.CloseWithError(errDone)
	wg.Wait()
	// A local failure is the cause of the others.
	for _, local := range []error{packed, sent} {
		if e, ok := errors.AsType[*transport.Error](local); ok {
			return e
		}
	}
	return err
}

// errDone ends a writer whose data is no longer read.
var errDone = errors.New("the reader has ended")

func copyError(msg string, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err, Msg: msg}
}

func slashes(src string) string { return strings.ReplaceAll(src, `\`, "/") }

// Get copies a file or directory from the machine as transport.Conn's Get does.
// Files get the default permission bits of new files.
func Get(ctx context.Context, s Starter, src, dst string, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	if err := checkRunAs(fo.RunAs, &o); err != nil {
		return err
	}
	return archive.Receive(slashes(src), o.Host, dst, fo.Limits, func(to io.Writer) error { return get(ctx, s, src, to, o) })
}

// get writes the machine's data as a tar stream.
func get(ctx context.Context, s Starter, src string, to io.Writer, o Options) error {
	_, base, err := archive.Source(slashes(src))
	if err != nil {
		return err
	}
	x := newExchange("download", &o)
	f := &framer{w: &x.asks}
	f.text("do", "get")
	f.text("from", src)
	f.text("base", base)
	x.asked()

	pr, pw := io.Pipe()
	var read error
	var wg sync.WaitGroup
	wg.Go(func() {
		read = untree(bufio.NewReader(pr), archive.NewWriter(to, time.Now()))
		if read == nil {
			_, _ = io.Copy(io.Discard, pr)
		}
		pr.CloseWithError(cmp.Or(read, errDone))
	})
	_, err = x.run(ctx, s, pw, nil)
	pw.CloseWithError(err) // io.EOF if err is nil
	wg.Wait()
	switch {
	case read == nil || err != nil && (errors.Is(read, err) || !errors.Is(err, read)):
		return err
	case errors.Is(read, io.ErrUnexpectedEOF):
		read = errors.New("the data from the machine ended early")
	}
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: read,
		Msg: fmt.Sprintf("Could not download %s from %s: %v", src, o.Host, read)}
}
