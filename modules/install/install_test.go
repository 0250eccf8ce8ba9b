package install

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bolt/format/fault"
	"bolt/modules/install/solver"
)

func TestGit(t *testing.T) {
	w := newWorld(t)
	dir, one := w.repo("one", "1.0.0")
	w.specs = []any{spec("git", dir, "ref", "main")}
	r := w.mustInstall(Request{})
	w.expect("one 1.0.0")
	if want := "mod 'one',\n  git: '" + dir + "',\n  ref: '" + one + "'\n"; !strings.HasSuffix(w.read("Puppetfile"), want) {
		t.Errorf("Puppetfile:\n%s", w.read("Puppetfile"))
	}
	if len(r.Changes) != 1 || r.Changes[0] != (Change{"one", "", one[:12]}) || r.ModuleDir != filepath.Join(w.dir, ".modules") {
		t.Errorf("result %+v", r)
	}

	// The branch moves: what is installed stays, until force.
	_, two := w.repo("one", "2.0.0")
	if r := w.mustInstall(Request{}); len(r.Changes) != 0 {
		t.Errorf("changes %+v", r.Changes)
	}
	w.expect("one 1.0.0")
	r = w.mustInstall(Request{Force: true})
	w.expect("one 2.0.0")
	if len(r.Changes) != 1 || r.Changes[0] != (Change{"one", one[:12], two[:12]}) {
		t.Errorf("changes %+v", r.Changes)
	}

	// Another ref in the project's file is another wish.
	w.specs = []any{spec("git", dir, "ref", "v1.0.0")}
	w.mustInstall(Request{})
	w.expect("one 1.0.0")

	// A second module; the first stays though its branch has moved on.
	other, _ := w.repo("two", "1.0.0", "me/one >= 1.0.0")
	w.specs = append(w.specs, spec("git", other, "ref", "main"))
	w.mustInstall(Request{})
	w.expect("one 1.0.0, two 1.0.0")

	// One goes.
	w.specs = w.specs[1:]
	_, err := w.install(Request{})
	refused(t, err, "bolt/module-resolver-error", "module me/one does not exist:\n  the project wants two\n  two 1.0.0 needs me/one >= 1.0.0")
	w.expect("one 1.0.0, two 1.0.0")
	w.specs = []any{spec("git", other, "ref", "main", "name", "two", "resolve", false)}
	w.mustInstall(Request{})
	w.expect("two 1.0.0")
}

func TestGitErrors(t *testing.T) {
	w := newWorld(t)
	dir, _ := w.repo("one", "1.0.0")
	w.specs = []any{spec("git", dir, "ref", "main")}
	w.mustInstall(Request{})
	before := w.read("Puppetfile")

	for _, tt := range []struct {
		spec       any
		kind, text string
	}{
		{spec("git", dir, "ref", "none"), "bolt/invalid-ref-error", "has no branch, tag or commit 'none'"},
		{spec("git", w.repos+"/missing", "ref", "main"), "bolt/missing-module-metadata-error", "could not be read"},
		{spec("git", "ext::sh -c true", "ref", "main"), "bolt/validation-error", "helper program"},
		{spec("git", dir, "ref", "--upload-pack=x"), "bolt/validation-error", "not a valid name of a branch"},
		{spec("git", dir, "ref", "main", "resolve", false), "bolt/validation-error", "Missing name"},
		{spec("git", dir), "bolt/validation-error", "Invalid module specification"},
		{spec("name", "x", "git", dir, "version_requirement", "1.x"), "bolt/validation-error", "Invalid module specification"},
		{spec("name", "me/x", "version_requirement", "one"), "bolt/validation-error", "Invalid version requirement"},
		{spec("name", "me/x", "version_requirement", 1.0), "bolt/validation-error", "must be a string"},
		{spec("name", "me/x", "resolve", "no"), "bolt/validation-error", "must be a Boolean"},
		{"x", "bolt/validation-error", "Invalid name for Forge module specification: x."},
		{"me/X", "bolt/validation-error", "Invalid name"},
		{int64(1), "bolt/validation-error", "neither a name nor a hash"},
	} {
		w.specs = []any{tt.spec}
		_, err := w.install(Request{Force: true})
		refused(t, err, tt.kind, tt.text)
	}
	w.specs = []any{"me/one", spec("git", dir, "ref", "main", "name", "one")}
	_, err := w.install(Request{Force: true})
	refused(t, err, "bolt/duplicate-spec-name-error", "with name one")
	w.release("me/one", "1.0.0")
	w.specs = []any{"me/one", spec("git", dir, "ref", "main")} // only its metadata tells the name
	_, err = w.install(Request{Force: true})
	refused(t, err, "bolt/duplicate-spec-name-error", "with name one")

	w.git(dir, "rm", "-q", "metadata.json")
	w.git(dir, "commit", "-q", "-m", "none")
	w.specs = []any{spec("git", dir, "ref", "main")}
	_, err = w.install(Request{Force: true})
	refused(t, err, "bolt/missing-metadata-file-error", "has no metadata.json at main")
	for text, kind := range map[string]string{"{": "bolt/metadata-parse-error", "[]": "bolt/invalid-module-metadata-error", "{}": "bolt/missing-module-name-error",
		`{"name":"../x"}`: "bolt/invalid-module-metadata-error", `{"name":"me-one","dependencies":[{"name":"x"}]}`: "bolt/invalid-module-metadata-error"} {
		writeFile(t, filepath.Join(dir, "metadata.json"), text)
		w.git(dir, "add", "-A")
		w.git(dir, "commit", "-q", "-m", text)
		_, err = w.install(Request{Force: true})
		refused(t, err, kind, "metadata")
	}
	w.expect("one 1.0.0")
	if w.read("Puppetfile") != before {
		t.Errorf("Puppetfile:\n%s", w.read("Puppetfile"))
	}
}

