package plans

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"bolt/modules"
)

// write makes files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// lines writes a list for comparison: name, file, then the description, or what
// is wrong in angle brackets.
func lines(list []Summary, dir string) []string {
	var out []string
	for _, s := range list {
		line := s.Name + " " + s.File
		if s.Private {
			line += " private"
		}
		if s.Description != "" {
			line += fmt.Sprintf(" %q", s.Description)
		}
		if s.Err != nil {
			line += " <" + strings.ReplaceAll(s.Err.Error(), dir+"/", "") + ">"
		}
		out = append(out, line)
	}
	return out
}

func TestOf(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"m/plans/init.pp":           "# The first one.\nplan m() {}\n",
		"m/plans/both.pp":           "plan m::both() {}\n",
		"m/plans/both.yaml":         "description: hidden by the other\nsteps: []\n",
		"m/plans/y.yaml":            "---\ndescription: |\n  Two\n  lines.\nsteps: []\n",
		"m/plans/short.yml":         "description: no plan\n",
		"m/plans/hush.yaml":         "private: true\nsteps: []\n",
		"m/plans/hush2.pp":          "# Text.\n# @api private\nplan m::hush2() {}\n",
		"m/plans/a/b/c.pp":          "plan m::a::b::c() {}\n",
		"m/plans/a/init.pp":         "# Not the module's.\nplan m::a::init() {}\n",
		"m/plans/Bad.pp":            "plan m::Bad() {}\n",
		"m/plans/.hidden/x.pp":      "plan m::hidden() {}\n",
		"m/plans/readme.md":         "",
		"m/plans/dir.pp/x":          "",
		"m/plans/other.pp":          "plan m::else() {}\n",
		"m/plans/broken.pp":         "# Words.\nplan m::broken( {\n",
		"m/plans/list.yaml":         "- a\n",
		"m/plans/number.yaml":       "description: 7\n",
		"m/plans/maybe.yaml":        "description: x\nprivate: maybe\n",
		"m/plans/empty.yaml":        "",
		"elsewhere/inside.pp":       "plan m::linked::inside() {}\n",
		"elsewhere/target.pp":       "# By a link.\nplan m::link() {}\n",
		"none/manifests/init.pp":    "",
		"file/plans":                "",
		"m/plans/second.pp":         "function m::f() { 1 }\n\n# Behind another.\nplan m::second() {}\n",
		"m/plans/gap.pp":            "# Far away.\n\nplan m::gap() {}\n",
		"m/plans/windows.pp":        "# Line one.\r\n# Line two.\r\nplan m::windows() {}\r\n",
		"m/plans/inner/deep/er.yml": "",
	})
	for link, to := range map[string]string{"link.pp": "target.pp", "linked": ".", "gone.pp": "gone"} {
		if err := os.Symlink(filepath.Join(dir, "elsewhere", to), filepath.Join(dir, "m/plans", link)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`m plans/init.pp "The first one."`,
		`m::a::b::c plans/a/b/c.pp`,
		`m::a::init plans/a/init.pp "Not the module's."`,
		`m::both plans/both.pp`,
		"m::broken plans/broken.pp <m/plans/broken.pp:2:17: unexpected '{'>",
		`m::empty plans/empty.yaml`,
		`m::gap plans/gap.pp`,
		"m::gone plans/gone.pp <read m/plans/gone.pp: no such file or directory>",
		`m::hush plans/hush.yaml private`,
		`m::hush2 plans/hush2.pp private "Text."`,
		`m::link plans/link.pp "By a link."`,
		"m::list plans/list.yaml <Invalid content for plan file at m/plans/list.yaml\nContent should be a Hash or empty, not Array>",
		"m::maybe plans/maybe.yaml <m/plans/maybe.yaml: the value of 'private' has to be true or false>",
		"m::number plans/number.yaml <m/plans/number.yaml: the value of 'description' has to be a string>",
		"m::other plans/other.pp <m/plans/other.pp: the file has to define the plan m::other: the name of a file tells what is in it>",
		`m::second plans/second.pp "Behind another."`,
		`m::windows plans/windows.pp "Line one.\nLine two."`,
		`m::y plans/y.yaml "Two\nlines.\n"`,
	}
	got := lines(Of(t.Context(), modules.Module{Name: "m", Dir: filepath.Join(dir, "m")}), dir)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"none", "file", "missing"} {
		if got := Of(t.Context(), modules.Module{Name: name, Dir: filepath.Join(dir, name)}); got != nil {
			t.Errorf("module %s has plans %v", name, got)
		}
	}
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"project/plans/init.pp": "plan zoo() {}\n",
		"one/m/plans/init.pp":   "# Of one.\nplan m() {}\n",
		"two/m/plans/x.pp":      "plan m::x() {}\n",
		"two/a/plans/x.pp":      "plan a::x() {}\n",
	})
	p := modules.NewPath(modules.Module{Name: "zoo", Dir: filepath.Join(dir, "project")}, filepath.Join(dir, "one"), filepath.Join(dir, "two"))
	p = p.With(fstest.MapFS{
		"b/plans/init.yaml": {Data: []byte("description: Built in.\n")},
		"m/plans/y.pp":      {Data: []byte("plan m::y() {}\n")},
	})
	list, err := List(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`a::x plans/x.pp`, `b plans/init.yaml "Built in."`, `m plans/init.pp "Of one."`, `zoo plans/init.pp`}
	if diff := cmp.Diff(want, lines(list, dir)); diff != "" {
		t.Error(diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := List(ctx, p); err == nil || list != nil {
		t.Errorf("a canceled list: %v, %v", list, err)
	}
}

// closed is a file system with a directory that cannot be read.
type closed struct {
	files fstest.MapFS
	dir   string
}

func (c closed) Open(name string) (fs.File, error) { return c.files.Open(name) }

func (c closed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == c.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return c.files.ReadDir(name)
}

func TestUnreadable(t *testing.T) {
	files := fstest.MapFS{"m/plans/sub/x.pp": {}, "m/plans/sub.pp": {Data: []byte("plan m::sub() {}\n")}, "m/plans/after.pp": {Data: []byte("plan m::after() {}\n")}}
	for dir, want := range map[string][]string{
		"m/plans/sub": {"m::after plans/after.pp", "m::sub plans/sub.pp", "m::sub plans/sub <open plans/sub: permission denied>"},
		"m/plans":     {"m plans <open plans: permission denied>"},
	} {
		list, err := List(t.Context(), modules.NewPath(modules.Module{}).With(closed{files, dir}))
		if err != nil {
			t.Fatal(err)
		}
		got := lines(list, "/nowhere")
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is closed: %s", dir, diff)
		}
	}
}

