package puppettest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bolt/internal/environment"
	"bolt/modules"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

const corpus = "../../testdata/puppet"

// A place is where Puppet reported an error. Some it reported without one.
type place struct{ Line, Column int }

// UnmarshalJSON reads a place, or true for an error without one.
func (p *place) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("true")) {
		return nil
	}
	type plain place
	return json.Unmarshal(data, (*plain)(p))
}

// accepts reports whether an error is where Puppet had it.
func (p *place) accepts(pos syntax.Position) bool {
	return (p.Line == 0 || p.Line == pos.Line) && (p.Column == 0 || p.Column == pos.Column)
}

// lines calls f with each line of a file of the corpus.
func lines(t *testing.T, name string, f func(line []byte)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewScanner(bytes.NewReader(data))
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		f(in.Bytes())
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
}

// A run is one program with what it said.
type run struct {
	value value.Value
	err   error
	logs  []eval.Log
}

// A setup is what programs see.
type setup struct {
	node     string
	facts    *value.Hash
	tasks    bool
	strict   eval.Strict
	loose    bool
	sessions string // folder of env/hiera, "" without
}

func defaults(t testing.TB) setup {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(corpus, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	facts, err := value.FromJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	return setup{node: "oracle.example.com", facts: facts.(*value.Hash)}
}

// play parses, checks and evaluates a program.
func (s setup) play(t testing.TB, name, src string) (r run) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile(name, src), syntax.Options{Tasks: s.tasks})
	if err == nil {
		err = check.Program(p, check.Options{Tasks: s.tasks}).Err()
	}
	if err != nil {
		return run{err: err}
	}
	o := environment.Options{
		Modules: modules.NewPath(modules.Module{}, filepath.Join(corpus, "env", "modules")),
		Keys:    corpus, Plans: s.tasks, Getenv: os.LookupEnv, Now: time.Now,
	}
	if s.sessions != "" {
		o.Dir = filepath.Join(corpus, "env", "hiera", s.sessions)
	}
	trusted, err := value.FromJSON([]byte(fmt.Sprintf(`{"authenticated":"remote","certname":%q,"hostname":%q,"domain":%q,"extensions":{"pp_role":"web"},"external":{}}`,
		s.node, strings.Split(s.node, ".")[0], strings.Join(strings.Split(s.node, ".")[1:], "."))))
	if err != nil {
		t.Fatal(err)
	}
	server := value.NewHash()
	for k, v := range map[string]string{"serverversion": "X", "servername": "server.example.com", "serverip": "192.0.2.9"} {
		server = server.With(value.String(k), value.String(v))
	}
	r.value, r.err = environment.New(o).Evaluation(environment.Node{
		Facts: s.facts, Trusted: trusted.(*value.Hash), Server: server,
		Variables: s.facts.Merge(server).With(value.String("environment"), value.String(environment.Name)),
		Plans:     s.tasks, Strict: s.strict, LooseVariables: s.loose,
		Log: func(l eval.Log) { r.logs = append(r.logs, l) },
	}).Run(t.Context(), p)
	return r
}

// position returns where an error is.
func position(err error) (syntax.Position, bool) {
	if e, ok := errors.AsType[*eval.Error](err); ok {
		return e.Pos, true
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		return errs[0].Position(), true
	}
	return syntax.Position{}, false
}

// TestTables compares values, types and texts of expressions.
func TestTables(t *testing.T) {
	s := defaults(t)
	differs := reasons(t, "differs.txt")
	lines(t, "expected/tables.jsonl", func(line []byte) {
		var want struct {
			Table, Expr, Type, String string
			Value                     json.RawMessage
			Error                     *place
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.Table, func(t *testing.T) {
			bad := mismatch(t, s.play(t, "", want.Expr), want.Value, want.Type, want.String, want.Error)
			if _, known := differs[want.Expr]; known {
				delete(differs, want.Expr)
				if bad == "" {
					t.Errorf("%s: is in differs.txt, and does not differ", want.Expr)
				}
				return
			}
			if bad != "" {
				t.Errorf("%s\n%s", want.Expr, bad)
			}
		})
	})
	for name := range differs {
		if !strings.Contains(name, "/") || strings.ContainsAny(name, " ('") {
			t.Errorf("differs.txt has %q, which is no expression", name)
		}
	}
}