func TestForge(t *testing.T) {
	w := newWorld(t)
	w.release("puppetlabs/stdlib", "8.0.0")
	w.release("puppetlabs/stdlib", "9.0.0")
	w.release("puppetlabs/concat", "7.0.0", "puppetlabs/stdlib >= 4.0.0 < 10.0.0")
	w.release("puppetlabs/apache", "11.0.0", "puppetlabs/stdlib >= 4.0.0 < 9.0.0", "puppetlabs-concat 7.x")
	w.specs = []any{"puppetlabs-apache"}
	w.mustInstall(Request{})
	w.expect("apache 11.0.0, concat 7.0.0, stdlib 8.0.0")
	text := w.read("Puppetfile")
	if !strings.HasPrefix(text, "# This Puppetfile is managed by Bolt. Do not edit.\n") ||
		!strings.HasSuffix(text, "\nmoduledir '.modules'\n\nmod 'puppetlabs/apache', '11.0.0'\nmod 'puppetlabs/concat', '7.0.0'\nmod 'puppetlabs/stdlib', '8.0.0'\n") {
		t.Errorf("Puppetfile:\n%s", text)
	}
	if _, err := os.Stat(filepath.Join(w.dir, ".modules", "apache", "spec")); err == nil {
		t.Error("tests of a module are installed")
	}

	// Nothing is asked when nothing is missing.
	w.asked.Store(0)
	if r := w.mustInstall(Request{}); len(r.Changes) != 0 || w.asked.Load() != 0 {
		t.Errorf("changes %v, the Forge was asked %d times", r.Changes, w.asked.Load())
	}

	// Only what is missing is fetched.
	if err := os.RemoveAll(filepath.Join(w.dir, ".modules", "concat")); err != nil {
		t.Fatal(err)
	}
	w.mustInstall(Request{})
	if n := w.asked.Load(); n != 2 { // its release, its archive
		t.Errorf("the Forge was asked %d times", n)
	}
	w.expect("apache 11.0.0, concat 7.0.0, stdlib 8.0.0")

	// Newer versions come with force only; those of somebody else's go.
	w.release("puppetlabs/concat", "7.1.0")
	w.write(".modules/stray/tasks/init.sh", "#!/bin/sh\necho stray\n")
	w.mustInstall(Request{})
	w.expect("apache 11.0.0, concat 7.0.0, stdlib 8.0.0")
	w.mustInstall(Request{Force: true})
	w.expect("apache 11.0.0, concat 7.1.0, stdlib 8.0.0")

	// A new wish keeps what there is.
	w.release("puppetlabs/concat", "7.2.0")
	w.release("me/extra", "1.0.0")
	w.specs = append(w.specs, spec("name", "me/extra", "version_requirement", "1.x"))
	w.mustInstall(Request{})
	w.expect("apache 11.0.0, concat 7.1.0, extra 1.0.0, stdlib 8.0.0")

	// One less.
	w.specs = w.specs[1:]
	r := w.mustInstall(Request{})
	w.expect("extra 1.0.0")
	if len(r.Changes) != 3 || r.Changes[0] != (Change{"puppetlabs/apache", "11.0.0", ""}) {
		t.Errorf("changes %+v", r.Changes)
	}
}

