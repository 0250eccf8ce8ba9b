package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
	"bolt/transport"
	"bolt/transport/archive"
)

// ErrNoTar is in the chain of the errors of Put, Get and Archive if the machine
// has no tar. Nothing was copied then, and another method can be tried.
var ErrNoTar = errors.New("no tar on the machine")

// Put copies a file or directory to the machine as transport.Conn's Put does.
//
// The copy is made in a private directory, moved next to the destination under
// a temporary name, and then renamed. The move may have to copy to another file
// system; the rename never does. The machine needs tar only for directories.
func Put(ctx context.Context, s Starter, src transport.Tree, dst string, fo transport.FileOptions, o Options) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	p, err := newTransfer("upload", fo, &o)
	if err != nil {
		return err
	}
	name, err := checkPut(src, dst)
	if err != nil {
		return err
	}
	files, said := archive.Files(src), archive.Describe(src)
	info, err := fs.Stat(files, src.Path)
	if err != nil {
		return localError("read", err)
	}
	stage := &staging{token: p.token, dir: p.dir}
	steps := p.prelude()
	switch {
	case info.Mode().IsRegular():
		f, err := files.Open(src.Path)
		if err != nil {
			return localError("read", err)
		}
		defer f.Close()
		if info, err = f.Stat(); err != nil {
			return localError("read", err)
		}
		stage.blobs = []blob{{name: name, mode: uint32(info.Mode().Perm()), size: info.Size()}}
		steps = append(append(steps, stage.open()), stage.steps()...)
		p.send = func(w io.Writer) error { return sendFile(w, f, src.Path, info.Size()) }
	case info.IsDir():
		last := ".end-" + randomHex(8) // a random name, so that it is not a name in the tree
		steps = append(append(steps, stage.open(), makeDir), unpack(last)...)
		p.send = func(w io.Writer) error { return sendTree(w, src, last) }
	default:
		return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR",
			Msg: fmt.Sprintf("Could not upload %s: neither a regular file nor a directory", said)}
	}
	steps = append(steps, place(name, dst)...)
	if !fo.KeepFiles {
		steps = append(steps, removeDir)
	}
	p.sendsAll = true
	st, err := p.do(ctx, s, strings.Join(append(steps, "exit 0"), "; "), io.Discard)
	return p.putOutcome(src, dst, st, err)
}

// PutBy does the same as Put, but another program copies. copy gets the path of
// the private directory, and must copy src into it under its name. RunAs must
// be the login user.
func PutBy(ctx context.Context, s Starter, src transport.Tree, dst string, fo transport.FileOptions, o Options, copy func(ctx context.Context, dir string) error) error {
	o.Host = cmp.Or(fo.Label, o.Host)
	name, err := checkPut(src, dst)
	if err != nil {
		return err
	}
	dir := transport.PrivateDir(fo.TmpDir, fo.ScriptDir)
	session := func(ctx context.Context, steps ...string) error {
		p, err := newTransfer("upload", fo, &o)
		if err != nil {
			return err
		}
		p.dir = dir
		script := append(p.prelude(), (&staging{token: p.token, dir: dir}).open())
		script = append(append(script, steps...), "exit 0")
		st, err := p.do(ctx, s, strings.Join(script, "; "), io.Discard)
		return p.putOutcome(src, dst, st, err)
	}
	if err := session(ctx, makeDir); err != nil {
		return err
	}
	if err := copy(ctx, dir); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), transport.DefaultGrace)
		defer cancel()
		if cerr := session(ctx, removeDir); cerr != nil {
			logger(&o).Warn("private directory could not be removed", "target", o.Host, "reason", cerr)
		}
		return err
	}
	steps := place(name, dst)
	if !fo.KeepFiles {
		steps = append(steps, removeDir)
	}
	return session(ctx, steps...)
}

// checkPut returns the name of an upload in the private directory.
func checkPut(src transport.Tree, dst string) (name string, err error) {
	if dst == "" || strings.Contains(dst, "\x00") {
		return "", unsupported("upload destination %q is not a path", dst)
	}
	name = archive.Name(src)
	return name, archive.CheckName(name)
}

