package plans

import (
	"errors"
	"strings"
	"testing"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/puppet/value"
)

// shown formats a hash and reveals Sensitive values.
func shown(h *value.Hash) string {
	var parts []string
	for k, v := range h.All() {
		text := value.Inspect(v)
		if s, is := v.(*value.Sensitive); is {
			text = "Sensitive(" + value.Inspect(s.Unwrap()) + ")"
		}
		parts = append(parts, value.Inspect(k)+"="+text)
	}
	return strings.Join(parts, " ")
}

func TestGiven(t *testing.T) {
	w, dir := project(t, map[string]string{
		"site/plans/init.pp": `plan site(
  TargetSpec $targets, String[1] $text = '', Integer $n = 1, $any = undef, Any $all = undef, Optional[Array[Integer]] $list = undef,
  Sensitive[String] $pw = Sensitive(''), Sensitive $bare = Sensitive(''), Sensitive[Integer] $pin = Sensitive(0), My::Secret $own = Sensitive(''),
  Optional[Sensitive[String]] $maybe = undef, Nowhere::Type $odd = undef) {}`,
		"site/plans/nodes.pp":    "plan site::nodes(Integer $nodes) {}\n",
		"site/plans/both.pp":     "plan site::both(TargetSpec $nodes, Optional[TargetSpec] $targets) {}\n",
		"site/plans/two.pp":      "plan site::two($nodes, Array[String] $targets) {}\n",
		"site/plans/other.pp":    "plan site::other(String $targets) {}\n",
		"site/plans/optional.pp": "plan site::optional(Optional[TargetSpec] $targets = undef) {}\n",
	})
	object := func(text string) *ordered.Map {
		v, err := ordered.ParseJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return v.(*ordered.Map)
	}
	tests := []struct {
		name, plan string
		words      Words
		want       string
		err        string // part of an error's message
		warns      int
	}{
		{"nothing", "site", Words{}, "", "", 0},
		{"types", "site", Words{Pairs: []string{"text=12", "n=12", "any=12", "all=12", "list=[1,2]"}}, `'text'='12' 'n'=12 'any'=12 'all'=12 'list'=[1, 2]`, "", 0},
		{"no values of the type", "site", Words{Pairs: []string{"n=abc", "list=[\"a\"]", "text="}}, `'n'='abc' 'list'='["a"]' 'text'=''`, "", 0},
		{"last one", "site", Words{Pairs: []string{"n=1", "text=a=b", "n=2"}}, `'n'=2 'text'='a=b'`, "", 0},
		{"unknown", "site", Words{Pairs: []string{"bogus=true", "x="}}, `'bogus'=true 'x'=''`, "", 0},
		{"unknown type", "site", Words{Pairs: []string{"odd=12"}}, `'odd'='12'`, "", 0},
		{"sensitive", "site", Words{Pairs: []string{"pw=12", "bare=12", "pin=12", "own=\"q\"", "maybe=x"}},
			`'pw'=Sensitive('12') 'bare'=Sensitive('12') 'pin'=Sensitive('12') 'own'=Sensitive('"q"') 'maybe'='x'`, "", 0},
		{"json", "site", Words{Params: object(`{"pw": "s", "n": 1e3, "any": null, "own": null, "all": {"a": [1.5]}}`)},
			`'pw'=Sensitive('s') 'n'=1000.0 'any'=undef 'own'=undef 'all'={'a' => [1.5]}`, "", 0},
		{"large", "site", Words{Params: object(`{"any": 123456789012345678901}`)}, `'any'=123456789012345678901`, "", 0},
		{"large secret", "site", Words{Params: object(`{"pw": 123456789012345678901}`)}, `'pw'=Sensitive(123456789012345678901)`, "", 0},

		{"targets", "site", Words{Targets: []string{"web1,web2", "db*"}, Pairs: []string{"n=2"}}, `'n'=2 'targets'='web1,web2,db*'`, "", 0},
		{"targets of one word", "site", Words{Pairs: []string{`targets=["a","b"]`}}, `'targets'=['a', 'b']`, "", 0},
		{"targets twice", "site", Words{Targets: []string{"a"}, Pairs: []string{"targets=b"}}, "", "'targets' of the plan site is set twice", 0},
		{"targets twice in JSON", "site", Words{Targets: []string{"a"}, Params: object(`{"targets": null}`)}, "", "is set twice", 0},
		{"nodes", "site::nodes", Words{Targets: []string{"a"}}, `'nodes'='a'`, "", 0},
		{"nodes twice", "site::nodes", Words{Targets: []string{"a"}, Pairs: []string{"nodes=b"}}, "", "'nodes' of the plan site::nodes is set twice", 0},
		{"both", "site::both", Words{Targets: []string{"a"}, Pairs: []string{"nodes=b"}}, `'nodes'='b'`, "", 1},
		{"both without targets", "site::both", Words{Pairs: []string{"nodes=b"}}, `'nodes'='b'`, "", 0},
		{"nodes, and targets of another type", "site::two", Words{Targets: []string{"a"}}, `'nodes'='a'`, "", 0},
		{"targets of another type", "site::other", Words{Targets: []string{"a"}}, "", "", 0},
		{"optional targets", "site::optional", Words{Targets: []string{"a"}}, `'targets'='a'`, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := w.lib.Find(t.Context(), tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			h, err := w.lib.Given(p, tt.words)
			if tt.err != "" {
				if e, ok := errors.AsType[*fault.Error](err); !ok || e.Kind != "bolt/cli-error" || !strings.Contains(e.Msg, tt.err) {
					t.Fatalf("error %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(h); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			told := w.told(dir)
			if len(told) != tt.warns || tt.warns > 0 && !strings.HasPrefix(told[0], "nodes_targets_parameters: ") {
				t.Errorf("warnings: %q", told)
			}
		})
	}
}