func TestDoc(t *testing.T) {
	tests := []struct {
		name, text, description string
		private                 bool
	}{
		{"none", "", "", false},
		{"text", "Some\ntext.\n", "Some\ntext.", false},
		{"blank lines", "\nFirst.\n\nSecond.\n\n", "First.\n\nSecond.", false},
		{"summary", "Text.\n@summary Short.\nMore text.", "Short.", false},
		{"summary on two lines", "@summary Short,\n  and on.\nText.", "Short,\nand on.", false},
		{"first summary", "@summary One\n@summary Two", "One", false},
		{"empty summary", "@summary\nText.", "Text.", false},
		{"tags are no text", "Text.\n@param x what\n  it is\n\n  still\n@return [Any] nothing\nEnd.", "Text.\nEnd.", false},
		{"indented tag is text", "Text.\n  @param x what", "Text.\n  @param x what", false},
		{"address is no tag", "me@example.org\n@ home", "me@example.org\n@ home", false},
		{"private", "@api private", "", true},
		{"public", "@api public", "", false},
		{"private, the old way", "@private true\nText.", "Text.", true},
		{"private, not", "@private false", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parseDoc(strings.Split(tt.text, "\n"))
			if d.description() != tt.description || d.private != tt.private {
				t.Errorf("description %q, private %v; want %q, %v", d.description(), d.private, tt.description, tt.private)
			}
		})
	}
}

func TestCommentAbove(t *testing.T) {
	src := "# far\n\n## two marks\n#no blank\n  #\tindented\n#\nplan m() {}\n"
	want := []string{"two marks", "no blank", "indented", ""}
	if diff := cmp.Diff(want, commentAbove(src, 7)); diff != "" {
		t.Error(diff)
	}
	if got := commentAbove(src, 1); got != nil {
		t.Errorf("above the first line: %q", got)
	}
}

func FuzzSummary(f *testing.F) {
	f.Add("# Words.\n# @summary Short.\nplan m() {}\n", true)
	f.Add("description: x\nprivate: true\n", false)
	f.Fuzz(func(t *testing.T, text string, puppet bool) {
		if len(text) > 10_000 {
			return
		}
		name := "plans/init.yaml"
		if puppet {
			name = "plans/init.pp"
		}
		p := modules.NewPath(modules.Module{}).With(fstest.MapFS{"m/" + name: {Data: []byte(text)}})
		list, err := List(t.Context(), p)
		if err != nil || len(list) != 1 || list[0].Name != "m" {
			t.Fatalf("%v, %v", list, err)
		}
		if s := list[0]; s.Err != nil && (s.Description != "" || s.Private) {
			t.Errorf("a broken plan says %+v", s)
		}
	})
}

func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for i := range 500 {
		name := fmt.Sprintf("m%d", i)
		write(b, dir, map[string]string{
			name + "/plans/init.pp":  "# The plan of " + name + ".\n# @param targets Where to run.\nplan " + name + "(TargetSpec $targets) {\n  run_command('true', $targets)\n}\n",
			name + "/plans/sub.yaml": "description: a plan\nsteps:\n  - command: whoami\n    targets: $targets\n",
		})
	}
	p := modules.NewPath(modules.Module{}, dir)
	for b.Loop() {
		if list, err := List(b.Context(), p); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}
