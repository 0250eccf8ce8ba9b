package cli

import (
	"errors"
	"testing"
	"testing/fstest"
)

func TestFindsCommand(t *testing.T) {
	t.Parallel()
	p := &Program{
		Groups: []Group{
			{Name: "task"},
			{Name: "pool", Own: true, Advise: func(words, _ []string) string {
				if words[1] == "kill" {
					return "stop ends it"
				}
				return ""
			}},
		},
		Commands: []Command{{Name: "task show"}, {Name: "task run"}, {Name: "pool stop"}, {Name: "guide"}},
		Missing:  []Missing{{Name: "apply", Refuse: func(args []string) error { return Errorf("no apply, %d", len(args)) }}},
	}
	for _, tt := range []struct {
		words           []string
		name, err, hint string
		args            int
	}{
		{words: []string{"task", "run", "x", "y=1"}, name: "task run", args: 2},
		{words: []string{"guide", "run"}, name: "guide", args: 1},
		{words: []string{"task"}, err: "Expected an action of the form 'bolt task <action>'", hint: "the action is run or show"},
		{words: []string{"task", "rn"}, err: "Expected action 'rn' to be one of run, show", hint: "did you mean run?"},
		{words: []string{"pool", "kill"}, err: "Expected action 'kill' to be one of stop", hint: "stop ends it"},
		{words: []string{"pool", "stp"}, err: "Expected action 'stp' to be one of stop", hint: "did you mean stop?"},
		{words: []string{"tsk", "run"}, err: "'tsk' is not a Bolt command. See 'bolt help'.", hint: "did you mean task?"},
		{words: []string{"apply", "x"}, err: "no apply, 0"},
	} {
		c, args, err := p.Find(tt.words)
		if tt.err == "" {
			if err != nil || c.Name != tt.name || len(args) != tt.args {
				t.Errorf("%q: %v, %q, %v", tt.words, c, args, err)
			}
			continue
		}
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Msg != tt.err || usage.Hint != tt.hint {
			t.Errorf("%q: %#v, want %q and the hint %q", tt.words, err, tt.err, tt.hint)
		}
	}
}

func TestCheckFlags(t *testing.T) {
	t.Parallel()
	p := &Program{
		Groups: []Group{{Name: "task"}, {Name: "pool", Own: true}},
		Texts:  fstest.MapFS{"occasions.txt": {Data: []byte("run: running a task\nours: waiting\n")}},
		Flags:  []Flag{{Name: "format", On: Always}, {Name: "noop", On: "run"}, {Name: "wait", On: "ours", Strict: true}},
	}
	for _, tt := range []struct {
		c    Command
		flag string
		err  string
	}{
		{Command{Name: "task run", Lists: []string{"run"}}, "noop", ""},
		{Command{Name: "task show"}, "noop", ""}, // as Bolt
		{Command{Name: "task show"}, "format", ""},
		{Command{Name: "task show"}, "wait", "Option '--wait' can only be specified when waiting"},
		{Command{Name: "pool stop"}, "noop", "Option '--noop' can only be specified when running a task"},
	} {
		err := p.CheckFlags(&tt.c, Values{tt.flag: {"true"}})
		if got := errText(err); got != tt.err {
			t.Errorf("%s --%s: %q, want %q", tt.c.Name, tt.flag, got, tt.err)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestBinder(t *testing.T) {
	t.Parallel()
	b := NewBinder(Values{"user": {"a", "b"}, "tag": {"x", "y"}, "verbose": {"false"}, "dir": {""}}, []string{"one", "two", "three"})
	verbose, unset := true, true
	var user, first, second, none string
	var tags, rest []string
	var dir, other Optional
	b.Text("user", &user)
	b.Text("none", &none)
	b.Texts("tag", &tags)
	b.Switch("verbose", &verbose)
	b.Switch("unset", &unset)
	b.Optional("dir", &dir)
	b.Optional("other", &other)
	b.Arg(&first)
	b.Second(&second)
	b.Rest(1, &rest)
	b.Fail(nil)
	b.Fail(Errorf("one"))
	b.Fail(Errorf("two"))
	if user != "b" || none != "" || len(tags) != 2 || verbose || !unset || !dir.Given || other.Given || first != "one" || second != "two" || len(rest) != 2 {
		t.Errorf("%q %q %q %v %v %+v %+v %q %q %q", user, none, tags, verbose, unset, dir, other, first, second, rest)
	}
	if err := b.Err(); errText(err) != "one" {
		t.Errorf("%v, want the first mistake", err)
	}
	if len(b.Names()) != 7 {
		t.Errorf("the names %q", b.Names())
	}
}
