package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"bolt/apply/frame"
	"bolt/apply/remote/embedded"
	"bolt/transport"
)

// A session starts the helper on one machine.
type session struct {
	conn transport.Conn
	t    *Target
	run  string
	// grace is the time that the helper has to end after a cancel; 0 is interruptGrace.
	grace time.Duration
	// feed returns the open input of a watch, which begins with the input that it gets; nil for other runs.
	feed func(first []byte) io.ReadCloser
}

// nothing is the input of a helper that needs none.
func nothing() ([]byte, error) { return nil, nil }

// start runs the helper, and copies it first if it is missing. A helper that was just copied has no catalog
// yet, so it gets the input that placing returns.
func (s *session) start(ctx context.Context, args []string, input []byte, placing func() ([]byte, error), r *results) error {
	no, err := s.attempt(ctx, s.sum, "", args, input, r)
	if err != nil || no == nil {
		return err
	}
	if no.kind == kindBroken {
		// A broken helper is replaced once. The script prints the directory if it gets a digest that no helper
		// can have.
		broken := no
		if no, err = s.attempt(ctx, noSums, "", args, nil, r); err != nil {
			return err
		}
		if no == nil || no.kind == kindBroken {
			return s.explain(broken)
		}
	}
	if no.kind != kindAbsent {
		return s.explain(no)
	}
	h, err := s.helper(no)
	if err != nil {
		return err
	}
	name, err := s.put(ctx, h, no.dir, unpacks(no))
	if err != nil {
		return err
	}
	if input, err = placing(); err != nil {
		return err
	}
	dir := no.dir
	no, err = s.attempt(ctx, s.sum, name, append([]string{"--placed", h.Sum}, args...), input, r)
	if err != nil || no == nil {
		return err
	}
	// Otherwise a later helper removes it.
	rm := &transport.Cmd{Label: s.t.Label, Argv: []string{"rm", "-f", path.Join(dir, name), path.Join(dir, strings.TrimSuffix(name, packedExt))}, RunAs: s.t.RunAs, TmpDir: s.t.TmpDir}
	_, _ = s.conn.Run(ctx, rm)
	return s.explain(no)
}

// put copies the helper to the state directory, packed if the machine can unpack it, and returns the name of the file.
func (s *session) put(ctx context.Context, h *embedded.Helper, dir string, packed bool) (name string, err error) {
	name = "new-" + transport.NewPrivateName()
	read, mode := h.Program, fs.FileMode(0o700)
	if packed {
		name += packedExt
		read, mode = h.Packed, 0o600
	}
	data, err := read()
	if err != nil {
		return "", err
	}
	o := transport.FileOptions{Label: s.t.Label, RunAs: s.t.RunAs, TmpDir: s.t.TmpDir}
	err = s.conn.Put(ctx, transport.Tree{FS: ofBytes(name, mode, data), Path: name, Name: name}, path.Join(dir, name), o)
	if e, is := errors.AsType[*transport.Error](err); is && e.Class == transport.ClassFile {
		return "", s.t.unusable("its helper cannot be copied to %s: %s", dir, e.Msg)
	}
	return name, err
}

// helper returns the helper for the machine.
func (s *session) helper(no *cannot) (*embedded.Helper, error) {
	system := strings.TrimSuffix(no.detail, canUnpack)
	h := s.t.Helpers.Find(systems()[system])
	if h == nil {
		return nil, s.explain(&cannot{kind: kindSystem, detail: system})
	}
	return h, nil
}

// The reasons of startScript, and one reason of this package.
const (
	kindAbsent = "absent"
	kindSystem = "system"
	kindBroken = "broken" // the file exists, but does not start
)

// sum returns the digest of the helper for a system; "" if bolt has no helper for it.
func (s *session) sum(system string) string {
	if h := s.t.Helpers.Find(system); h != nil {
		return h.Sum
	}
	return ""
}

// noSums returns digests that do not belong to any helper.
func noSums(string) string { return "none" }

