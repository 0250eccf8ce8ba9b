package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bolt/apply/report"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

// machine is what the resources of the tests act on.
type machine struct {
	mu    sync.Mutex
	log   []string
	peak  int
	now   int
	after map[string]func() // called when a resource with the title was changed
}

func (m *machine) add(format string, a ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, fmt.Sprintf(format, a...))
}

// thing is a type with the parameters: change (the properties that differ), fail (read, the name of a property, refresh, panic, diff),
// make (titles of generated things), parallel, deaf (no refresh), and batch.
type thing struct{ m *machine }

type item struct {
	t thing
	r *resource.Resource
}

func (t thing) New(r *resource.Resource) (resource.Item, error) {
	i := &item{t, r}
	if i.is("bad") {
		return nil, &resource.ParamError{Param: "bad", Problem: "must not be there"}
	}
	switch {
	case i.is("parallel"):
		return struct {
			*item
			parallel
		}{i, parallel{}}, nil
	case i.is("deaf"):
		return i, nil
	case r.Params.Value("make") != nil:
		return maker{refresher{i}}, nil
	}
	return refresher{i}, nil
}

type parallel struct{}

func (parallel) Parallel() {}

type refresher struct{ *item }

func (i refresher) Refresh(_ context.Context, _ *resource.Host, made []resource.Change) error {
	if i.fails("refresh") {
		return errors.New("cannot be refreshed")
	}
	i.t.m.add("refresh %s %d", i.r.Title, len(made))
	return nil
}

type maker struct{ refresher }

func (i maker) Generate(context.Context, *resource.Host) (list []*resource.Resource, err error) {
	names, _, _ := i.r.Texts("make")
	for _, n := range names {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Thing", Title: n}, Params: ordered.Of("change", "x")})
	}
	return list, nil
}

func (i *item) is(param string) bool { return i.r.Params.Value(param) == true }

func (i *item) fails(what string) bool { return i.r.Params.Value("fail") == what }

func (i *item) Read(context.Context, *resource.Host) error {
	if i.fails("panic") {
		panic("a mistake")
	}
	if i.fails("read") {
		return errors.New("cannot be read")
	}
	return nil
}

func (i *item) Plan() (changes []resource.Change, err error) {
	texts, _, _ := i.r.Texts("change")
	for _, p := range texts {
		changes = append(changes, resource.Change{Property: p, Is: "a", Should: "b", NoRefresh: p == "started", Diff: i.diff})
	}
	return changes, nil
}

func (i *item) diff() string {
	if i.fails("diff") {
		panic("a mistake in a diff")
	}
	return "-a\n+b\n"
}

func (i *item) Do(_ context.Context, _ *resource.Host, c *resource.Change) error {
	m := i.t.m
	m.mu.Lock()
	m.now++
	m.peak = max(m.peak, m.now)
	m.mu.Unlock()
	if d, _, _ := i.r.Text("sleep"); d != "" {
		wait, _ := time.ParseDuration(d)
		time.Sleep(wait)
	}
	m.mu.Lock()
	m.now--
	f := m.after[i.r.Title]
	m.mu.Unlock()
	if i.fails(c.Property) {
		return errors.New("cannot be changed")
	}
	m.add("do %s %s", i.r.Title, c.Property)
	if f != nil {
		f()
	}
	return nil
}