// TestAllOrNothing: one module that cannot be fetched leaves all as it was.
func TestAllOrNothing(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.release("me/"+name, "1.0.0")
	}
	w.specs = []any{"me/a", "me/b", "me/c"}
	w.mustInstall(Request{})
	for _, name := range []string{"a", "b", "c"} {
		w.release("me/"+name, "2.0.0")
	}
	puppetfile, lock := w.read("Puppetfile"), w.read(".modules/"+lockName)
	w.broken.Store("me-b-2.0.0.tar.gz")
	_, err := w.install(Request{Force: true})
	refused(t, err, "bolt/puppetfile-error", "me/b 2.0.0: ")
	w.broken.Store("")
	archive := w.archive("me-b-2.0.0.tar.gz")
	w.swap("me-b-2.0.0.tar.gz", w.archive("me-c-2.0.0.tar.gz"))
	_, err = w.install(Request{Force: true})
	refused(t, err, "bolt/puppetfile-error", "does not have the SHA-256")
	w.expect("a 1.0.0, b 1.0.0, c 1.0.0")
	if w.read("Puppetfile") != puppetfile || w.read(".modules/"+lockName) != lock {
		t.Error("the Puppetfile or the lock has changed")
	}
	w.swap("me-b-2.0.0.tar.gz", archive)
	w.mustInstall(Request{Force: true})
	w.expect("a 2.0.0, b 2.0.0, c 2.0.0")
}

// prepared is an installation of specs that is about to be committed.
func (w *world) prepared(list ...any) (*transaction, []Spec) {
	w.t.Helper()
	in := w.installer()
	specs, err := ParseSpecs(list)
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := in.resolve(w.t.Context(), specs, kept{})
	if err != nil {
		w.t.Fatal(err)
	}
	tx, err := in.begin(w.t.Context(), in.managed())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := tx.prepare(w.t.Context(), f, false); err != nil {
		w.t.Fatal(err)
	}
	return tx, specs
}

// TestTakenBack: when the last step fails, those before it are undone.
func TestTakenBack(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.release("me/b", "1.0.0")
	w.specs = []any{"me/a", "me/b"}
	w.mustInstall(Request{})
	lock := w.read(".modules/" + lockName)
	w.release("me/a", "2.0.0")
	w.release("me/c", "1.0.0")
	tx, specs := w.prepared("me/a", "me/c")
	full := errors.New("no space left")
	err := tx.commit(canonical(specs), func() error {
		if got := w.read(".modules/a/tasks/init.sh"); !strings.Contains(got, "2.0.0") {
			t.Errorf("not exchanged: %s", got)
		}
		return full
	})
	tx.end()
	if !errors.Is(err, full) || strings.Contains(err.Error(), "could not be undone") {
		t.Errorf("error %v", err)
	}
	w.expect("a 1.0.0, b 1.0.0")
	if w.read(".modules/"+lockName) != lock {
		t.Error("the lock has changed")
	}
}

// TestInterrupted: a process that was killed between two steps left a part of
// each, which the next installation repairs.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.release("me/b", "1.0.0")
	w.specs = []any{"me/a", "me/b"}
	w.mustInstall(Request{})
	w.release("me/a", "2.0.0")
	w.release("me/b", "2.0.0")
	tx, specs := w.prepared(w.specs...)
	tx.moves = tx.moves[:1] // and then it was killed
	_ = tx.commit(canonical(specs), func() error {
		tx.undo = nil
		return errors.New("killed")
	})
	tx.unlock()
	if got := w.installed(); !strings.HasPrefix(got, ".bolt-stage-") || !strings.HasSuffix(got, "a 2.0.0, b 1.0.0") {
		t.Fatalf("installed: %s", got)
	}
	w.mustInstall(Request{}) // the Puppetfile is still the old one
	w.expect("a 1.0.0, b 1.0.0")
}

