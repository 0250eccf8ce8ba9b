package erb_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/stdlib"
	"bolt/puppet/value"
)

// library returns the functions that templates call.
func library() *eval.Library {
	now := func() time.Time { return time.Unix(0, 0) }
	return eval.NewLibrary(nil, append(builtin.Functions(builtin.Options{Now: now}), stdlib.Functions(stdlib.Options{Now: now})...)...)
}

func variables(t testing.TB) *value.Hash {
	t.Helper()
	data, err := os.ReadFile("testdata/vars.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := value.UnmarshalRich(data)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Hash)
}

// render calls inline_template.
func render(ctx context.Context, env eval.Env, text string) (string, error) {
	v, err := eval.New(env).Call(ctx, "inline_template", value.String(text))
	if err != nil {
		return "", err
	}
	return string(v.(value.String)), nil
}

// TestRendersLikePuppet compares rendered templates with those of Puppet
// (record.rb).
func TestRendersLikePuppet(t *testing.T) {
	data, err := os.ReadFile("testdata/answers.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	env := eval.Env{Library: library(), Variables: variables(t)}
	lines := bufio.NewScanner(bytes.NewReader(data))
	n := 0
	for lines.Scan() {
		var answer struct{ Template, Text, Error string }
		if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		n++
		got, err := render(t.Context(), env, answer.Template)
		switch {
		case answer.Error != "" && err == nil:
			t.Errorf("%s\n is %q, want an error (%s)", answer.Template, got, answer.Error)
		case answer.Error == "" && err != nil:
			t.Errorf("%s\n: %v", answer.Template, err)
		case got != answer.Text:
			t.Errorf("%s\n is   %q\n want %q", answer.Template, got, answer.Text)
		}
	}
	if n < 100 {
		t.Errorf("only %d templates", n)
	}
}

// TestErrorMessages checks the messages of errors.
func TestErrorMessages(t *testing.T) {
	env := eval.Env{Library: library(), Variables: variables(t)}
	for _, c := range []struct{ text, kind, msg string }{
		{"a\n<%= @str.\nencipher %>", "erb-subset", `the method "encipher" of String is not in the subset of Ruby that bolt evaluates. Use an EPP template, or compile with --compiler puppet (inline template, line 3)`},
		{"<%= Kernel.system('id') %>", "erb-subset", `the method "system" of Class`},
		{"<%= Etc.getpwnam('x') %>", "erb-subset", "the constant Etc"},
		{"<%= `id` %>", "erb-subset", "a command in backquotes"},
		{"<% x = <<~EOS\nEOS\n%>", "erb-subset", "a here document"},
		{"<% require 'net/http' %>", "erb-subset", `require "net/http"`},
		{"<% class X; end %>", "erb-subset", "class"},
		{"<%= 9223372036854775807 + 1 %>", "erb-subset", "an Integer of more than 64 bits"},
		{"<%= open('/etc/passwd') %>", "erb-subset", `the function "open"`},
		{"<%= str %>", "erb", "A variable of Puppet is @str (inline template, line 1)"},
		{"\n\n<%= @none.each %>", "erb", `NoMethodError: undefined method "each" for nil (inline template, line 3)`},
		{"<%= @str.join %>", "erb", `NoMethodError: undefined method "join" for a String`},
		{"<% raise 'my words' %>", "erb", "my words (inline template, line 1)"},
		{"<% if true %>\nx", "bad-template", "an end is missing (inline template, line 2)"},
		{"<% else %>", "bad-template", `unexpected "else"`},
		{"<%= scope['nope'] %>", "unknown-variable", "unknown variable $nope (inline template, line 1)"},
		{"<%= scope.call_function('fail', ['stop']) %>", "", "stop"},
		{"<%= scope.function_nope([]) %>", "unknown-function", "nope"},
		{"\x00", "bad-template", "NUL"},
	} {
		got, err := render(t.Context(), env, c.text)
		e, is := errors.AsType[*eval.Error](err)
		if !is || c.kind != "" && e.Kind != c.kind || !strings.Contains(e.Msg, c.msg) {
			t.Errorf("%q: %q, %v, want %s: %s", c.text, got, err, c.kind, c.msg)
		}
	}
	// A construct that is not evaluated is not an error.
	got, err := render(t.Context(), env, "<% if @no %><%= @str.encipher(Etc.x) %><% end %>ok")
	if got != "ok" || err != nil {
		t.Errorf("in a branch that is not taken: %q, %v", got, err)
	}
	tasks := eval.Env{Library: library(), Tasks: true}
	if _, err := render(t.Context(), tasks, "x"); err == nil || !strings.Contains(err.Error(), "plans") {
		t.Errorf("in a plan: %v", err)
	}
}

// TestSensitive checks that, as in Puppet, a Sensitive prints as redacted, and
// that the template must unwrap it.
func TestSensitive(t *testing.T) {
	env := eval.Env{Library: library(), Variables: value.NewHash(value.Entry{Key: value.String("s"), Value: value.NewSensitive(value.String("secret"))})}
	got, err := render(t.Context(), env, "<%= @s %> <%= [@s] %> <%= @s.unwrap %>")
	if want := value.Redacted + " [#<" + value.Redacted + ">] secret"; got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// hostile are templates that do not end, or need too much memory.
func hostile() []string {
	return []string{
		"<% while true; end %>",
		"<% loop { } %>",
		"<% while true; begin; loop { }; ensure; break; end; end %>",
		"<% def f; while true; begin; loop { }; ensure; return 1; end; end; end; while true; begin; f; ensure; next; end; end %>",
		"<%= 'x'.center(9223372036854775807) %><%= 'x'.ljust(4611686018427387904) %>",
		"<%= ('a'..'zzzzzzzzzzz').to_a.size %>",
		"<% def f; f; end; f %>",
		"<% def f(x); f(x + 1) + f(x + 1); end; f(1) %>",
		"<% x = 'a'; 60.times { x << x } %>",
		"<% x = [1]; 60.times { x = x + x } %>",
		"<% x = [1]; 60.times { x += x } %><%= x.join %>",
		"<% x = []; x << x; %><%= x.flatten %><%= x.join %>",
		"<% x = []; x << x %><%= x %><%= x.to_json %><%= x == [x] %><%= x.hash %>",
		"<% x = {}; x['a'] = x %><%= x %><%= x.to_yaml %>",
		"<%= 'a' * 9999999999 %>",
		"<%= [0] * 9999999999 %>",
		"<%= 'x'.ljust(9999999999) %>",
		"<%= '%9999999999d' % 1 %>",
		"<%= (1..9999999999999).to_a %>",
		"<%= Array.new(9999999999) %>",
		"<% a = []; a[9999999999] = 1 %>",
		"<%= 7 ** 999999 %>",
		"<%= 1 ** 9999999999999 %>",
		"<% x = 'a' * 100000; x =~ /(a*)*b\\1/ %>",
		"<% x = 'a' * 1000000; 100000.times { x.gsub('a', 'b') } %>",
		"<% 1000000000.times { } %>",
		"<% x = %w(a b); x.each { |y| x << y } %>",
		"<% f = lambda { |g| g.call(g) }; f.call(f) %>",
		"<% 9999999.times { %>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx<% } %>",
		"<%= " + strings.Repeat("(", 100000) + " %>",
		"<%= " + strings.Repeat("[", 100000) + " %>",
		"<%= " + strings.Repeat("!", 100000) + "1 %>",
		"<%= " + strings.Repeat("-", 100000) + "1 %>",
		"<%= " + strings.Repeat(`"#{`, 100000) + " %>",
		"<% " + strings.Repeat("if 1;", 100000) + " %>",
		"<%= 1" + strings.Repeat("+1", 100000) + " %>",
		"<%= a" + strings.Repeat(".a", 100000) + " %>",
		"<% " + strings.Repeat("a=", 100000) + "1 %>",
	}
}

// TestHostileTemplatesEnd checks that templates that do not end or need too
// much memory end soon.
func TestHostileTemplatesEnd(t *testing.T) {
	lib := library()
	for _, text := range hostile() {
		t.Run(text[:min(len(text), 50)], func(t *testing.T) {
			env := eval.Env{Library: lib, Limits: eval.Limits{Steps: 200_000, Size: 1 << 20}}
			begin := time.Now()
			got, err := render(t.Context(), env, text)
			if took := time.Since(begin); took > 2*time.Minute {
				t.Errorf("took %v", took)
			}
			if err == nil && len(got) > 1<<20 {
				t.Errorf("%d bytes", len(got))
			}
			if e, is := errors.AsType[*eval.Error](err); is && e.Kind == "internal" {
				t.Error(err)
			}
		})
	}
}

// TestRecursionIsLimited checks that recursion does not overflow the stack,
// also through functions of Puppet.
func TestRecursionIsLimited(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(400 << 20))
	lib := library()
	call := "scope.call_function('inline_template', [@t])"
	for _, text := range []string{
		"<% def f(n); if n > 0 then f(n - 1) else " + call + " end; end; f(DEPTH) %>",
		"<% f = lambda { |n| n > 0 ? [n].map { |x| f.call(x - 1) } : " + call + " }; f.call(DEPTH) %>",
		"<% def f(n); 'a'.gsub(/a/) { n > 0 ? \"#{f(n - 1)}\" : " + call + " }; end; f(DEPTH) %>",
		"<% def f(n); { 'a' => 1 }.each { |k, v| [1].sort_by { |y| n > 0 ? f(n - 1) : " + call + " } }; end; f(DEPTH) %>",
		"<%= scope.function_inline_template([@t]) %>",
		"<%= [[1]].inject(0) { |a, b| scope.call_function('with', [@t]) ; " + call + " } %>",
	} {
		for _, depth := range []string{"10", "200", "700", "100000"} {
			whole := value.String(strings.ReplaceAll(text, "DEPTH", depth))
			env := eval.Env{Library: lib, Variables: value.NewHash(value.Entry{Key: value.String("t"), Value: whole})}
			if _, err := render(t.Context(), env, string(whole)); err == nil || len(err.Error()) > 500 {
				t.Errorf("%s: %.500v", whole, err)
			}
		}
	}
}

// TestRenderEndsWithContext checks that a rendering ends when its context is
// done.
func TestRenderEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := render(ctx, eval.Env{Library: library()}, "<% loop { } %>"); err == nil {
		t.Error("it went on")
	}
}

// FuzzRender checks that the parser and the evaluator do not panic and always
// end.
func FuzzRender(f *testing.F) {
	data, err := os.ReadFile("testdata/templates.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f.Add(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "⏎", "\n"))
	}
	for _, text := range hostile() {
		if len(text) < 200 {
			f.Add(text)
		}
	}
	lib, vars := library(), variables(f)
	f.Fuzz(func(t *testing.T, text string) {
		env := eval.Env{Library: lib, Variables: vars, Limits: eval.Limits{Steps: 20_000, Size: 1 << 18}}
		begin := time.Now()
		got, err := render(t.Context(), env, text)
		if e, is := errors.AsType[*eval.Error](err); is && e.Kind == "internal" {
			t.Fatalf("%q: %v", text, err)
		}
		if err == nil && len(got) > 1<<18 {
			t.Fatalf("%q: %d bytes", text, len(got))
		}
		if took := time.Since(begin); took > time.Minute {
			t.Fatalf("%q took %v", text, took)
		}
	})
}
