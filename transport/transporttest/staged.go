package transporttest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bolt/transport"
)

func stagedCases() []testCase {
	ok := transport.Status{}
	return []testCase{
		{"data for stdin", func(t *testing.T, m *machine) {
			c := m.dial(t)
			data := "line\n\x00\xff no end"
			run(t, c, transport.Cmd{Line: "cat", Stdin: []byte(data)}).expect(t, ok, data, "")
			run(t, c, transport.Cmd{Argv: []string{"cat", "-"}, Stdin: []byte(data)}).expect(t, ok, data, "")
			run(t, c, transport.Cmd{Line: "cat; echo $A", Stdin: []byte(data), Env: []string{"A=b"}}).expect(t, ok, data+"b\n", "")
		}},
		{"1 MB for stdin that the command does not read", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{Line: "echo a", Stdin: bytes.Repeat([]byte("x"), 1<<20)}).expect(t, ok, "a\n", "")
		}},
		{"script with arguments", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			run(t, m.dial(t), transport.Cmd{
				TmpDir: dir, Argv: []string{"./my script.sh", "a b", "", "'", "$x", "*"},
				Files: []transport.File{script("my script.sh", `for a; do printf '[%s]' "$a"; done; echo e >&2; exit 3`)},
			}).expect(t, transport.Status{Code: 3}, "[a b][]['][$x][*]", "e\n")
			expectEmpty(t, dir)
		}},
		{"interpreter", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			run(t, m.dial(t), transport.Cmd{
				TmpDir: dir, Interpreter: []string{"env", "A=a b", "sh"}, Argv: []string{"./x", "c d"},
				Files: []transport.File{{Name: "x", Mode: 0o600, Data: []byte("#!/nonexistent\necho \"$A $1 ${0##*/}\"\n")}},
			}).expect(t, ok, "a b c d x\n", "")
			expectEmpty(t, dir)
		}},
		{"files and modes", filesAndModes},
		{"5 MB file", bigFile},
		{"signal of a script", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			run(t, m.dial(t), transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{script("x", "kill -TERM $$")}}).
				expect(t, m.killedBy("TERM"), "", "")
			expectEmpty(t, dir)
		}},
		{"script that is not a program", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			run(t, m.dial(t), transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o644, Data: []byte("echo plain\n")}}}).
				expect(t, ok, "plain\n", "")
			expectEmpty(t, dir)
		}},
		{"interpreter that is missing", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			r := run(t, m.dial(t), transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{{Name: "x", Mode: 0o644, Data: []byte("#!/nonexistent/sh\n")}}})
			if r.status.Code != 126 && r.status.Code != 127 {
				t.Errorf("got %+v", r)
			}
			expectEmpty(t, dir)
		}},
		{"hint at noexec", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			r := run(t, m.dial(t), transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{script("x", "echo denied >&2; exit 126")}})
			if r.status.Code != 126 || !strings.HasPrefix(r.stderr, "denied\n") || !strings.Contains(r.stderr, "noexec") {
				t.Errorf("got %+v", r)
			}
		}},
		{"kept", kept},
		{"large files again and again", again},
		{"script-dir", scriptDir},
		{"tmpdir that is missing", func(t *testing.T, m *machine) {
			_, err := try(testContext(t), m.dial(t), transport.Cmd{TmpDir: "/nonexistent/tmp", Argv: []string{"./x"}, Files: []transport.File{script("x", "echo no")}})
			if e := expectError(t, err, transport.ClassBootstrap, "TMPDIR_ERROR"); !strings.Contains(e.Msg, "/nonexistent/tmp/") || !strings.Contains(e.Msg, "No such file") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"names that lead out", func(t *testing.T, m *machine) {
			c := m.dial(t)
			for _, name := range []string{"../x", "/x", "a/../../x", "", ".", "a//b"} {
				_, err := try(testContext(t), c, transport.Cmd{Line: "echo no", Files: []transport.File{{Name: name}}})
				expectError(t, err, transport.ClassUnsupported, "")
			}
		}},
		{"a failure that a command imitates", func(t *testing.T, m *machine) {
			text := "bolt%0123456789abcdef0123456789abcdef#mkdir no bolt%0123456789abcdef0123456789abcdef.\n"
			run(t, m.dial(t), transport.Cmd{Argv: []string{"./x"}, Files: []transport.File{script("x", "printf '%s' '"+text+"' >&2; exit 1")}}).
				expect(t, transport.Status{Code: 1}, "", text)
		}},
	}
}

func filesAndModes(t *testing.T, m *machine) {
	dir := worldDir(t)
	list := "#!/bin/sh\ncd \"$(dirname \"$0\")/../..\" && find . -type f -exec stat -c '%a %s %n' {} + | sort -k 3 && cat mod/files/a.bin empty\n"
	files := []transport.File{
		{Name: "mod/tasks/x.sh", Mode: 0o640, Data: []byte(list)},
		{Name: "mod/files/a.bin", Mode: 0o444, Data: []byte("a\x00b\n")},
		{Name: "mod/files/sub/it's.txt", Mode: 0o755, Data: []byte("x")},
		{Name: "empty", Mode: 0o600},
	}
	want := fmt.Sprintf("600 0 ./empty\n444 4 ./mod/files/a.bin\n755 1 ./mod/files/sub/it's.txt\n740 %d ./mod/tasks/x.sh\na\x00b\n", len(list))
	run(t, m.dial(t), transport.Cmd{TmpDir: dir, Argv: []string{"./mod/tasks/x.sh"}, Files: files, Stdin: []byte("unread")}).
		expect(t, transport.Status{}, want, "")
	expectEmpty(t, dir)
}