// removeDir removes the private directory of an upload. If that fails, bolt
// warns, but the upload does not fail.
const removeDir = `m=$(rm -rf -- "$d" 2>&1) || printf '%s#` + stepClean + ` %s%s.\n' "$z" "$m" "$z" >&2`

// putOutcome returns the error of the script of an upload, or nil.
func (p *transfer) putOutcome(src transport.Tree, dst string, st transport.Status, err error) error {
	switch {
	case err != nil:
		return err
	case p.failed != nil:
		return p.putError(archive.Name(src), dst)
	case !st.OK():
		return &transport.Error{Class: transport.ClassFile, Code: "MV_ERROR",
			Msg: fmt.Sprintf("Could not upload %s to %s on %s: %s", archive.Describe(src), dst, p.o.Host, p.complaint(st))}
	}
	return nil
}

// sendFile sends exactly the announced size. If the file has become shorter
// meanwhile, that is an error.
func sendFile(w io.Writer, f fs.File, name string, size int64) error {
	n, err := io.Copy(w, io.LimitReader(f, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return localError("read", &fs.PathError{Op: "read", Path: name, Err: err})
	}
	return nil
}

// sendTree sends a directory as a tar stream, and then an empty file called
// last. The files are new on the machine, so their time is the present time;
// not every tar has an option for that.
func sendTree(w io.Writer, src transport.Tree, last string) error {
	a := archive.NewWriter(w, time.Now())
	if err := a.Tree(src); err != nil {
		return err
	}
	if err := a.File(last, 0o600, 0, nil); err != nil {
		return err
	}
	return a.Close()
}

// unpack returns the steps that extract a tar stream from stdin. last is its
// last entry. If it is missing, the stream was truncated, which not every tar
// detects.
func unpack(last string) []string {
	return []string{
		`command -v tar >/dev/null 2>&1 || g ` + stepNoTar,
		`m=$(LC_ALL=C tar -xpof - -C "$d" 2>&1) || g ` + stepWrite + ` "$m"`,
		`[ -e "$d"/` + last + ` ] || g ` + stepShort + ` "$m"`,
	}
}

// neighbour is the prefix of the temporary name of a copy next to its
// destination.
const neighbour = ".bolt-"

// neighbours matches these names.
var neighbours = lazyregexp.New(regexp.QuoteMeta(neighbour) + `[0-9a-f]{1,16}`)

// place returns the steps that move $d/name to the destination. If dst is a
// directory, that is dst/name, as in mv(1). $n is the neighbour that is renamed
// to the destination.
func place(name, dst string) []string {
	if strings.HasPrefix(dst, "-") {
		dst = "./" + dst
	}
	parent := path.Dir(strings.TrimRight(dst, "/")) // not used for "/"
	onlyDir := `:`
	if strings.HasSuffix(dst, "/") {
		onlyDir = `[ -d "$d/$b" ] || [ -d ` + Quote(dst) + ` ] || h "directory does not exist: "` + Quote(dst)
	}
	return []string{
		`b=` + Quote(name),
		`if [ -d ` + Quote(dst) + ` ]; then p=` + Quote(dst) + `; t="${p%/}/$b"; else p=` + Quote(parent) + `; t=` + Quote(dst) + `; fi`,
		`n="${p%/}/` + neighbour + randomHex(8) + `"`,
		`h() { rm -rf -- "$n"; g ` + stepMove + ` "$1"; }`,
		onlyDir,
		`[ -d "$p" ] || h "directory does not exist: $p"`,
		`[ -w "$p" ] || h "no permission to write to $p"`,
		`m=$(mv -f -- "$d/$b" "$n" 2>&1) || h "$m"`,
		// If the target is a directory, mv would move the copy into it.
		`if [ -L "$t" ] && [ -d "$t" ]; then m=$(rm -f -- "$t" 2>&1) || h "$m"; ` +
			`elif [ -d "$t" ]; then [ -d "$n" ] || h "$t is a directory"; m=$(rmdir -- "$t" 2>&1) || h "$m"; fi`,
		`m=$(mv -f -- "$n" "$t" 2>&1) || h "$m"`,
	}
}

// putError returns the error for a failed step. name is the final name of the
// copy.
func (p *transfer) putError(name, dst string) error {
	f := p.failed
	switch f.step {
	case stepMove:
		reason := neighbours().ReplaceAllLiteralString(f.reason(), name)
		return &transport.Error{Class: transport.ClassFile, Code: "MV_ERROR",
			Msg: fmt.Sprintf("Could not move the uploaded file to %s on %s: %s", dst, p.host, reason)}
	case stepNoTar:
		return p.noTar()
	}
	return stagingError(f, transport.ClassFile, p.dir, p.host)
}

// localError returns the error for a failure on the local side of a copy.
func localError(verb string, err error) *transport.Error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: err,
		Msg: fmt.Sprintf("Could not %s: %v", verb, err)}
}

