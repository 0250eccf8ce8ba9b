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

// site has the state that the jobs of the tests change.
type site struct {
	mu      sync.Mutex
	start   time.Time
	log     []string // TIME TITLE of each change
	tried   map[string]int
	now     map[string]int // jobs of a kind that are changed now
	peak    map[string]int
	queries [][]string
	works   [][]string // titles of each transaction
	refresh int
}

// job is a type whose items are Independent. A job has the parameters: fail (the number of attempts that fail, "ever" or "once after a change"), sleep,
// kind (of the peaks), and deaf (it does not end with its context).
type job struct{ s *site }

type jobItem struct {
	s *site
	r *resource.Resource
}

func (j job) New(r *resource.Resource) (resource.Item, error) { return &jobItem{j.s, r}, nil }

func (*jobItem) Independent() {}

func (i *jobItem) Read(context.Context, *resource.Host) error { return nil }

func (i *jobItem) Plan() ([]resource.Change, error) {
	return []resource.Change{{Property: "done", Is: "no", Should: "yes"}, {Property: "more", Is: "no", Should: "yes"}}, nil
}

func (i *jobItem) Do(ctx context.Context, h *resource.Host, c *resource.Change) error {
	kind, _, _ := i.r.Text("kind")
	i.s.mu.Lock()
	if c.Property == "more" {
		defer i.s.mu.Unlock()
		if i.s.tried[i.r.Title] == 1 && i.r.Params.Value("fail") == "once after a change" {
			return errors.New("cannot be changed")
		}
		return nil
	}
	i.s.log = append(i.s.log, fmt.Sprintf("%v %s", time.Since(i.s.start), i.r.Title))
	i.s.tried[i.r.Title]++
	n := i.s.tried[i.r.Title]
	i.s.now[kind]++
	i.s.peak[kind] = max(i.s.peak[kind], i.s.now[kind])
	i.s.mu.Unlock()
	defer func() {
		i.s.mu.Lock()
		i.s.now[kind]--
		i.s.mu.Unlock()
	}()
	if d, _, _ := i.r.Text("sleep"); d != "" {
		wait, _ := time.ParseDuration(d)
		if _, err := h.Run(ctx, &resource.Command{Argv: []string{d}, Session: i.r.Params.Value("deaf") == true, Timeout: wait + time.Hour}); err != nil {
			return err
		}
	}
	switch f := i.r.Params.Value("fail").(type) {
	case int64:
		if int64(n) <= f {
			return errors.New("cannot be changed")
		}
	case string:
		if f == "ever" {
			return errors.New("cannot be changed")
		}
	}
	return nil
}

func (i *jobItem) Refresh(context.Context, *resource.Host, []resource.Change) error {
	i.s.mu.Lock()
	defer i.s.mu.Unlock()
	i.s.refresh++
	return nil
}

