package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"bolt/format/ordered"
	"bolt/puppet/syntax"
)

// TestList checks that each module of the list has a manifest and facts.
func TestList(t *testing.T) {
	data := os.DirFS(".")
	all, err := list(data, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 50 {
		t.Errorf("the list has %d modules", len(all))
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.short()] {
			t.Errorf("%s is listed twice", m.name)
		}
		seen[m.short()] = true
		text, err := fs.ReadFile(data, "manifests/"+m.short()+".pp")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := syntax.Parse(syntax.NewFile(m.short(), string(text)), syntax.Options{}); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		facts, err := fs.ReadFile(data, "facts/"+m.facts+".json")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ordered.ParseJSON(facts); err != nil {
			t.Errorf("%s: %v", m.facts, err)
		}
	}
	entries, err := fs.ReadDir(data, "manifests")
	if err != nil || len(entries) != len(all) {
		t.Errorf("there are %d manifests, %v", len(entries), err)
	}
	some, err := list(data, "apache,saz-sudo")
	if err != nil || len(some) != 2 || some[0].name != "puppetlabs-apache" || some[1].name != "saz-sudo" {
		t.Errorf("the chosen modules are %v, %v", some, err)
	}
}

// TestReport checks that reasons are folded.
func TestReport(t *testing.T) {
	yes, no := outcome{done: true, ok: true}, outcome{done: true, reason: "no | function"}
	got := report([]result{
		{module: module{name: "a-one"}, version: "1.0", compiles: yes, same: yes, foreign: []string{"Augeas"}},
		{module: module{name: "a-two"}, version: "2.0", compiles: no},
		{module: module{name: "a-three"}, version: "3.0", compiles: no},
		{module: module{name: "a-four"}},
		{module: module{name: "a-five"}, version: "5.0", compiles: yes, foreign: []string{"Augeas"}, applied: applied{applies: yes, second: no, equal: yes}},
	})
	for _, want := range []string{
		"2 of 5 modules compile without Ruby. 1 of 1 compared catalogs are the same as with Puppet. bolt has providers for all types in the catalogs of 0 modules.",
		`| no \| function   | two, three | 2     |`,
		"| there is no directory of the module | four    | 1     |",
		"| Augeas | one, five | 2     |",
		"1 modules were applied in disposable machines: 1 without a failure, 0 unchanged in a second run, 1 with a tree equal to that of Puppet.",
		`| no \| function                   | five    | 1     |`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}
