package puppettest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/order"
	"bolt/catalog/types"
	"bolt/environment"
	"bolt/modules"
	"bolt/puppet/check"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
	"bolt/puppet/value"
)

const corpus = "../../testdata/puppet"

// A place is the position of an error that Puppet reported. Puppet reported some errors
// without a position.
type place struct{ Line, Column int }

// UnmarshalJSON reads a place, or true for an error without a position.
func (p *place) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("true")) {
		return nil
	}
	type plain place
	return json.Unmarshal(data, (*plain)(p))
}

// accepts reports whether an error has the position that Puppet reported.
func (p *place) accepts(pos syntax.Position) bool {
	return (p.Line == 0 || p.Line == pos.Line) && (p.Column == 0 || p.Column == pos.Column)
}

// namedBy reports whether an error names a statement on this line as its cause or as a
// conflict. For such an error, the corpus has the first position in Puppet's message. It
// can be the position of that statement, and then has no column.
func (p *place) namedBy(err error) bool {
	line := strconv.Itoa(p.Line)
	return p.Column == 0 && slices.ContainsFunc(placed.FindAllStringSubmatch(err.Error(), -1), func(m []string) bool {
		return m[1] == line
	})
}

var placed = regexp.MustCompile(`(?:\.\w+:|, line )(\d+)`)

