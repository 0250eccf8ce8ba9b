package powershell_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"bolt/transport"
	"bolt/transport/powershell"
	"bolt/transport/winrm/winrmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func machine(t *testing.T) *winrmtest.Machine {
	m := &winrmtest.Machine{Home: t.TempDir(), Temp: t.TempDir(), Programs: map[string]string{}}
	t.Cleanup(func() {
		left, err := os.ReadDir(m.Temp)
		if err != nil || len(left) != 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	})
	return m
}

func options() powershell.Options { return powershell.Options{Host: "win1", User: "Operator"} }

func run(t *testing.T, m *winrmtest.Machine, c transport.Cmd) (code int, stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	st, err := powershell.Run(t.Context(), m, &c, options())
	return st.Code, out.String(), errs.String(), err
}

func expect(t *testing.T, m *winrmtest.Machine, c transport.Cmd, code int, stdout string) {
	t.Helper()
	got, out, errs, err := run(t, m, c)
	if err != nil || got != code || out != stdout || errs != "" {
		t.Errorf("got %d %q %q %v\nwant %d %q", got, out, errs, err, code, stdout)
	}
}

func expectError(t *testing.T, err error, class transport.Class, code, text string) {
	t.Helper()
	e, ok := errors.AsType[*transport.Error](err)
	if !ok || e.Class != class || e.Code != code || !strings.Contains(e.Error(), text) {
		t.Errorf("got %#v\n%v\nwant %q %q %q", e, err, class, code, text)
	}
}

