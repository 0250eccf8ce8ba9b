package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bolt/format/ordered"
	"bolt/rollout"
	"bolt/rollout/driver"
	"bolt/rollout/gate"
	"bolt/rollout/ledger"
	"bolt/rollout/strategy"
	"bolt/store"
	"bolt/store/files"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(driveVariable); dir != "" {
		driveForever(dir)
	}
	goleak.VerifyTestMain(m)
}

const id = "20260901-100000-web"

func open(t testing.TB, dir string) *files.Store {
	t.Helper()
	s, err := files.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begun makes a rollout of n nodes.
func begun(t testing.TB, s *files.Store, text string, n int) {
	t.Helper()
	st, err := strategy.Read([]byte(text), "strategy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	spec := rollout.Spec{Rollout: id, Release: "r2", Sequence: 2, Strategy: *st, Author: "ann"}
	for i := range n {
		spec.Nodes = append(spec.Nodes, rollout.Node{Name: fmt.Sprintf("n%02d", i), Release: "r2", Catalog: "c2", Previous: "r1", PreviousCatalog: "c1"})
	}
	created, err := rollout.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := ledger.In(s).Create(t.Context(), created, "ann"); err != nil {
		t.Fatal(err)
	}
}

// works is a fleet whose node bad fails release r2.
type works struct{ bad string }

func (f works) Apply(_ context.Context, r *driver.Run) driver.Result {
	r.Began()
	if r.Node.Name == f.bad && r.Node.Release == "r2" {
		return driver.Result{Outcome: rollout.OutcomeFailed, Reason: "no space", Changed: true}
	}
	return driver.Result{Outcome: rollout.OutcomeDone, Changed: true, Catalog: r.Node.Catalog}
}

func (works) Ask(context.Context, *driver.Run) driver.Result {
	return driver.Result{Outcome: rollout.OutcomeDone}
}
func (works) Hook(context.Context, *driver.Hook) error { return nil }
func (works) Measure(context.Context, *driver.Measurement) (gate.Outcome, any, string) {
	return gate.Successful, nil, ""
}

func drive(ctx context.Context, s *files.Store, d *Deliverer, f works, session string) (*driver.End, error) {
	d.Follow(id)
	defer d.Finish(id)
	return driver.Drive(ctx, driver.Options{Logs: s, Rollout: id, Session: session, Holder: "ann@here", User: "ann", Fleet: f, Checks: f})
}

// A receiver keeps the messages that it has verified.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	messages []string
	ids      []string
	errs     []error
	// answer is called before a message is kept; nil takes all messages.
	answer func(message string, w http.ResponseWriter) bool
}

func receive(t *testing.T, answer func(message string, w http.ResponseWriter) bool) *receiver {
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	key, _ := parseSecret(testSecret)
	seconds, nerr := strconv.ParseInt(req.Header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); age.Abs() > time.Minute {
		r.errs = append(r.errs, fmt.Errorf("the message is %v old", age))
	}
	if want := key.sign(req.Header.Get("webhook-id"), time.Unix(seconds, 0), body); req.Header.Get("webhook-signature") != want {
		r.errs = append(r.errs, fmt.Errorf("the signature is %q", req.Header.Get("webhook-signature")))
	}
	if id := req.Header.Get("webhook-id"); !strings.HasPrefix(id, "msg_") || strings.Contains(id, ".") {
		r.errs = append(r.errs, fmt.Errorf("the ID is %q", id))
	}
	r.errs = append(r.errs, err, nerr)
	if r.answer != nil && !r.answer(string(body), w) {
		return
	}
	r.messages = append(r.messages, string(body))
	r.ids = append(r.ids, req.Header.Get("webhook-id"))
	w.WriteHeader(http.StatusNoContent)
}

// of returns the messages about a rollout, and fails if the receiver has found a mistake.
func (r *receiver) of(t *testing.T, id string) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.errs...); err != nil {
		t.Error(err)
	}
	var list []string
	for _, m := range r.messages {
		if strings.HasPrefix(m, `{"rollout":"`+id+`",`) {
			list = append(list, m)
		}
	}
	return list
}

