package strategy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bolt/rollout/gate"
)

// full has most keys of a file.
const full = `
rollout: web-2026-09
release: r-4f2a
targets: {query: 'nodes { facts.role = "web" }', at_least: 50, when_empty: fail}
order: [unhealthy_first, stable_hash, name, random(7), fact(zone)]
strata: facts.zone
strategy:
  noop_first: {all: true, max_changes_per_node: 50, unexpected: pause}
  waves:
    - {count: 1, soak: 30m, approve: [ops, dev]}
    - {percent: 10, soak: 15m}
    - {percent: 0.5%}
    - {group: canaries}
    - {name: low, where: 'facts.tier == "low"', soak: 10m}
    - {ramp: {start: 1, factor: 2, max: 50}}
  concurrency: {max: 50, per: {facts.rack: 2}}
  max_unavailable: 5%
  failures: {count: 3, percent: 5, consecutive: 3, scope: wave+rollout, strict: true}
  counts_as_failure: [unreachable, auth, failed, timeout, gate, lost]
  node: {timeout: 20m, retries: 2, retry_on: [connect, lost], healthy_for: 60s}
  progress_deadline: 30m
  on_failure: rollback
  rollback: {to: previous, scope: changed, fast: true, only_if_differs: true}
gates:
  - {name: http, at: [node, wave], http: {url: 'https://{{node}}/health', status: 200}, interval: 10s, count: 3, failure_limit: 1, error_limit: 4}
  - {name: errors, at: [background], pql: 'reports[count()] { status = "failed" }', ok: 'result < 5'}
  - {name: smoke, at: [wave], task: web::smoke, sample: 10%, params: {a: 1, b: [x, {c: true}]}}
  - {name: cmd, at: [before_rollout], command: ./check-freeze, on: controller}
windows: [{days: mon-thu, from: 09:00, to: '16:00', tz: Europe/Berlin, at_close: finish_wave}]
freeze: [{from: 2026-12-20, to: 2027-01-02, unless: emergency}]
approvals: {before: [first_wave, low], need: 2, not_author: true, expires: 8h}
hooks: {before_node: lb::drain, after_node: {command: lb undrain, on: node}, always: true}
`

