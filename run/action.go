package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"bolt/event/capture"
	"bolt/format/ordered"
	"bolt/inventory"
	"bolt/transport"
)

// Command runs a line of the login shell's language.
type Command struct {
	Line  string
	Env   []string // NAME=value
	Input *Input   // standard input of the command; nil for none
}

// Name and Object implement Action.
func (c *Command) Name() string   { return "command" }
func (c *Command) Object() string { return c.Line }

// Do runs the command.
func (c *Command) Do(ctx context.Context, site *Site) error {
	cmd := site.Command()
	cmd.Line, cmd.Env = c.Line, c.Env
	defer c.Input.feed(cmd)()
	return site.run(ctx, cmd)
}

// Script copies a local file to the target, runs it there, and removes it.
type Script struct {
	Path string // as the user named it; the staged file has its base name
	Data []byte
	Args []string
	Env  []string
	// Input is the standard input of the script; nil for an empty one.
	Input *Input
	// Interpret lets the target's interpreters apply to the script's extension.
	Interpret bool
}

// Name and Object implement Action.
func (s *Script) Name() string   { return "script" }
func (s *Script) Object() string { return s.Path }

// Do stages and runs the script, in one session.
func (s *Script) Do(ctx context.Context, site *Site) error {
	name := filepath.Base(s.Path)
	cmd := site.Command()
	cmd.Env = s.Env
	cmd.Files = []transport.File{{Name: name, Mode: 0o700, Data: s.Data}}
	cmd.Argv = append([]string{"./" + name}, s.Args...)
	if s.Interpret {
		cmd.Interpreter = site.Settings.Interpreters[filepath.Ext(name)]
	}
	defer s.Input.feed(cmd)()
	if err := site.run(ctx, cmd); err != nil {
		return err
	}
	if res := site.Result; res.Err != nil && res.Output.Len(capture.Stderr) < maxSaid && cmd.Interpreter == nil {
		var said strings.Builder
		if err := res.Output.WriteStream(&said, capture.Stderr); err == nil {
			res.Err.Hint = NotStarted(name, s.Data, res.Status, said.String())
		}
	}
	return nil
}

// maxSaid is the maximum length of a shell's message about a file that it could
// not run.
const maxSaid = 4 << 10

// Command returns a Cmd with the target's settings.
func (site *Site) Command() *transport.Cmd {
	s := &site.Settings
	return &transport.Cmd{
		Label:     site.Target.SafeName(),
		RunAs:     s.RunAs,
		TTY:       s.TTY,
		TmpDir:    s.TmpDir,
		ScriptDir: s.ScriptDir,
		KeepFiles: !s.Cleanup,

		Extensions: s.Extensions,
	}
}

// run runs cmd, captures its output, and sets the error of the result if cmd
// fails.
func (site *Site) run(ctx context.Context, cmd *transport.Cmd) error {
	out := capture.New(capture.Options{Spill: site.runner.opts.Spill, Limit: site.runner.opts.MaxOutput})
	cmd.Stdout, cmd.Stderr = out.Stream(capture.Stdout), out.Stream(capture.Stderr)
	res := site.Result
	res.Output = out
	status, err := site.Exec(ctx, cmd, 0)
	out.Settle()
	if err != nil {
		return err
	}
	res.Status = status
	if !status.OK() {
		res.Err = commandError(status)
	}
	return nil
}

// Exec runs cmd, whose output goes to its own writers. If requested, the output is
// also shown as it arrives and written to files. If hidden is not 0, stdout is the
// result of a task, and the files get the result in place of stdout. Stdout is
// then shown up to the first byte hidden. An object with secrets may begin there,
// even if the task printed something before it.
func (site *Site) Exec(ctx context.Context, cmd *transport.Cmd, hidden byte) (transport.Status, error) {
	if site.runner.opts.Stream {
		show := func(s capture.Stream) func([]byte) {
			return func(p []byte) { site.told.output(ctx, site.Target, s, p) }
		}
		cmd.Stdout = &tee{w: cmd.Stdout, take: show(capture.Stdout), hidden: hidden}
		cmd.Stderr = &tee{w: cmd.Stderr, take: show(capture.Stderr)}
	}
	if f := site.kept; f != nil {
		// The output of a task may contain secrets, so its result is written at
		// the end.
		f.run, f.result = true, hidden != 0
		if !f.result {
			cmd.Stdout = &tee{w: cmd.Stdout, take: func(p []byte) { f.write(capture.Stdout, p) }}
		}
		cmd.Stderr = &tee{w: cmd.Stderr, take: func(p []byte) { f.write(capture.Stderr, p) }}
	}
	return site.Conn.Run(ctx, cmd)
}