// webhookOf is a webhook as in a file.
func webhookOf(url string, events ...any) *ordered.Map {
	m := ordered.Of("url", url, "secret", testSecret)
	if len(events) > 0 {
		m.Set("events", events)
	}
	return m
}

// hook returns a webhook with the default timeout.
func hook(t *testing.T, url string, events ...any) *Hook {
	t.Helper()
	hooks, err := Read([]any{webhookOf(url, events...)}, "bolt-project.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return hooks[0]
}

// lines are the events of a rollout as programs get them.
func lines(t *testing.T, s *files.Store, id string) []string {
	t.Helper()
	events, err := store.Load(t.Context(), s, ledger.Log(id), 0)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		r, err := ledger.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		data, err := rollout.Encode(r.Event)
		if err != nil {
			t.Fatal(err)
		}
		line, err := rollout.Line(id, r.Revision, r.Time, data)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(line))
	}
	return list
}

// warnings collects warnings.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) warn(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.list, "\n")
}

// TestDrive drives a rollout that is rolled back. Two webhooks get their events in order, once, and signed, also those of the rollback.
func TestDrive(t *testing.T) {
	s := open(t, t.TempDir())
	begun(t, s, "strategy: {waves: [{count: 2}, {rest: true}], on_failure: rollback}\norder: [name]", 6)
	everything, some := receive(t, nil), receive(t, nil)
	var w warnings
	d := New(t.Context(), Options{Logs: s, Holder: "ann", Warn: w.warn, Hooks: []*Hook{hook(t, everything.URL, all), hook(t, some.URL)}})
	end, err := drive(t.Context(), s, d, works{bad: "n03"}, "s1")
	if err != nil || end.Phase != rollout.RolledBack {
		t.Fatalf("%+v, %v", end, err)
	}
	d.Close()
	if w.String() != "" {
		t.Error(w.String())
	}
	for _, id := range []string{id, id + "-rollback"} {
		want := lines(t, s, id)
		if got := everything.of(t, id); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", id, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		var types []string
		for _, m := range some.of(t, id) {
			var line struct{ Event struct{ Type, Node string } }
			if err := json.Unmarshal([]byte(m), &line); err != nil {
				t.Fatal(err)
			}
			types = append(types, strings.TrimSpace(line.Event.Type+" "+line.Event.Node))
		}
		if slices.Contains(types, "created") || !slices.Contains(types, "ended") || slices.Contains(types, "node_ended n03") != (id == "20260901-100000-web") {
			t.Errorf("%s: %s", id, types)
		}
	}
	if ids := slices.Clone(everything.ids); len(slices.Compact(slices.Sorted(slices.Values(ids)))) != len(ids) {
		t.Error("two messages have the same ID")
	}
	// The next process has nothing to send.
	d = New(t.Context(), Options{Logs: open(t, s.Dir()), Holder: "bob", Warn: w.warn, Hooks: []*Hook{hook(t, everything.URL, all)}})
	d.Rest(t.Context(), id, time.Now())
	d.Close()
	if n := len(lines(t, s, id)) + len(lines(t, s, id+"-rollback")); len(everything.messages) != n {
		t.Errorf("%d messages for %d events", len(everything.messages), n)
	}
}