func read(t *testing.T, text string) *Strategy {
	t.Helper()
	s, err := Read([]byte(text), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReadFull(t *testing.T) {
	s := read(t, full)
	if got := s.Rules.Waves[0]; got.Count != 1 || time.Duration(got.Soak) != 30*time.Minute || len(got.Approve) != 2 {
		t.Errorf("the first wave is %+v", got)
	}
	if got := s.Rules.Node.RetryOn; len(got) != 2 || got[0] != Unreachable {
		t.Errorf("retry_on is %v", got)
	}
	if g := s.GatesAt(gate.Before); len(g) != 1 || g[0].On != gate.OnController {
		t.Errorf("the gates before the rollout are %v", g)
	}
	if s.Hooks.Before.Task != "lb::drain" || s.Hooks.After.Command != "lb undrain" || s.Hooks.After.On != gate.OnNode {
		t.Errorf("the hooks are %+v", s.Hooks)
	}
	if got, want := s.Facts(), []Fact{"facts.rack", "facts.zone"}; !cmp.Equal(got, want) {
		t.Errorf("the facts are %v, want %v", got, want)
	}
	if got := s.Conditions(); len(got) != 2 || got[0].Path != "strategy.waves[4].where" || got[1].Path != "gates[1].ok" {
		t.Errorf("the conditions are %v", got)
	}
	if line, column := Locate([]byte(full), "gates[1].ok"); line != 26 || column < 60 {
		t.Errorf("gates[1].ok is at %d:%d", line, column)
	}
}

// TestJSON: the JSON form of a strategy is a strategy file, and keeps the digest.
func TestJSON(t *testing.T) {
	for _, text := range []string{full, ""} {
		s := read(t, text)
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Strategy
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*s, back); diff != "" {
			t.Errorf("JSON: %s", diff)
		}
		again := read(t, string(data))
		if again.Digest() != s.Digest() || back.Digest() != s.Digest() || len(s.Digest()) != 64 {
			t.Errorf("the digests are %s, %s and %s", s.Digest(), back.Digest(), again.Digest())
		}
	}
}

func TestDigest(t *testing.T) {
	a := read(t, "strategy: {on_failure: abort, failures: {count: 2}}")
	for _, same := range []string{
		"# a comment\nstrategy: {failures: {count: 2}, on_failure: abort}",
		"kind: apply\nstrategy: {failures: {count: 2, scope: wave+rollout}, on_failure: abort}",
	} {
		if read(t, same).Digest() != a.Digest() {
			t.Errorf("%q has another digest", same)
		}
	}
	if read(t, "strategy: {on_failure: abort, failures: {count: 3}}").Digest() == a.Digest() {
		t.Error("an edit keeps the digest")
	}
}

// TestFailures: a file with limits of failures has no others.
func TestFailures(t *testing.T) {
	f := read(t, "strategy: {failures: {percent: 5}}").Rules.Failures
	if f.Count != nil || f.Percent == nil || f.Strict || f.Scope != PerBoth {
		t.Errorf("the limits are %+v", f)
	}
	for text, limited := range map[string]bool{
		"kind: check": false, "kind: check\nstrategy: {waves: [{rest: true}]}": false,
		"kind: check\nstrategy: {failures: {count: 0}}": true, "kind: check\nwindows: [{days: mon}]": true, "kind: apply": true,
	} {
		if f := read(t, text).Rules.Failures; (f.Count != nil) != limited {
			t.Errorf("%q: %+v", text, f)
		}
	}
	if f := read(t, "").Rules.Failures; f.Count == nil || *f.Count != 0 {
		t.Errorf("the limits of an empty file are %+v", f)
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "stratgy: {}", `f.yaml:1:1: unknown key "stratgy". Did you mean "strategy"?`},
		{"unknown key below", "strategy:\n  waves:\n    - {rest: true, soack: 5m}", `f.yaml:3:20: unknown key "soack". Did you mean "soak"?`},
		{"key of the rules", "waves: []", `f.yaml:1:1: unknown key "waves". It belongs to the key strategy`},
		{"key of the top", "strategy: {windows: []}", `f.yaml:1:12: unknown key "windows". It belongs to the top level of the file`},
		{"key twice", "kind: apply\nkind: apply", `f.yaml:2:1: the key kind is there twice`},
		{"unknown word", "strategy: {on_failure: puase}", `f.yaml:1:24: strategy.on_failure: "puase" is unknown here. Did you mean "pause"?`},
		{"number for a string", "release: 5", `f.yaml:1:10: release must be a string: put 5 in quotes`},
		{"string for a number", "strategy: {concurrency: {max: many}}", `f.yaml:1:31: strategy.concurrency.max must be a whole number from 0 to 1000000000`},
		{"negative", "strategy: {node: {retries: -1}}", `strategy.node.retries must be a whole number`},
		{"duration", "strategy: {progress_deadline: 30}", `strategy.progress_deadline: "30" is not a length of time such as 90s`},
		{"percent", "strategy: {waves: [{percent: 101}, {rest: true}]}", `"101" is not a percentage`},
		{"amount", "strategy: {max_unavailable: few}", `"few" is neither a number of nodes nor a percentage`},
		{"fact", "strata: zone", `strata: "zone" is not the path of a fact such as facts.zone`},
		{"order", "order: [stabel_hash]", `order[0]: "stabel_hash" is unknown here. Did you mean "stable_hash"?`},
		{"order without seed", "order: [random]", `write random(7)`},
		{"zone", "windows: [{tz: Europe/Berln}]", `"Europe/Berln" is not a time zone`},
		{"days", "windows: [{days: mon-fry}]", `windows[0].days: "fry" is unknown here. Did you mean "fri"?`},
		{"clock", "windows: [{from: 25:00}]", `"25:00" is not a time of day`},
		{"moment", "freeze: [{from: 2026-13-01, to: 2026-12-24}]", `"2026-13-01" is neither a day`},
		{"freeze backwards", "freeze: [{from: 2026-12-24, to: 2026-12-20}]", `the freeze ends before it begins`},
		{"no rest", "strategy: {waves: [{count: 1}]}", `f.yaml:1:20: the last wave must take the nodes that are left. Add {rest: true}, or a ramp`},
		{"after rest", "strategy: {waves: [{rest: true}, {count: 1}]}", `f.yaml:1:34: no node is left for this wave`},
		{"two selectors", "strategy: {waves: [{count: 1, rest: true}]}", `a wave can have only one of the keys count and rest`},
		{"no selector", "strategy: {waves: [{soak: 1m}, {rest: true}]}", `a wave needs one of the keys`},
		{"empty waves", "strategy: {waves: []}", `the list of waves is empty`},
		{"ramp", "strategy: {waves: [{ramp: {start: 0}}]}", `a ramp must start with at least 1 node`},
		{"factor", "strategy: {waves: [{ramp: {factor: .nan}}]}", `the factor must be from 1 to 1000`},
		{"approval", "approvals: {before: [firstwave]}", `"firstwave" is not the name of a wave. Did you mean "first_wave"?`},
		{"few approvers", "approvals: {before: [rest], need: 2, users: [a, a]}", `2 users must approve, but only 1 can`},
		{"gate without a kind", "gates: [{name: a, at: [wave]}]", `a gate needs exactly one of the keys http, command`},
		{"gate without a place", "gates: [{name: a, command: x}]", `a gate needs the key at`},
		{"gates with one name", "gates: [{name: a, at: [wave], command: x}, {name: a, at: [node], command: x}]", `two gates have the name a`},
		{"query without a condition", "gates: [{name: a, at: [wave], pql: x}]", `a query needs the key ok`},
		{"rollback of a task", "action: {task: x}\nstrategy: {on_failure: rollback}", `a plan or task cannot be rolled back`},
		{"check with a plan", "kind: check\naction: {plan: x}", `plans and tasks have no such mode`},
		{"two actions", "action: {plan: x, task: y}", `an action cannot have both a plan and a task`},
		{"not a mapping", "- a", `a strategy file must be a mapping`},
		{"not YAML", "a: [", `f.yaml:1:`},
		{"second document", "kind: apply\n---\nrelease: a", `f.yaml:2:1: a second document, and only one is allowed`},
		{"alias", "kind: &a apply\nrelease: *a", `f.yaml:2:10: alias *a`},
		{"governor without name", "strategy: {concurrency: {governor: {max: 3}}}", `the name of a governor must have`},
		{"name of a governor", "strategy: {concurrency: {governor: {name: Site Wide, max: 3}}}", `the name of a governor must have`},
		{"governor without places", "strategy: {concurrency: {governor: {name: site-wide}}}", `max must be from 1 to 1000`},
		{"governor as text", "strategy: {concurrency: {governor: site-wide}}", `strategy.concurrency.governor must be a mapping`},
		{"targets by wave", "targets: {names: [a], freeze: false}", `unknown key "freeze". The nodes are always chosen once`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read([]byte(tt.text), "f.yaml")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

// TestExcerpt checks that a single mistake has an excerpt, and several mistakes have none.
func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"strategy:\n  wavess: 3":     "  wavess: 3\n  ^",
		"a: [":                       "a: [\n   ^",
		"stratgy: {}\nstrateg: {}\n": "",
	} {
		_, err := Read([]byte(text), "f.yaml")
		var e *Errors
		if !errors.As(err, &e) || e.Excerpt(80) != want {
			t.Errorf("%q: %v, %q", text, err, e.Excerpt(80))
		}
	}
}

func TestCalendar(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		when, err := time.ParseInLocation("2006-01-02 15:04", text, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, tt := range []struct {
		name, text, now string
		open, finish    bool
		next            string // "" is never
	}{
		{"no windows", "{}", "2026-09-01 10:00", true, false, ""},
		{"inside", "windows: [{days: mon-thu, from: 09:00, to: 16:00, tz: Europe/Berlin}]", "2026-09-01 10:00", true, false, "2026-09-01 16:00"},
		{"at the opening", "windows: [{days: mon-thu, from: 09:00, to: 16:00, tz: Europe/Berlin}]", "2026-09-01 09:00", true, false, "2026-09-01 16:00"},
		{"at the close", "windows: [{days: mon-thu, from: 09:00, to: 16:00, tz: Europe/Berlin, at_close: finish_wave}]", "2026-09-03 16:00", false, true, "2026-09-07 09:00"},
		{"weekend", "windows: [{days: mon-thu, from: 09:00, to: 16:00, tz: Europe/Berlin}]", "2026-09-05 12:00", false, false, "2026-09-07 09:00"},
		{"over midnight", "windows: [{days: fri, from: 22:00, to: 06:00, tz: Europe/Berlin}]", "2026-09-05 03:00", true, false, "2026-09-05 06:00"},
		{"the whole day", "windows: [{days: sat, tz: Europe/Berlin}]", "2026-09-05 03:00", true, false, "2026-09-06 00:00"},
		{"one day a week", "windows: [{days: sat, from: 09:00, to: 10:00, tz: Europe/Berlin}]", "2026-09-05 10:00", false, false, "2026-09-12 09:00"},
		{"summer time ends", "windows: [{days: sun, from: 02:30, to: 05:00, tz: Europe/Berlin}]", "2026-10-25 01:00", false, false, "2026-10-25 02:30"},
		{"second window", "windows: [{days: tue, from: 09:00, to: 10:00, tz: Europe/Berlin}, {days: tue, from: 12:00, to: 13:00, tz: Europe/Berlin}]", "2026-09-01 11:00", false, false, "2026-09-01 12:00"},
		{"freeze", "freeze: [{from: 2026-12-20, to: 2027-01-02, tz: Europe/Berlin}]", "2026-12-24 12:00", false, false, "2027-01-03 00:00"},
		{"before the freeze", "freeze: [{from: 2026-12-20 18:00, to: 2027-01-02, tz: Europe/Berlin}]", "2026-12-20 12:00", true, false, "2026-12-20 18:00"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := read(t, tt.text).Calendar(false)
			if err != nil {
				t.Fatal(err)
			}
			st := c.At(at(tt.now))
			next := ""
			if !st.Next.IsZero() {
				next = st.Next.In(berlin).Format("2006-01-02 15:04")
			}
			if st.Open != tt.open || st.FinishWave != tt.finish || next != tt.next || st.Open != (st.Reason == "") {
				t.Errorf("got %+v, next %s", st, next)
			}
		})
	}
	c, err := read(t, "freeze: [{from: 2026-12-20, to: 2027-01-02, unless: emergency}]").Calendar(true)
	if err != nil {
		t.Fatal(err)
	}
	if !c.At(at("2026-12-24 12:00")).Open {
		t.Error("an emergency is subject to the freeze")
	}
}

// FuzzRead: no text is a panic, each accepted strategy passes its own check and survives JSON.
func FuzzRead(f *testing.F) {
	f.Add(full)
	f.Add("strategy: {waves: [{ramp: {start: 1}}]}")
	f.Add("gates: [{name: a, at: [wave], http: {url: x}, sample: 5}]\nhooks: {before_node: {task: x, params: {a: 1.5}}}")
	f.Add("- 5")
	f.Add("freeze: [{from: 2026-12-20, to: 2026-12-21}]\nkind:\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read([]byte(text), "f.yaml")
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without text")
			}
			return
		}
		if p := s.Check(); p != nil {
			t.Fatalf("Check: %v", p)
		}
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Strategy
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if back.Digest() != s.Digest() {
			t.Fatalf("the digest changes:\n%s", data)
		}
		if _, err := s.Calendar(false); err != nil {
			t.Fatal(err)
		}
	})
}
