package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"bolt/transport"
)

func TestConsole(t *testing.T) {
	tests := []struct {
		name  string
		level slog.Level
		color bool
		log   func(*Log)
		want  string
	}{
		{"warning with ID", slog.LevelWarn, true, func(l *Log) { l.Warn("unknown_option", "Unknown option 'x'.") },
			"\x1b[33mUnknown option 'x'. [ID: unknown_option]\x1b[0m\n"},
		{"color off", slog.LevelWarn, false, func(l *Log) { l.Warn("unknown_option", "Unknown option 'x'.") },
			"Unknown option 'x'. [ID: unknown_option]\n"},
		{"error", slog.LevelWarn, true, func(l *Log) { l.Logger().Error("no") }, "\x1b[31mno\x1b[0m\n"},
		{"fatal", slog.LevelWarn, true, func(l *Log) { l.Logger().Log(t.Context(), LevelFatal, "no") },
			"\x1b[37m\x1b[41mno\x1b[0m\n"},
		{"info is plain", slog.LevelInfo, true, func(l *Log) { l.Logger().Info("so") }, "so\n"},
		{"below the level", slog.LevelWarn, true, func(l *Log) { l.Logger().Info("so") }, ""},
		{"trace", LevelTrace, true, func(l *Log) { l.Logger().Log(t.Context(), LevelTrace, "so") }, "so\n"},
		{"disabled ID", LevelTrace, true, func(l *Log) { l.Warn("quiet", "x") }, ""},
		{"disabled ID does not hide errors", LevelTrace, false, func(l *Log) { l.Logger().Error("x", keyID, "quiet") },
			"x [ID: quiet]\n"},
		{"once", slog.LevelWarn, false, func(l *Log) { l.WarnOnce("a", "1"); l.WarnOnce("a", "2"); l.WarnOnce("b", "3") },
			"1 [ID: a]\n3 [ID: b]\n"},
		{"each once", slog.LevelWarn, false, func(l *Log) { l.WarnEach("a", "1"); l.WarnEach("a", "2"); l.WarnEach("a", "1") },
			"1 [ID: a]\n2 [ID: a]\n"},
		{"attributes", slog.LevelDebug, false, func(l *Log) {
			l.Logger().Debug("dial", keyTarget, "web1", keyComponent, "ssh", "port", 22, "err", errors.New("no route"), "empty", "", "list", []string{"a"})
		}, `web1: dial port=22 err="no route" empty="" list="[\"a\"]"` + "\n"},
		{"groups", slog.LevelDebug, false, func(l *Log) {
			l.Logger().With("a", 1).WithGroup("g").With("b", 2, keyID, "mine").Info("m", slog.Group("h", "c", 3), slog.Group("", "d", 4), slog.Attr{})
		}, "m a=1 g.b=2 g.id=mine g.h.c=3 g.d=4\n"},
		{"control characters", slog.LevelDebug, false, func(l *Log) {
			l.Logger().Warn("a\x1b[2Jb\r\a\tc\nd\u009b1m", "k", "x\x1b]0;t\ay")
		}, "ab\n\tc\nd1m k=xy\n"},
		{"not UTF-8", slog.LevelDebug, false, func(l *Log) { l.Logger().Warn("caf\xe9", "k", "\xff\x1bP1q\x1b\\z") },
			"caf\\xE9 k=\\xFFz\n"},
		{"panicking value", slog.LevelDebug, false, func(l *Log) { l.Logger().Info("m", "k", (*url)(nil)) },
			"m k=!*logging.url\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			l, err := Open(Options{Console: &b, ConsoleLevel: tt.level, Color: tt.color, Disabled: []string{"quiet"}})
			if err != nil {
				t.Fatal(err)
			}
			tt.log(l)
			if got := b.String(); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

type url struct{ text string }

func (u *url) String() string { return u.text }

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bolt-debug.log")
	if err := os.WriteFile(path, []byte("old run\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	open := func(appending bool) {
		l, err := Open(Options{Console: &console, ConsoleLevel: slog.LevelWarn,
			Files: []File{{Path: path, Level: slog.LevelDebug, Append: appending}}})
		if err != nil {
			t.Fatal(err)
		}
		l.Logger().Log(t.Context(), LevelTrace, "unseen")
		l.Logger().Debug("started", "n", 1)
		l.Logger().With(keyTarget, "web1").Info("dialing", keyComponent, "ssh")
		l.Warn("some_id", "Look out.")
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	lines := `(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}) DEBUG  \[main\] \[bolt\] started n=1
\d{4}.* INFO   \[web1\] \[ssh\] dialing
\d{4}.* WARN   \[main\] \[bolt\] Look out\. \[ID: some_id\]
`
	open(false)
	matches(t, path, `^`+lines+`$`)
	open(true)
	matches(t, path, `^`+lines+lines+`$`)
	open(false)
	matches(t, path, `^`+lines+`$`)
	if got, want := console.String(), strings.Repeat("Look out. [ID: some_id]\n", 3); got != want {
		t.Errorf("console %q", got)
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.log"), filepath.Join(dir, "missing", "bolt-debug.log")

	var console bytes.Buffer
	l, err := Open(Options{Console: &console, ConsoleLevel: slog.LevelWarn,
		Files: []File{{Path: bad, Optional: true}, {Path: filepath.Join(dir, "also", "missing"), Optional: true}, {Path: good}}})
	if err != nil {
		t.Fatal(err)
	}
	l.Warn("x", "goes on")
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	got := console.String()
	if strings.Count(got, "[ID: unwriteable_file]") != 1 || !strings.Contains(got, bad) || !strings.Contains(got, "goes on") {
		t.Errorf("console %q", got)
	}
	matches(t, good, `unwriteable_file(.|\n)*goes on`)

	if l, err := Open(Options{Console: &console, Files: []File{{Path: good}, {Path: bad}}}); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("Open: %v, %v", l, err)
	}
}

// TestLogLinks opens log files that are links. bolt-debug.log must not be a link; a
// path from the configuration can be a link.
func TestLogLinks(t *testing.T) {
	dir := t.TempDir()
	link, precious := filepath.Join(dir, "bolt-debug.log"), filepath.Join(dir, "precious")
	if err := errors.Join(os.WriteFile(precious, []byte("old\n"), 0o600), os.Symlink(precious, link)); err != nil {
		t.Fatal(err)
	}
	var console bytes.Buffer
	open := func(file File) error {
		console.Reset()
		l, err := Open(Options{Console: &console, ConsoleLevel: slog.LevelWarn, Files: []File{file}})
		if err != nil {
			return err
		}
		l.Warn("x", "goes on")
		return l.Close()
	}
	if err := open(File{Path: link, Optional: true}); err != nil {
		t.Fatal(err)
	}
	if got := console.String(); !strings.Contains(got, "This run leaves no log file: open "+link+": it is a symbolic link") || !strings.Contains(got, "goes on") {
		t.Errorf("console %q", got)
	}
	if err := open(File{Path: link, Append: true}); err != nil {
		t.Errorf("a link that is named: %v", err)
	}
	matches(t, precious, `^old\n(.|\n)*goes on`)
	if err := os.Lchown(link, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if err := open(File{Path: link}); err == nil || !strings.Contains(err.Error(), "a symbolic link of the user 4711") {
		t.Errorf("a link of another user: %v", err)
	}
	matches(t, precious, `^old\n`)
	if err := open(File{Path: "/dev/stderr"}); err != nil {
		t.Error(err)
	}
}

func TestEarlyWarningsAreReplayed(t *testing.T) {
	var e Early
	e.Warn("a", "first")
	e.Warn("b", "second")
	e.Warn("c", "third")
	var console bytes.Buffer
	l, err := Open(Options{Console: &console, ConsoleLevel: slog.LevelWarn, Disabled: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	e.Flush(l)
	e.Flush(l)
	if got, want := console.String(), "first [ID: a]\nthird [ID: c]\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestNoDestination(t *testing.T) {
	l, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Logger().Enabled(t.Context(), LevelFatal) {
		t.Error("a log without destinations asks for records")
	}
	l.Logger().Error("x")
}

// TestSecrets hands secrets over in every way in which they could reach a log.
func TestSecrets(t *testing.T) {
	const hidden = "hunter2"
	s := transport.NewSecret(hidden)
	type inner struct{ password transport.Secret }
	var b bytes.Buffer
	path := filepath.Join(t.TempDir(), "log")
	l, err := Open(Options{Console: &b, ConsoleLevel: LevelTrace, Files: []File{{Path: path, Level: LevelTrace}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{
		s, &s, []transport.Secret{s}, map[string]transport.Secret{"k": s},
		transport.Dest{Host: "h", Password: s}, &transport.Dest{Password: s},
		inner{s}, &inner{s}, []any{inner{s}}, slog.AnyValue(s), slog.GroupValue(slog.Any("p", s)),
		transport.RunAs{Password: s},
	} {
		l.Logger().Info("value", "v", v)
		l.Logger().With("v", v).Info("with")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), hidden) || strings.Contains(string(file), hidden) {
		t.Errorf("the secret shows:\n%s", b.String())
	}
	if strings.Count(b.String(), "[redacted]") < 16 {
		t.Errorf("redactions do not show:\n%s", b.String())
	}
}

func TestParseLevel(t *testing.T) {
	if got := strings.Join(Levels(), " "); got != "trace debug info warn error fatal" {
		t.Errorf("levels %s", got)
	}
	for _, name := range Levels() {
		l, err := ParseLevel(name)
		if err != nil || levelName(l) != name {
			t.Errorf("ParseLevel(%s) = %v, %v", name, l, err)
		}
	}
	for _, name := range []string{"", "WARN", "loud", "notice"} {
		if l, err := ParseLevel(name); err == nil {
			t.Errorf("ParseLevel(%q) = %v", name, l)
		}
	}
}

// TestConcurrent checks that records stay whole; the race detector does the rest.
func TestConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	var b bytes.Buffer
	l, err := Open(Options{Console: &b, ConsoleLevel: slog.LevelInfo, Files: []File{{Path: path, Level: slog.LevelInfo}}})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			log := l.Logger().With("a", strings.Repeat("x", 100))
			for i := range 100 {
				log.Info("m", "i", i)
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^[^\n]*m a=x{100} i=\d+(\x1b\[0m)?$`)
	for _, text := range []string{b.String(), string(file)} {
		if n := len(line.FindAllString(text, -1)); n != 800 || strings.Count(text, "\n") != 800 {
			t.Errorf("%d whole lines of %d", n, strings.Count(text, "\n"))
		}
	}
}

func FuzzControlCharacters(f *testing.F) {
	f.Add("plain", "v")
	f.Add("\x1b[31m\xff\x00", "\u0085\u202e")
	f.Fuzz(func(t *testing.T, msg, value string) {
		var b bytes.Buffer
		l, err := Open(Options{Console: &b, ConsoleLevel: slog.LevelInfo})
		if err != nil {
			t.Fatal(err)
		}
		l.Logger().Info(msg, "k", value)
		body, ok := strings.CutSuffix(b.String(), "\n")
		if !ok {
			t.Fatalf("got %q", b.String())
		}
		for _, r := range body {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q has %q", body, r)
			}
		}
	})
}

func BenchmarkDebugToFile(b *testing.B) {
	l, err := Open(Options{Console: io.Discard, ConsoleLevel: slog.LevelWarn,
		Files: []File{{Path: filepath.Join(b.TempDir(), "log"), Level: slog.LevelDebug}}})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	log := l.Logger().With(keyTarget, "web1")
	b.ReportAllocs()
	for b.Loop() {
		log.Debug("session started", "command", json.Number("5"), "n", 3)
	}
}

func matches(t *testing.T, path, pattern string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(pattern).Match(data) {
		t.Errorf("%s holds\n%s\nwant %s", filepath.Base(path), data, pattern)
	}
}