// TestOtherTerminal appends commands while nobody drives and while a driver drives.
func TestOtherTerminal(t *testing.T) {
	s := open(t, t.TempDir())
	begun(t, s, "approvals: {before: [first_wave]}", 2)
	got := receive(t, nil)
	d := New(t.Context(), Options{Logs: s, Holder: "ann", Hooks: []*Hook{hook(t, got.URL, "approved", "paused", "resumed")}})
	if _, err := drive(t.Context(), s, d, works{}, "s1"); err != nil {
		t.Fatal(err)
	}
	other := ledger.In(open(t, s.Dir()))
	command := func(e rollout.Event) {
		t.Helper()
		_, err := other.Command(t.Context(), id, func(s *rollout.State) (rollout.Event, error) {
			if a, is := e.(*rollout.Approved); is {
				a.Release, a.Strategy = s.Created().Release, s.Created().StrategyDigest
			}
			return e, nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	command(&rollout.Paused{By: "bob"})
	command(&rollout.Resumed{By: "bob"})
	command(&rollout.Approved{By: "bob", Wave: 1})
	end, err := drive(t.Context(), s, d, works{}, "s2")
	if err != nil || end.Phase != rollout.Succeeded {
		t.Fatalf("%+v, %v", end, err)
	}
	d.Close()
	text := strings.Join(got.of(t, id), "\n")
	if len(got.messages) != 3 || !strings.Contains(text, `"approved","by":"bob"`) {
		t.Errorf("%s", text)
	}
}

// TestOneSender lets two processes deliver the same rollout. Each event is sent once.
func TestOneSender(t *testing.T) {
	s := open(t, t.TempDir())
	begun(t, s, "strategy: {}", 20)
	got := receive(t, nil)
	a := New(t.Context(), Options{Logs: s, Holder: "ann", Hooks: []*Hook{hook(t, got.URL, all)}})
	b := New(t.Context(), Options{Logs: open(t, s.Dir()), Holder: "bob", Hooks: []*Hook{hook(t, got.URL, all)}})
	b.Follow(id)
	if _, err := drive(t.Context(), s, a, works{}, "s1"); err != nil {
		t.Fatal(err)
	}
	a.Close()
	b.Close()
	if want := lines(t, s, id); !slices.Equal(got.of(t, id), want) {
		t.Errorf("got %d, want %d", len(got.messages), len(want))
	}
}

const (
	driveVariable = "WEBHOOK_TEST_DRIVE"
	urlVariable   = "WEBHOOK_TEST_URL"
)

// driveForever drives the rollout of a directory until the process is killed.
func driveForever(dir string) {
	s, err := files.Open(context.Background(), dir)
	if err == nil {
		var hooks []*Hook
		if hooks, err = Read([]any{webhookOf(os.Getenv(urlVariable), all)}, "bolt-project.yaml"); err == nil {
			d := New(context.Background(), Options{Logs: s, Holder: "child", Hooks: hooks})
			if _, err = drive(context.Background(), s, d, works{bad: "n03"}, "s1"); err == nil {
				d.Close()
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestKilled kills the driver while an event is on its way. The next process sends this event again, and all later ones.
func TestKilled(t *testing.T) {
	for _, at := range []string{
		`"revision":1,`, `"revision":8,`, `"type":"rollback_started"`, `-rollback","revision":1,`, `-rollback","revision":9,`,
		`"type":"rollback_finished"`, `"type":"ended"`, `"type":"driver_stopped"`,
	} {
		t.Run(at, func(t *testing.T) {
			s := open(t, t.TempDir())
			begun(t, s, "strategy: {waves: [{count: 2}, {rest: true}], on_failure: rollback}\norder: [name]", 10)
			var child *exec.Cmd
			started, killed := make(chan struct{}), false
			got := receive(t, func(message string, _ http.ResponseWriter) bool {
				if !strings.Contains(message, at) || killed {
					return true
				}
				<-started
				killed = true
				if err := child.Process.Kill(); err != nil {
					t.Error(err)
				}
				return false
			})
			child = exec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), driveVariable+"="+s.Dir(), urlVariable+"="+got.URL)
			child.Stderr = os.Stderr
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			close(started)
			if err := child.Wait(); err == nil {
				t.Fatal("the driver has not been killed")
			}
			var w warnings
			d := New(t.Context(), Options{Logs: s, Holder: "ann", Warn: w.warn, Hooks: []*Hook{hook(t, got.URL, all)}})
			state, err := ledger.In(s).Load(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if state.Ended() {
				d.Rest(t.Context(), id, state.Last())
			} else if _, err := drive(t.Context(), s, d, works{bad: "n03"}, "s2"); err != nil {
				t.Fatal(err)
			}
			d.Close()
			for _, id := range []string{id, id + "-rollback"} {
				want, last := lines(t, s, id), 0
				for _, m := range got.of(t, id) {
					at := slices.Index(want, m) + 1
					if at == 0 || at > last+1 {
						t.Fatalf("%s: event %d follows event %d", id, at, last)
					}
					last = at
				}
				if last != len(want) || w.String() != "" {
					t.Errorf("%s: the last event is %d of %d. %s", id, last, len(want), w.String())
				}
			}
		})
	}
}
