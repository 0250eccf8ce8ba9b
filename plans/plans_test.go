package plans

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"bolt/format/fault"
	"bolt/modules"
	"bolt/puppet/value"
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

// A world is a module path and the warnings about it.
type world struct {
	lib *Library

	mu    sync.Mutex // guards warns
	warns []string
}

func newWorld(p *modules.Path) *world {
	w := &world{}
	w.lib = NewLibrary(Options{
		Modules: p,
		Type: func(_ context.Context, text string) (value.Type, error) {
			if strings.HasPrefix(text, "My::Secret") {
				alias := value.NewAlias(text)
				return alias, alias.Resolve(value.NewSensitiveType(&value.StringType{}))
			}
			if strings.Contains(text, "TargetSpec") {
				text = strings.ReplaceAll(text, "TargetSpec", "Variant[String[1], Array[String[1]]]")
			}
			if strings.Contains(text, "Nowhere") {
				return nil, errors.New("there is no type Nowhere")
			}
			t, err := value.ParseType(text)
			if err != nil {
				return nil, fault.New(palError, "Syntax error at end of input")
			}
			return t, nil
		},
		Warn: func(id, text string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.warns = append(w.warns, id+": "+text)
		},
	})
	return w
}

// told returns the warnings since its last call, sorted, without the path of a
// directory.
func (w *world) told(dir string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.warns
	w.warns = nil
	for i := range told {
		told[i] = strings.ReplaceAll(told[i], dir+"/", "")
	}
	slices.Sort(told)
	return told
}