func TestStopped(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.specs = []any{"me/a"}
	w.mustInstall(Request{})
	w.release("me/a", "2.0.0")
	hold := make(chan struct{})
	defer close(hold)
	w.hold.Store(&hold)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(stop) })
	specs, err := ParseSpecs(w.specs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.installer().Install(ctx, Request{Specs: specs, Force: true}); !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	w.expect("a 1.0.0")
}

func TestTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	for i := range 5 {
		w.release(fmt.Sprintf("me/m%d", i), "1.0.0")
		w.specs = append(w.specs, fmt.Sprintf("me/m%d", i))
	}
	specs, err := ParseSpecs(w.specs)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 3 {
		in := w.installer()
		in.o.Step = nil
		go func() {
			_, err := in.Install(t.Context(), Request{Specs: specs, Force: true})
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	w.expect("m0 1.0.0, m1 1.0.0, m2 1.0.0, m3 1.0.0, m4 1.0.0")
}

// What somebody else writes while modules are fetched is not lost.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.release("me/b", "1.0.0")
	w.specs = []any{"me/a"}
	w.write("bolt-project.yaml", "name: test\nmodules:\n- me/a\n")
	w.mustInstall(Request{})
	for _, file := range []string{"bolt-project.yaml", "Puppetfile"} {
		t.Run(file, func(t *testing.T) {
			mine := w.read(file) + "# mine\n"
			in := w.installer()
			in.o.Step = func(string) { w.write(file, mine) }
			specs, err := ParseSpecs(w.specs)
			if err != nil {
				t.Fatal(err)
			}
			_, err = in.Add(t.Context(), "me/b", specs)
			refused(t, err, "bolt/file-error", "was changed by another process. Run the command again.")
			if got := w.read(file); got != mine {
				t.Errorf("%s:\n%s", file, got)
			}
			w.expect("a 1.0.0")
		})
	}
}

// What is the user's own stays, whatever a Puppetfile or a lock says.
func TestOwnDirectories(t *testing.T) {
	w := newWorld(t)
	w.write("modules/foo/tasks/init.sh", "mine")
	w.write("Puppetfile", "moduledir 'modules'\nmod 'foo', path: 'modules/foo'\n")
	_, err := w.install(Request{AsIs: true})
	refused(t, err, "bolt/puppetfile-error", "is the directory where it is installed")
	if w.read("modules/foo/tasks/init.sh") != "mine" {
		t.Error("modules/foo is gone")
	}

	w.write("Puppetfile", "mod 'foo', path: '.modules/bar'\n")
	w.write(".modules/bar/tasks/init.sh", "mine")
	_, err = w.install(Request{AsIs: true})
	refused(t, err, "bolt/puppetfile-error", "is inside of")
	if w.read(".modules/bar/tasks/init.sh") != "mine" {
		t.Error(".modules/bar is gone")
	}

	w.write("plans/x.yaml", "steps: []\n")
	w.write(".modules/.bolt-lock.json", `{"version":1,"modules":[{"name":"plans","dir":"plans","want":"x"}]}`)
	w.write("Puppetfile", "")
	if _, err := w.install(Request{AsIs: true}); err != nil {
		t.Fatal(err)
	}
	if w.read("plans/x.yaml") == "" {
		t.Error("plans is gone")
	}
}

