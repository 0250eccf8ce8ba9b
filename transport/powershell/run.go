package powershell

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"bolt/transport"
)

// Run runs one command as transport.Conn's Run does, with these differences: a
// Line is PowerShell code, signals do not exist, and a variable cannot be
// empty.
//
// The status of a line depends on the last thing that it ran. If that was a
// program that failed, the status is its exit code. If it was anything else
// that failed, the status is 1. Otherwise it is 0.
//
// The first element of Argv is a staged file or a program. A staged file
// without Interpreter is run by its extension: .ps1 by PowerShell, .rb by
// ruby.exe, .pp by puppet.bat, .exe by itself, and others as Windows runs them.
// All extensions except the first three must be in Cmd.Extensions.
func Run(ctx context.Context, s Starter, c *transport.Cmd, o Options) (transport.Status, error) {
	o.Host = cmp.Or(c.Label, o.Host)
	if err := check(c, &o); err != nil {
		return transport.Status{}, err
	}
	w, err := wordsOf(c, &o)
	if err != nil {
		return transport.Status{}, err
	}
	env, stdin := c.Env, c.Stdin
	if c.TellDir {
		dir, err := privateDir(ctx, s, c, &o)
		if err != nil {
			return transport.Status{}, err
		}
		if env, stdin, err = addInstallDir(c, dir); err != nil {
			return transport.Status{}, err
		}
	}
	x := newExchange("command", &o)
	f := &framer{w: &x.asks}
	f.text("do", w.do)
	f.given("line", c.Line)
	f.given("program", w.program)
	for _, word := range w.words {
		f.text("word", word)
	}
	for _, arg := range w.args {
		f.text("arg", arg)
	}
	for _, e := range env {
		f.text("env", e)
	}
	f.given("cwd", c.Dir)
	f.given("tmpdir", c.TmpDir)
	f.given("name", c.ScriptDir)
	f.flag("keep", c.KeepFiles)
	f.flag("staged", len(c.Files) > 0)
	if w.named {
		f.text("params", string(stdin))
		stdin = nil
	}
	x.asked()
	var files bytes.Buffer
	if len(c.Files) > 0 {
		f := &framer{w: &files}
		stage(f, c.Files)
	}
	x.send = io.MultiReader(&files, bytes.NewReader(stdin))
	code, err := x.run(ctx, s, c.Stdout, c.Stderr)
	if err != nil {
		return transport.Status{}, err
	}
	return transport.Status{Code: code}, nil
}

// check returns an error for invalid and unsupported commands.
func check(c *transport.Cmd, o *Options) error {
	if err := checkRunAs(c.RunAs, o); err != nil {
		return err
	}
	switch {
	case (c.Line == "") == (len(c.Argv) == 0):
		return unsupported("a command needs either a line or arguments")
	case c.TTY:
		return unsupported("a terminal (tty) is not supported with PowerShell, on %s", o.Host)
	}
	if c.Input != nil {
		return unsupported("a stream for standard input is not supported with PowerShell, on %s", o.Host)
	}
	texts := slices.Concat([]string{c.Line, c.Dir, c.TmpDir, c.ScriptDir}, c.Argv, c.Interpreter, c.Env)
	for _, text := range texts {
		if strings.Contains(text, "\x00") {
			return unsupported("a command cannot have a NUL byte in it")
		}
	}
	for _, e := range c.Env {
		if name, _, ok := strings.Cut(e, "="); !ok || name == "" {
			return unsupported("%q is not a variable of the environment", name)
		}
	}
	for _, f := range c.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
	}
	return nil
}

// checkName returns an error for a relative path that has another meaning on
// Windows: names cannot contain a backslash, and the text after a colon names a
// stream of the file.
func checkName(name string) error {
	if strings.ContainsAny(name, "\\:\x00") || path.Clean(name) != name || strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../") {
		return unsupported("%q cannot be the name of a file on Windows", name)
	}
	return nil
}

// stage writes the files of a command and the directories that they need.
func stage(f *framer, files []transport.File) {
	made := make(map[string]bool)
	var mkdir func(dir string)
	mkdir = func(dir string) {
		if dir == "." || made[dir] {
			return
		}
		mkdir(path.Dir(dir))
		made[dir] = true
		f.text("dir", dir)
	}
	for i := range files {
		mkdir(path.Dir(files[i].Name))
		f.file(files[i].Name, files[i].Data, files[i].Sum)
	}
	f.text("end", "")
}

// words describe how a command is started. A program or word begins with "@" if
// it is the name of a staged file, and with "=" otherwise.
type words struct {
	do      string // "line", "script" (of PowerShell, in its own process) or "exec"
	program string
	words   []string // quoted
	args    []string // of a script
	named   bool     // standard input is a script's named parameters
}

