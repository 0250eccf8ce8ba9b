package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestArrangesWordsAndFlags(t *testing.T) {
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
		{name: "short flags together", argv: []string{"-vt", "web"}, flags: []string{"--targets=web", "--verbose"}},
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
	p := testProgram()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			words, given, err := p.Arrange(tt.argv)
			if tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if flags := longs(p, given); !slices.Equal(words, tt.words) || !slices.Equal(flags, tt.flags) {
				t.Errorf("words %q flags %q, want %q %q", words, flags, tt.words, tt.flags)
			}
		})
	}
}

// FuzzArrange looks for panics, and parses the result again from long flags.
func FuzzArrange(f *testing.F) {
	f.Add("command run -t web --concurrency=4 -- -x")
	f.Add("--targ=a -vtb --no-col")
	p := testProgram()
	f.Fuzz(func(t *testing.T, line string) {
		words, given, err := p.Arrange(strings.Split(line, " "))
		if err != nil {
			return
		}
		again, same, err := p.Arrange(append(append(longs(p, given), "--"), words...))
		if err != nil || !slices.Equal(again, words) || !maps.EqualFunc(same, given, slices.Equal[[]string]) {
			t.Fatalf("%q: %q %q, and again %q %q, %v", line, words, given, again, same, err)
		}
	})
}

// longs returns the given flags in their long forms.
func longs(p *Program, given Values) []string {
	var flags []string
	for _, f := range p.Flags {
		for _, text := range given[f.Name] {
			switch {
			case f.Arg != "":
				flags = append(flags, "--"+f.Name+"="+text)
			case text == "true":
				flags = append(flags, "--"+f.Name)
			default:
				flags = append(flags, "--no-"+f.Name)
			}
		}
	}
	return flags
}

// testProgram has some of bolt's flags, in its order.
func testProgram() *Program {
	number := func(f *Flag, text string) error {
		if strings.Trim(text, "0123456789") != "" {
			return Invalid(f.Name, text)
		}
		return nil
	}
	return &Program{Flags: []Flag{
		{Name: "targets", Short: "t", Arg: "TARGETS", Repeat: true},
		{Name: "detail"},
		{Name: "user", Short: "u", Arg: "USER"},
		{Name: "password", Short: "p", Arg: "PASSWORD"},
		{Name: "password-prompt"},
		{Name: "host-key-check", Negatable: true},
		{Name: "concurrency", Short: "c", Arg: "N", Check: number},
		{Name: "project", Arg: "DIR"},
		{Name: "env-var", Arg: "NAME=VALUE", Repeat: true, Strict: true},
		{Name: "transport", Arg: "NAME", Values: []string{"ssh", "local"}, Check: OneOf},
		{Name: "proxyjump", Short: "J", Arg: "HOSTS", Strict: true},
		{Name: "color", Negatable: true},
		{Name: "verbose", Short: "v", Negatable: true},
	}}
}
