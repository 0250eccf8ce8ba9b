package transporttest

import (
	"testing"

	"bolt/transport"
)

func terminalCases() []testCase {
	ok := transport.Status{}
	return []testCase{
		{"streams", func(t *testing.T, m *machine) {
			run(t, m.dial(t), transport.Cmd{TTY: true, Line: "test -t 0 && test -t 1 && test -t 2 && echo yes; echo err >&2; exit 3"}).
				expect(t, transport.Status{Code: 3}, "yes\r\nerr\r\n", "")
		}},
		{"script with stdin and environment", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			run(t, m.dial(t), transport.Cmd{TTY: true, TmpDir: dir, Argv: []string{"./x", "a b"}, Env: []string{"A=b\nc"}, Stdin: []byte("in\x04\x03\n"),
				Files: []transport.File{script("x", `test -t 1 && echo "$1" "$A"; od -An -c; exit 4`)}}).
				expect(t, transport.Status{Code: 4}, "a b b\r\nc\r\n   i   n 004 003  \\n\r\n", "")
			expectEmpty(t, dir)
		}},
		{"200 KB through the terminal", func(t *testing.T, m *machine) {
			dir := worldDir(t)
			data := make([]byte, 200_000)
			for i := range data {
				data[i] = byte(i)
			}
			run(t, m.dial(t), transport.Cmd{TTY: true, TmpDir: dir, Line: "wc -c; test -t 1 && echo yes", Stdin: data}).
				expect(t, ok, "200000\r\nyes\r\n", "")
			expectEmpty(t, dir)
		}},
		{"cancel", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			m.expectCancelled(t, transport.Cmd{TTY: true, Line: s.line() + "; echo no"}, s)
		}},
		{"cancel of a script", func(t *testing.T, m *machine) {
			s := newSleeper(t)
			dir := worldDir(t)
			m.expectCancelled(t, transport.Cmd{TTY: true, TmpDir: dir, Argv: []string{"./x"}, Files: []transport.File{script("x", s.line()+"\necho no")}}, s)
			eventually(t, "the private directory is gone", func() bool { return isEmpty(t, dir) })
		}},
	}
}
