package compile_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bolt/catalog"
	"bolt/catalog/compile"
	"bolt/catalog/exports"
	"bolt/environment"
	"bolt/format/ordered"
	"bolt/modules"
	"bolt/puppet/eval"
	"bolt/puppet/syntax"
)

// result compiles the program of a node, and returns the kinds of its warnings.
func result(t *testing.T, text string, o compile.Options) (*compile.Result, []string, error) {
	t.Helper()
	p, err := syntax.Parse(syntax.NewFile("site.pp", text), syntax.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	node := environment.Node{Log: func(l eval.Log) { warned = append(warned, l.Kind) }}
	x := environment.New(environment.Options{Modules: modules.NewPath(modules.Module{})}).Evaluation(node)
	made, err := compile.Compile(t.Context(), x, []*syntax.Program{p}, o)
	return made, warned, err
}

// others returns the exports of two other nodes.
func others(t *testing.T) *exports.Index {
	t.Helper()
	x := &exports.Index{}
	for _, node := range []string{"n2", "n1"} {
		made, _, err := result(t, `class k { @@notify { $title_of: message => 'there', tag => 'T' } }
			$title_of = '`+node+`' include k
			@@notify { "secret-${title_of}": message => Sensitive('hush') }
			@@k::d { "d-${title_of}": }
			define k::d { }
			@notify { 'virtual': }`, compile.Options{Node: node})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Add(made.Catalog); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// TestExports checks that a collector of exported resources finds those of the node and of
// other nodes.
func TestExports(t *testing.T) {
	x := others(t)
	const own = `@@notify { 'own': tag => 't' } @notify { 'v': tag => 't' } notify { 'r': }`
	for program, want := range map[string]string{
		"":                          "r",
		`Notify <<| |>>`:            "own r n1 secret-n1 n2 secret-n2",
		`Notify <| |>`:              "own v r",
		`Notify <<| tag == 't' |>>`: "own r n1 n2",
		`Notify <<| title == 'n2' or title == 'own' |>>`:                                          "own r n2",
		`Notify <<| message == 'there' and title != 'n1' |>>`:                                     "r n2",
		`Notify <<| tag == 'none' |>>`:                                                            "r",
		`Notify <<| title == 'n1' |>> Notify <<| tag == 't' |>>`:                                  "own r n1 n2",
		`K::D <<| |>> define k::d { notify { "in ${title}": } }`:                                  "r in d-n1 in d-n2",
		`K::D <<| title == 'd-n1' |>> define k::d { @@notify { "in ${title}": } Notify <<| |>> }`: "own r in d-n1 n1 secret-n1 n2 secret-n2",
	} {
		made, warned, err := result(t, own+"\n"+program, compile.Options{Node: "n0", Exports: x})
		if err != nil || warned != nil {
			t.Errorf("%s: %v, warned of %q", program, err, warned)
			continue
		}
		got := strings.Fields(want)
		list := applied(made.Catalog, "Notify")
		if strings.Join(list, " ") != want {
			t.Errorf("%s found %q, want %q", program, list, got)
		}
	}
}

// TestExportsCopy checks that a copy of an export has the parameters and the parameter tag
// of the export, and the changes of its collector.
func TestExportsCopy(t *testing.T) {
	made, _, err := result(t, `class c { Notify { loglevel => 'debug' } Notify <<| tag == 't' |>> { withpath => true } Notify <<| title == 'secret-n1' |>> }
		include c
		Notify <| title == 'n2' |> { message => 'here' }
		@@notify { 'own': tag => 't' }`, compile.Options{Node: "n0", Exports: others(t)})
	if err != nil {
		t.Fatal(err)
	}
	show := func(title string) string {
		r := made.Catalog.Find(catalog.Ref{Type: "Notify", Title: title})
		text, err := r.Params.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%s %v %v %s:%d", text, r.Tags, r.Exported, r.File, r.Line)
	}
	for title, want := range map[string]string{
		"n1":        `{"message":"there","tag":"T","loglevel":"debug","withpath":true} [notify n1 t class c] false :0`,
		"n2":        `{"message":"here","tag":"T","loglevel":"debug","withpath":true} [notify n2 t class c] false :0`,
		"own":       `{"tag":"t","withpath":true,"loglevel":"debug"} [notify own t class] true site.pp:4`,
		"secret-n1": `{"loglevel":"debug"} [notify secret-n1 class c] false :0`,
	} {
		if got := show(title); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	want := "[{n1 Notify[n1]} {n2 Notify[n2]} {n1 Notify[secret-n1]}]"
	if got := fmt.Sprint(made.Collected); got != want {
		t.Errorf("collected %s, want %s", got, want)
	}
}

// failing is an Exports that always returns an error.
type failing struct{ err error }

func (f failing) Find(context.Context, string, string, eval.Query) ([]exports.Export, error) {
	return nil, f.err
}

// wrong is an export that does not fit the program.
type wrong struct{ *catalog.Resource }

func (w wrong) Find(context.Context, string, string, eval.Query) ([]exports.Export, error) {
	return []exports.Export{{Node: "n1", Resource: w.Resource}}, nil
}

// TestExportsErrors checks that errors have the position of the collector, and that the
// warning comes once.
func TestExportsErrors(t *testing.T) {
	x := others(t)
	down := errors.New("it is down")
	for _, tt := range []struct {
		program string
		x       compile.Exports
		want    string
	}{
		{"notify { 'n1': }\nNotify <<| |>>", x, "site.pp:2:1: a duplicate resource was found while collecting exported resources: Notify[n1], exported by n1 at site.pp:1 is declared already, at site.pp:1"},
		{"@notify { 'n1': }\nNotify <<| |>>", x, "a duplicate resource"},
		{"notify { 'a': name => 'n1' }\nNotify <<| |>>", x, "a duplicate resource"},
		{"Notify <<| title == 'n1' |>>\nif true { define d { notify { 'n1': } } }\nd { 'x': }", x, "Notify[n1] is declared already, exported by n1 at site.pp:1"},
		{"\nNotify <<| |>>", failing{down}, "site.pp:2:1: exported resources could not be collected: it is down"},
		{"Notify <<| tag == 5 |>>", x, "a tag in the query is not a string"},
		{"Notify <<| |>>", wrong{&catalog.Resource{Ref: catalog.Ref{Type: "Notify", Title: "x"}, Params: ordered.Of("bad", int64(1))}}, "Notify[x] has no parameter bad"},
	} {
		_, _, err := result(t, tt.program, compile.Options{Node: "n0", Exports: tt.x})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.program, err, tt.want)
		}
	}
	if _, _, err := result(t, "Notify <<| |>>", compile.Options{Exports: failing{down}}); !errors.Is(err, down) {
		t.Errorf("the cause of %v is missing", err)
	}
	made, warned, err := result(t, "@@notify { 'own': } Notify <<| |>> File <<| |>>", compile.Options{})
	if err != nil || fmt.Sprint(warned) != "[no-exports]" || len(applied(made.Catalog, "Notify")) != 1 {
		t.Errorf("%v, warned of %q", err, warned)
	}
	if _, warned, err := result(t, "@@notify { 'own': }", compile.Options{}); err != nil || warned != nil {
		t.Errorf("%v, warned of %q", err, warned)
	}
}
