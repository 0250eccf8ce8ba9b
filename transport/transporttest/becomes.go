package transporttest

import (
	"strings"
	"testing"
	"time"

	"bolt/transport"
)

// becomeCases returns the cases of run-as with programs other than sudo.
func becomeCases() []testCase {
	ok := transport.Status{}
	return []testCase{
		{"su with a password", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Free)
			as := becomes("su", u.Asked.Name, u.Asked.Password)
			dir := worldDir(t)
			run(t, c, transport.Cmd{Line: "id -un; cat; echo $HOME; echo e >&2; exit 3", RunAs: as}).
				expect(t, transport.Status{Code: 3}, u.Asked.Name+"\n/home/"+u.Asked.Name+"\n", "e\n")
			r := run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x", "a b"}, Env: []string{"A=b c", "LC_ALL=C.UTF-8"}, Stdin: []byte("Password: \nin"), RunAs: as,
				Files: []transport.File{script("x", `id -un; echo "$1 $A $LC_ALL"; stat -c '%U %a' "$0"; cat`)}})
			r.expect(t, ok, u.Asked.Name+"\na b b c C.UTF-8\n"+u.Asked.Name+" 744\nPassword: \nin", "")
			expectEmpty(t, dir)
		}},
		{"su as root", func(t *testing.T, m *machine) {
			u := Users(t)
			run(t, m.dial(t), transport.Cmd{Line: "id -un; cat", Stdin: []byte("in"), RunAs: becomes("/bin/su", u.Denied.Name, "")}).
				expect(t, ok, u.Denied.Name+"\nin", "")
		}},
		{"su without and with a wrong password", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Free)
			_, err := try(testContext(t), c, transport.Cmd{Line: "echo no", RunAs: becomes("su", u.Asked.Name, "")})
			e := expectError(t, err, transport.ClassRunAs, "NO_PASSWORD")
			if !strings.HasPrefix(e.Msg, "Password of user "+u.Asked.Name+" for su was not provided for ") {
				t.Errorf("got message %q", e.Msg)
			}
			_, err = try(testContext(t), c, transport.Cmd{Line: "echo no", RunAs: becomes("su", u.Asked.Name, "wr0ng")})
			e = expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD")
			if !strings.HasPrefix(e.Msg, "Password of user "+u.Asked.Name+" for su not recognized on ") || strings.Contains(e.Msg, "wr0ng") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"su answers its own prompt alone", func(t *testing.T, m *machine) {
			u := Users(t)
			as := becomes("su", u.Asked.Name, u.Asked.Password)
			run(t, m.dialAs(t, u.Free), transport.Cmd{Line: "printf 'Password: ' >&2; cat", RunAs: as}).expect(t, ok, "", "Password: ")
		}},
		{"su keeps the password out of command lines", func(t *testing.T, m *machine) {
			u := Users(t)
			expectUnseen(t, m.dialAs(t, u.Free), becomes("su", u.Asked.Name, u.Asked.Password))
		}},
		{"su and a cancel", func(t *testing.T, m *machine) {
			u := Users(t)
			s := newSleeper(t)
			cmd := transport.Cmd{Line: "trap '' TERM; " + s.line() + "; " + s.line(), Grace: time.Second, RunAs: becomes("su", u.Asked.Name, u.Asked.Password)}
			d, to := m.env.As(t, u.Free)
			(&machine{dialer: d, dest: to, env: m.env}).expectCancelled(t, cmd, s)
		}},
		{"su on a terminal", func(t *testing.T, m *machine) {
			u := Users(t)
			as := becomes("su", u.Asked.Name, u.Asked.Password)
			run(t, m.dialAs(t, u.Free), transport.Cmd{TTY: true, Line: "id -un; test -t 0 && echo yes", RunAs: as}).expect(t, ok, u.Asked.Name+"\r\nyes\r\n", "")
		}},
		{"su and copies", func(t *testing.T, m *machine) {
			u := Users(t)
			expectCopies(t, m.dialAs(t, u.Free), becomes("su", u.Asked.Name, u.Asked.Password))
		}},
		{"doas without a password", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Free)
			as := becomes("doas", "root", "")
			dir := worldDir(t)
			run(t, c, transport.Cmd{Line: "id -un; cat; echo $HOME; echo e >&2; exit 3", RunAs: as}).expect(t, transport.Status{Code: 3}, "root\n/root\n", "e\n")
			run(t, c, transport.Cmd{TmpDir: dir, Argv: []string{"./x"}, Env: []string{"A=b c"}, Stdin: []byte("in"), RunAs: as,
				Files: []transport.File{script("x", `id -un; echo "$A"; cat`)}}).expect(t, ok, "root\nb c\nin", "")
			expectEmpty(t, dir)
			expectCopies(t, c, as)
		}},
		{"doas asks on a terminal alone", func(t *testing.T, m *machine) {
			u := Users(t)
			c := m.dialAs(t, u.Asked)
			as := becomes("doas", "root", u.Asked.Password)
			run(t, c, transport.Cmd{TTY: true, Line: "id -un; test -t 0 && echo yes", RunAs: as}).expect(t, ok, "root\r\nyes\r\n", "")
			_, err := try(testContext(t), c, transport.Cmd{Line: "echo no", RunAs: as})
			if e := expectError(t, err, transport.ClassRunAs, "NO_PASSWORD"); !strings.Contains(e.Hint, "tty") || !strings.Contains(e.Hint, "nopass") {
				t.Errorf("got hint %q", e.Hint)
			}
			as.Password = transport.NewSecret("wr0ng")
			_, err = try(testContext(t), c, transport.Cmd{TTY: true, Line: "echo no", RunAs: as})
			if e := expectError(t, err, transport.ClassRunAs, "BAD_PASSWORD"); !strings.HasPrefix(e.Msg, "Doas password for user "+u.Asked.Name+" not recognized on ") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
		{"doas denies", func(t *testing.T, m *machine) {
			u := Users(t)
			_, err := try(testContext(t), m.dialAs(t, u.Denied), transport.Cmd{Line: "echo no", RunAs: becomes("doas", "root", "")})
			if e := expectError(t, err, transport.ClassRunAs, "SUDO_DENIED"); !strings.HasPrefix(e.Msg, "User "+u.Denied.Name+" does not have doas permission on ") {
				t.Errorf("got message %q", e.Msg)
			}
		}},
	}
}

func becomes(program, user, password string) transport.RunAs {
	as := transport.RunAs{User: user, Executable: program}
	if password != "" {
		as.Password = transport.NewSecret(password)
	}
	return as
}

// expectCopies checks that files are copied as another user.
func expectCopies(t *testing.T, c transport.Conn, as transport.RunAs) {
	t.Helper()
	o := transport.FileOptions{RunAs: as}
	src, far, got := worldDir(t)+"/src", worldDir(t), t.TempDir()
	writeFiles(t, src, map[string]string{"a": "A"})
	if err := c.Put(testContext(t), transport.Tree{Path: src}, far+"/up", o); err != nil {
		t.Fatalf("Put: %v", err)
	}
	run(t, c, transport.Cmd{Line: "stat -c %U " + far + "/up/a"}).expect(t, transport.Status{}, as.User+"\n", "")
	if err := c.Get(testContext(t), far+"/up", got, o); err != nil {
		t.Fatalf("Get: %v", err)
	}
	expectFiles(t, got+"/up", map[string]string{"a": "A"})
}