// sleeper stands for programs, as resource.Exec does: it ends with its context, unless it has a session, and after its timeout.
func sleeper(ctx context.Context, c *resource.Command) (*resource.Output, error) {
	if c.Session {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, resource.ErrTimeout)
	defer cancel()
	wait, _ := time.ParseDuration(c.Argv[0])
	select {
	case <-time.After(wait):
		return &resource.Output{}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// bulk is a type whose items are read with one query and changed in one transaction. The parameter fail is the number of attempts that
// fail. It refuses resources with the parameter bad. The parameter make has the titles of the resources that a resource generates; those
// that begin with "bad" are refused.
type bulk struct{ s *site }

func (b bulk) New(r *resource.Resource) (resource.Item, error) {
	if r.Params.Value("bad") == true {
		return nil, &resource.ParamError{Param: "bad", Problem: "must not be there"}
	}
	return &bulkItem{b.s, r}, nil
}

func (i *bulkItem) Generate(context.Context, *resource.Host) (list []*resource.Resource, err error) {
	names, _, err := i.r.Texts("make")
	for _, n := range names {
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Bulk", Title: n}, Params: ordered.Of("bad", strings.HasPrefix(n, "bad"))})
	}
	return list, err
}

type bulkItem struct {
	s *site
	r *resource.Resource
}

func (*bulkItem) Read(context.Context, *resource.Host) error { return errors.New("not called") }
func (*bulkItem) Plan() ([]resource.Change, error) {
	return []resource.Change{{Property: "ensure", Is: "absent", Should: "present"}}, nil
}
func (*bulkItem) Do(context.Context, *resource.Host, *resource.Change) error {
	return errors.New("not called")
}

func (b bulk) ReadAll(_ context.Context, _ *resource.Host, items []resource.Item) []error {
	var titles []string
	for _, i := range items {
		titles = append(titles, i.(*bulkItem).r.Title)
	}
	b.s.queries = append(b.s.queries, titles)
	return make([]error, len(items))
}

func (b bulk) DoAll(_ context.Context, _ *resource.Host, works []resource.Work) []error {
	errs := make([]error, len(works))
	var titles []string
	for i, w := range works {
		r := w.Item.(*bulkItem).r
		titles = append(titles, r.Title)
		b.s.tried[r.Title]++
		if n, is := r.Params.Value("fail").(int64); is && int64(b.s.tried[r.Title]) <= n {
			errs[i] = errors.New("cannot be installed")
		}
	}
	b.s.works = append(b.s.works, titles)
	return errs
}

// made returns a resource with parameters.
func made(typ, title string, params ...any) *catalog.Resource {
	return &catalog.Resource{Ref: catalog.Ref{Type: typ, Title: title}, Kind: catalog.KindType, Params: ordered.Of(params...)}
}

// drive applies a graph, or the catalog of a manifest, and returns the site, the results and the log.
func drive(ctx context.Context, t *testing.T, graph bool, o Options, list ...*catalog.Resource) (*site, map[string]*report.Result, []string) {
	t.Helper()
	c := &catalog.Catalog{Graph: graph}
	top := &catalog.Resource{Ref: catalog.Ref{Type: "Class", Title: "main"}, Kind: catalog.KindUnknown}
	for _, r := range append([]*catalog.Resource{top}, list...) {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
		if r != top {
			c.Edges = append(c.Edges, catalog.Edge{Source: top.Ref, Target: r.Ref})
		}
	}
	s := &site{start: time.Now(), tried: make(map[string]int), now: make(map[string]int), peak: make(map[string]int)}
	o.Types = map[string]resource.Type{"Job": job{s}, "Bulk": bulk{s}}
	h := resource.NewHost()
	h.Run = sleeper
	var logs []string
	h.Log = func(ref catalog.Ref, _ report.Level, text string) { logs = append(logs, ref.Title+": "+text) }
	r, err := Prepare(c, h, o)
	if err != nil {
		t.Fatal(err)
	}
	results := make(map[string]*report.Result)
	_, err = r.Apply(ctx, func(r *report.Result) {
		if results[r.Ref.Title] != nil {
			t.Errorf("%s has two results", r.Ref)
		}
		results[r.Ref.Title] = r
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if len(results) != len(list) {
		t.Errorf("%d results for %d resources", len(results), len(list))
	}
	return s, results, logs
}

func metaOf(pairs ...any) *ordered.Map { return ordered.Of(pairs...) }

// TestRetry checks the times of the attempts, their results and their log messages.
func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name          string
		list          []*catalog.Resource
		log, statuses string
		attempts      int // of a
		message       string
		logged        string
	}{
		{"no retry", []*catalog.Resource{made("Job", "a", "fail", int64(1)), made("Job", "b")}, "0s a; 0s b", "a:failed b:changed", 0, "change of done from no to yes failed: cannot be changed", ""},
		{"mgmt's retry1: three more, each after 5 s", []*catalog.Resource{made("Job", "a", "fail", "ever", "meta", metaOf("retry", int64(3), "delay", int64(5000))), made("Job", "b", "require", "Job[a]")},
			"0s a; 5s a; 10s a; 15s a", "a:failed b:skipped", 4, "change of done from no to yes failed: cannot be changed", "a: attempt 1 of 4 failed, and the next one begins after 5s: change of done from no to yes failed: cannot be changed"},
		{"the second attempt is right", []*catalog.Resource{made("Job", "a", "fail", int64(1), "meta", metaOf("retry", int64(3))), made("Job", "b", "require", "Job[a]")},
			"0s a; 0s a; 0s b", "a:changed b:changed", 2, "", "a: attempt 1 of 4 failed, and the next one begins at once: change of done from no to yes failed: cannot be changed"},
		{"without end", []*catalog.Resource{made("Job", "a", "fail", int64(4), "meta", metaOf("retry", int64(-1), "delay", int64(1000)))}, "0s a; 1s a; 2s a; 3s a; 4s a", "a:changed", 5, "",
			"a: attempt 4 failed, and the next one begins after 1s: change of done from no to yes failed: cannot be changed"},
		{"a delay holds up nothing else", []*catalog.Resource{made("Job", "a", "fail", int64(1), "meta", metaOf("retry", int64(1), "delay", int64(60000))), made("Job", "b", "sleep", "1s"), made("Job", "c", "require", "Job[b]")},
			"0s a; 0s b; 1s c; 1m0s a", "a:changed b:changed c:changed", 2, "", ""},
		{"a timeout is that of an attempt", []*catalog.Resource{made("Job", "a", "sleep", "1h", "meta", metaOf("retry", int64(1), "timeout", int64(2000), "delay", int64(500)))}, "0s a; 2.5s a", "a:failed", 2,
			"change of done from no to yes failed: the attempt took longer than its timeout of 2s", ""},
		{"a timeout also ends a program with a session", []*catalog.Resource{made("Job", "a", "sleep", "1h", "deaf", true, "meta", metaOf("timeout", int64(2000))), made("Job", "b", "require", "Job[a]")}, "0s a", "a:failed b:skipped", 0,
			"change of done from no to yes failed: the attempt took longer than its timeout of 2s", ""},
		{"an attempt within its timeout", []*catalog.Resource{made("Job", "a", "sleep", "1s", "meta", metaOf("timeout", int64(2000)))}, "0s a", "a:changed", 0, "", ""},
		{"hidden", []*catalog.Resource{made("Job", "a", "loglevel", "nonsense", "meta", metaOf("hidden", true)), made("Job", "b", "require", "Job[a]")}, "0s b", "a:skipped b:changed", 0, "it is hidden", ""},
	} {
		for _, graph := range []bool{true, false} {
			if !graph && strings.HasPrefix(tt.name, "a delay") {
				continue // a manifest has an order
			}
			t.Run(fmt.Sprintf("%s, graph %v", tt.name, graph), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, results, logs := drive(t.Context(), t, graph, Options{}, tt.list...)
					slices.SortStableFunc(s.log, func(a, b string) int { // entries of one time
						if x, y := strings.Fields(a), strings.Fields(b); x[0] == y[0] {
							return strings.Compare(x[1], y[1])
						}
						return 0
					})
					if got := strings.Join(s.log, "; "); got != tt.log {
						t.Errorf("the site saw %s, want %s", got, tt.log)
					}
					if got := statuses(results); got != tt.statuses {
						t.Errorf("statuses are %s, want %s", got, tt.statuses)
					}
					a := results["a"]
					if got := a.Failure() + a.Reason; a.Attempts != tt.attempts || got != tt.message {
						t.Errorf("got %d attempts, %s", a.Attempts, got)
					}
					if tt.logged != "" && !slices.Contains(logs, tt.logged) {
						t.Errorf("the log is %q", logs)
					}
				})
			})
		}
	}
}