// eachLine calls f with each line of a file of the corpus.
func eachLine(t *testing.T, name string, f func(line []byte)) {
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

// A run is one program with its log and its catalog.
type run struct {
	value   value.Value
	err     error
	logs    []eval.Log
	catalog *catalog.Catalog // nil after an error, and in plan mode
}

// A setup is the environment of programs.
type setup struct {
	node     string
	facts    *value.Hash
	tasks    bool
	strict   eval.Strict
	loose    bool
	sessions string // folder of env/hiera, "" for none
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

// strictName returns the value of the setting strict.
func (s setup) strictName() string {
	return map[eval.Strict]string{eval.StrictError: "error", eval.StrictWarning: "warning", eval.StrictOff: "off"}[s.strict]
}

// hashOf returns a hash of alternating keys and values.
func hashOf(pairs ...string) *value.Hash {
	var b value.HashBuilder
	for i := 0; i < len(pairs); i += 2 {
		b.Put(value.String(pairs[i]), value.String(pairs[i+1]))
	}
	return b.Build()
}

// read parses and checks a program, and returns the warnings about it.
func (s setup) read(name, src string) (p *syntax.Program, logs []eval.Log, err error) {
	p, err = syntax.Parse(syntax.NewFile(name, src), syntax.Options{Tasks: s.tasks})
	if err != nil {
		return nil, nil, err
	}
	o := check.Options{Tasks: s.tasks}
	switch s.strict {
	case eval.StrictWarning:
		o.Keys = check.Warning
	case eval.StrictOff:
		o.Keys = check.Ignore
	}
	found := check.Program(p, o)
	warn := func(w *syntax.Error) {
		logs = append(logs, eval.Log{Level: eval.Warning, Kind: w.Kind, Msg: w.Msg, Pos: w.Position()})
	}
	for range 2 { // the corpus has them twice: Puppet parsed its programs once for their trees and once to run them
		for _, w := range p.Warnings {
			warn(w)
		}
	}
	for _, f := range found {
		if f.Severity != check.Error {
			warn(f.Error)
		}
	}
	return p, logs, found.Err()
}

// play parses, checks and evaluates a program.
func (s setup) play(t testing.TB, name, src string) (r run) {
	t.Helper()
	p, logs, err := s.read(name, src)
	r.logs = logs
	if err != nil {
		r.err = err
		return r
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
	server := hashOf("serverversion", "X", "servername", "server.example.com", "serverip", "192.0.2.9", "environment", environment.Name)
	x := environment.New(o).Evaluation(environment.Node{
		Facts: s.facts, Trusted: trusted.(*value.Hash), Server: server,
		Variables: s.facts.Merge(server),
		Plans:     s.tasks, Strict: s.strict, LooseVariables: s.loose,
		Log: func(l eval.Log) { r.logs = append(r.logs, l) },
	})
	if s.tasks {
		r.value, r.err = x.Run(t.Context(), p)
		return r
	}
	x.Interp.Env().Settings = hashOf("environment", environment.Name, "strict", s.strictName())
	made, err := compile.Compile(t.Context(), x, []*syntax.Program{p}, compile.Options{Node: s.node, Environment: environment.Name})
	if r.err = err; err == nil {
		r.value, r.catalog = made.Value, made.Catalog
	}
	return r
}

// position returns the position of an error.
func position(err error) (syntax.Position, bool) {
	if e, ok := errors.AsType[*eval.Error](err); ok {
		return e.Pos, true
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		return errs[0].Position(), true
	}
	return syntax.Position{}, false
}

// kindOf returns the kind of an error.
func kindOf(err error) string {
	if e, ok := errors.AsType[*eval.Error](err); ok {
		return e.Kind
	}
	if errs, ok := errors.AsType[syntax.Errors](err); ok {
		return errs[0].Kind
	}
	return ""
}

var update = flag.Bool("update", false, "write the kinds of errors to kinds.txt, and our own answers to differs.txt")

// kinds compares the kinds of the errors of a test with kinds.txt.
type kinds struct {
	cases     bool // of cases; else of expressions
	want, got map[string]string
}

// wide are kinds that an error can have although the evaluator did not find the
// program's mistake: something does not exist. They are correct if Puppet reports the
// same; make confirm checks that.
var wide = []string{"unknown-function", "catalog-operation"}

func newKinds(t *testing.T, cases bool) *kinds {
	t.Helper()
	return &kinds{cases, reasons(t, "kinds.txt"), map[string]string{}}
}

// mine reports whether a name of kinds.txt belongs to this test.
func (k *kinds) mine(name string) bool { return k.cases == isCase(name) }

func isCase(name string) bool {
	_, err := os.Stat(filepath.Join(corpus, "cases", name+".pp"))
	return err == nil
}

// check returns the problem with the kind of an error, "" if there is none.
func (k *kinds) check(name string, err error) string {
	kind := kindOf(err)
	k.got[name] = kind
	want, like, _ := strings.Cut(k.want[name], "\t")
	switch {
	case kind == "internal" || kind == "":
		return fmt.Sprintf(" got the error %v, which is a mistake of ours", err)
	case kind == want && like == "" && slices.Contains(wide, kind):
		return fmt.Sprintf(" got the error %v; kinds.txt does not say that Puppet's is like it", err)
	case kind != want && !*update:
		return fmt.Sprintf(" got the error %v of kind %q, kinds.txt has %q", err, kind, want)
	}
	return ""
}

// close reports superfluous lines of kinds.txt, or writes the file.
func (k *kinds) close(t *testing.T) {
	t.Helper()
	if *update {
		k.write(t)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(k.want)) {
		if _, ok := k.got[name]; !ok && k.mine(name) {
			t.Errorf("kinds.txt has %q, which is no error here", name)
		}
	}
}

// write writes the kinds of this run to kinds.txt.
func (k *kinds) write(t *testing.T) {
	t.Helper()
	path := filepath.Join(corpus, "kinds.txt")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, kind := range k.want {
		if !k.mine(name) {
			all[name] = kind
		}
	}
	for name, kind := range k.got {
		if was, _, _ := strings.Cut(k.want[name], "\t"); was == kind {
			kind = k.want[name]
		}
		all[name] = kind
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' {
			b.WriteString(line)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, all[name])
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A known list is a file of programs with a different result. A line is a name, a tab,
// the reason, a tab and this program's result, so that a change of the result is found.
type known struct {
	file string
	rows map[string]string
	got  map[string]string
}

func newKnown(t *testing.T, file string) *known {
	t.Helper()
	return &known{file, reasons(t, file), map[string]string{}}
}

// check reports whether a name is in the list, and returns the problem with its line, ""
// if there is none. bad is the difference from Puppet.
func (k *known) check(name, bad string, r run) (wrong string, is bool) {
	row, is := k.rows[name]
	if !is {
		return "", false
	}
	why, want, _ := strings.Cut(row, "\t")
	answer := r.answer()
	k.got[name] = answer
	switch kind := kindOf(r.err); {
	case bad == "":
		return fmt.Sprintf("is in %s (%s), and does not differ", k.file, why), true
	case r.err != nil && (kind == "" || kind == "internal"):
		return fmt.Sprintf("got the error %v, which is a mistake of ours", r.err), true
	case answer != want && !*update:
		return fmt.Sprintf("is in %s (%s) with the answer\n  %s\nand answers\n  %s", k.file, why, want, answer), true
	}
	return "", true
}

// close writes the results of this run to the file.
func (k *known) close(t *testing.T) {
	t.Helper()
	if !*update {
		return
	}
	path := filepath.Join(corpus, k.file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if answer, ok := k.got[parts[0]]; ok && line[0] != '#' {
			line = parts[0] + "\t" + parts[1] + "\t" + answer + "\n"
		}
		b.WriteString(line)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// answer returns the result of a program on one line: an error's kind and position, or
// the value, and a digest of its log and its catalog.
func (r run) answer() string {
	if r.err != nil {
		pos, _ := position(r.err)
		return fmt.Sprintf("error %s at %d:%d", kindOf(r.err), pos.Line, pos.Column)
	}
	var parts []string
	if r.value != nil {
		parts = append(parts, strconv.QuoteToGraphic(value.InspectShort(r.value, 200)))
	}
	sum := sha256.New()
	for _, l := range r.logs {
		if l.Level != eval.Debug {
			fmt.Fprintf(sum, "%s %s %d: %s\n", l.Level, l.Scope, l.Pos.Line, l.Msg)
		}
	}
	if r.catalog != nil {
		list, err := lines(r.catalog)
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(sum, "%s\n", strings.Join(list, "\n"))
		parts = append(parts, fmt.Sprintf("%d resources", len(r.catalog.Resources())))
	}
	return strings.Join(append(parts, fmt.Sprintf("%d logs", len(r.logs)), fmt.Sprintf("sum %x", sum.Sum(nil)[:6])), ", ")
}

// TestTables compares values, types and texts of expressions.
func TestTables(t *testing.T) {
	s := defaults(t)
	differs, kinds := newKnown(t, "differs.txt"), newKinds(t, false)
	eachLine(t, "expected/tables.jsonl", func(line []byte) {
		var want struct {
			Table, Expr, Type, String string
			Value                     json.RawMessage
			Error                     *place
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		t.Run(want.Table, func(t *testing.T) {
			r := s.play(t, "", want.Expr)
			bad := mismatch(t, r, want.Value, want.Type, want.String, want.Error)
			if bad == "" && want.Error != nil {
				bad = kinds.check(want.Expr, r.err)
			}
			if wrong, is := differs.check(want.Expr, bad, r); is {
				bad = wrong
			}
			if bad != "" {
				t.Errorf("%s\n%s", want.Expr, bad)
			}
		})
	})
	kinds.close(t)
	differs.close(t)
	for name := range differs.rows {
		if _, ok := differs.got[name]; !ok && !isCase(name) {
			t.Errorf("differs.txt has %q, which is neither an expression nor a case", name)
		}
	}
}

// mismatch returns the difference between a result and Puppet's, "" if there is none.
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
	x, err := canonical(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := canonical(b)
	if err != nil {
		t.Fatal(err)
	}
	return x == y
}

// canonical returns JSON in a canonical form. The order of keys matters, as in hashes,
// and 1 differs from 1.0.
func canonical(data []byte) (string, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var b strings.Builder
	for {
		token, err := in.Token()
		if err == io.EOF {
			return strings.TrimSuffix(b.String(), " "), nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case json.Number:
			text := string(token)
			if strings.ContainsAny(text, ".eE") {
				f, err := token.Float64()
				if err != nil {
					return "", err
				}
				text = fmt.Sprintf("float %g", f)
			}
			b.WriteString(text)
		case string:
			fmt.Fprintf(&b, "%q", token)
		default:
			fmt.Fprint(&b, token)
		}
		b.WriteByte(' ')
	}
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

// A want is Puppet's recorded result of a case.
type want struct {
	Case       string
	Catalog    json.RawMessage
	Order      []string
	OrderError *place `json:"order_error"`
	ParseError *place `json:"parse_error"`
	Error      *place
	Logs       []struct{ Level, Message, Source string }
	Problems   []struct {
		Level string
		Line  int
	}
}

// TestCases runs every case of the corpus.
func TestCases(t *testing.T) {
	differs, kinds := newKnown(t, "differs.txt"), newKinds(t, true)
	seen := 0
	eachLine(t, "expected/cases.jsonl", func(line []byte) {
		var w want
		if err := json.Unmarshal(line, &w); err != nil {
			t.Fatal(err)
		}
		seen++
		t.Run(w.Case, func(t *testing.T) {
			bad, r := judge(t, &w, kinds)
			if wrong, is := differs.check(w.Case, bad, r); is {
				bad = wrong
			}
			if bad != "" {
				t.Error(bad)
			}
		})
	})
	if seen < 150 {
		t.Errorf("only %d cases", seen)
	}
	kinds.close(t)
	differs.close(t)
}

// judge runs one case and returns the problem, "" if there is none.
func judge(t *testing.T, w *want, kinds *kinds) (string, run) {
	data, err := os.ReadFile(filepath.Join(corpus, "cases", w.Case+".pp"))
	if err != nil {
		t.Fatal(err)
	}
	s, parseOnly := caseSetup(t, string(data))
	var r run
	if parseOnly {
		_, r.logs, r.err = s.read("manifests/site.pp", string(data))
	} else {
		r = s.play(t, "manifests/site.pp", string(data))
	}
	return verdict(t, w, r, kinds), r
}

// verdict returns the difference between a run and Puppet's recorded result, "" if there
// is none.
func verdict(t *testing.T, w *want, r run, kinds *kinds) string {
	t.Helper()
	wantErr := w.Error
	if wantErr == nil {
		wantErr = w.ParseError
	}
	if wantErr != nil {
		pos, ok := position(r.err)
		if r.err == nil {
			return "is accepted, want an error"
		}
		if !ok || !wantErr.accepts(pos) && !wantErr.namedBy(r.err) {
			return fmt.Sprintf("the error %v, want one at %v", r.err, *wantErr)
		}
		if bad := kinds.check(w.Case, r.err); bad != "" {
			return bad
		}
	} else if r.err != nil {
		return fmt.Sprintf("the error %v", r.err)
	}
	if bad := said(r.logs, w, wantErr != nil); bad != "" {
		return bad
	}
	if w.Catalog != nil && r.catalog != nil {
		bad, err := compare(r.catalog, w.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		if bad != "" {
			return bad
		}
	}
	if w.Order != nil || w.OrderError != nil {
		return misordered(w, r.catalog)
	}
	return ""
}

// misordered returns the difference between the order of application and Puppet's, "" if
// there is none.
func misordered(w *want, c *catalog.Catalog) string {
	list, err := order.Of(c, types.Order(c))
	for _, r := range c.Resources() {
		if refused := types.Check(r); refused != nil {
			err = refused[0]
		}
	}
	if err != nil || w.OrderError != nil {
		if err == nil || w.OrderError == nil {
			return fmt.Sprintf("the error of the order is %v, want one: %v", err, w.OrderError != nil)
		}
		return ""
	}
	var refs []string
	for _, r := range list {
		refs = append(refs, r.String())
	}
	if !slices.Equal(refs, w.Order) {
		return fmt.Sprintf("the order is %q, want %q", refs, w.Order)
	}
	return ""
}

// caseSetup reads the directives at the beginning of a case.
func caseSetup(t *testing.T, text string) (s setup, parseOnly bool) {
	t.Helper()
	s = defaults(t)
	for line := range strings.Lines(text) {
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
			case "strict=off":
				s.strict = eval.StrictOff
			case "strict_variables=true", "strict=error":
			default:
				t.Fatalf("unknown setting %s", val)
			}
		}
	}
	return s, parseOnly
}

// said compares the logs: messages with their scopes, and the levels and lines of
// warnings.
func said(logs []eval.Log, w *want, failed bool) string {
	var got, wanted, warned, problems []string
	for _, l := range logs {
		switch l.Level {
		case eval.Debug:
		case eval.Info, eval.Notice:
			got = append(got, fmt.Sprintf("%s %s: %s", l.Level, l.Scope, l.Msg))
		default:
			line := 0
			if l.Kind != "" {
				line = l.Pos.Line
			}
			warned = append(warned, fmt.Sprintf("%s at line %d", l.Level, line))
		}
	}
	for _, l := range w.Logs {
		wanted = append(wanted, fmt.Sprintf("%s %s: %s", l.Level, l.Source, l.Message))
	}
	for i, p := range w.Problems {
		if p.Line == 0 && i < len(warned) { // Puppet does not report a position here; this program may
			warned[i], _, _ = strings.Cut(warned[i], " at line ")
			warned[i] += " at line 0"
		}
		problems = append(problems, fmt.Sprintf("%s at line %d", p.Level, p.Line))
	}
	if !slices.Equal(got, wanted) {
		return fmt.Sprintf("logs %q\nwant %q", got, wanted)
	}
	// The corpus also lists the error that ended a compilation as a problem.
	if !failed && w.OrderError == nil && !slices.Equal(warned, problems) {
		return fmt.Sprintf("warnings %q\nwant %q", warned, problems)
	}
	return ""
}
