package inputs_test

import (
	"slices"
	"testing"

	"bolt/environment/inputs"
)

func TestRecordsReadFacts(t *testing.T) {
	read := func(path ...string) []string { return path }
	for _, c := range []struct {
		name  string
		reads [][]string // a variable and keys
		want  []string
	}{
		{"nothing", nil, []string{}},
		{"paths are sorted, once each", [][]string{read("facts", "b"), read("facts", "a", "c"), read("facts", "b"), read("facts", "a", "b")}, []string{"a.b", "a.c", "b"}},
		{"a path stands for those below it", [][]string{read("facts", "os", "family"), read("os"), read("facts", "os", "name")}, []string{"os"}},
		{"top-scope variables", [][]string{read("osfamily"), read("os", "family")}, []string{"os.family", "osfamily"}},
		{"variables that are not facts", [][]string{read("environment"), read("server_facts", "servername"), read("title")}, []string{}},
		{"all facts", [][]string{read("facts", "a"), read("trusted", "certname"), read("facts"), read("facts", "b")}, []string{"*", "trusted.certname"}},
		{"all variables", [][]string{read("")}, []string{"*", "trusted"}},
		{"the fact trusted is $trusted", [][]string{read("facts", "trusted", "certname")}, []string{"trusted.certname"}},
		{"quotes", [][]string{
			read("facts", "eth0.1", "ip"), read("facts", "7"), read("facts", `say "x"`, "it's"), read("facts", " a"), read("facts", "*"),
		}, []string{`" a"`, `"*"`, `"7"`, `"eth0.1".ip`, `'say "x"'."it's"`}},
		{"a part that cannot be written", [][]string{read("facts", "a", `"'`, "b"), read("facts", "b", "", "c")}, []string{"a", "b"}},
		{"a name that cannot be written", [][]string{read("facts", "")}, []string{"*"}},
	} {
		r := inputs.New("environment")
		for _, path := range c.reads {
			r.Variable(path[0], path[1:])
		}
		if got := r.Facts(); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestRecordsReadKeys(t *testing.T) {
	r := inputs.New()
	for _, k := range []string{"b", "a::b", "b"} {
		r.Key(k)
	}
	if got := r.Keys(); !slices.Equal(got, []string{"a::b", "b"}) {
		t.Errorf("got %q", got)
	}
}