// TestRetryAfterChange checks that a change of a failed attempt is reported and refreshes others, once.
func TestRetryAfterChange(t *testing.T) {
	s, results, _ := drive(t.Context(), t, true, Options{}, made("Job", "a", "fail", "once after a change", "notify", "Job[b]", "meta", metaOf("retry", int64(1))), made("Job", "b", "deaf", true))
	a := results["a"]
	if got := statuses(results); got != "a:changed b:changed+" || a.Attempts != 2 || s.refresh != 1 {
		t.Errorf("statuses are %s after %d attempts and %d refreshes", got, a.Attempts, s.refresh)
	}
	for _, e := range a.Events {
		if e.Outcome != report.Success {
			t.Errorf("an event of the failed attempt is left: %+v", e)
		}
	}
	if len(a.Events) != 3 {
		t.Errorf("%d events, want that of the first attempt and two of the second", len(a.Events))
	}
}

// TestStopInDelay checks that a stop and the end of the context end delays, with the result of the last attempt.
func TestStopInDelay(t *testing.T) {
	list := func() []*catalog.Resource {
		return []*catalog.Resource{made("Job", "a", "fail", "ever", "meta", metaOf("retry", int64(-1), "delay", int64(3600_000))), made("Job", "b", "require", "Job[a]"),
			made("Job", "c", "sleep", "30s", "meta", metaOf("sema", "x")), made("Job", "d", "meta", metaOf("sema", "x")), made("Job", "e", "meta", metaOf("sema", "x"))}
	}
	for _, how := range []string{"stopped", "cancelled"} {
		synctest.Test(t, func(t *testing.T) {
			stop := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(10*time.Second, func() {
				if how == "stopped" {
					close(stop)
				} else {
					cancel()
				}
			})
			start := time.Now()
			_, results, _ := drive(ctx, t, true, Options{Stop: stop}, list()...)
			want := map[string][2]string{
				"stopped":   {"30s", "a:failed b:skipped c:changed d:skipped e:skipped"},
				"cancelled": {"10s", "a:failed b:skipped c:failed d:skipped e:skipped"},
			}[how]
			if got := statuses(results); got != want[1] || time.Since(start).String() != want[0] {
				t.Errorf("%s: statuses are %s after %s", how, got, time.Since(start))
			}
			if e := results["a"].Events; !strings.Contains(e[len(e)-1].Message, "there is no further attempt: the run was "+how) {
				t.Errorf("%s: events are %+v", how, e)
			}
		})
	}
}