// tee sends output to a writer and to take.
type tee struct {
	w      io.Writer
	take   func(p []byte)
	hidden byte // see Exec
	silent bool // hidden has been found
}

func (t *tee) Write(p []byte) (int, error) {
	t.show(p)
	return t.w.Write(p)
}

// show sends the part of a piece that may be shown.
func (t *tee) show(p []byte) {
	if t.silent {
		return
	}
	if t.hidden != 0 {
		if i := bytes.IndexByte(p, t.hidden); i >= 0 {
			t.silent, p = true, p[:i]
		}
	}
	if len(p) > 0 {
		t.take(p)
	}
}

// files returns the options of a copy on this target.
func (site *Site) files() transport.FileOptions {
	s := &site.Settings
	return transport.FileOptions{Label: site.Target.SafeName(), RunAs: s.RunAs, TmpDir: s.TmpDir, ScriptDir: s.ScriptDir, KeepFiles: !s.Cleanup}
}

// Upload copies a local file or directory to each target.
type Upload struct {
	Source string
	Dest   string
	// Matches are the local files that match Source, if Source is a pattern. Dest
	// is then a directory on the targets. If Matches is nil, Source is a path.
	Matches []string
}

// Name and Object implement Action.
func (u *Upload) Name() string   { return "upload" }
func (u *Upload) Object() string { return u.Source }

// Do copies the files.
func (u *Upload) Do(ctx context.Context, site *Site) error {
	if u.Matches != nil {
		return u.all(ctx, site)
	}
	if err := site.Conn.Put(ctx, transport.Tree{Path: u.Source}, u.Dest, site.files()); err != nil {
		return err
	}
	site.Result.Value = ordered.Of("_output", fmt.Sprintf("Uploaded '%s' to '%s:%s'", u.Source, site.Settings.Host, u.Dest))
	return nil
}

// all copies the files of a pattern into the directory Dest.
func (u *Upload) all(ctx context.Context, site *Site) error {
	var said []string
	dir := strings.TrimRight(u.Dest, "/")
	for i, file := range u.Matches {
		site.copied = u.Matches[:i]
		// A path that ends in /. is a directory or an error.
		if err := site.Conn.Put(ctx, transport.Tree{Path: file}, dir+"/.", site.files()); err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("Uploaded '%s' to '%s:%s'", file, site.Settings.Host, dir+"/"+filepath.Base(file)))
	}
	site.Result.Value = ordered.Of("_output", strings.Join(said, "\n"))
	return nil
}

// Download copies a file or directory of each target into a separate directory for
// each target below Dir. The target's name determines the directory's name.
type Download struct {
	Source string
	Dir    string // absolute
	// Expand makes Source a pattern that each target expands, with ~ for a home
	// directory.
	Expand bool
	Limits transport.Limits

	missing []string // directories on the way to Dir that NewDownload did not find
}

// Name and Object implement Action.
func (d *Download) Name() string   { return "download" }
func (d *Download) Object() string { return d.Source }

// Do copies into the target's directory. Existing files there stay, unless a
// copied file has the same name.
func (d *Download) Do(ctx context.Context, site *Site) error {
	sources, pattern := []string{d.Source}, false
	if d.Expand {
		var err error
		if sources, pattern, err = site.expand(ctx, d.Source); err != nil {
			return err
		}
	}
	dir := filepath.Join(d.Dir, d.Subdir(site.Target))
	options := site.files()
	options.Limits = d.Limits
	options.Limits.Used = new(transport.Usage)
	var said []string
	for i, source := range sources {
		site.copied = sources[:i]
		if err := site.Conn.Get(ctx, source, dir, options); err != nil {
			return err
		}
		said = append(said, fmt.Sprintf("Downloaded '%s:%s' to '%s'", site.Settings.Host, source, dir))
	}
	source := sources[0]
	if site.Settings.PowerShell {
		source = strings.ReplaceAll(source, `\`, "/")
	}
	to := filepath.Join(dir, path.Base(source))
	if pattern {
		to = dir
	}
	site.Result.Value = ordered.Of("path", to, "_output", strings.Join(said, "\n"))
	return nil
}

// Subdir returns the name of a target's directory below Dir.
func (d *Download) Subdir(t *inventory.Target) string { return escapeName(t.SafeName()) }

// escapeName converts a target's name to one path element, as Bolt does: all
// characters except letters, digits, "-", "_", "." and "~" are percent-encoded.
func escapeName(name string) string {
	e := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	if e == "." || e == ".." {
		e = strings.ReplaceAll(e, ".", "%2E")
	}
	return e
}
