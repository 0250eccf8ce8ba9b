package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"bolt/transport"
	"bolt/transport/archive"
)

// Get copies a file or directory from the machine as transport.Conn's Get does.
// The machine must have tar. An existing dst/<base of src> is replaced file by
// file.
func Get(ctx context.Context, s Starter, src, dst string, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	err := archive.Receive(src, o.Host, dst, fo.Limits, func(to io.Writer) error { return Archive(ctx, s, src, to, fo, o) })
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Code == "WRITE_ERROR" {
		e.Code = cmp.Or(o.DownloadCode, e.Code)
	}
	return err
}

// Archive writes a file or directory of the machine to a writer, as
// transport.Archiver does. It writes the archive of the machine's tar unchanged
// and returns tar's error messages as an error. The machine must have tar. An
// error of the writer is returned as in Run.
func Archive(ctx context.Context, s Starter, src string, to io.Writer, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	p, err := newTransfer("download", fo, &o)
	if err != nil {
		return err
	}
	dir, base, err := archive.Source(src)
	if err != nil {
		return err
	}
	if strings.HasPrefix(dir, "-") {
		dir = "./" + dir
	}
	// "./" prevents tar from taking the name for an option or for a list of
	// files.
	steps := append(p.prelude(),
		`f() { printf '%s#%s %s%s.\n' `+p.token+` "$1" "$2" `+p.token+` >&2; exit 1; }`,
		`command -v tar >/dev/null 2>&1 || f `+stepNoTar,
		`printf '%s=\n' `+p.token,
		`LC_ALL=C tar -chf - -C `+Quote(dir)+` -- `+Quote("./"+base))
	p.hangUp = true

	out := &afterMark{w: to, mark: []byte(p.token + "=\n")}
	st, err := p.do(ctx, s, strings.Join(steps, "; "), out)
	switch {
	case errors.Is(err, errNoise):
		return p.getError(src, errNoise.Error())
	case err != nil:
		return err
	case p.failed != nil && p.failed.step == stepNoTar:
		return p.noTar()
	case !st.OK() && !changedOnly(st, p.said.Bytes()):
		return p.getError(src, p.complaint(st))
	}
	return nil
}

func (p *transfer) getError(src, reason string) error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR",
		Msg: fmt.Sprintf("Could not download %s from %s: %s", src, p.host, reason)}
}

// changedOnly reports whether GNU tar's only complaint is about files that
// changed while it read them, such as logs. The copy is then the same as by
// scp.
func changedOnly(st transport.Status, said []byte) bool {
	if st.Signal != "" || st.Code != 1 {
		return false
	}
	for line := range bytes.Lines(bytes.TrimSpace(said)) {
		if !bytes.HasSuffix(bytes.TrimSpace(line), []byte(": file changed as we read it")) {
			return false
		}
	}
	return len(said) > 0
}

// maxNoise limits the output of a login shell before bolt's own output begins.
const maxNoise = 64 << 10

var errNoise = errors.New("the login shell prints too much before the copy begins")

// afterMark is a writer that passes on the data after a mark. The output of the
// login shell's start-up files comes before the mark.
type afterMark struct {
	w    io.Writer
	mark []byte
	head []byte
	seen bool
}

func (a *afterMark) Write(p []byte) (int, error) {
	if a.seen {
		return a.w.Write(p)
	}
	a.head = append(a.head, p...)
	i := bytes.Index(a.head, a.mark)
	switch {
	case i >= 0:
		rest := a.head[i+len(a.mark):]
		a.seen, a.head = true, nil
		if len(rest) > 0 {
			if _, err := a.w.Write(rest); err != nil {
				return 0, err
			}
		}
	case len(a.head) > maxNoise:
		return 0, errNoise
	}
	return len(p), nil
}
