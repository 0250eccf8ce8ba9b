package runs

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"bolt/plans/journal"
)

func TestOptions(t *testing.T) {
	options := map[string][]string{"user": {"a"}, "run-as": {"b", "c"}}
	r := Recorded{&journal.Run{Header: journal.Header{Options: optionMap(options)}}}
	if got := r.Options(); !maps.EqualFunc(got, options, slices.Equal) {
		t.Errorf("got %v, want %v", got, options)
	}
}

func TestMissingSecrets(t *testing.T) {
	r := Recorded{&journal.Run{Header: journal.Header{Secrets: []string{"key", "token"}}}}
	for _, tt := range []struct {
		pairs          []string
		missing, other string
	}{
		{nil, "[key token]", ""},
		{[]string{"token=a=b"}, "[key]", ""},
		{[]string{"token=", "port=1", "user=x"}, "[key]", "port"},
		{[]string{"token=1", "key=2"}, "[]", ""},
	} {
		if missing, other := r.Missing(tt.pairs); fmt.Sprint(missing) != tt.missing || other != tt.other {
			t.Errorf("%q: missing %v, other %q", tt.pairs, missing, other)
		}
	}
}