// One directory may have several names, and a module may be below another's
// place.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.specs = []any{"me/a"}
	if err := os.Symlink(".modules", filepath.Join(w.dir, "linked")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, dir := range []string{w.dir + "/.modules/", "linked", "./.modules/."} {
		w.write("Puppetfile", "moduledir '"+dir+"'\nmod 'me/a', '1.0.0'\n")
		specs, err := ParseSpecs(w.specs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.installer().Install(ctx, Request{Specs: specs}); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		w.expect("a 1.0.0")
	}
	repo, _ := w.repo("one", "1.0.0")
	w.write("Puppetfile", "mod 'one', git: '"+repo+"', ref: 'main', install_path: '.modules/sub'\n")
	for range 3 {
		if _, err := w.installer().Install(ctx, Request{AsIs: true}); err != nil {
			t.Fatal(err)
		}
		if !isDir(filepath.Join(w.dir, ".modules/sub/one")) {
			t.Fatal("a module is gone")
		}
	}
}

// What could not be read could not be put back.
func TestUnreadablePuppetfile(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.specs = []any{"me/a"}
	if err := os.Mkdir(filepath.Join(w.dir, "Puppetfile"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := w.install(Request{Force: true})
	refused(t, err, "bolt/file-error", "could not be read")
}

func TestPuppetfileOfOthers(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.release("me/a", "2.0.0")
	dir, _ := w.repo("one", "1.0.0")
	w.specs = []any{spec("name", "me/a", "version_requirement", "1.x")}

	for text, want := range map[string][2]string{
		"mod 'me/a', '2.0.0'":                    {"bolt/missing-module-specs", "me/a 1.x"},
		"mod 'me/b', '1.0.0'":                    {"bolt/missing-module-specs", "me/a 1.x"},
		"mod 'me/a', '1.0.0'\nmod 'me/b'":        {"bolt/missing-module-version-specs", "mod 'me/b'"},
		"mod 'me/a', ENV['V']":                   {"bolt/puppetfile-parsing", "line 1: "},
		"mod 'me/a', '1.0.0'\nmod 'x', svn: 'u'": {"bolt/puppetfile-parsing", "line 2: "},
	} {
		w.write("Puppetfile", text)
		_, err := w.install(Request{})
		refused(t, err, want[0], want[1])
		if w.read("Puppetfile") != text {
			t.Errorf("Puppetfile: %s", w.read("Puppetfile"))
		}
	}

	// One that is right is used as it is, and stays.
	right := "# ours\nmod 'me-a', '1.0.0'\nmod 'one', :git => '" + dir + "', :tag => 'v1.0.0'\n"
	w.write("Puppetfile", right)
	w.mustInstall(Request{})
	w.expect("a 1.0.0, one 1.0.0")
	_, err := w.installer().Add(t.Context(), "me/b", nil)
	refused(t, err, "bolt/existing-puppetfile-error", "was not written by Bolt")
	if w.read("Puppetfile") != right {
		t.Errorf("Puppetfile: %s", w.read("Puppetfile"))
	}

	// As it stands, without a look at the project.
	w.write("Puppetfile", "mod 'me/a', :latest\nmod 'one', git: '"+dir+"', branch: 'none', default_branch: 'main', install_path: 'site', exclude_spec: false\nmod 'mine', local: true\n")
	_, err = w.install(Request{AsIs: true})
	refused(t, err, "bolt/puppetfile-error", "module mine is local")
	w.write(".modules/mine/tasks/init.sh", "#!/bin/sh\necho mine\n")
	w.mustInstall(Request{AsIs: true})
	w.expect("a 2.0.0, mine mine")
	if got := w.read("site/one/tasks/init.sh"); !strings.Contains(got, "1.0.0") {
		t.Errorf("in site: %s", got)
	}

	// What moves is looked at again with force.
	w.repo("one", "2.0.0")
	w.release("me/a", "2.1.0")
	w.release("me/a", "3.0.0-rc.1")
	w.mustInstall(Request{AsIs: true})
	w.expect("a 2.0.0, mine mine")
	w.mustInstall(Request{AsIs: true, Force: true})
	w.expect("a 2.1.0, mine mine")
	if got := w.read("site/one/tasks/init.sh"); !strings.Contains(got, "2.0.0") {
		t.Errorf("in site: %s", got)
	}
	w.write("Puppetfile", "mod 'me/a', '1.0.0'\n")
	w.mustInstall(Request{AsIs: true})
	w.expect("a 1.0.0")
	if _, err := os.Stat(filepath.Join(w.dir, "site", "one")); err == nil {
		t.Error("the module in site is still there")
	}

	// Elsewhere, only what was installed before goes.
	w.write("Puppetfile", "moduledir 'thirdparty'\nmod 'me/a', '1.0.0'\n")
	w.write("thirdparty/mine/x", "x")
	if r := w.mustInstall(Request{AsIs: true}); r.ModuleDir != filepath.Join(w.dir, "thirdparty") {
		t.Errorf("result %+v", r)
	}
	w.write("Puppetfile", "moduledir 'thirdparty'\n")
	w.mustInstall(Request{AsIs: true})
	if entries, err := os.ReadDir(filepath.Join(w.dir, "thirdparty")); err != nil || len(entries) != 2 || entries[1].Name() != "mine" {
		t.Errorf("there: %v, %v", entries, err)
	}

	// It can be replaced.
	w.mustInstall(Request{Force: true})
	w.expect("a 1.0.0")
	if !strings.Contains(w.read("Puppetfile"), "managed by Bolt") {
		t.Errorf("Puppetfile: %s", w.read("Puppetfile"))
	}
	if err := os.Remove(filepath.Join(w.dir, "Puppetfile")); err != nil {
		t.Fatal(err)
	}
	_, err = w.install(Request{AsIs: true})
	refused(t, err, "bolt/file-error", "Could not find a Puppetfile at")
}

func TestNotResolved(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0", "me/missing")
	w.release("me/a", "2.0.0", "me/missing")
	w.specs = []any{spec("name", "me/a", "version_requirement", "1.0.0", "resolve", false)}
	w.mustInstall(Request{})
	w.expect("a 1.0.0")
	w.specs = []any{spec("name", "me/a", "resolve", false)}
	w.mustInstall(Request{Force: true})
	w.expect("a 2.0.0")
	w.asked.Store(0)
	w.mustInstall(Request{})
	if w.asked.Load() != 0 {
		t.Error("the Forge was asked")
	}
	w.specs = []any{spec("name", "me/a", "version_requirement", "1.x", "resolve", false)}
	_, err := w.install(Request{Force: true})
	refused(t, err, "bolt/validation-error", "it must be one version")
	w.release("me/b", "1.0.0", "me/a")
	w.release("me/a", "3.0.0")
	w.specs = []any{"me/b", spec("name", "other/a", "version_requirement", "1.0.0", "resolve", false)}
	_, err = w.install(Request{Force: true})
	refused(t, err, "bolt/module-name-conflict-error", "other modules depend on: a.")
}

func TestAdd(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0", "me/c")
	w.release("me/c", "1.0.0")
	const before = "# mine\nname: proj\nmodules:\n  - me/a   # needed\n# the end\n"
	w.write("bolt-project.yaml", before)
	specs, err := ParseSpecs([]any{"me/a"})
	if err != nil {
		t.Fatal(err)
	}
	w.mustInstall(Request{Specs: specs})
	w.expect("a 1.0.0, c 1.0.0")
	w.release("me/c", "2.0.0")
	w.release("me/a", "2.0.0", "me/c")
	w.release("me/b", "1.0.0", "me/c >= 1.0.0")
	w.release("me/d", "1.0.0", "me/c 2.x")
	w.release("me/e", "1.0.0", "me/c 9.x")

	_, err = w.installer().Add(t.Context(), "me/e", specs)
	refused(t, err, "bolt/module-resolver-error", "me/e 1.0.0 needs me/c 9.x")
	_, err = w.installer().Add(t.Context(), "me/none", specs)
	refused(t, err, "bolt/module-resolver-error", "module me/none does not exist")
	w.broken.Store("me-b-1.0.0.tar.gz")
	_, err = w.installer().Add(t.Context(), "me/b", specs)
	refused(t, err, "bolt/puppetfile-error", "me/b 1.0.0")
	w.broken.Store("")
	if w.read("bolt-project.yaml") != before {
		t.Errorf("project file:\n%s", w.read("bolt-project.yaml"))
	}
	w.expect("a 1.0.0, c 1.0.0")

	// What is there stays where it can.
	if _, err := w.installer().Add(t.Context(), "me-b", specs); err != nil {
		t.Fatal(err)
	}
	w.expect("a 1.0.0, b 1.0.0, c 1.0.0")
	if got, want := w.read("bolt-project.yaml"), strings.Replace(before, "# needed\n", "# needed\n  - me/b\n", 1); got != want {
		t.Errorf("project file:\n%s", got)
	}
	specs = append(specs, mustSpecs(t, "me/b")...)
	if _, err := w.installer().Add(t.Context(), "me/d", specs); err != nil {
		t.Fatal(err)
	}
	w.expect("a 1.0.0, b 1.0.0, c 2.0.0, d 1.0.0")
	if !includes(specs, "other-b") || includes(specs, "me/x") {
		t.Error("Includes is wrong")
	}
	specs = append(specs, mustSpecs(t, "me/d")...)
	w.asked.Store(0)
	w.mustInstall(Request{Specs: specs})
	if w.asked.Load() != 0 {
		t.Error("the Forge was asked")
	}
}

func mustSpecs(t *testing.T, names ...any) []Spec {
	t.Helper()
	specs, err := ParseSpecs(names)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestMixed(t *testing.T) {
	w := newWorld(t)
	w.release("puppetlabs/stdlib", "9.0.0")
	w.release("puppetlabs/apache", "11.0.0", "puppetlabs/stdlib >= 4.0.0")
	dir, commit := w.repo("stdlib", "9.5.0") // a fork, named me-stdlib
	w.specs = []any{"puppetlabs/apache", spec("git", dir, "ref", "main")}
	w.mustInstall(Request{})
	w.expect("apache 11.0.0, stdlib 9.5.0")

	// An address from the project's directory.
	rel, err := filepath.Rel(w.dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	w.specs = []any{"puppetlabs/apache", spec("git", rel, "ref", commit)}
	w.mustInstall(Request{})
	w.expect("apache 11.0.0, stdlib 9.5.0")
	if !strings.Contains(w.read("Puppetfile"), "git: '"+rel+"'") {
		t.Errorf("Puppetfile:\n%s", w.read("Puppetfile"))
	}

	// A lock that is damaged, or says what it should not, does no harm.
	for _, text := range []string{"{", `{"version":1,"modules":[{"name":"x","dir":"../../../tmp/x"},{"name":"apache","dir":".modules/apache","commit":"1"},{"name":"e","dir":"/etc"}]}`} {
		w.write(".modules/"+lockName, text)
		w.mustInstall(Request{})
		w.expect("apache 11.0.0, stdlib 9.5.0")
	}
}

// TestDirectories links to directories of the project's own, which may depend on
// others.
func TestDirectories(t *testing.T) {
	w := newWorld(t)
	w.release("me/one", "1.2.0")
	write := func(version string) {
		w.write("../own/metadata.json", `{"name": "me-own", "version": "`+version+`", "dependencies": [{"name": "me/one", "version_requirement": "1.x"}]}`)
		w.write("../own/tasks/init.sh", "#!/bin/sh\necho "+version)
	}
	write("1.0.0")
	w.write("../plain/tasks/init.sh", "#!/bin/sh\necho x")
	w.specs = []any{spec("path", "../own"), spec("path", w.dir+"/../plain", "name", "plain", "resolve", false)}
	w.mustInstall(Request{})
	w.expect("one 1.2.0, own 1.0.0, plain x")
	if to, err := os.Readlink(filepath.Join(w.dir, ".modules/own")); err != nil || to != "../../own" {
		t.Errorf("own is a link to %q, %v", to, err)
	}
	if f := w.read("Puppetfile"); !strings.Contains(f, "mod 'own',\n  path: '../own'\n") {
		t.Errorf("Puppetfile:\n%s", f)
	}
	// What is changed there is there at once, and nothing has to be installed.
	write("2.0.0")
	w.expect("one 1.2.0, own 2.0.0, plain x")
	if r := w.mustInstall(Request{}); len(r.Changes) != 0 {
		t.Errorf("changes %+v", r.Changes)
	}
	// The directory stays when the module goes, and when another takes its place.
	dir, _ := w.repo("own", "3.0.0")
	w.specs = []any{spec("git", dir, "ref", "main")}
	w.mustInstall(Request{})
	w.expect("own 3.0.0")
	if w.read("../own/metadata.json") == "" || !isDir(filepath.Join(w.dir, "../plain")) {
		t.Error("a directory of the project's own is gone")
	}
	for _, tt := range []struct {
		spec       any
		kind, text string
	}{
		{spec("path", "../none"), "bolt/file-error", "The module in the directory ../none cannot be read: no such file"},
		{spec("path", "../plain"), "bolt/missing-metadata-file-error", "The directory ../plain has no metadata.json"},
		{spec("path", ""), "bolt/validation-error", "must name a directory"},
		{spec("path", "../plain", "resolve", false), "bolt/validation-error", "Missing name"},
		{spec("path", "../plain", "name", "X"), "bolt/validation-error", "Invalid name"},
		{spec("path", "../plain", "ref", "x"), "bolt/validation-error", "A directory has path"},
		{spec("path", "../none", "name", "none", "resolve", false), "bolt/puppetfile-error", "is not a directory"},
	} {
		w.specs = []any{tt.spec}
		_, err := w.install(Request{})
		refused(t, err, tt.kind, tt.text)
	}
	w.expect("own 3.0.0")
}

// TestLinkedFolder: in a directory that .modules is a link to, only what was
// installed goes away.
func TestLinkedFolder(t *testing.T) {
	w := newWorld(t)
	dir, _ := w.repo("one", "1.0.0")
	w.write("../elsewhere/photos/tasks/init.sh", "#!/bin/sh\necho mine")
	if err := os.Symlink("../elsewhere", filepath.Join(w.dir, ".modules")); err != nil {
		t.Fatal(err)
	}
	w.specs = []any{spec("git", dir, "ref", "main")}
	w.mustInstall(Request{})
	w.expect("one 1.0.0, photos mine")
	other, _ := w.repo("two", "1.0.0")
	w.specs = []any{spec("git", other, "ref", "main")}
	w.mustInstall(Request{Force: true})
	w.expect("photos mine, two 1.0.0")
}

func TestEach(t *testing.T) {
	bad := errors.New("bad")
	var n atomic.Int32
	err := each(t.Context(), 100, func(ctx context.Context, i int) error {
		n.Add(1)
		if i == 0 {
			return bad
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, bad) || n.Load() > workers+1 {
		t.Errorf("%v after %d", err, n.Load())
	}
}

func TestExchange(t *testing.T) {
	for name, f := range map[string]func(a, b string) error{"at once": exchange, "in steps": exchangeInSteps} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		writeFile(t, filepath.Join(a, "x"), "was a")
		writeFile(t, filepath.Join(b, "x"), "was b")
		if err := f(a, b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := os.ReadFile(filepath.Join(a, "x"))
		if err != nil || string(got) != "was b" {
			t.Errorf("%s: a is %q, %v", name, got, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 2 {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
		if err := f(a, filepath.Join(dir, "none")); err == nil {
			t.Errorf("%s: exchanged with nothing", name)
		}
		if got, err := os.ReadFile(filepath.Join(a, "x")); err != nil || string(got) != "was b" {
			t.Errorf("%s: a is %q, %v", name, got, err)
		}
	}
}

func TestSteps(t *testing.T) {
	w := newWorld(t)
	w.release("me/a", "1.0.0")
	w.specs = []any{"me/a"}
	w.mustInstall(Request{})
	for _, want := range []string{"Resolving module dependencies", "Fetching module me/a", "Writing Puppetfile at " + w.dir, "Syncing modules from "} {
		if !slices.ContainsFunc(w.steps, func(s string) bool { return strings.HasPrefix(s, want) }) {
			t.Errorf("no step %q in %q", want, w.steps)
		}
	}
}

// FuzzMetadata: what is taken from a stranger's metadata is fit to be a path
// and a version.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"name":"me-one","version":"1.0.0","dependencies":[{"name":"a/b","version_requirement":">= 1.0.0 < 2.0.0"}]}`))
	f.Add([]byte(`{"name":"../x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		md, err := parseMetadata(data, "metadata.json")
		if err != nil {
			if _, ours := errors.AsType[*fault.Error](err); !ours {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, name := range append([]string{md.name}, modulesOf(md.requires)...) {
			if strings.ContainsAny(name, ".\\\x00\n") || strings.Count(name, "/") > 1 || strings.HasPrefix(name, "/") {
				t.Errorf("name %q", name)
			}
		}
	})
}

func modulesOf(list []solver.Demand) []string {
	var names []string
	for _, d := range list {
		names = append(names, d.Module)
	}
	return names
}
