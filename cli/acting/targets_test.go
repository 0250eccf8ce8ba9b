package acting

import (
	"context"
	"slices"
	"testing"

	"bolt/cli"
)

// TestWordsOfFilesLoseComments checks that comments are removed only from the
// text of files.
func TestWordsOfFilesLoseComments(t *testing.T) {
	var o Targets
	o.Bind(cli.NewBinder(cli.Values{"targets": {"@hosts", "web#1"}}, nil))
	words, err := o.Words(t.Context(), func(_ context.Context, arg string) (string, error) {
		if arg == "@hosts" {
			return "# all\nweb1, db#2 # two\nweb2,#3\n", nil
		}
		return arg, nil
	})
	if want := []string{"\nweb1, db#2 \nweb2,\n", "web#1"}; err != nil || !slices.Equal(words, want) {
		t.Errorf("%q, %v", words, err)
	}
}

func TestRequiresOneWayToSelectTargets(t *testing.T) {
	for _, c := range []struct {
		values cli.Values
		err    string
	}{
		{cli.Values{}, ""},
		{cli.Values{"limit": {"10%"}, "limit-seed": {"a"}, "at-least": {"2"}, "when-empty": {"fail"}}, ""},
		{cli.Values{"limit": {"0"}}, "Invalid parameter specified for option '--limit': 0"},
		{cli.Values{"limit-seed": {"a"}}, "Option '--limit-seed' can only be specified with '--limit'"},
		{cli.Values{"at-least": {"x"}}, "Invalid parameter specified for option '--at-least': x"},
		{cli.Values{"when-empty": {"x"}}, "Invalid parameter specified for option '--when-empty': x"},
	} {
		var o Targets
		o.Bind(cli.NewBinder(c.values, nil))
		said := ""
		if err := o.Check(); err != nil {
			said = err.Error()
		}
		if said != c.err {
			t.Errorf("%v: %q, want %q", c.values, said, c.err)
		}
	}
}