// attempt runs the helper once. no is set if it did not start.
func (s *session) attempt(ctx context.Context, sum func(system string) string, name string, args []string, input []byte, r *results) (no *cannot, err error) {
	argv := append([]string{"/bin/sh", "-c", script(name), "sh", s.run, s.t.Dir, sum("linux-amd64"), sum("linux-arm64"), name}, args...)
	errs := &head{}
	in := r.reader(s.run)
	cmd := &transport.Cmd{Label: s.t.Label, Argv: argv, Stdin: input, Stdout: in, Stderr: errs, RunAs: s.t.RunAs, TmpDir: s.t.TmpDir, Grace: cmp.Or(s.grace, interruptGrace)}
	if s.feed != nil {
		open := s.feed(input)
		defer open.Close()
		cmd.Stdin, cmd.Input = nil, open
	}
	st, err := s.conn.Run(ctx, cmd)
	greeted, before, rerr := in.end()
	switch {
	case rerr != nil: // also if Run returned an error, which is because of it then
		return nil, rerr
	case err != nil:
		return nil, err
	case greeted && r.complete():
		return nil, nil
	case greeted:
		return nil, &transport.Error{Class: transport.ClassLost, Msg: fmt.Sprintf("The helper on %s ended in the middle of its work (%s)%s", s.t.label(), ended(st), errs.text())}
	}
	if no := parseCannot(before, s.run); no != nil {
		return no, nil
	}
	return &cannot{kind: kindBroken, detail: ended(st) + errs.text()}, nil
}

func ended(st transport.Status) string {
	if st.Signal != "" {
		return "signal " + st.Signal
	}
	return fmt.Sprintf("exit status %d", st.Code)
}

// explain returns the error for a helper that cannot run.
func (s *session) explain(no *cannot) error {
	switch no.kind {
	case kindSystem:
		return &transport.Error{Class: transport.ClassBootstrap,
			Msg: fmt.Sprintf("Cannot apply the catalog on %s: bolt has no helper for the system %s", s.t.label(), clean(no.detail))}
	case "home":
		return s.t.unusable("its user has no home directory (%s)", no.dir)
	case "make":
		return s.t.unusable("the directory %s cannot be made: %s", no.dir, no.detail)
	case "link":
		return s.t.unusable("%s is a symbolic link", no.dir)
	case "owner":
		return s.t.unusable("the directory %s, or one above it, belongs to another user: %s", no.dir, no.detail)
	case "open":
		return s.t.unusable("other users can write to the directory %s, or to one above it: %s", no.dir, no.detail)
	case "write":
		return s.t.unusable("no file can be written to %s", no.dir)
	case "exec":
		return s.t.unusable("no program can be run from %s: the file system may be mounted noexec. %s", no.dir, no.detail)
	case "unpack":
		return s.t.unusable("the helper cannot be unpacked in %s: %s", no.dir, no.detail)
	case kindAbsent:
		return s.t.unusable("the helper in %s was removed meanwhile", no.dir)
	}
	e := &transport.Error{Class: transport.ClassBootstrap, Msg: fmt.Sprintf("Cannot apply the catalog on %s: the helper does not start: %s", s.t.label(), clean(no.detail))}
	if user := s.t.RunAs.User; user != "" {
		e.Hint = fmt.Sprintf("Check that programs can be run there as %s: bolt command run id --run-as %[1]s", user)
	}
	return e
}

// supply returns the input that the helper requested. Large contents are copied as files first. If anew is set, the helper
// has started again, so a catalog with secrets must be sent again.
func (s *session) supply(ctx context.Context, p *packed, need *frame.Need, hello *frame.Hello, anew bool) ([]byte, error) {
	asked, err := p.find(need.Contents)
	if err != nil {
		return nil, s.t.protocol("%v", err)
	}
	f := frame.NewPacker()
	whole := need.Catalog || p.secret && anew
	if whole {
		if err := p.addCatalog(f); err != nil {
			return nil, err
		}
	}
	for _, c := range asked {
		if whole && c.small {
			continue // it is in it
		}
		if c.size <= frame.MaxContent && f.Size() < maxInput {
			if err := p.add(f, c); err != nil {
				return nil, err
			}
			continue
		}
		src := ofContent(c, func() (io.ReadCloser, error) { return p.open(c) })
		o := transport.FileOptions{Label: s.t.Label, RunAs: s.t.RunAs, TmpDir: s.t.TmpDir}
		dst := path.Join(hello.Dir, "incoming", s.run, c.Sum)
		if err := s.conn.Put(ctx, transport.Tree{FS: src, Path: c.Sum, Name: c.Sum}, dst, o); err != nil {
			return nil, err
		}
	}
	return f.Pack()
}

// head keeps the beginning of a stream.
type head struct{ b bytes.Buffer }

const maxHead = 4 << 10

func (h *head) Write(p []byte) (int, error) {
	h.b.Write(p[:min(len(p), maxHead-h.b.Len())])
	return len(p), nil
}

// text returns the end of a message; "" if nothing was printed.
func (h *head) text() string {
	if text := clean(h.b.String()); text != "" {
		return ": " + text
	}
	return ""
}

func clean(text string) string { return strings.TrimSpace(safeMessage(text)) }
