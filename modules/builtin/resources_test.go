package builtin

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const resourcesTask = "apply_helpers/tasks/query_resources.sh"

// puppetLibrary stands in for Puppet: it knows two users, and loads a type from
// $LOAD_PATH as Puppet does.
const puppetLibrary = `
module Puppet
  def self.initialize_settings(args)
    raise "no settings" if ENV['BAD_SETTINGS']
  end

  class Resource
    Found = Struct.new(:type, :title, :uid) do
      def to_data_hash
        { 'type' => type, 'title' => title, 'parameters' => { 'uid' => uid } }
      end
    end

    USERS = [Found.new('User', 'root', 0), Found.new('User', 'a/b [é]', 7)].freeze

    def self.indirection
      self
    end

    def self.search(type)
      puts "noise of #{type}"
      return USERS if type.casecmp?('user')
      require "puppet/type/#{type.downcase}"
      []
    end

    def self.find(name)
      type, title = name.split('/', 2)
      raise "Could not find type #{type}" unless type.casecmp?('user')
      USERS.find { |u| u.title == title } || Found.new('User', title, nil)
    end
  end
end
`

// puppeteer gives the host a program puppet, and the library.
func puppeteer(t *testing.T, h *host, program string) *host {
	t.Helper()
	h, bin := h.bin(t)
	write(t, filepath.Join(bin, "puppet"), program, 0o755)
	lib := t.TempDir()
	write(t, filepath.Join(lib, "puppet.rb"), puppetLibrary, 0o644)
	return h.with("RUBYLIB=" + lib)
}

// resources runs the task, which wants its parameters on standard input, and
// returns what it printed on standard output and standard error.
func (h *host) resources(t *testing.T, names ...string) (out, errors string, failed bool) {
	t.Helper()
	in, err := json.Marshal(map[string]any{"resources": names, "_installdir": h.dir})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	argv := append(append([]string{}, h.shell...), filepath.Join(h.dir, resourcesTask))
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = h.env, strings.NewReader(string(in)), &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err != nil
}

func TestQueryResources(t *testing.T) {
	ruby, err := exec.LookPath("ruby")
	if err != nil {
		t.Fatalf("%v (scripts/setup.sh test installs it)", err)
	}
	for i, program := range []string{"#!" + ruby + "\nputs 1\n", "#!/usr/bin/env ruby\n", "#! " + ruby + "\n", "#!/bin/sh\nexit 1\n", ""} {
		someShells(t, i, func(t *testing.T, h *host) {
			h = puppeteer(t, h, program)
			out, noise, failed := h.resources(t, "user", "User[a/b [é]]", "user[new]")
			want := `{"resources":[{"type":"User","title":"root","parameters":{"uid":0}},{"type":"User","title":"a/b [é]","parameters":{"uid":7}},` +
				`{"type":"User","title":"a/b [é]","parameters":{"uid":7}},{"type":"User","title":"new","parameters":{"uid":null}}]}` + "\n"
			if failed || out != want || !strings.Contains(noise, "noise of user") {
				t.Errorf("with puppet %q: %v, %s%s", program, failed, out, noise)
			}
		})
	}
	someShells(t, 0, func(t *testing.T, h *host) {
		h = puppeteer(t, h, "#!"+ruby+"\n")
		write(t, filepath.Join(h.dir, "site/lib/puppet/type/wheel.rb"), "puts 'loaded'\n", 0o644)
		if out, noise, failed := h.resources(t, "Wheel"); failed || out != `{"resources":[]}`+"\n" || !strings.Contains(noise, "loaded") {
			t.Errorf("a type that came along: %v, %s%s", failed, out, noise)
		}
		for _, k := range []struct {
			h    *host
			name string
			want string
		}{
			{h, "File[/x]", "File[/x]: Could not find type File"},
			{h, "nosuch", "nosuch: cannot load such file"},
			{h, "a b", "a b is not a resource type"},
			{h.with("BAD_SETTINGS=1"), "user", "Puppet's settings on the target are not right: no settings"},
		} {
			out, _, failed := k.h.resources(t, k.name)
			if e, _ := parse(t, out)["_error"].(map[string]any); !failed || !strings.Contains(e["msg"].(string), k.want) {
				t.Errorf("%s: %v, %s", k.name, failed, out)
			}
		}
	})
}

// TestNoPuppet: a target without Puppet says so, be it without the program or
// with another Ruby's.
func TestNoPuppet(t *testing.T) {
	h := newHost(t, "busybox sh")
	bin, _, _ := strings.Cut(h.value("PATH"), ":")
	out, _, failed := h.with("PATH="+bin).resources(t, "user")
	if e, _ := parse(t, out)["_error"].(map[string]any); !failed || !strings.Contains(e["msg"].(string), "Puppet is not installed on the target") {
		t.Errorf("no program: %v, %s", failed, out)
	}
	h = puppeteer(t, newHost(t, "dash"), "#!/bin/sh\n")
	write(t, filepath.Join(h.value("RUBYLIB"), "puppet.rb"), "raise LoadError, 'cannot load such file'\n", 0o644)
	out, _, failed = h.resources(t, "user")
	if e, _ := parse(t, out)["_error"].(map[string]any); !failed || !strings.Contains(e["msg"].(string), "Puppet is not installed on the target for /") {
		t.Errorf("no library: %v, %s", failed, out)
	}
}
