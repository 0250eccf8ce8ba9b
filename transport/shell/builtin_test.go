package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bolt/transport"
)

func TestIsBuiltin(t *testing.T) {
	for _, line := range []string{
		"true", " true ", "true;", "true ; ", "false || true", "true&&false||:", "pwd", "echo", "echo a b", "echo 'a b'\"c\" ''", "echo a;echo b",
		"printf '%s\\n' a", `printf "a%%"`, "printf a", "[ a = b ]", "[ -n x ]", "[ '' = x ] || echo no", "test 1 -lt 22", "[ -d /etc ]", "test -x '/bin/a b'",
		"printf '" + strings.Repeat("a", 1000) + "%s'" + strings.Repeat(" b", 14), strings.Repeat("pwd;", maxPrinted/maxHome), "echo " + strings.Repeat("a", maxBuiltin-5),
		"echo if then", "echo ]", "echo a=b", "echo a@b:c,d+e%f-g/h.i_j", "echo -n a",
	} {
		if !isBuiltin(line) {
			t.Errorf("%q is not taken", line)
		}
	}
	for _, line := range []string{
		"", " ", ";", "true;;", "true;;true", "&& true", "true &&", "true ||", "true & false", "true &", "true | false", "| true", "true &&& true", "true ||| true",
		"true\n", "true\nfalse", "true\ttrue", "echo $x", `echo "$x"`, "echo `id`", `echo "a\b"`, `echo a\ b`, `echo '\b'`, "echo 'a", `echo "a`, "echo a!", "echo '!'", "echo ~", "echo *", "echo a?",
		"echo [a]", "echo {a,b}", "echo (a)", "(true)", "{ true; }", "! true", "echo a >b", "echo a <b", "echo a#b", "echo # a", "a=b", "a=b true", "=b", "echo =b", "echo é", "echo '\x00'", "echo '\x7f'",
		"true x", "pwd -P", ": x", "'true'", `"true"`, "tr'u'e", "echo\u00a0a", "cd", "exit", "exit 3", "export A=b", "umask", "kill 0", "eval true", "exec true", "command true", "/bin/true", "sleep 1", "echo a^b",
		"printf", "printf -v a", "printf %d 1", "printf '%1000d'", "printf '%'", `printf '\`, `printf '\x'`, `printf '\''`, "printf '%s' '\\n'", "printf -- a",
		"[", "[ ]", "[ a", "[ a ]", "[ a b", "[ -t 0 ]", "[ -N /x ]", "[ a = b", "[ a = b ']'", "[ a == b ]", "[ a -a b ]", "[ ! a ]", "[ ! -e /x ]", "[ -n -n ]", "[ -a = b ]", "[ '(' = ')' ]", "[ -e x ]",
		"[ -e /proc/self/fd/9 ]", "[ -e /dev/fd/0 ]", "[ -e /x/../proc ]", "[ -e ' /proc' ]", "[ 1 -eq a ]", "[ 1 -eq -1 ]", "[ 01 -eq 1 ]", "[ 9999999999 -eq 1 ]", "[ '' -eq 1 ]", "[ a '=' b ]", "[ /a -nt /b ]", "test", "test a", "[ a = b ] ]", "[ -v x ]",
		"echo " + strings.Repeat("a", maxBuiltin), strings.Repeat("pwd;", maxPrinted/maxHome+1),
		"printf '" + strings.Repeat("a", 1000) + "%s'" + strings.Repeat(" b", 18), strings.Repeat("printf aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"+strings.Repeat(" b", 32)+";", 18),
	} {
		if isBuiltin(line) {
			t.Errorf("%q is taken", line)
		}
	}
}

// A line that a resident shell may run does there what it does in a shell of
// its own, and leaves nothing behind.
func FuzzBuiltin(f *testing.F) {
	for _, line := range []string{
		"true", "false;", "false || echo a", "true && pwd; false", "echo", "echo -n a", "echo -e a -n", "echo 'a  b'\"c d\" ''", "echo [ ] = != if done", "printf '%s-%s\\n' a b c", "printf 'a\\\\b%%\\t'",
		"printf '%s'", "[ a = b ]", "[ '' != '' ]", "test 7 -ge 7", "[ -d /etc ] && [ -r /etc/passwd ] && echo yes", "[ -L /etc/passwd ]", "[ -z '' ]", "echo a=b @+%,:", "echo ''x'' \"\"", "printf 'no end'",
		"echo $(id)", "echo a; exit 1", "echo bolt%0 0", "printf 'aaaaaaaaaaaaaaaa%s\\n' 1 2 3 4 5 6 7 8", "printf 'aaaa' 1 2 3", "printf '%s%s' 1 2 3; pwd; pwd",
	} {
		f.Add(line)
	}
	home, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	ash := filepath.Join(f.TempDir(), "ash")
	if err := os.Symlink("/usr/bin/busybox", ash); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !isBuiltin(line) {
			return
		}
		for _, sh := range []string{"/bin/bash", "/bin/dash", "/bin/ksh", ash} {
			run := func(script, stdin string) (string, string, int) {
				cmd := exec.Command(sh, "-c", script)
				cmd.Env = []string{"HOME=" + home, "SHELL=" + sh, "SHLVL=1", "PATH=/usr/bin:/bin"}
				cmd.Dir, cmd.Stdin = home, strings.NewReader(stdin)
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
					t.Fatal(err)
				}
				return out.String(), errs.String(), cmd.ProcessState.ExitCode()
			}
			out, errs, code := run(line, "")
			if errs != "" || code > 1 {
				t.Errorf("%s: %q fails: %d, %q", sh, line, code, errs)
			}
			if len(out) > maxPrinted {
				t.Errorf("%s: %q prints %d bytes", sh, line, len(out))
			}
			const token = "bolt%token"
			one := string(residentRequest(line, token))
			want := fmt.Sprintf("ready\n%s\n%s %d\n", out, token, code)
			want += strings.TrimPrefix(want, "ready\n")
			if got, errs, code := run(strings.Replace(ResidentLine("ready"), bySSHD, "", 1), one+one); got != want || errs != "ready\n" || code != 0 {
				t.Errorf("%s: %q: got %d, %q, %q\nwant %q", sh, line, code, got, errs, want)
			}
		}
	})
}

// FuzzAnswer: whatever comes back, and in whatever pieces, is either not an
// answer yet or one whose parts make it up.
func FuzzAnswer(f *testing.F) {
	const token = "bolt%token"
	for _, a := range []string{"", "\n", "\nbolt%token 0\n", "a\n\nbolt%token 1\n", "\nbolt%token 256\n", "\nbolt%token 0\n\nbolt%token 1\n", "\nbolt%token x\n", "bolt%token 0\n", "\nbolt%token 0"} {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		out, code, done, ok := parseAnswer(answer, token)
		switch {
		case ok && !done:
			t.Errorf("%q: an answer that is not whole", answer)
		case ok:
			if whole := fmt.Sprintf("%s\n%s %d\n", out, token, code); code < 0 || code > 255 || len(whole) > len(answer) {
				t.Errorf("%q is taken for %q", answer, whole)
			}
		}
	})
}

// warmer is a Warmer whose resident shell says what it is told to.
type warmer struct {
	starterFunc
	says func(request []byte) []string
	kept bool // the shell, after the last request
}

func (*warmer) Ready() (Session, func(bool)) { return nil, nil }

func (w *warmer) Ask(ctx context.Context, request []byte, enough func([]byte) bool) ([]byte, bool) {
	var answer []byte
	w.kept = false
	for _, piece := range w.says(request) {
		answer = append(answer, piece...)
		if w.kept = enough(answer); w.kept {
			return answer, true
		}
		if ctx.Err() != nil {
			return nil, false
		}
	}
	<-ctx.Done() // there is no more to come
	return nil, false
}

// A shell whose answer is not as it should be is not used again, and the line
// runs in a session.
func TestAnswerDecides(t *testing.T) {
	for _, c := range []struct {
		name string
		says []string // $ is the token
		kept bool
		out  string
	}{
		{"good", []string{"a\n\n$ 0\n"}, true, "a\n"},
		{"in pieces", []string{"a\n", "\n$", " ", "1", "\n"}, true, "a\n"},
		{"not a status", []string{"a\n\n$ x\n"}, false, "session\n"},
		{"no status", []string{"a\n\n$ 256\n"}, false, "session\n"},
		{"more than a status", []string{"a\n\n$ 0\nb\n"}, false, "session\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &warmer{
				starterFunc: start(t, func(f *farSide) {
					f.say(f.stdout, "session\n")
					f.end(0)
				}),
				says: func(request []byte) []string {
					_, told, _ := strings.Cut(string(request), `%s %d\n' `)
					token, _, _ := strings.Cut(told, " ")
					var says []string
					for _, piece := range c.says {
						says = append(says, strings.ReplaceAll(piece, "$", token))
					}
					return says
				},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var out bytes.Buffer
			_, err := Run(ctx, w, &transport.Cmd{Line: "echo a", Stdout: &out}, Options{Host: "web"})
			if err != nil || out.String() != c.out || w.kept != c.kept {
				t.Errorf("%v, %q, the shell is kept: %v; want %q, %v", err, &out, w.kept, c.out, c.kept)
			}
		})
	}
}

