package puppetfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	const text = `# a comment
forge "https://forge.example.org" # behind a line
moduledir 'thirdparty'

mod 'puppetlabs/stdlib', '9.0.0'
mod "puppetlabs-apt"; mod 'puppetlabs/apache', :latest
mod('puppet/nginx', "5.0.0")
mod 'puppetlabs-mysql',
  type:    'forge',
  version: '6.0.0'
mod 'one',
  :git => 'https://example.org/one',   # with a comment
  :ref => 'main'
mod 'me/two', git: 'git@example.org:two.git', tag: "v1",
  install_path: "external", exclude_spec: false
mod 'three', { :git => "/srv/three", "branch" => 'b', :default_branch => 'main', }
mod 'me-four', type: 'git', source: 'https://example.org/four', version: '2098a17'
mod 'five', :local => true
mod('six',
    {
      'git': 'https://example.org/six',
      commit: nil,
    })
=begin
mod 'none'
=end
mod 'seven', :git => 'it\'s', :commit => "a\\b"
mod 'eight', \
  local: true
mod 'nine', :path => '../nine'
`
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{ModuleDir: "thirdparty", Modules: []Module{
		{Title: "puppetlabs/stdlib", Line: 5, Version: "9.0.0"},
		{Title: "puppetlabs-apt", Line: 6},
		{Title: "puppetlabs/apache", Line: 6, Version: Latest},
		{Title: "puppet/nginx", Line: 7, Version: "5.0.0"},
		{Title: "puppetlabs-mysql", Line: 8, Version: "6.0.0"},
		{Title: "one", Line: 11, Git: "https://example.org/one", Ref: "main"},
		{Title: "me/two", Line: 14, Git: "git@example.org:two.git", Ref: "v1", InstallPath: "external", KeepSpec: true},
		{Title: "three", Line: 16, Git: "/srv/three", Ref: "b", Default: "main"},
		{Title: "me-four", Line: 17, Git: "https://example.org/four", Ref: "2098a17"},
		{Title: "five", Line: 18, Local: true},
		{Title: "six", Line: 19, Git: "https://example.org/six"},
		{Title: "seven", Line: 27, Git: "it's", Ref: `a\b`},
		{Title: "eight", Line: 28, Local: true},
		{Title: "nine", Line: 30, Path: "../nine"},
	}}
	if d := cmp.Diff(want, f); d != "" {
		t.Error(d)
	}
	for title, name := range map[string]string{"puppetlabs/stdlib": "stdlib", "puppetlabs-apt": "apt", "one": "one"} {
		if m := (&Module{Title: title}); m.Name() != name {
			t.Errorf("%s is named %s", title, m.Name())
		}
	}
}

