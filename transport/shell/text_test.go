package shell

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bolt/transport"
)

// withTexts runs steps that use textTools, then a command, under a shell.
func withTexts(t *testing.T, sh, before, steps string) string {
	t.Helper()
	cmd := exec.Command(sh, "-c", before+"_bolt_n='\n'; "+textTools+"_bolt_t="+testToken+"; "+steps)
	cmd.Env, cmd.Stdin = []string{"PATH=/usr/bin:/bin"}, strings.NewReader("what came before")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + "\n" + err.Error()
	}
	return string(out)
}

var oddTexts = []string{"x", "\n", "a\n\n", "-n '\\\\ $x %s `id` \"\n\t.\n\n_bolt_\n+é\\", "-", "%", strings.Repeat("line of text\n", maxText/13)}

// A text arrives as it is.
func TestTexts(t *testing.T) {
	t.Parallel()
	for name, sh := range posixShells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "it's")
			for _, before := range []string{"", "set -C; ", "IFS=; ", "IFS=:; ", "IFS='a b'; ", "set -f; "} {
				for _, text := range oddTexts {
					if err := os.WriteFile(file, nil, 0o600); err != nil {
						t.Fatal(err)
					}
					p := plan{c: &transport.Cmd{}, inText: true, ready: true, input: text}
					st := staging{dir: filepath.Dir(file), blobs: []blob{{name: "it's", text: text}}}
					got := withTexts(t, sh, before, strings.Join(append(st.texts(), p.texts()...), "; ")+"; cat")
					written, err := os.ReadFile(file)
					if got != text || string(written) != text || err != nil {
						t.Errorf("%q %.40q: stdin %q, file %q, %v", before, text, got, written, err)
					}
				}
			}
			if got, want := withTexts(t, sh, "", "_bolt_h() { return 1; }; _bolt_i=x; _bolt_r; echo goes on"), testToken+"#"+stepTexts+" "+testToken+".\n"; !strings.HasPrefix(got, want) || strings.Contains(got, "goes on") {
				t.Errorf("no input: %q", got)
			}
		})
	}
}

// A text that does not fit on the disk is told of, and nothing is run.
func TestTextsFullDisk(t *testing.T) {
	t.Parallel()
	for name, sh := range posixShells(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
			file := filepath.Join(dir, "x")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(dir+"/full", make([]byte, 128<<10), 0o600); err == nil {
				t.Fatal("the disk is not full")
			}
			for _, text := range oddTexts {
				st := staging{dir: dir, blobs: []blob{{name: "x", text: text}}}
				got := withTexts(t, sh, "", strings.Join(st.texts(), "; ")+"; echo goes on")
				if !strings.HasPrefix(got, testToken+"#"+stepWrite) || !strings.Contains(got, testToken+".\n") || strings.Contains(got, "goes on") {
					t.Errorf("%.40q: %q", text, got)
				}
			}
		})
	}
}

// What goes by bytes is not in the script, and what is in it not by bytes.
func TestTextsTravelOnce(t *testing.T) {
	files := []transport.File{
		{Name: "x", Mode: 0o700, Data: []byte("first text")}, {Name: "y", Mode: 0o644, Data: []byte("second \x01 bytes")},
		{Name: "z", Mode: 0o444, Data: []byte("third text")}, {Name: "w", Mode: 0o644, Data: bytes.Repeat([]byte("w"), maxText)},
	}
	p, err := newPlan(&transport.Cmd{Argv: []string{"./x"}, Files: files, Stdin: []byte("the input"), Env: []string{"PT_a=s3cret"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p.ready = true
	p.pack()
	var sent bytes.Buffer
	if err := p.send(&sent); err != nil {
		t.Fatal(err)
	}
	all := sent.String() + readyText(p.steps, p.exchange().line)
	for _, part := range []string{"first text", "second \x01 bytes", "third text", "the input", "s3cret", strings.Repeat("w", maxText)} {
		if n := strings.Count(all, part); n != 1 {
			t.Errorf("%.20q is there %d times", part, n)
		}
	}
	if want := int64(len(files[1].Data) + len(files[2].Data) + len(files[3].Data)); p.stage.size() != want {
		t.Errorf("%d bytes, want %d", p.stage.size(), want)
	}
}

// A bash that nothing stands in the way of takes texts; no other shell does.
func TestAsksForTexts(t *testing.T) {
	t.Parallel()
	asked := func(sh, before string, env ...string) string {
		cmd := exec.Command(sh, "-c", before+asksForTexts(testToken)+"; echo takes")
		cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s, %q: %v", sh, before, err)
		}
		return string(out)
	}
	takes, not := "takes\n", testToken+"#"+stepTexts+" "+testToken+".\n"
	for name, sh := range posixShells(t) {
		want := not
		if name == "bash" {
			want = takes
		}
		if got := asked(sh, ""); got != want {
			t.Errorf("%s as sh: %q", name, got)
		}
	}
	for _, sh := range []string{"/bin/dash", "/bin/zsh", "/bin/mksh", "/bin/ksh93"} {
		if got := asked(sh, "", "BASH_VERSION=5.2"); got != not {
			t.Errorf("%s: %q", sh, got)
		}
	}
	for before, want := range map[string]string{
		"":                                takes,
		"alias x=y; ":                     takes,
		"shopt -s expand_aliases\n":       not,
		"printf() { :; }; ":               not,
		"readonly TMOUT=1; ":              not,
		"TMOUT=0; ":                       not,
		"set -e; ":                        not,
		"set -f; ":                        not,
		"set -u; ":                        not,
		"[() { :; }; ":                    not,
		"unset() { :; }; ":                not,
		"which() { :; }; ":                takes,
		"enable -n printf; ":              not,
		"break() { :; }; eval() { :; }; ": not,
		"enable -n compgen; ":             not,
		"shopt -u checkwinsize cmdhist complete_fullquote; shopt -s expand_aliases\n": not,
	} {
		if got := asked("/bin/bash", before); got != want {
			t.Errorf("%q: %q, want %q", before, got, want)
		}
	}
	for _, sh := range []string{"/bin/dash", "/bin/bash"} {
		cmd := exec.Command(sh, "-c", asksForTexts(testToken))
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil || errs.String() != "" && errs.String() != not {
			t.Errorf("%s says %q, %v", sh, errs.String(), err)
		}
	}
}

// A block is read as it is, whatever a start-up file has made of the shell.
func TestReadTexts(t *testing.T) {
	t.Parallel()
	text := block("A='  x\ty \\\n\rz '", testToken)
	for _, before := range []string{"", "IFS=x; ", "readonly IFS; ", "readonly IFS=$' \\n\\r'; ", "IFS=$' \\n\\r'; ", "set -x; ", "set -a; ", "trap 'echo \"$BASH_COMMAND\"' DEBUG; "} {
		cmd := exec.Command("/bin/bash", "-c", before+untraced+"; "+asksForTexts(testToken)+"; exec 2>&1; "+readTexts(testToken)+"; "+obey+`; printf %s "$A"; env | grep _bolt_`)
		cmd.Env, cmd.Stdin = []string{"PATH=/usr/bin:/bin"}, strings.NewReader(text)
		out, _ := cmd.Output() // grep finds nothing
		if _, got, _ := strings.Cut("\n"+string(out), "  x"); got != "\ty \\\n\rz " {
			t.Errorf("%q: %q", before, out)
		}
	}
}
