package site_test

import (
	"fmt"
	"strings"
	"testing"

	"bolt/catalog/compile"
	"bolt/catalog/site"
	"bolt/puppet/value"
)

// TestRubyTypes checks that resources of a type that a module defines in Ruby are compiled,
// and that one warning for all nodes reports that they are not checked.
func TestRubyTypes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/modules/m/lib/puppet/type/gate.rb":      "Puppet::Type.newtype(:gate) do\n  ensurable\n  newparam(:path, namevar: true) do\n  end\nend\n",
		"e/modules/m/lib/puppet/type/file_line.rb": "Puppet::Type.newtype(:file_line) do\n  newparam(:name, namevar: true)\n  newparam(:newest)\nend\n",
		"e/manifests/site.pp": "gate { '/a': path => '/a', any => 1 }\ngate { 'b': path => '/b' }\nGate['b'] -> Gate['/a']\nnotify { 'x': require => Gate['/b'] }\n" +
			"file_line { 'l': path => '/f', line => 'x', newest => 1 }\n",
	})
	s, err := site.Open(t.Context(), dir, "e", options, nil)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []site.Node{{Name: "n1", Facts: value.NewHash()}, {Name: "n2", Facts: value.NewHash()}}
	var logs []string
	for c := range site.CompileAll(t.Context(), s, nodes, 0) {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
		for _, l := range c.Logs {
			logs = append(logs, fmt.Sprintf("%s %s: %s", c.Node, l.Kind, l.Msg))
		}
		for title, want := range map[string]string{"/a": "any", "b": "path before"} {
			var params []string
			for _, r := range c.Catalog.Resources() {
				if r.Type == "Gate" && r.Title == title {
					for name := range r.Params.All() {
						params = append(params, name)
					}
				}
			}
			if got := strings.Join(params, " "); got != want {
				t.Errorf("Gate[%s] has %q, want %q", title, got, want)
			}
		}
	}
	want := "n1 " + compile.RubyType + ": the type gate of module m is defined in Ruby: its parameters are not checked"
	if got := strings.Join(logs, "\n"); got != want {
		t.Errorf("the logs are\n%s\nwant\n%s", got, want)
	}
}

// TestUnknownNames checks that the error for an unknown name lists the searched places and
// a similar name, and that the error for a function in Ruby has a hint.
func TestUnknownNames(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/modules/web/manifests/init.pp":              "class web($port = 80, $address = '') { }",
		"e/modules/web/manifests/site.pp":              "define web::site { }",
		"e/modules/web/lib/puppet/type/web_user.rb":    "",
		"e/modules/web/lib/puppet/functions/web/up.rb": "",
	})
	for code, want := range map[string]string{
		"include webb":                   "class webb does not exist: could not find a module webb in MODULES; did you mean web?",
		"include web::sit":               "class web::sit does not exist: could not find sit.pp in MODULES/web/manifests; did you mean web::site?",
		"class local { }\ninclude locl":  "class locl does not exist: could not find a module locl in MODULES; did you mean local?",
		"fiel { '/x': }":                 "resource type fiel does not exist; did you mean file?",
		"web_usr { 'x': }":               "resource type web_usr does not exist; did you mean web_user?",
		"nothing { 'x': }":               "resource type nothing does not exist",
		"web::sites { 'x': }":            "resource type web::sites does not exist: could not find sites.pp in MODULES/web/manifests; did you mean web::site?",
		"web_user { 'x': } downcas('X')": "unknown function downcas; did you mean downcase?",
		"class { 'web': prot => 1, addres => 2, other => 3 }": "Class[Web] has no parameters prot (did you mean port?), addres (did you mean address?), other",
		"file { '/x': contnet => 1 }":                         "File[/x] has no parameter contnet (did you mean content?)",
		"archive { '/x': pth => 1 }":                          "Archive[/x] has no parameter pth (did you mean path?)",
		"file_line { 'x': pth => 1 }":                         "File_line[x] has no parameter pth (did you mean path?)",
		"web::up()":                                           "--compiler puppet",
	} {
		write(t, dir, map[string]string{"e/environment.conf": "modulepath = modules\n", "e/manifests/site.pp": code})
		s, err := site.Open(t.Context(), dir, "e", options, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Compile(t.Context(), site.Node{Name: "n", Facts: value.NewHash()})
		if err == nil {
			t.Errorf("%s: no error", code)
			continue
		}
		e := site.Failure("n", err)
		got := strings.ReplaceAll(e.Msg+"\n"+e.Hint, dir+"/e/modules", "MODULES")
		if !strings.Contains(got, want) || !strings.Contains(want, "did you mean") && strings.Contains(got, "did you mean") {
			t.Errorf("%s:\n got %s\nwant %s", code, got, want)
		}
	}
}

// TestParametersInScope checks that data of the parameters of a class is interpolated in
// the scope of the class.
func TestParametersInScope(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"e/modules/m/hiera.yaml":        "version: 5\nhierarchy:\n- name: a\n  path: a.yaml\n",
		"e/modules/m/data/a.yaml":       "m::file: '%{module_name}/x.epp'\n",
		"e/modules/m/manifests/init.pp": "class m($file) { notify { 'x': message => $file } }",
		"e/manifests/site.pp":           "include m",
	})
	if got := message(t, compiled(t, dir, "e", site.Node{Name: "n"}), "x"); got != "m/x.epp" {
		t.Errorf("the parameter is %q", got)
	}
}
