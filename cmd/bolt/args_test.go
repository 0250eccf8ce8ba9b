package main

import (
	"slices"
	"strings"
	"testing"
)

func TestArrange(t *testing.T) {
	tests := []struct {
		name         string
		argv         []string
		words, flags []string
		err          string
	}{
		{name: "flags anywhere", argv: []string{"-t", "web", "command", "run", "--concurrency=4", "uptime"},
			words: []string{"command", "run", "uptime"}, flags: []string{"--targets=web", "--concurrency=4"}},
		{name: "value as the next word", argv: []string{"--user", "bob"}, flags: []string{"--user=bob"}},
		{name: "value that looks like a flag", argv: []string{"--user", "-x"}, flags: []string{"--user=-x"}},
		{name: "short flag with value attached", argv: []string{"-tweb"}, flags: []string{"--targets=web"}},
		{name: "short flags together", argv: []string{"-vt", "web"}, flags: []string{"--verbose", "--targets=web"}},
		{name: "shortened", argv: []string{"--targ", "web"}, flags: []string{"--targets=web"}},
		{name: "shortened negative", argv: []string{"--no-host"}, flags: []string{"--no-host-key-check"}},
		{name: "exact beats prefix", argv: []string{"--password", "x"}, flags: []string{"--password=x"}},
		{name: "abbreviation of Bolt's", argv: []string{"--pro", "x"}, flags: []string{"--project=x"}},
		{name: "ambiguous", argv: []string{"--pass", "x"}, err: "Unknown argument '--pass': it could be --password or --password-prompt"},
		{name: "unknown", argv: []string{"--nope"}, err: "Unknown argument '--nope'"},
		{name: "unknown short", argv: []string{"-Z"}, err: "Unknown argument '-Z'"},
		{name: "no value", argv: []string{"--user"}, err: "Option '--user' needs a parameter"},
		{name: "switch with value", argv: []string{"--detail=yes"}, err: "Option '--detail' does not take a parameter"},
		{name: "bad number", argv: []string{"--concurrency", "abc"}, err: "Invalid parameter specified for option '--concurrency': abc"},
		{name: "bad transport", argv: []string{"--transport", "telnet"}, err: "Invalid parameter specified for option '--transport': telnet"},
		{name: "end of flags", argv: []string{"script", "run", "x", "-t", "a", "--", "-y", "--z"},
			words: []string{"script", "run", "x", "-y", "--z"}, flags: []string{"--targets=a"}},
		{name: "a dash alone is a word", argv: []string{"command", "run", "-"}, words: []string{"command", "run", "-"}},
		{name: "empty words stay", argv: []string{"", "x"}, words: []string{"", "x"}},
		{name: "value with equals signs", argv: []string{"--env-var=A=b=c"}, flags: []string{"--env-var=A=b=c"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words, flags, err := arrange(tt.argv)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(words, tt.words) || !slices.Equal(flags, tt.flags) {
				t.Errorf("words %q flags %q, want %q %q", words, flags, tt.words, tt.flags)
			}
		})
	}
}

func TestParseTimeout(t *testing.T) {
	for in, want := range map[string]string{"30": "30s", "0.5": "500ms", "2m": "2m0s", "0": "", "-1": "", "x": ""} {
		d, err := parseTimeout(in)
		switch {
		case want == "" && err == nil:
			t.Errorf("%q: no error, got %v", in, d)
		case want != "" && (err != nil || d.String() != want):
			t.Errorf("%q: %v %v, want %s", in, d, err, want)
		}
	}
}

// FuzzArrange looks for panics, and for flags that cobra would read
// differently from us.
func FuzzArrange(f *testing.F) {
	f.Add("command run -t web --concurrency=4 -- -x")
	f.Add("--targ=a -vtb --no-col")
	f.Fuzz(func(t *testing.T, line string) {
		_, flags, err := arrange(strings.Split(line, " "))
		if err != nil {
			return
		}
		cmd := newRoot(flagValues{}, system{lookup: func(string) (string, bool) { return "", false }}, nil)
		for _, c := range cmd.Commands() {
			if c.Name() != "command" {
				continue
			}
			run := c.Commands()[0]
			flags = slices.DeleteFunc(flags, func(f string) bool { return f == "--help" || f == "--version" })
			if err := run.ParseFlags(flags); err != nil {
				t.Fatalf("%q → %q: %v", line, flags, err)
			}
		}
	})
}
