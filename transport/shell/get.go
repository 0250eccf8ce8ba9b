package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"bolt/transport"
)

// Get copies a file or directory from the machine as transport.Conn's Get
// does. It needs tar there. What is in the way at dst/<base of src> is
// replaced file by file.
func Get(ctx context.Context, s Starter, src, dst string, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	p, err := newTransfer("download", fo, &o)
	if err != nil {
		return err
	}
	if src == "" || strings.Contains(src, "\x00") {
		return unsupported("download source %q is not a path", src)
	}
	dir, base := path.Dir(path.Clean(src)), path.Base(src)
	if base == "/" || base == "." || base == ".." {
		return unsupported("download source %q has no name of its own", src)
	}
	if err := os.MkdirAll(dst, 0o777); err != nil {
		return localWriteError(err)
	}
	root, err := os.OpenRoot(dst)
	if err != nil {
		return localWriteError(err)
	}
	defer root.Close()

	if strings.HasPrefix(dir, "-") {
		dir = "./" + dir
	}
	// "./" keeps a name from being taken for an option or for a list of files.
	steps := append(p.prelude(),
		`f() { printf '%s#%s %s%s.\n' `+p.token+` "$1" "$2" `+p.token+` >&2; exit 1; }`,
		`command -v tar >/dev/null 2>&1 || f `+stepNoTar,
		began(p.token, "1"),
		`LC_ALL=C tar -chf - -C `+Quote(dir)+` -- `+Quote("./"+base))
	p.hangUp = true

	pr, pw := io.Pipe()
	var wg sync.WaitGroup
	var unpacked error
	wg.Go(func() {
		unpacked = extract(&afterMark{r: pr, mark: []byte(p.token + string(beganMark) + "\n")}, root, base)
		if unpacked == nil || unpacked == errEmptyArchive {
			_, _ = io.Copy(io.Discard, pr) // tar pads its last record
		}
		pr.CloseWithError(unpacked)
	})
	st, err := p.do(ctx, s, strings.Join(steps, "; "), pw)
	pw.Close()
	wg.Wait()
	return p.getResult(src, st, err, unpacked, filepath.Join(dst, base))
}

// getResult decides which of the ends is the cause: the machine's tar, our
// side, or the session.
func (p *transfer) getResult(src string, st transport.Status, err, unpacked error, target string) error {
	var sink *transport.Error
	if errors.As(err, &sink) && sink.Class == transport.ClassCancelled && unpacked != nil && errors.Is(err, unpacked) {
		return p.unpackError(src, target, unpacked)
	}
	switch {
	case err != nil:
		return err
	case p.failed != nil && p.failed.step == stepNoTar:
		return p.noTar()
	case !st.OK() && !changedOnly(st, p.said.Bytes()):
		return p.getError(src, p.complaint(st))
	case unpacked != nil:
		return p.unpackError(src, target, unpacked)
	}
	return nil
}

func (p *transfer) getError(src, reason string) error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR",
		Msg: fmt.Sprintf("Could not download %s from %s: %s", src, p.host, reason)}
}

func (p *transfer) unpackError(src, target string, err error) error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err,
		Msg: fmt.Sprintf("Could not download %s from %s to %s: %v", src, p.host, target, err)}
}

func localWriteError(err error) error {
	return &transport.Error{Class: transport.ClassFile, Code: "WRITE_ERROR", Err: err, Msg: fmt.Sprintf("Could not write the download: %v", err)}
}

// changedOnly reports whether GNU tar complains of nothing but files that
// changed while it read them, as a log does; the copy is then what scp would
// have made.
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

// maxNoise is how much a login shell may print before our own output begins.
const maxNoise = 64 << 10

// afterMark is a reader that begins behind a mark: what the login shell's own
// files print comes before it.
type afterMark struct {
	r    io.Reader
	mark []byte
	head []byte
	seen bool
}

func (a *afterMark) Read(p []byte) (int, error) {
	for !a.seen {
		n, err := a.r.Read(p)
		a.head = append(a.head, p[:n]...)
		if i := bytes.Index(a.head, a.mark); i >= 0 {
			a.seen, a.head = true, a.head[i+len(a.mark):]
			break
		}
		if len(a.head) > maxNoise {
			return 0, errors.New("the login shell prints too much before the copy begins")
		}
		if err != nil {
			return 0, err
		}
	}
	if len(a.head) > 0 {
		n := copy(p, a.head)
		a.head = a.head[n:]
		return n, nil
	}
	return a.r.Read(p)
}