// mismatch says how an answer differs from Puppet's, "" if it does not.
func mismatch(t *testing.T, r run, wantValue json.RawMessage, wantType, wantString string, wantErr *place) string {
	if wantErr != nil {
		pos, ok := position(r.err)
		switch {
		case r.err == nil:
			return fmt.Sprintf(" got %s, want an error", value.Inspect(r.value))
		case !ok || !wantErr.accepts(pos):
			return fmt.Sprintf(" got the error %v, want one at %v", r.err, *wantErr)
		}
		return ""
	}
	if r.err != nil {
		return fmt.Sprintf(" got the error %v, want %s", r.err, wantValue)
	}
	got, err := value.MarshalRich(r.value)
	if err != nil {
		return err.Error()
	}
	text, err := value.Format(r.value, value.Default{})
	if err != nil {
		return err.Error()
	}
	var bad strings.Builder
	if !sameJSON(t, got, wantValue) {
		fmt.Fprintf(&bad, " got value %s\nwant value %s\n", got, wantValue)
	}
	if typ := value.TypeString(value.Infer(r.value)); typ != wantType {
		fmt.Fprintf(&bad, " got type %s\nwant type %s\n", typ, wantType)
	}
	if string(text) != wantString {
		fmt.Fprintf(&bad, " got string %q\nwant string %q\n", text, wantString)
	}
	return bad.String()
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// reasons reads a list of names, a tab and a reason a line.
func reasons(t *testing.T, name string) map[string]string {
	t.Helper()
	list := map[string]string{}
	data, err := os.ReadFile(filepath.Join(corpus, name))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		name, why, ok := strings.Cut(line, "\t")
		if !ok || why == "" {
			t.Errorf("%s: no reason in %q", name, line)
		}
		list[name] = why
	}
	return list
}

// A want is what Puppet did with a case.
type want struct {
	Case       string
	Catalog    json.RawMessage
	ParseError *place `json:"parse_error"`
	Error      *place
	Logs       []struct{ Level, Message, Source string }
}

// TestCases runs every case of the corpus. What becomes of a catalog is not
// looked at here: cases that need one stand in later.txt.
func TestCases(t *testing.T) {
	later := reasons(t, "later.txt")
	seen := 0
	lines(t, "expected/cases.jsonl", func(line []byte) {
		var w want
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		seen++
		t.Run(w.Case, func(t *testing.T) {
			bad := judge(t, &w)
			if why, is := later[w.Case]; is {
				delete(later, w.Case)
				if bad == "" {
					t.Errorf("passes, and stands in later.txt (%s)", why)
				}
				return
			}
			if bad != "" {
				t.Error(bad)
			}
		})
	})
	if seen < 150 {
		t.Errorf("only %d cases", seen)
	}
	for _, name := range slices.Sorted(maps.Keys(later)) {
		t.Errorf("later.txt has %q, which is no case", name)
	}
}

// judge runs one case and says what is wrong, "" if nothing is.
func judge(t *testing.T, w *want) string {
	data, err := os.ReadFile(filepath.Join(corpus, "cases", w.Case+".pp"))
	if err != nil {
		t.Fatal(err)
	}
	s, parseOnly := defaults(t), false
	for line := range strings.Lines(string(data)) {
		key, val, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), ": ")
		if !strings.HasPrefix(line, "#") || !ok {
			continue
		}
		switch key {
		case "facts":
			more, err := value.FromJSON([]byte(val))
			if err != nil {
				t.Fatal(err)
			}
			s.facts = s.facts.Merge(more.(*value.Hash))
		case "node":
			s.node = val
		case "hiera":
			s.sessions = val
		case "parse":
			parseOnly = true
		case "setting":
			switch val {
			case "tasks=true":
				s.tasks = true
			case "strict_variables=false":
				s.loose = true
			case "strict=warning":
				s.strict = eval.StrictWarning
			}
		}
	}
	var r run
	if parseOnly {
		p, err := syntax.Parse(syntax.NewFile("manifests/site.pp", string(data)), syntax.Options{Tasks: s.tasks})
		if err == nil {
			err = check.Program(p, check.Options{Tasks: s.tasks}).Err()
		}
		r.err = err
	} else {
		r = s.play(t, "manifests/site.pp", string(data))
	}
	wantErr := w.Error
	if wantErr == nil {
		wantErr = w.ParseError
	}
	if wantErr != nil {
		pos, ok := position(r.err)
		if r.err == nil {
			return "is accepted, want an error"
		}
		if !ok || !wantErr.accepts(pos) {
			return fmt.Sprintf("the error %v, want one at %v", r.err, *wantErr)
		}
	} else if r.err != nil {
		return fmt.Sprintf("the error %v", r.err)
	}
	var got, wanted []string
	for _, l := range r.logs {
		if l.Kind == "" && (l.Level == eval.Info || l.Level == eval.Notice) {
			got = append(got, l.Level.String()+": "+l.Msg)
		}
	}
	for _, l := range w.Logs {
		wanted = append(wanted, l.Level+": "+l.Message)
	}
	if !slices.Equal(got, wanted) {
		return fmt.Sprintf("logs %q\nwant %q", got, wanted)
	}
	if w.Catalog != nil && strings.Contains(string(w.Catalog), `"file":`) {
		return "declares resources"
	}
	return ""
}