// powershellFile returns the words that run a script in its own PowerShell
// process.
func powershellFile() []string {
	return []string{"powershell.exe", "-NoLogo", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File"}
}

func wordsOf(c *transport.Cmd, o *Options) (*words, error) {
	if c.Line != "" {
		return &words{do: "line"}, nil
	}
	name, staged := strings.CutPrefix(c.Argv[0], "./")
	staged = staged && slices.ContainsFunc(c.Files, func(f transport.File) bool { return f.Name == name })
	if !staged {
		return execWords(slices.Concat(c.Interpreter, c.Argv[:1]), "", c.Argv[1:])
	}
	if len(c.Interpreter) > 0 {
		return execWords(c.Interpreter, name, c.Argv[1:])
	}
	switch ext := strings.ToLower(path.Ext(name)); ext {
	case ".ps1":
		if len(c.Stdin) > 0 && !c.Named {
			return execWords(powershellFile(), name, c.Argv[1:])
		}
		return &words{do: "script", program: name, args: c.Argv[1:], named: c.Named}, nil
	case ".rb":
		return execWords([]string{"ruby.exe", "-S"}, name, c.Argv[1:])
	case ".pp":
		return execWords([]string{"puppet.bat", "apply"}, name, c.Argv[1:])
	default:
		if !slices.ContainsFunc(c.Extensions, func(e string) bool { return strings.EqualFold(e, ext) }) {
			return nil, notEnabled(path.Ext(name), o.Host)
		}
		if ext != ".exe" {
			return batchWords([]string{"@" + name}, c.Argv[1:])
		}
	}
	w := &words{do: "exec", program: "@" + name}
	for _, arg := range c.Argv[1:] {
		w.words = append(w.words, "="+quoteWord(arg))
	}
	return w, nil
}

func notEnabled(ext, host string) error {
	e := &transport.Error{Class: transport.ClassFile, Code: "FILETYPE_ERROR"}
	if ext == "" {
		e.Msg = fmt.Sprintf("A file without an extension cannot be run on %s: Windows runs files by their extensions", host)
		return e
	}
	e.Msg = fmt.Sprintf("Files with the extension %s are not enabled to be run on %s", ext, host)
	e.Hint = fmt.Sprintf("Add %s to extensions in the configuration of the target's transport, or set its interpreter under interpreters.", ext)
	return e
}

// execWords returns the words for a program. If staged is not "", the staged
// file is added after the program's own words.
func execWords(command []string, staged string, args []string) (*words, error) {
	if isBatch(command[0]) {
		line := []string{"=" + command[0]}
		for _, word := range command[1:] {
			line = append(line, "="+word)
		}
		if staged != "" {
			line = append(line, "@"+staged)
		}
		return batchWords(line, args)
	}
	w := &words{do: "exec", program: "=" + command[0]}
	for _, word := range command[1:] {
		w.words = append(w.words, "="+quoteWord(word))
	}
	if staged != "" {
		w.words = append(w.words, "@"+staged)
	}
	for _, arg := range args {
		w.words = append(w.words, "="+quoteWord(arg))
	}
	return w, nil
}

// batchWords returns the words with which cmd.exe runs a line that begins with
// the name of a file. cmd.exe removes the first and the last quotation mark
// after /c.
func batchWords(line, args []string) (*words, error) {
	w := &words{do: "exec", program: "=cmd.exe", words: []string{"=/d", "=/e:on", "=/v:off", "=/s", "=/c", `="`}}
	for _, word := range line {
		if word[0] == '=' {
			q, err := quoteBatch(word[1:])
			if err != nil {
				return nil, err
			}
			word = "=" + q
		}
		w.words = append(w.words, word)
	}
	for _, arg := range args {
		q, err := quoteBatch(arg)
		if err != nil {
			return nil, err
		}
		w.words = append(w.words, "="+q)
	}
	w.words = append(w.words, `="`)
	return w, nil
}

// A Temp caches the path of a machine's directory for temporary files. The zero
// value is empty.
type Temp struct {
	mu   sync.Mutex
	path string
}

// privateDir returns the path of a command's private directory.
func privateDir(ctx context.Context, s Starter, c *transport.Cmd, o *Options) (string, error) {
	if c.ScriptDir == "" {
		return "", unsupported("TellDir requires a ScriptDir")
	}
	parent := c.TmpDir
	if parent == "" {
		t := o.Temp
		if t == nil {
			t = &Temp{}
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.path == "" {
			x := newExchange("command", o)
			(&framer{w: &x.asks}).text("do", "tempdir")
			x.asked()
			if _, err := x.run(ctx, s, nil, nil); err != nil {
				return "", err
			}
			t.path = x.told
		}
		parent = t.path
	}
	if strings.HasSuffix(parent, `\`) || strings.HasSuffix(parent, "/") {
		return parent + c.ScriptDir, nil
	}
	separator := `\`
	if strings.Contains(parent, "/") && !strings.Contains(parent, `\`) {
		separator = "/"
	}
	return parent + separator + c.ScriptDir, nil
}

// addInstallDir adds the directory to the input of a task: as PT__installdir if it has
// variables, and as a member of the object on standard input if there is one.
func addInstallDir(c *transport.Cmd, dir string) (env []string, stdin []byte, err error) {
	env, stdin = c.Env, c.Stdin
	if len(env) > 0 {
		env = append(slices.Clip(env), "PT__installdir="+dir)
	}
	if len(stdin) > 0 {
		quoted, err := json.Marshal(dir)
		if err != nil {
			return nil, nil, err
		}
		body, ok := bytes.CutSuffix(stdin, []byte("}"))
		if !ok {
			return nil, nil, errors.New("the standard input of a task is not an object")
		}
		comma := ","
		if len(body) == 1 {
			comma = ""
		}
		stdin = slices.Concat(body, []byte(comma+`"_installdir":`), quoted, []byte("}"))
	}
	return env, stdin, nil
}