// A transfer is an exchange that copies.
type transfer struct {
	exchange
	fo    transport.FileOptions
	o     *Options
	shell dialect
	dir   string // private, for Put
	said  bytes.Buffer
}

// newTransfer checks the options that Put and Get have in common.
func newTransfer(what string, fo transport.FileOptions, o *Options) (*transfer, error) {
	shell, err := dialectOf(o.LoginShell)
	if err != nil {
		return nil, err
	}
	c := transport.Cmd{Line: ":", RunAs: fo.RunAs, TmpDir: fo.TmpDir, ScriptDir: fo.ScriptDir}
	if err := validate(&c); err != nil {
		return nil, err
	}
	p := &transfer{fo: fo, o: o, shell: shell, dir: transport.PrivateDir(fo.TmpDir, fo.ScriptDir)}
	p.exchange = exchange{what: what, host: o.Host, token: newToken(), grace: transport.DefaultGrace, log: logger(o)}
	p.escalation = escalate(fo.RunAs, p.token, o)
	p.afterBegan = p.escalation != nil || o.unproven()
	p.proof, p.twice, p.proven = true, true, o.Proof
	return p, nil
}

func logger(o *Options) *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// prelude returns the first steps of a transfer's script.
func (p *transfer) prelude() []string {
	var steps []string
	steps = append(steps, p.escalation.restoreLocale()...)
	steps = append(steps, beganTwice(p.token))
	if p.escalation != nil && !p.o.Local {
		steps = append(steps, `cd`)
	}
	return steps
}

// maxSaidByCopy limits the stored stderr output of a copy.
const maxSaidByCopy = 16 << 10

// do runs a transfer's script and writes its stdout to out.
func (p *transfer) do(ctx context.Context, s Starter, script string, out io.Writer) (transport.Status, error) {
	if p.escalation != nil {
		p.line = p.escalation.line(script)
		if p.shell != posix {
			p.line = p.shell.underSh(p.line)
		}
	} else {
		p.line = p.shell.underSh(script)
	}
	p.stdout = sink(out)
	p.stderr = func(text []byte) error {
		p.said.Write(text[:min(len(text), maxSaidByCopy-p.said.Len())])
		return nil
	}
	return p.run(ctx, s)
}

// complaint returns the machine's error text, for a message.
func (p *transfer) complaint(st transport.Status) string {
	if text := FirstLines(p.said.String()); text != "" {
		return text
	}
	if st.Signal != "" {
		return "ended by signal " + st.Signal
	}
	return fmt.Sprintf("exit status %d", st.Code)
}

func (p *transfer) noTar() error {
	return &transport.Error{Class: transport.ClassFile, Code: "COPY_ERROR", Err: ErrNoTar,
		Msg:  fmt.Sprintf("Could not %s: tar is missing on %s", p.what, p.host),
		Hint: "Install tar on the machine."}
}
