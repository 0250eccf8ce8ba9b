package programs

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bolt/cli"
	"bolt/environment/program"
)

func TestSplitsSourcesFromValues(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a=b.pp")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args  []string
		have  bool
		files []string
		given []string
		err   string
	}{
		{args: nil},
		{args: []string{"x.pp", "n=1"}, files: []string{"x.pp"}, given: []string{"n"}},
		{args: []string{file, "n=1", "m=x"}, files: []string{file}, given: []string{"n", "m"}},
		{args: []string{"n=1"}, err: "Must specify a file"},
		{args: []string{"x.pp", "y.pp"}, err: "Unknown argument y.pp"},
		{args: []string{"n=1", "x.pp"}, have: true, files: []string{"x.pp"}, given: []string{"n"}},
	} {
		files, given, err := split(tt.args, tt.have)
		var names []string
		for _, v := range given {
			names = append(names, v.Name)
		}
		text := ""
		if usage, ok := errors.AsType[*cli.UsageError](err); ok {
			text = usage.Msg
		}
		if text != tt.err || !slices.Equal(files, tt.files) || !slices.Equal(names, tt.given) {
			t.Errorf("%q: %q, %q, %v", tt.args, files, names, err)
		}
	}
}

func TestAdviceForFindings(t *testing.T) {
	t.Parallel()
	s := program.Source{Name: "a.epp", Template: true}
	for _, tt := range []struct {
		f    program.Finding
		want bool
	}{
		{program.Finding{Kind: "parameter", File: "a.epp"}, true},
		{program.Finding{Kind: "parameter", File: "b.epp"}, false},
		{program.Finding{Kind: "syntax", File: "a.epp"}, false},
	} {
		if got := advice(s, []program.Finding{tt.f}); (got != "") != tt.want {
			t.Errorf("%+v: %q", tt.f, got)
		}
	}
}
