package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"bolt/cli"
)

// boltsFlags are the flags that Puppet Bolt has as well.
var boltsFlags = strings.Fields(`targets query rerun detail user password password-prompt private-key host-key-check
	run-as sudo-password sudo-password-prompt sudo-executable concurrency cleanup modulepath project inventoryfile
	hiera-config puppetdb save-rerun transport connect-timeout ssl ssl-verify tty native-ssh ssh-command copy-command tmpdir execute compile-concurrency
	plan-hierarchy params modules force resolve plugin pp filter format stream color verbose trace log-level clear-cache help version`)

// TestFlagsElsewhere calls each command with each flag that does not apply to it: commands of Bolt
// ignore Bolt's flags, and all other flags are rejected.
func TestFlagsElsewhere(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	for _, c := range commands {
		bolts := !p.Own(&c.Command)
		for _, f := range p.Flags {
			if f.On != onAll && p.Occasion(f.On) == "" {
				t.Errorf("--%s: there are no words for when it can be given", f.Name)
			}
			v := cli.Values{f.Name: {"x=y"}}
			if slices.Contains(c.Lists, onTargets) && f.Name != "targets" && f.Name != "rerun" && f.Name != "query" {
				v["targets"] = []string{"a"}
			}
			if c.Takes(&f) || f.Name == "query" && bolts {
				continue
			}
			err := checkFlags(p, &c, c.run(v, nil), v, false)
			ignored := bolts && slices.Contains(boltsFlags, f.Name)
			switch {
			case ignored && err != nil:
				t.Errorf("bolt %s --%s: %v, but Bolt ignores it", c.Name, f.Name, err)
			case !ignored && err == nil:
				t.Errorf("bolt %s --%s is accepted", c.Name, f.Name)
			case !ignored && !strings.HasPrefix(err.Error(), "Option '--"+f.Name+"' can only be specified when "):
				t.Errorf("bolt %s --%s: %v", c.Name, f.Name, err)
			}
		}
	}
}

// TestOptions checks that the options of a command are flags that it accepts.
func TestOptions(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	for _, c := range commands {
		for _, name := range c.run(nil, nil).names {
			i := slices.IndexFunc(p.Flags, func(f cli.Flag) bool { return f.Name == name })
			if i < 0 || !c.Takes(&p.Flags[i]) && (p.Flags[i].Strict || p.Own(&c.Command)) {
				t.Errorf("bolt %s reads --%s, which is refused", c.Name, name)
			}
		}
	}
}

// TestHelpFits checks the width of help pages, and that each page has its required parts.
func TestHelpFits(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	pages := map[string]string{}
	for _, c := range append([]command{{}}, commands...) {
		page, err := p.Help(strings.Fields(c.Name))
		if err != nil {
			t.Fatal(err)
		}
		pages[c.Name] = page
		if c.Name != "" {
			if text := p.Text(&c.Command); text.Short == "" || text.Long == "" || text.Examples == "" {
				t.Errorf("bolt %s: its help lacks something: %+v", c.Name, text)
			}
		}
		if c.Name != "" && (c.Exit == "" || len(c.Formats) == 0) {
			t.Errorf("bolt %s: no exit codes or formats", c.Name)
		}
		if !strings.Contains(c.Name+c.Exit, "pool") && !slices.Contains(c.Lists, onTargets) && strings.Contains(c.Exit, "target") {
			t.Errorf("bolt %s: its exit codes speak of targets: %s", c.Name, c.Exit)
		}
	}
	for name, page := range pages {
		for line := range strings.Lines(page) {
			if len(line) > 81 { // with the line's end
				t.Errorf("help %s: %d bytes: %s", name, len(line), line)
			}
		}
	}
}

// TestHelpOnTerminals checks that the options of help pages fit terminals of other widths, and that words are
// not cut.
func TestHelpOnTerminals(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	text := func(width int) []string {
		p.Width = width
		page, err := p.Help([]string{"command", "run"})
		if err != nil {
			t.Fatal(err)
		}
		_, options, _ := strings.Cut(page, "\nInventory\n")
		for line := range strings.Lines(options) {
			if n := len(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: %d in %q", width, n, line)
			}
		}
		return strings.Fields(page)
	}
	usual := text(80)
	for _, width := range []int{40, 60, 69, 70, 100, 200} {
		if !slices.Equal(text(width), usual) {
			t.Errorf("with %d columns, the page has other words", width)
		}
	}
}

// TestChapters checks that the general help has each command.
func TestChapters(t *testing.T) {
	commands := system{}.commands()
	p := system{}.program(commands)
	var names []string
	for _, c := range p.Chapters {
		names = append(names, c.Names...)
	}
	for _, c := range commands {
		if first, _, _ := strings.Cut(c.Name, " "); !slices.Contains(names, first) {
			t.Errorf("bolt %s is not in the general help", c.Name)
		}
	}
	page, err := p.Help(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !regexp.MustCompile("(?m)^  " + name + " +[A-Z]").MatchString(page) {
			t.Errorf("the general help has no sentence about %s", name)
		}
	}
}

// TestManPage reads the source of the manual. Macros of one font separate their arguments by
// blanks; macros of two fonts (.RI) join them, so they are only for references to other pages.
func TestManPage(t *testing.T) {
	commands := system{}.commands()
	page := system{}.program(commands).ManPage()
	_, synopsis, _ := strings.Cut(page, ".SH SYNOPSIS\n")
	synopsis, rest, ok := strings.Cut(synopsis, ".SH DESCRIPTION\n")
	if !ok {
		t.Fatal("no synopsis, or no description after it")
	}
	for _, c := range commands {
		if !strings.Contains(synopsis, ".B bolt "+c.Name+"\n") {
			t.Errorf("the synopsis lacks bolt %s", c.Name)
		}
	}
	for _, want := range []string{
		".B bolt lookup\n\\fIKEY\\fR [\\fINAME=VALUE\\fR...] [options]\n.br\n",
		".B bolt file upload\n\\fISOURCE\\fR \\fIDESTINATION\\fR [options]\n.br\n",
		".B bolt puppet eval\n[\\fIFILE\\fR] [\\fINAME=VALUE\\fR...] [options]\n.br\n",
		".B bolt pool stop\n[options]\n.br\n",
		".B bolt completion\n\\fISHELL\\fR\n",
	} {
		if !strings.Contains(synopsis, want) {
			t.Errorf("the synopsis lacks %q:\n%s", want, synopsis)
		}
	}
	name := page[:strings.Index(page, ".SH SYNOPSIS")]
	description := rest[:strings.Index(rest, ".SH ")]
	for part, text := range map[string]string{"NAME": name, "DESCRIPTION": description} {
		if !strings.Contains(text, "Puppet language") || !strings.Contains(text, "Hiera") {
			t.Errorf("%s does not speak of Puppet or Hiera: %s", part, text)
		}
	}
	_, files, _ := strings.Cut(page, ".SH FILES\n")
	for _, want := range []string{"hiera.yaml", "data/", "bolt\\-debug.log", ".rerun.json", "bolt\\-defaults.yaml"} {
		if !strings.Contains(files, want) {
			t.Errorf("FILES lacks %s", want)
		}
	}
	for line := range strings.Lines(page) {
		if words := strings.Fields(line); len(words) > 3 && (words[0] == ".RI" || words[0] == ".BR") {
			t.Errorf("these words are joined: %s", line)
		}
	}
}