// showArgs returns a program that prints its arguments, one per line.
func showArgs(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "show")
	if err := os.WriteFile(file, []byte("#!/bin/sh\nfor a; do printf '[%s]\\n' \"$a\"; done\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCommands(t *testing.T) {
	m := machine(t)
	dir := t.TempDir()
	expect(t, m, transport.Cmd{Line: "echo 'it''s' “quoted” $HOME_NOT_SET; exit 4"}, 4, "its “quoted”\n")
	expect(t, m, transport.Cmd{Line: `printf %s "$A|$B"`, Env: []string{"A=it's ‘so’ \"here\" $x `n", "B==;\n"}}, 0, "it's ‘so’ \"here\" $x `n|=;\n")
	expect(t, m, transport.Cmd{Line: "pwd", Dir: dir}, 0, dir+"\n")
	expect(t, m, transport.Cmd{Line: "cat", Stdin: []byte{0, 0x1a, 255, '\n'}}, 0, "\x00\x1a\xff\n")
	expect(t, m, transport.Cmd{Line: strings.Repeat("# a long line\n", 8_000) + "echo end"}, 0, "end\n")
}

// TestWords checks that arguments arrive unchanged, for all ways in which
// programs parse their command line.
func TestWords(t *testing.T) {
	m := machine(t)
	show := showArgs(t)
	m.Programs["show.exe"], m.Programs["show.bat"] = show, show
	words := []string{"a b", "", `"`, `\`, `a\`, `a b\`, `\"`, `\\"x\\`, "'", "’‘", "$x", "`", "%PATH%", "100%", "a&b", "^", "|", "é", "-n", "tab\there"}
	want := "[" + strings.Join(words, "]\n[") + "]\n"
	expect(t, m, transport.Cmd{Argv: append([]string{"show.exe"}, words...)}, 0, want)
	expect(t, m, transport.Cmd{Argv: append([]string{"show.bat"}, words...)}, 0, want)
	_, _, _, err := run(t, m, transport.Cmd{Argv: []string{"show.bat", "two\nlines"}})
	expectError(t, err, transport.ClassUnsupported, "", "line end")
	_, _, _, err = run(t, m, transport.Cmd{Argv: []string{"nowhere.exe"}})
	expectError(t, err, transport.ClassBootstrap, "EXEC_ERROR", "program does not exist: nowhere.exe")
}

func script(name, text string) []transport.File {
	return []transport.File{{Name: name, Mode: 0o644, Data: []byte(text)}}
}

// TestScripts checks that files are run by their extensions.
func TestScripts(t *testing.T) {
	m := machine(t)
	show := showArgs(t)
	for _, name := range []string{"ruby.exe", "puppet.bat", "powershell.exe", "my interp.exe"} {
		m.Programs[name] = show
	}
	files := func(name string) transport.Cmd {
		return transport.Cmd{Files: script(name, `echo "ps $1 $named_a"`), Argv: []string{"./" + name, "x y"}, TmpDir: m.Temp, ScriptDir: "mine"}
	}
	at := "[" + m.Temp + "/mine/"
	expect(t, m, files("s.ps1"), 0, "ps x y \n")
	named := files("S.PS1")
	named.Argv, named.Named, named.Stdin = named.Argv[:1], true, []byte(`{"a":"it's ‘a’ \"value\""}`)
	expect(t, m, named, 0, "ps  it's ‘a’ \"value\"\n")
	fed := files("s.ps1")
	fed.Stdin = []byte("{}")
	expect(t, m, fed, 0, "[-NoLogo]\n[-NoProfile]\n[-NonInteractive]\n[-ExecutionPolicy]\n[Bypass]\n[-File]\n"+at+"s.ps1]\n[x y]\n{}")
	expect(t, m, files("s.rb"), 0, "[-S]\n"+at+"s.rb]\n[x y]\n")
	expect(t, m, files("s.pp"), 0, "[apply]\n"+at+"s.pp]\n[x y]\n")
	other := files("s.py")
	other.Interpreter = []string{"my interp.exe", "-u", "a b"}
	expect(t, m, other, 0, "[-u]\n[a b]\n"+at+"s.py]\n[x y]\n")
	_, _, _, err := run(t, m, files("s.py"))
	expectError(t, err, transport.ClassFile, "FILETYPE_ERROR", "Files with the extension .py are not enabled to be run on win1\nAdd .py to extensions")
	_, _, _, err = run(t, m, files("noext"))
	expectError(t, err, transport.ClassFile, "FILETYPE_ERROR", "without an extension")
	enabled := files("s.sh")
	enabled.Extensions = []string{".py", ".sh"}
	expect(t, m, enabled, 0, "ps x y \n")
	program := files("s.exe")
	program.Files[0].Data = []byte("#!/bin/sh\necho program \"$1\"\n")
	program.Extensions = []string{".exe"}
	expect(t, m, program, 0, "program x y\n")
}

// TestTellDir checks that a task with files gets the path of its directory.
func TestTellDir(t *testing.T) {
	m := machine(t)
	m.Programs["ruby.exe"] = "/bin/cat"
	c := transport.Cmd{
		Files: []transport.File{{Name: "mod/tasks/t.ps1", Data: []byte(`cat "$PT__installdir/mod/files/sub/lib"; cd "$PT__installdir"; ls; echo "$named_x $named__installdir"`)},
			{Name: "mod/files/sub/lib", Data: []byte("from lib\n")}},
		Argv: []string{"./mod/tasks/t.ps1"}, TellDir: true, ScriptDir: "mine", Env: []string{"PT_x=1"},
	}
	expect(t, m, c, 0, "from lib\nmod\n \n")
	c.Named, c.Stdin, c.Env = true, []byte(`{"x":"1"}`), []string{"A=b"}
	expect(t, m, c, 0, "from lib\nmod\n1 "+m.Temp+"/mine\n")
	c.Named, c.Env = false, nil
	c.Interpreter, c.Argv = []string{"ruby.exe"}, []string{"./mod/tasks/t.ps1", "-"}
	_, out, _, err := run(t, m, c)
	if want := `{"x":"1","_installdir":"` + m.Temp + `/mine"}`; err != nil || !strings.HasSuffix(out, want) {
		t.Errorf("got %q %v, want %q", out, err, want)
	}
}

func TestRefused(t *testing.T) {
	m := machine(t)
	file := script("a.ps1", "echo no")
	for _, c := range []struct {
		name  string
		cmd   transport.Cmd
		class transport.Class
		code  string
		text  string
	}{
		{"run-as", transport.Cmd{Line: "x", RunAs: transport.RunAs{User: "root"}}, transport.ClassUnsupported, "", "run-as is not supported"},
		{"tty", transport.Cmd{Line: "x", TTY: true}, transport.ClassUnsupported, "", "tty"},
		{"stream", transport.Cmd{Line: "x", Input: strings.NewReader("x")}, transport.ClassUnsupported, "", "stream for standard input"},
		{"neither", transport.Cmd{}, transport.ClassUnsupported, "", "either a line or arguments"},
		{"NUL", transport.Cmd{Line: "a\x00b"}, transport.ClassUnsupported, "", "NUL"},
		{"a variable without a name", transport.Cmd{Line: "x", Env: []string{"=x"}}, transport.ClassUnsupported, "", "variable"},
		{"a file elsewhere", transport.Cmd{Files: script(`..\..\evil.ps1`, ""), Argv: []string{"./x"}}, transport.ClassUnsupported, "", "name of a file on Windows"},
		{"a stream of a file", transport.Cmd{Files: script("a.ps1:b", ""), Argv: []string{"./x"}}, transport.ClassUnsupported, "", "name of a file on Windows"},
		{"above", transport.Cmd{Files: script("../a.ps1", ""), Argv: []string{"./x"}}, transport.ClassUnsupported, "", "name of a file on Windows"},
		{"no temporary directory", transport.Cmd{Files: file, Argv: []string{"./a.ps1"}, TmpDir: "/nonexistent"}, transport.ClassBootstrap, "TMPDIR_ERROR", "temporary directory on win1"},
		{"no working directory", transport.Cmd{Line: "x", Dir: "/nonexistent"}, transport.ClassBootstrap, "CHDIR_ERROR", "working directory on win1"},
		{"wrong sum", transport.Cmd{Files: []transport.File{{Name: "a.ps1", Data: []byte("x"), Sum: strings.Repeat("0", 64)}}, Argv: []string{"./a.ps1"}}, transport.ClassBootstrap, "WRITE_ERROR", "as it was sent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, _, err := run(t, m, c.cmd)
			expectError(t, err, c.class, c.code, c.text)
		})
	}
	expect(t, m, transport.Cmd{Line: "echo ok", RunAs: transport.RunAs{User: "operator"}}, 0, "ok\n")
}

func TestNoPowerShell(t *testing.T) {
	m := machine(t)
	m.Silent = true
	_, _, _, err := run(t, m, transport.Cmd{Line: "x"})
	expectError(t, err, transport.ClassBootstrap, "EXEC_ERROR", "could not start on win1: Cannot invoke method.")
	m.Silent, m.Noise = false, "Welcome!\x1b[1m\n"
	_, _, _, err = run(t, m, transport.Cmd{Line: "x"})
	expectError(t, err, transport.ClassProtocol, "EXEC_ERROR", "sent an unexpected answer: Welcome![1m")
}

// TestCommandLine checks the command line in the process list and for cmd.exe.
func TestCommandLine(t *testing.T) {
	if line := powershell.CommandLine(); len(line) > 8191 {
		t.Errorf("the line has %d characters, and cmd.exe takes 8191", len(line))
	}
	for _, text := range []string{powershell.Bootstrap(), powershell.Program()} {
		for i, c := range []byte(text) {
			if c >= 0x80 || c == '\t' || c == '\r' {
				t.Fatalf("byte %d is %#x", i, c)
			}
		}
	}
}