// TestSuperseded checks that a newer catalog ends retries, with a delay and without one, and that other resources are applied.
func TestSuperseded(t *testing.T) {
	for _, delay := range []int64{0, 3600_000} {
		synctest.Test(t, func(t *testing.T) {
			newer := make(chan struct{})
			time.AfterFunc(10*time.Second, func() { close(newer) })
			start := time.Now()
			_, results, _ := drive(t.Context(), t, true, Options{Superseded: newer},
				made("Job", "a", "fail", "ever", "sleep", "1s", "meta", metaOf("retry", int64(-1), "delay", delay)), made("Job", "b", "require", "Job[a]"),
				made("Job", "c", "sleep", "30s"), made("Job", "d", "require", "Job[c]"), made("Job", "e", "fail", int64(1), "require", "Job[c]", "meta", metaOf("retry", int64(1))))
			if got := statuses(results); got != "a:failed b:skipped c:changed d:changed e:failed" || time.Since(start) != 30*time.Second {
				t.Errorf("delay %d: statuses are %s after %s", delay, got, time.Since(start))
			}
			if e := results["a"].Events; delay > 0 && !strings.Contains(e[len(e)-1].Message, "there is no further attempt: a newer catalog has come") {
				t.Errorf("events are %+v", e)
			}
		})
	}
}

// TestSemaphores checks mgmt's example exec3-sema, and that each semaphore is held by no more resources than it allows.
func TestSemaphores(t *testing.T) {
	lock, other := metaOf("sema", "mylock:1"), metaOf("sema", ordered.Strings([]string{"mylock:1", "otherlock:42"}))
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := drive(t.Context(), t, true, Options{}, made("Job", "pkg10", "sleep", "10s", "meta", other, "before", "Job[svc10]"), made("Job", "svc10", "sleep", "10s", "meta", lock, "before", "Job[exec10]"),
			made("Job", "exec10", "sleep", "10s", "meta", lock), made("Job", "pkg15", "sleep", "15s", "meta", other))
		if took := time.Since(s.start); took != 45*time.Second || s.peak[""] != 1 {
			t.Errorf("the example took %s with %d at a time, want 45s with 1", took, s.peak[""])
		}
	})
	for _, tt := range []struct {
		name string
		sema []any // of five jobs each
		o    Options
		peak int
	}{
		{"none", []any{nil}, Options{}, 5},
		{"three", []any{"a:3"}, Options{}, 3},
		{"foo and foo:1 are two", []any{"foo", "foo:1"}, Options{}, 2},
		{"several", []any{[]any{"a:4", "b:2"}, []any{"b:2", "c"}, []any{"c", "a:4"}}, Options{}, 3},
		{"the global one", []any{nil, "a:9"}, Options{Sema: 3}, 3},
		{"the global one of 1 is an order", []any{nil}, Options{Sema: 1}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var list []*catalog.Resource
				for i, sema := range tt.sema {
					for n := range 5 {
						r := made("Job", fmt.Sprintf("%d-%d", i, n), "sleep", "1s")
						if sema != nil {
							r.Params.Set("meta", metaOf("sema", sema))
						}
						list = append(list, r)
					}
				}
				s, results, _ := drive(t.Context(), t, true, tt.o, list...)
				if s.peak[""] != tt.peak {
					t.Errorf("%d at a time, want %d", s.peak[""], tt.peak)
				}
				for title, r := range results {
					if r.Status != report.Changed {
						t.Errorf("%s is %s", title, r.Status)
					}
				}
			})
		})
	}
}