// parse makes a catalog of lines: TITLE PARAM=VALUE ..., with the container before a slash.
func parse(t *testing.T, text string) *catalog.Catalog {
	t.Helper()
	c := &catalog.Catalog{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		r := &catalog.Resource{Kind: catalog.KindType, Params: &ordered.Map{}}
		name := words[0]
		typ, title, found := strings.Cut(name, "/")
		if !found {
			typ, title = "Thing", name
		}
		r.Ref = catalog.Ref{Type: typ, Title: title}
		if typ == "Class" {
			r.Kind = catalog.KindClass
		}
		for _, w := range words[1:] {
			k, v, _ := strings.Cut(w, "=")
			switch {
			case k == "in":
				c.Edges = append(c.Edges, catalog.Edge{Source: catalog.Ref{Type: "Class", Title: v}, Target: r.Ref})
			case k == "tag":
				r.Tags = append(r.Tags, v)
			case k == "secret":
				r.Sensitive = append(r.Sensitive, v)
			case v == "true" || v == "false":
				r.Params.Set(k, v == "true")
			case strings.Contains(v, ","):
				r.Params.Set(k, ordered.Strings(strings.Split(v, ",")))
			default:
				r.Params.Set(k, v)
			}
		}
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// run applies a catalog and returns the log of the machine, the statuses, and the results.
func run(t *testing.T, m *machine, text string, o Options) (string, map[string]*report.Result, *Summary) {
	t.Helper()
	o.Types = map[string]resource.Type{"Thing": thing{m}}
	h := resource.NewHost()
	h.Diffs = true
	r, err := Prepare(parse(t, text), h, o)
	if err != nil {
		t.Fatal(err)
	}
	results := make(map[string]*report.Result)
	sum, err := r.Apply(t.Context(), func(r *report.Result) {
		if results[r.Ref.Title] != nil {
			t.Errorf("%s has two results", r.Ref)
		}
		results[r.Ref.Title] = r
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(m.log, "; "), results, sum
}

// things returns the set of the resources with these titles.
func things(titles ...string) map[catalog.Ref]bool {
	set := make(map[catalog.Ref]bool)
	for _, t := range titles {
		set[catalog.Ref{Type: "Thing", Title: t}] = true
	}
	return set
}

func statuses(results map[string]*report.Result) string {
	var list []string
	for title, r := range results {
		s := title + ":" + string(r.Status)
		if r.Refreshed {
			s += "+"
		}
		list = append(list, s)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func TestApply(t *testing.T) {
	for _, c := range []struct {
		name, catalog string
		o             Options
		log, statuses string
	}{
		{"order of the manifest", "a change=x\nb change=x,y\nc", Options{}, "do a x; do b x; do b y", "a:changed b:changed c:unchanged"},
		{"require", "a change=x require=Thing[b]\nb change=x", Options{}, "do b x; do a x", "a:changed b:changed"},
		{"a failure skips what depends on it", "a change=x fail=x\nb change=x require=Thing[a]\nc require=Thing[b] change=x\nd change=x", Options{}, "do d x", "a:failed b:skipped c:skipped d:changed"},
		{"a failure in a class", "Class/k\na in=k change=x fail=x\nb in=k change=x\nc change=x require=Class[k]", Options{}, "do b x", "a:failed b:changed c:skipped"},
		{"after a failed property the others are changed", "a change=x,y fail=x", Options{}, "do a y", "a:failed"},
		{"after a failed ensure nothing else is changed", "a change=ensure,y fail=ensure", Options{}, "", "a:failed"},
		{"reading fails", "a change=x fail=read", Options{}, "", "a:failed"},
		{"a panic is a failure", "a change=x fail=panic\nb change=x", Options{}, "do b x", "a:failed b:changed"},
		{"a panic in a diff is a failure", "a change=x fail=diff\nb change=x", Options{}, "do b x", "a:failed b:changed"},
		{"notify", "a change=x notify=Thing[b]\nb", Options{}, "do a x; refresh b 0", "a:changed b:changed+"},
		{"an unchanged resource does not refresh", "a notify=Thing[b]\nb", Options{}, "", "a:unchanged b:unchanged"},
		{"a failed resource does not refresh", "a change=x,y fail=y notify=Thing[b]\nb", Options{}, "do a x", "a:failed b:skipped"},
		{"a refresh passes on", "a change=x notify=Thing[b]\nb notify=Thing[c]\nc", Options{}, "do a x; refresh b 0; refresh c 0", "a:changed b:changed+ c:changed+"},
		{"a refresh that fails", "a change=x notify=Thing[b]\nb fail=refresh\nc require=Thing[b]", Options{}, "do a x", "a:changed b:failed c:skipped"},
		{"a refresh after own changes", "a change=x notify=Thing[b]\nb change=y", Options{}, "do a x; do b y; refresh b 1", "a:changed b:changed+"},
		{"a change that makes the refresh needless", "a change=x notify=Thing[b]\nb change=started notify=Thing[c]\nc", Options{}, "do a x; do b started; refresh c 0", "a:changed b:changed c:changed+"},
		{"a type without refresh", "a change=x notify=Thing[b]\nb deaf=true notify=Thing[c]\nc", Options{}, "do a x", "a:changed b:unchanged c:unchanged"},
		{"a class passes refreshes on, each once", "Class/k\nClass/l\na in=k change=x,y\nb in=k change=x\nc in=l subscribe=Class[k]\nd in=l\nClass/m subscribe=Class[k]\ne in=m",
			Options{}, "do a x; do a y; do b x; refresh c 0; refresh e 0", "a:changed b:changed c:changed+ d:unchanged e:changed+"},
		{"noop", "a change=x,y notify=Thing[b]\nb\nc change=x noop=false", Options{Noop: true}, "do c x", "a:noop b:unchanged c:changed"},
		{"a refresh for noop and for real", "a change=x noop=true notify=Thing[c]\nb change=x notify=Thing[c]\nc\nd noop=true subscribe=Thing[b]", Options{}, "do b x; refresh c 0", "a:noop b:changed c:changed+ d:unchanged"},
		{"what noop prevents does not hold others back", "a change=x noop=true\nb change=x require=Thing[a]", Options{}, "do b x", "a:noop b:changed"},
		{"tags", "a change=x tag=web\nb change=x require=Thing[c] tag=web\nc change=x", Options{Tags: []string{"WEB"}}, "do a x; do b x", "a:changed b:changed c:skipped"},
		{"skipped tags", "a change=x tag=web\nb change=x", Options{SkipTags: []string{"web"}}, "do b x", "a:skipped b:changed"},
		{"schedule never", "a change=x schedule=never notify=Thing[b]\nb change=x", Options{}, "do b x", "a:skipped b:changed"},
		{"generated resources", "a change=x make=g1,g2,c\nb change=x require=Thing[a]\nc change=y", Options{}, "do a x; do g1 x; do g2 x; do b x; do c y", "a:changed b:changed c:changed g1:changed g2:changed"},
		{"generated resources refresh what their generator notifies", "a make=g notify=Thing[b]\nb", Options{}, "do g x; refresh b 0", "a:unchanged b:changed+ g:changed"},
		{"generated resources of a skipped one", "a make=g tag=t", Options{SkipTags: []string{"t"}}, "", "a:skipped"},
		{"a refresh that an interrupted run owes", "a\nb", Options{Refreshes: []catalog.Ref{{Type: "Thing", Title: "b"}}}, "refresh b 0", "a:unchanged b:changed+"},
		{"only some resources", "a change=x\nb change=x\nc change=x require=Thing[a]", Options{Only: things("c")}, "do c x", "c:changed"},
		{"only one, and what it notifies", "a change=x notify=Thing[b]\nb notify=Thing[c]\nc\nd change=x", Options{Only: things("a")}, "do a x; refresh b 0; refresh c 0", "a:changed b:changed+ c:changed+"},
		{"only one, which is as wanted", "a notify=Thing[b]\nb change=x", Options{Only: things("a")}, "", "a:unchanged"},
		{"only what depends on a failure before", "a change=x\nb change=x require=Thing[a]\nc change=x require=Thing[b]", Options{Only: things("c"), Failed: things("a")}, "", "c:skipped"},
		{"only what makes others", "a make=g\nb change=x", Options{Only: things("a")}, "do g x", "a:unchanged g:changed"},
		{"only some, with files between", "a change=x parallel=true\nb change=x\nc change=x parallel=true\nd change=x", Options{Only: things("c", "d")}, "do c x; do d x", "c:changed d:changed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, results, _ := run(t, &machine{}, c.catalog, c.o)
			if log != c.log {
				t.Errorf("the machine saw %s\nwant %s", log, c.log)
			}
			if got := statuses(results); got != c.statuses {
				t.Errorf("statuses are %s\nwant %s", got, c.statuses)
			}
		})
	}
}

// Items that are not Parallel keep the order of the manifest; files between them do not run ahead.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{}
		log, _, _ := run(t, m, `
	p1 parallel=true change=x sleep=20ms
	p2 parallel=true change=x sleep=20ms
	p3 parallel=true change=x sleep=20ms require=Thing[p1]
	s1 change=x
	p4 parallel=true change=x
	s2 change=x require=Thing[p4]`, Options{Workers: 4})
		if m.peak != 2 {
			t.Errorf("%d items were changed at a time, want 2", m.peak)
		}
		if !strings.HasSuffix(log, "do p3 x; do s1 x; do p4 x; do s2 x") {
			t.Errorf("the machine saw %s", log)
		}
	})
}

func TestMistakes(t *testing.T) {
	m := &machine{}
	for _, c := range []struct{ catalog, want string }{
		{"a bad=true\nOther/x\nb bad=true\nStrange/y\nOther/z", "Thing[a]: The parameter bad must not be there\nThing[b]: The parameter bad must not be there\nbolt cannot apply resources of the types Other, Strange. An installed Puppet can: use --engine puppet"},
		{"a require=Thing[none]", "require of Thing[a] names Thing[none], which the catalog does not have"},
		{"a require=Thing[b]\nb require=Thing[a]", "The resources wait for each other: Thing[a] => Thing[b] => Thing[a]"},
		{"a schedule=strange", `Thing[a]: the catalog has no schedule "strange"`},
		{"File/f backup=main\nFile/g backup=.bak\nFile/h backup=puppet", "File[f]: the catalog has no filebucket \"main\" for the parameter backup\nbolt cannot apply resources of the type File. An installed Puppet can: use --engine puppet"},
		{"File/f backup=main\nFile/g backup=far\nFilebucket/main path=/x server=s\nFilebucket/far server=s", "File[g]: the filebucket \"far\" of the parameter backup is on a server, but bolt keeps copies on the target only. Remove its parameter server and path, or set backup to true\nbolt cannot apply resources of the type File. An installed Puppet can: use --engine puppet"},
		{"a x=1\x00\nb\x00\nc content=\x00 message=\x00", "Thing[a]: The parameter x must not have a NUL character in it\nThing[b\x00]: the title must not have a NUL character in it"},
		{"a noop=maybe", `Thing[a]: The parameter noop must be true or false, and is "maybe"`},
	} {
		_, err := Prepare(parse(t, c.catalog), resource.NewHost(), Options{Types: map[string]resource.Type{"Thing": thing{m}}})
		if err == nil || err.Error() != c.want {
			t.Errorf("error for %q is\n%v\nwant\n%s", c.catalog, err, c.want)
		}
	}
	if len(m.log) > 0 {
		t.Errorf("the machine was changed: %v", m.log)
	}
}

// Two resources cannot be about one file, whatever the spelling of its path.
func TestOnePath(t *testing.T) {
	for _, other := range []string{"/a/b/", "/a//b", "/a/./b", "/a/c/../b"} {
		_, err := Prepare(parse(t, "File//a/b\nFile/"+other), resource.NewHost(), Options{Types: map[string]resource.Type{"File": thing{&machine{}}}})
		if want := fmt.Sprintf("File[%s]: another File has the path \"/a/b\", too", other); err == nil || err.Error() != want {
			t.Errorf("error for %s is %v, want %s", other, err, want)
		}
	}
}

// A secret is in no event and no diff.
func TestSecret(t *testing.T) {
	_, results, _ := run(t, &machine{}, "a change=x,y secret=x x=1 noop=true\nb change=x secret=x x=1 fail=x\nc change=x", Options{})
	for title, r := range results {
		for _, e := range r.Events {
			hidden := title != "c" && e.Property == "x"
			if hidden && (e.Is != report.Redacted || e.Should != report.Redacted || e.Diff != "" || strings.Contains(e.Message, "from a")) {
				t.Errorf("%s shows a secret: %+v", title, e)
			}
			if !hidden && (e.Is != "a" || e.Diff == "" || e.Message != fmt.Sprintf("%s changed from a to b", e.Property)) {
				t.Errorf("%s has event %+v", title, e)
			}
		}
	}
}

// A secret is in no message either, wherever that comes from.
func TestSecretInMessages(t *testing.T) {
	r := &resource.Resource{Secrets: []string{"x", "y"}, Params: ordered.Of("x", "line one\nline two", "y", []any{"abc", int64(12345)}, "z", "open")}
	got := hiding(r).Replace(`open: "line one\nline two", line two; 12345 abc`)
	if want := `open: "` + report.Redacted + `", ` + report.Redacted + `; ` + report.Redacted + ` abc`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	// The thing fails with the text of its parameter.
	_, results, _ := run(t, &machine{}, "a change=changed secret=x x=cannot fail=changed", Options{})
	if e := results["a"].Events[0]; strings.Contains(e.Message, "cannot") || !strings.Contains(e.Message, report.Redacted) {
		t.Errorf("%+v", e)
	}
	_, err := Prepare(parse(t, "a bad=true secret=x x=must"), resource.NewHost(), Options{Types: map[string]resource.Type{"Thing": thing{&machine{}}}})
	if err == nil || strings.Contains(err.Error(), "must") {
		t.Errorf("%v", err)
	}
}

// Generated titles that are not UTF-8 stay different, and can be sent.
func TestLegible(t *testing.T) {
	for title, want := range map[string]string{"/d/a\xff": `//d/a\xff`, "/d/a\xfe\\": `//d/a\xfe\\`, "k\xff": `//k\xff`} {
		if got := legible(title); got != want {
			t.Errorf("%q became %s, not %s", title, got, want)
		}
	}
}

// After a stop, what runs is finished, and the refreshes that are missing stay owed.
func TestStop(t *testing.T) {
	stop := make(chan struct{})
	m := &machine{after: map[string]func(){"a": func() { close(stop) }}}
	var owed, paid []catalog.Ref
	log, results, sum := run(t, m, "a change=x notify=Thing[c]\nb change=x\nc", Options{
		Stop: stop,
		Owe:  func(refs []catalog.Ref) error { owed = append(owed, refs...); return nil },
		Paid: func(ref catalog.Ref) { paid = append(paid, ref) },
	})
	if log != "do a x" || statuses(results) != "a:changed b:skipped c:skipped" || !sum.Stopped {
		t.Errorf("log %s, statuses %s, summary %+v", log, statuses(results), sum)
	}
	if len(owed) != 1 || len(paid) != 0 {
		t.Errorf("owed %v, paid %v", owed, paid)
	}
}

func TestOwe(t *testing.T) {
	var log []string
	o := Options{
		Owe:  func(refs []catalog.Ref) error { log = append(log, fmt.Sprint("owe ", refs)); return nil },
		Paid: func(ref catalog.Ref) { log = append(log, fmt.Sprint("paid ", ref)) },
	}
	run(t, &machine{}, "Class/k notify=Thing[c]\na in=k change=x\nb in=k\nc\nd change=x notify=Thing[e]\ne require=Thing[f]\nf change=x fail=x before=Thing[e]", o)
	want := "owe [Thing[c]]|paid Thing[c]|owe [Thing[e]]|paid Thing[e]"
	if got := strings.Join(log, "|"); got != want {
		t.Errorf("log is %s\nwant  %s", got, want)
	}
	o.Owe = func([]catalog.Ref) error { return errors.New("the disk is full") }
	seen, results, _ := run(t, &machine{}, "a change=x notify=Thing[b]\nb\nc change=x", o)
	if seen != "do c x" || statuses(results) != "a:failed b:skipped c:changed" {
		t.Errorf("the machine saw %s; statuses are %s", seen, statuses(results))
	}
}

// batches is a type that reads and changes many resources together.
type batches struct{ thing }

func (b batches) New(r *resource.Resource) (resource.Item, error) { return &item{b.thing, r}, nil }

func (b batches) ReadAll(_ context.Context, _ *resource.Host, items []resource.Item) []error {
	b.m.add("read %d", len(items))
	return make([]error, len(items))
}

func (b batches) DoAll(_ context.Context, _ *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	for i, w := range works {
		if w.Item.(*item).fails("x") {
			errs[i] = errors.New("cannot be changed")
		}
	}
	b.m.add("do %d", len(works))
	return errs
}

func TestBatches(t *testing.T) {
	m := &machine{}
	text := `Class/k
Pack/a in=k change=x
Pack/b change=x fail=x
Pack/c
Pack/d change=x require=Pack[a]
x change=x
Pack/e change=x
Pack/f change=x require=Pack[b]`
	r, err := Prepare(parse(t, text), resource.NewHost(), Options{Types: map[string]resource.Type{"Thing": thing{m}, "Pack": batches{thing{m}}}})
	if err != nil {
		t.Fatal(err)
	}
	results := make(map[string]*report.Result)
	if _, err := r.Apply(t.Context(), func(r *report.Result) { results[r.Ref.Title] = r }); err != nil {
		t.Fatal(err)
	}
	want := "read 3; do 2; read 1; do 1; do x x; read 1; do 1"
	if got := strings.Join(m.log, "; "); got != want {
		t.Errorf("the machine saw %s\nwant %s", got, want)
	}
	if got, want := statuses(results), "a:changed b:failed c:unchanged d:changed e:changed f:skipped x:changed"; got != want {
		t.Errorf("statuses are %s\nwant %s", got, want)
	}
}

func BenchmarkApply(b *testing.B) {
	c := &catalog.Catalog{}
	for i := range 10000 {
		params := ordered.Of("parallel", true)
		if i%10 == 9 {
			params.Set("require", fmt.Sprintf("Thing[%d]", i-1))
		}
		if err := c.Add(&catalog.Resource{Ref: catalog.Ref{Type: "Thing", Title: fmt.Sprint(i)}, Kind: catalog.KindType, Params: params}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r, err := Prepare(c, resource.NewHost(), Options{Types: map[string]resource.Type{"Thing": thing{&machine{}}}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := r.Apply(b.Context(), func(*report.Result) {}); err != nil {
			b.Fatal(err)
		}
	}
}
