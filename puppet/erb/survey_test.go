package erb_test

import (
	"fmt"
	"testing"

	"bolt/puppet/erb"
)

func TestSurvey(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"supported", "<% @a.each do |x| -%>\n<%= x.upcase %>\n<% end -%>", "[] [] [] [{a 1}]"},
		{"paths of variables", "<%= @facts['os']['family'] %><%= scope['facts']['kernel'] %><%= scope.lookupvar('::x::y') %>", "[] [] [] [{facts.os 1} {facts.kernel 1} {x::y 1}]"},
		{"variables of the template", "<% @a = 1 %><%= @a %><% b = 2 %><%= b %>", "[] [] [] []"},
		{"functions of Puppet", "<%= scope.function_x([1]) %>\n<%= scope.call_function('y', [@z]) %>", "[] [] [{x 1} {y 2}] [{z 2}]"},
		{"methods", "<%= 'a'.reverse %>\n<%= 'a'.encrypt %>", "[{the method encrypt 2}] [] [] []"},
		{"methods of the template", "<%= f(1) %><% def f(x) x end %><% def g; f 2; end %>", "[] [] [] []"},
		{"constants", "<%= JSON.dump(1) %><%= Resolv.getaddress('a') %><%= JSON.pry %>", "[{the constant Resolv 1} {JSON.pry 1}] [] [] []"},
		{"functions of Ruby", "<%= system('x') %><%= nothing %>", "[{the function system 1}] [{nothing 1}] [] []"},
		{"inside of blocks, conditions and strings", "<% if @a && !@b %><%= \"#{open('x')}\" %><% else %><% [1].map { |i| i.zorro } %><% end %>", "[{the function open 1} {the method zorro 1}] [] [] [{a 1} {b 1}]"},
		{"globals, self and defined?", "<%= $1 %><%= $LOAD %><%= self %><% if defined?(Foo) %><% end %>", "[{the global variable $LOAD 1} {self 1}] [] [] []"},
		{"exceptions", "<% begin; raise ArgumentError.new('x'); rescue => e; end %>", "[] [] [] []"},
		{"Sensitive", "<%= @secret.unwrap %>", "[] [] [] [{secret 1}]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			engine := erb.New()
			parsed, err := engine.Parse("x.erb", c.text)
			if err != nil {
				t.Fatal(err)
			}
			s := engine.Survey(parsed)
			if got := fmt.Sprint(s.Refused, s.Unknown, s.Functions, s.Variables); got != c.want {
				t.Errorf("Survey(%q) = %s, want %s", c.text, got, c.want)
			}
		})
	}
}

// The error of a construct that only Ruby parses names the construct.
func TestConstruct(t *testing.T) {
	for text, want := range map[string]string{"<%= `ls` %>": "a command in backquotes", "<%= 1 + %>": ""} {
		_, err := erb.New().Parse("x.erb", text)
		e, is := err.(*erb.Error)
		if !is || e.Construct() != want {
			t.Errorf("Parse(%q) = %v, want the construct %q", text, err, want)
		}
	}
}