// TestSemaphoreRace has many resources with several semaphores each, without fake time, for the race detector.
func TestSemaphoreRace(t *testing.T) {
	var list []*catalog.Resource
	for i := range 300 {
		sema := []any{fmt.Sprintf("s%d:2", i%7), fmt.Sprintf("t%d:3", i%5)}
		if i%2 == 0 {
			slices.Reverse(sema)
		}
		list = append(list, made("Job", fmt.Sprint(i), "kind", fmt.Sprintf("%d", i%7), "fail", int64(i%3), "meta", metaOf("sema", sema, "retry", int64(2), "delay", int64(i%2))))
	}
	s, results, _ := drive(t.Context(), t, true, Options{}, list...)
	for title, r := range results {
		if r.Status != report.Changed {
			t.Errorf("%s is %s: %s", title, r.Status, r.Failure())
		}
	}
	for kind, n := range s.peak {
		if n > 2 {
			t.Errorf("%d resources had the semaphore s%s:2 at a time", n, kind)
		}
	}
}

// TestGroups checks which resources are read and changed together.
func TestGroups(t *testing.T) {
	no := metaOf("autogroup", false)
	for _, tt := range []struct {
		name  string
		graph bool
		list  []*catalog.Resource
		want  string // the transactions
	}{
		{"mgmt's autogroup1", true, []*catalog.Resource{made("Bulk", "drbd", "meta", no), made("Bulk", "powertop"), made("Bulk", "sl"), made("Bulk", "cowsay")}, "drbd; powertop,sl,cowsay"},
		{"apart in the graph", true, []*catalog.Resource{made("Bulk", "p"), made("Job", "j"), made("Bulk", "q"), made("Job", "k"), made("Bulk", "r")}, "p,q,r"},
		{"apart in a manifest", false, []*catalog.Resource{made("Bulk", "p"), made("Job", "j"), made("Bulk", "q"), made("Bulk", "r")}, "p; q,r"},
		{"with other resources before them", true, []*catalog.Resource{made("Bulk", "p"), made("Job", "j", "before", "Bulk[q]"), made("Bulk", "q"), made("Bulk", "r", "before", "Job[k]"), made("Job", "k")}, "p,q,r"},
		{"with an edge between them", true, []*catalog.Resource{made("Bulk", "p", "before", "Bulk[q]"), made("Bulk", "q"), made("Bulk", "r"), made("Bulk", "s", "require", "Bulk[q]")}, "p,r; q; s"},
		{"with a way between them", true, []*catalog.Resource{made("Bulk", "p", "before", "Job[j]"), made("Job", "j", "before", "Bulk[q]"), made("Bulk", "q"), made("Bulk", "r", "require", "Bulk[q]"), made("Bulk", "s", "before", "Bulk[t]"), made("Bulk", "t")},
			"p,s; q,t; r"},
		{"a failure before one of them", true, []*catalog.Resource{made("Bulk", "p", "require", "Job[j]"), made("Job", "j", "fail", "ever"), made("Bulk", "q"), made("Bulk", "r")}, "q,r"},
		{"a failed one is tried again", true, []*catalog.Resource{made("Bulk", "p", "fail", int64(1), "meta", metaOf("retry", int64(1))), made("Bulk", "q")}, "p,q; p"},
		{"one semaphore for all", true, []*catalog.Resource{made("Bulk", "p", "meta", metaOf("sema", "x")), made("Bulk", "q", "meta", metaOf("sema", "x"))}, "p,q"},
		{"other timeouts", true, []*catalog.Resource{made("Bulk", "p", "meta", metaOf("timeout", int64(5000))), made("Bulk", "q"), made("Bulk", "r"), made("Bulk", "s", "meta", metaOf("timeout", int64(5000)))}, "p,s; q,r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _, _ := drive(t.Context(), t, tt.graph, Options{}, tt.list...)
			var got []string
			for _, w := range s.works {
				got = append(got, strings.Join(w, ","))
			}
			if text := strings.Join(got, "; "); text != tt.want {
				t.Errorf("the transactions are %s, want %s", text, tt.want)
			}
			if len(s.queries) != len(s.works) {
				t.Errorf("%d queries for %d transactions", len(s.queries), len(s.works))
			}
		})
	}
}