func TestModuleDir(t *testing.T) {
	for text, want := range map[string]string{
		"moduledir 'a/b'": "a/b",
		"moduledir File.join(File.dirname(__FILE__), 'modules')":  "modules",
		"moduledir File.join(File.dirname(__FILE__), '/modules')": "modules",
		"moduledir(File.join(__dir__, 'site', 'modules'))\n":      "site/modules",
		"moduledir File.join(File.dirname(ENV['X']), 'modules')":  "",
		"moduledir File.read('x')":                                "",
		"moduledir File.join(__dir__, 'modules'":                  "",
	} {
		f, err := Parse([]byte(text))
		if (err == nil) != (want != "") || err == nil && f.ModuleDir != want {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]string{
		"mod 'a/b', \"#{version}\"":   "line 1: a string with #{",
		"mod 'a/b'\nsystem('rm')":     `line 2: unknown directive "system"`,
		"x = 1":                       `unexpected '='`,
		"mod 'a/b', ENV['X']":         `expected a version or options, found "ENV"`,
		"mod 'a/b', `date`":           "unexpected '`'",
		"mod 'a/b' if true":           "expected the end of the line, found \"if\"",
		"mod":                         "expected the name of a module in quotes, found the end of the file",
		"mod 'a/b', '1.0.0', '2.0.0'": "expected the end of the line",
		"mod 'a/b'\n\nmod 'c-b'":      "line 3: module b is already in line 1",
		"mod '../x', local: true":     "is not a module name",
		"mod 'a/B', '1.0.0'":          "is not a module name",
		"mod 'b', '1.0.0'":            "the name of a module from the Forge must be owner/name",
		"mod 'a/b', '>= 1.0'":         "is not a version",
		"mod 'b', :git => 'u', :ref => 'x', :tag => 'y'":   "both ref and tag",
		"mod 'b', :git => 'u', :git => 'v'":                "the option git is a duplicate",
		"mod 'b', :svn => 'u'":                             "not with svn",
		"mod 'b', :git => 'u', :branch => :control_branch": "cannot be the symbol :control_branch",
		"mod 'b', :git => 'u', :install_path => '../x'":    "not below the directory",
		"mod 'b', :git => true":                            `the option git cannot be "true"`,
		"mod 'b', :local => 'yes'":                         "the option local cannot be",
		"mod 'b', :local => true, :git => 'u'":             "it is local, and cannot have a source",
		"mod 'b', :path => 'x', :git => 'u'":               "it has a path and another source",
		"mod 'b', :path => 'x', :ref => 'u'":               "cannot have another source",
		"mod 'b', :path => 'x', :local => true":            "it is local, and cannot have a source",
		"mod 'b', :frob => 'u'":                            `unknown option "frob"`,
		"mod 'b', :type => 'git'":                          "does not have the address",
		"mod 'a/b', :ref => 'x'":                           "it has a ref, but not git",
		"mod 'b', type: 'hg', source: 'x'":                 `unknown type "hg"`,
		"mod 'b,\n\n":                                      "line 3: the string has no closing quote",
		"=begin\n":                                         "has no =end",
		"mod 'b', {:git => 'u'":                            "expected a closing brace",
		"mod('a/b', '1.0'":                                 "expected a closing bracket",
		"mod 'b',\n  :git => 'u'\n  :ref => 'v'":           "line 2: expected the end of the line",
	}
	delete(tests, "mod 'b',\n  :git => 'u'\n  :ref => 'v'") // below: the line is that of the symbol
	for text, want := range tests {
		_, err := Parse([]byte(text))
		if _, ours := errors.AsType[*Error](err); !ours || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := Parse([]byte("mod 'b',\n  :git => 'u'\n  :ref => 'v'")); err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("a missing comma: %v", err)
	}
}

func TestFormat(t *testing.T) {
	f := &File{ModuleDir: ".modules", Modules: []Module{
		{Title: "puppetlabs/stdlib", Version: "9.0.0"},
		{Title: "one", Git: "https://example.org/it's", Ref: "0123456789012345678901234567890123456789"},
		{Title: "puppet/x"},
		{Title: "two", Path: "../it's"},
	}}
	text := string(f.Format())
	for _, want := range []string{
		"# This Puppetfile is managed by Bolt. Do not edit.\n", "\nmoduledir '.modules'\n", "\nmod 'puppetlabs/stdlib', '9.0.0'\n",
		"\nmod 'one',\n  git: 'https://example.org/it\\'s',\n  ref: '0123456789012345678901234567890123456789'\n", "\nmod 'puppet/x'\n", "\nmod 'two',\n  path: '../it\\'s'\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	again, err := Parse([]byte(text))
	if err != nil || !again.Managed || string(again.Format()) != text {
		t.Errorf("read again: %+v, %v", again, err)
	}
}

// FuzzParse: what is read can be written, and is then read as the same.
func FuzzParse(f *testing.F) {
	f.Add("forge 'x'\nmoduledir 'y'\nmod 'a/b', '1.0.0'\n")
	f.Add("mod 'a', :git => \"x\\n\", ref: 'b', 'install_path' => 'c'\nmod('d', {local: true})")
	f.Add("mod 'a/b', type: :forge, version: :latest, exclude_spec: false")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text))
		if err != nil {
			if _, ours := errors.AsType[*Error](err); !ours {
				t.Fatalf("%T", err)
			}
			return
		}
		for i := range file.Modules {
			file.Modules[i].Line = 0
		}
		file.Managed = true
		again, err := Parse(file.Format())
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Format())
		}
		for i := range again.Modules {
			again.Modules[i].Line = 0
		}
		if d := cmp.Diff(file, again); d != "" {
			t.Fatal(d)
		}
	})
}