func bigFile(t *testing.T, m *machine) {
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	dir := worldDir(t)
	out := bytes.Buffer{}
	run(t, m.dial(t), transport.Cmd{TmpDir: dir, Line: "cat " + dir + "/here/data; cat", ScriptDir: "here",
		Files: []transport.File{{Name: "data", Mode: 0o600, Data: data}}, Stdin: data, Stdout: &out})
	if !bytes.Equal(out.Bytes(), append(data[:len(data):len(data)], data...)) {
		t.Errorf("the bytes that came back (%d) are others", out.Len())
	}
	expectEmpty(t, dir)
}

// again runs a command whose files may be cached on the machine. The command
// and another user change them.
func again(t *testing.T, m *machine) {
	c := m.dial(t)
	dir := worldDir(t)
	for _, as := range []transport.RunAs{{}, {User: Users(t).Free.Name}} {
		for n := range 6 {
			data := bytes.Repeat([]byte{'a', byte(n / 5)}, 100<<10)
			cmd := transport.Cmd{TmpDir: dir, Argv: []string{"./d/x"}, RunAs: as, Files: []transport.File{
				script("d/x", "cd \"${0%/*}\"; stat -c %a big prog; cksum <big; cksum <prog; for f in big prog x; do echo more >>$f; done"),
				{Name: "d/big", Mode: 0o640, Data: data}, {Name: "d/prog", Mode: 0o755, Data: data[:50<<10]},
			}}
			var want strings.Builder
			want.WriteString("640\n755\n")
			for _, f := range cmd.Files[1:] {
				sum := exec.Command("cksum")
				sum.Stdin = bytes.NewReader(f.Data)
				out, err := sum.Output()
				if err != nil {
					t.Fatal(err)
				}
				want.Write(out)
			}
			run(t, c, cmd).expect(t, transport.Status{}, want.String(), "")
			if n == 3 {
				kept, err := filepath.Glob(dir + "/*/*")
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range kept {
					if err := os.WriteFile(f, []byte("evil"), 0o600); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
	c.Close()
}

func kept(t *testing.T, m *machine) {
	dir := worldDir(t)
	run(t, m.dial(t), transport.Cmd{TmpDir: dir, ScriptDir: "mine", KeepFiles: true, Argv: []string{"./x"}, Files: []transport.File{script("x", "exit 1")}, Stdin: []byte("gone")}).
		expectStatus(t, transport.Status{Code: 1})
	info, err := os.Stat(dir + "/mine")
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("the private directory has mode %v", info.Mode())
	}
	entries, err := os.ReadDir(dir + "/mine")
	if err != nil || len(entries) != 1 || entries[0].Name() != "x" {
		t.Errorf("kept: %v, %v", entries, err)
	}
}

func scriptDir(t *testing.T, m *machine) {
	c := m.dial(t)
	dir := worldDir(t)
	cmd := transport.Cmd{TmpDir: dir, ScriptDir: "mine", Argv: []string{"./x"}, Files: []transport.File{script("x", `echo "$0"`)}}
	for range 3 { // the name can be used again when Run has returned
		run(t, c, cmd).expect(t, transport.Status{}, dir+"/mine/x\n", "")
	}
	if err := os.Mkdir(dir+"/mine", 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := try(testContext(t), c, cmd)
	expectError(t, err, transport.ClassBootstrap, "TMPDIR_ERROR")
	if _, err := os.Stat(dir + "/mine"); err != nil {
		t.Errorf("a directory that was there before is gone: %v", err)
	}
	cmd.ScriptDir = "../out"
	_, err = try(testContext(t), c, cmd)
	expectError(t, err, transport.ClassUnsupported, "")
}

// fullDisk fills a small file system.
func fullDisk(t *testing.T, m *machine) {
	dir := smallDisk(t)
	c := m.dial(t)
	_, err := try(testContext(t), c, transport.Cmd{TmpDir: dir, Line: "echo no", Stdin: make([]byte, 3<<20)})
	if e := expectError(t, err, transport.ClassBootstrap, "WRITE_ERROR"); !strings.Contains(e.Msg, "No space left") {
		t.Errorf("got message %q", e.Msg)
	}
	expectEmpty(t, dir)

	src := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(src, make([]byte, 3<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	err = c.Put(testContext(t), transport.Tree{Path: src}, dir+"/big", transport.FileOptions{})
	if e := expectError(t, err, transport.ClassFile, "MV_ERROR"); !strings.Contains(e.Msg, "No space left") {
		t.Errorf("got message %q", e.Msg)
	}
	expectEmpty(t, dir)
	err = c.Put(testContext(t), transport.Tree{Path: src}, worldDir(t)+"/big", transport.FileOptions{TmpDir: dir})
	expectError(t, err, transport.ClassFile, "WRITE_ERROR")
	err = c.Put(testContext(t), transport.Tree{Path: filepath.Dir(src)}, worldDir(t)+"/big", transport.FileOptions{TmpDir: dir})
	expectError(t, err, transport.ClassFile, "WRITE_ERROR")
	expectEmpty(t, dir)
}