// TestRefusedAmongGenerated generates a resource that its type refuses, between others that are read together.
func TestRefusedAmongGenerated(t *testing.T) {
	for _, graph := range []bool{true, false} {
		r, err := Prepare(generating(t, graph), resource.NewHost(), Options{Types: map[string]resource.Type{"Bulk": bulk{&site{tried: make(map[string]int)}}}})
		if err != nil {
			t.Fatal(err)
		}
		results := make(map[string]*report.Result)
		if _, err := r.Apply(t.Context(), func(r *report.Result) { results[r.Ref.Title] = r }); err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{"parent", "one", "two"} {
			if got := results[title]; got.Status != report.Changed {
				t.Errorf("graph %v: %s is %s: %s", graph, title, got.Status, got.Failure())
			}
		}
		if got := results["bad"]; got.Status != report.Failed || !strings.Contains(got.Failure(), "must not be there") || strings.Contains(got.Failure(), "internal error") {
			t.Errorf("graph %v: the refused resource is %s: %s", graph, got.Status, got.Failure())
		}
	}
}

// generating returns a catalog with a resource that generates others.
func generating(t *testing.T, graph bool) *catalog.Catalog {
	c := &catalog.Catalog{Graph: graph}
	top := &catalog.Resource{Ref: catalog.Ref{Type: "Class", Title: "main"}, Kind: catalog.KindUnknown}
	parent := made("Bulk", "parent", "make", []any{"one", "bad", "two"})
	for _, r := range []*catalog.Resource{top, parent} {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	c.Edges = append(c.Edges, catalog.Edge{Source: top.Ref, Target: parent.Ref})
	return c
}

// TestGroupOfOnly checks that a check of some resources does not apply the rest of their group.
func TestGroupOfOnly(t *testing.T) {
	c := &catalog.Catalog{Graph: true}
	s := &site{tried: make(map[string]int)}
	top := catalog.Ref{Type: "Class", Title: "main"}
	for _, r := range []*catalog.Resource{{Ref: top, Kind: catalog.KindUnknown}, made("Bulk", "p"), made("Bulk", "q"), made("Bulk", "r")} {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
		if r.Ref != top {
			c.Edges = append(c.Edges, catalog.Edge{Source: top, Target: r.Ref})
		}
	}
	r, err := Prepare(c, resource.NewHost(), Options{Types: map[string]resource.Type{"Bulk": bulk{s}}, Only: map[catalog.Ref]bool{{Type: "Bulk", Title: "q"}: true, {Type: "Bulk", Title: "r"}: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Apply(t.Context(), func(*report.Result) {}); err != nil {
		t.Fatal(err)
	}
	if len(s.works) != 1 || strings.Join(s.works[0], ",") != "q,r" {
		t.Errorf("the transactions are %v, want one with q and r", s.works)
	}
}

// TestGroupsWithoutCycle checks that groups of two types do not wait for each other: p1 -> b1 and b2 -> p2 must not be two groups.
func TestGroupsWithoutCycle(t *testing.T) {
	var list []*catalog.Resource
	for i := range 40 {
		first, second := "Bulk", "Other"
		if i%2 == 1 {
			first, second = second, first
		}
		list = append(list, made(first, fmt.Sprintf("first%d", i), "before", fmt.Sprintf("%s[second%d]", second, i)), made(second, fmt.Sprintf("second%d", i)))
	}
	c := &catalog.Catalog{Graph: true}
	top := &catalog.Resource{Ref: catalog.Ref{Type: "Class", Title: "main"}, Kind: catalog.KindUnknown}
	for _, r := range append([]*catalog.Resource{top}, list...) {
		if err := c.Add(r); err != nil {
			t.Fatal(err)
		}
		c.Edges = append(c.Edges, catalog.Edge{Source: top.Ref, Target: r.Ref})
	}
	c.Edges = c.Edges[1:]
	s := &site{tried: make(map[string]int)}
	r, err := Prepare(c, resource.NewHost(), Options{Types: map[string]resource.Type{"Bulk": bulk{s}, "Other": bulk{s}}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	if _, err := r.Apply(t.Context(), func(r *report.Result) {
		if n++; r.Status != report.Changed {
			t.Errorf("%s is %s", r.Ref, r.Status)
		}
	}); err != nil || n != len(list) {
		t.Errorf("%d results, %v", n, err)
	}
	if len(s.works) > 4 {
		t.Errorf("%d transactions, want at most 4", len(s.works))
	}
}
