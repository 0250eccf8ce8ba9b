package cli

import (
	"slices"
	"testing"
)

func TestCompletesAssignments(t *testing.T) {
	t.Parallel()
	list := []Parameter{{Name: "action", About: "What to do.\nIn detail.", Choices: []string{"start", "stop"}}, {Name: "name"}}
	for _, tt := range []struct {
		prefix string
		args   []string
		want   []Word
		files  bool
	}{
		{prefix: "", want: []Word{{"action=", "What to do."}, {Text: "name="}}},
		{prefix: "", args: []string{"name=x"}, want: []Word{{"action=", "What to do."}}},
		{prefix: "n", want: []Word{{Text: "name="}}},
		{prefix: "action=sto", want: []Word{{Text: "action=stop"}}},
		{prefix: "other=", files: true},
	} {
		if c := Assignments(list, tt.args, tt.prefix); !slices.Equal(c.Words, tt.want) || c.Files != tt.files {
			t.Errorf("%q after %q: %+v", tt.prefix, tt.args, c)
		}
	}
}