func TestReadyText(t *testing.T) {
	scripts := []string{"echo a", "printf '%s' '\n'", "printf '[%s]' '.\n.' '+\n+a' '\n\n' '\\' \"a\\\\nb\"", "echo 1\necho 2", "# a\n.\n", "exec cat"}
	ash := filepath.Join(t.TempDir(), "ash")
	if err := os.Symlink("/usr/bin/busybox", ash); err != nil {
		t.Fatal(err)
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	readyLine := strings.Replace(ReadyLine("ready"), bySSHD, "", 1) // which we are not
	for _, sh := range []string{"/bin/bash", "/bin/dash", "/bin/mksh", ash} {
		for _, script := range scripts {
			run := func(line, stdin string) string {
				cmd := exec.Command(sh, "-c", line)
				cmd.Env = []string{"HOME=" + home, "SHELL=" + sh, "SHLVL=1", "PATH=/usr/bin:/bin"}
				cmd.Dir, cmd.Stdin = home, strings.NewReader(stdin)
				out, err := cmd.Output()
				return fmt.Sprintf("%q, %v", out, err)
			}
			data := "data\n.\n"
			for _, steps := range []string{"", "_bolt_x='\n.\n-\n+'\necho \"$_bolt_x\""} {
				obeyed := ""
				if steps != "" {
					obeyed = obey + "; "
				}
				want := run(waits("ready")+"_bolt_e="+Quote(steps)+"; "+obeyed+script, data)
				text := readyText(steps, obeyed+script)
				if got := run(readyLine, text+data); got != want {
					t.Errorf("%s, %q: got %s, want %s", sh, text, got, want)
				}
				// A script that is cut off does nothing.
				for n := range len(text) {
					if got := run(readyLine, text[:n]); got != `"ready\n", <nil>` {
						t.Fatalf("%s, %q: %s", sh, text[:n], got)
					}
				}
			}
		}
	}
}
