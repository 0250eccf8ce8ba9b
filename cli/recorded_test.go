package cli

import (
	"maps"
	"slices"
	"testing"
)

func TestRecordsFlagsWithoutSecrets(t *testing.T) {
	flags := []Flag{
		{Name: "user"}, {Name: "password", Secret: true}, {Name: "verbose"}, {Name: "tmpdir"},
		{Name: "private-key", Absolute: func(text string) string { return "/here/" + text }},
	}
	given := Values{"user": {"a"}, "password": {"b"}, "verbose": {"true"}, "private-key": {"key"}}
	got := given.Recorded(flags, func(f *Flag) bool { return f.Name != "verbose" })
	want := Values{"user": {"a"}, "private-key": {"/here/key"}}
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if given["private-key"][0] != "key" {
		t.Error("the values given were changed")
	}
}

func TestGivenValuesOverrideOthers(t *testing.T) {
	given := Values{"user": {"a"}}
	got := given.Over(Values{"user": {"b"}, "port": {"22"}})
	if want := (Values{"user": {"a"}, "port": {"22"}}); !maps.EqualFunc(got, want, slices.Equal) || len(given) != 1 {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := given.Over(nil); !maps.EqualFunc(got, given, slices.Equal) {
		t.Errorf("over nothing: %v", got)
	}
}