// lines formats a list for comparison: name, file, then the description.
func lines(list []Summary) []string {
	var out []string
	for _, s := range list {
		line := s.Name + " " + s.File
		if s.Private {
			line += " private"
		}
		if s.Description != "" {
			line += fmt.Sprintf(" %q", s.Description)
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
		"m/plans/number.yaml":       "description: 7\nsteps: []\n",
		"m/plans/maybe.yaml":        "description: x\nprivate: maybe\nsteps: []\n",
		"m/plans/empty.yaml":        "",
		"m/plans/steps.yaml":        "steps:\n  - frobnicate: x\n",
		"m/plans/resource.pp":       "plan m::resource() {\n  file { '/x': }\n}\n",
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
		`m::gap plans/gap.pp`,
		`m::hush plans/hush.yaml private`,
		`m::hush2 plans/hush2.pp private "Text."`,
		`m::link plans/link.pp "By a link."`,
		`m::number plans/number.yaml "7"`,
		`m::windows plans/windows.pp "Line one.\nLine two."`,
		`m::y plans/y.yaml "Two\nlines.\n"`,
	}
	w := newWorld(modules.NewPath(modules.Module{}))
	list, err := w.lib.Of(t.Context(), modules.Module{Name: "m", Dir: filepath.Join(dir, "m")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"broken", "empty", "gone", "list", "maybe", "other", "resource", "second", "steps"} {
		prefix := "plan_load_error: The plan m::" + name + " ("
		if !slices.ContainsFunc(w.warns, func(s string) bool { return strings.HasPrefix(s, prefix) && strings.Contains(s, "plans/"+name+".") }) {
			t.Errorf("there is no warning of %s that names its file", name)
		}
	}
	if told := w.told(dir); len(told) != 9 {
		t.Errorf("warnings: %q", told)
	}
	for _, name := range []string{"none", "file", "missing"} {
		if got, err := w.lib.Of(t.Context(), modules.Module{Name: name, Dir: filepath.Join(dir, name)}); got != nil || err != nil || w.warns != nil {
			t.Errorf("module %s has plans %v, %v, %v", name, got, err, w.warns)
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
		"b/plans/init.yaml": {Data: []byte("description: Built in.\nsteps: []\n")},
		"m/plans/y.pp":      {Data: []byte("plan m::y() {}\n")},
	})
	w := newWorld(p)
	list, err := w.lib.List(t.Context())
	if err != nil || w.warns != nil {
		t.Fatal(err, w.warns)
	}
	want := []string{`a::x plans/x.pp`, `b plans/init.yaml "Built in."`, `m plans/init.pp "Of one."`, `zoo plans/init.pp`}
	if diff := cmp.Diff(want, lines(list)); diff != "" {
		t.Error(diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := w.lib.List(ctx); err == nil || list != nil {
		t.Errorf("a canceled list: %v, %v", list, err)
	}
	if w.warns != nil {
		t.Errorf("warnings of a canceled list: %q", w.warns)
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

func TestUnreadableDirectory(t *testing.T) {
	files := fstest.MapFS{"m/plans/sub/x.pp": {}, "m/plans/sub.pp": {Data: []byte("plan m::sub() {}\n")}, "m/plans/after.pp": {Data: []byte("plan m::after() {}\n")}}
	for dir, want := range map[string][]string{
		"m/plans/sub": {"m::after plans/after.pp", "m::sub plans/sub.pp"},
		"m/plans":     nil,
	} {
		w := newWorld(modules.NewPath(modules.Module{}).With(closed{files, dir}))
		list, err := w.lib.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, lines(list)); diff != "" {
			t.Errorf("%s is closed: %s", dir, diff)
		}
		if len(w.warns) != 1 || !strings.Contains(w.warns[0], "(builtin:/"+dir+") is not listed: the directory cannot be read: permission denied") {
			t.Errorf("%s is closed: %q", dir, w.warns)
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
		{"text after a tag", "Text.\n\n@param x\n  what\n\nEnd.", "Text.\n\nEnd.", false},
		{"indented text after a tag", "Text.\n@param x\n    what\n  End.", "Text.\n  End.", false},
		{"relative indentation of a summary", "@summary One\n    two\n      three", "One\ntwo\n  three", false},
		{"white space at the ends", "   Text.\n   More.  ", "Text.\n   More.", false},
		{"unknown tag", "Text.\n@nosuch thing\n  of it", "Text.", false},
		{"directive", "Text.\n@!group Some\nEnd.", "Text.\nEnd.", false},
		{"reference", "(see other) Text.", "Text.", false},
		{"a tag in capitals is unknown", "@Summary Short.\nText.", "Text.", false},
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

func TestDocParameters(t *testing.T) {
	tests := []struct {
		name, text string
		want       map[string]docParam
	}{
		{"text", "@param a one", map[string]docParam{"a": {nil, "one"}}},
		{"no text", "@param a", map[string]docParam{"a": {nil, ""}}},
		{"no name", "@param", nil},
		{"first one takes effect", "@param a one\n@param a two", map[string]docParam{"a": {nil, "one"}}},
		{"other lines", "@param a\n  two,\n    deeper\n\n\n  at last", map[string]docParam{"a": {nil, "two,\n  deeper\n\nat last"}}},
		{"a line with less indentation ends it", "@param a\n    two\n  text", map[string]docParam{"a": {nil, "two"}}},
		{"a tag on an indented line is text", "@param a one\n  @param b two", map[string]docParam{"a": {nil, "one\n@param b two"}}},
		{"types before the name", "@param [Integer, Array[String]] a one", map[string]docParam{"a": {[]string{"Integer", "Array[String]"}, "one"}}},
		{"types after the name", "@param a [Integer] one", map[string]docParam{"a": {[]string{"Integer"}, "one"}}},
		{"types in other brackets", "@param a <Integer> one\n@param b {Hash} two\n@param c (Any) three", map[string]docParam{
			"a": {[]string{"Integer"}, "one"}, "b": {[]string{"Hash"}, "two"}, "c": {[]string{"Any"}, "three"}}},
		{"a type with a quoted bracket", "@param a [Enum['[']] one", map[string]docParam{"a": {[]string{"Enum['[']"}, "one"}}},
		{"brackets in the text", "@param a one [two] (three)", map[string]docParam{"a": {nil, "one [two] (three)"}}},
		{"brackets on the next line", "@param a\n  [two] three", map[string]docParam{"a": {nil, "[two] three"}}},
		{"the name is taken as it stands", "@param $a one", map[string]docParam{"$a": {nil, "one"}}},
		{"a quoted word after the name", "@param a 'one' two", map[string]docParam{"atwo": {[]string{"'one'"}, "'one' two"}}},
		{"a bracket that is not closed", "@param [Integer a one", map[string]docParam{"Integer": {[]string{"Integer a one"}, "a one"}}},
		{"a reference", "@param a (see other)", nil},
		{"not ASCII", "@param a [Ünion] Größe", map[string]docParam{"a": {[]string{"Ünion"}, "Größe"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := parseDoc(strings.Split(tt.text, "\n"))
			if diff := cmp.Diff(tt.want, d.params, cmp.AllowUnexported(docParam{})); diff != "" {
				t.Error(diff)
			}
			if len(d.order) != len(d.params) {
				t.Errorf("order %q", d.order)
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

func FuzzFind(f *testing.F) {
	f.Add("# Words.\n# @summary Short.\n# @param x what\nplan m(Integer $x = 1 + 2) {}\n", true)
	f.Add("description: x\nprivate: true\nparameters: {x: {type: Integer, default: 1}}\nsteps: []\n", false)
	f.Fuzz(func(t *testing.T, text string, puppet bool) {
		if len(text) > 10_000 {
			return
		}
		name := "plans/init.yaml"
		if puppet {
			name = "plans/init.pp"
		}
		w := newWorld(modules.NewPath(modules.Module{}).With(fstest.MapFS{"m/" + name: {Data: []byte(text)}}))
		list, err := w.lib.List(t.Context())
		if err != nil || len(list)+len(w.warns) != 1 {
			t.Fatalf("%v, %v, %v", list, err, w.warns)
		}
		p, err := w.lib.Find(t.Context(), "m")
		if _, is := errors.AsType[*fault.Error](err); err != nil && !is {
			t.Errorf("an error without a kind: %v", err)
		}
		if err == nil && (len(list) != 1 || p.Name != "m" || p.Description != list[0].Description) {
			t.Errorf("found %+v, listed %+v", p, list)
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
	lib := NewLibrary(Options{Modules: modules.NewPath(modules.Module{}, dir)})
	for b.Loop() {
		if list, err := lib.List(b.Context()); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}
