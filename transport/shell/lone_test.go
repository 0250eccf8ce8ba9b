package shell

import (
	"testing"

	"bolt/transport"
)

// What may be run from a file that stays.
func TestStandsAlone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "echo $1 $PT_a ${PT_b:-0} \"$@\" $#": true, "x=10; echo $x0": true,
		"cd $(dirname $0)": false, "${0%/*}": false, "echo ${BASH_SOURCE[0]}": false, "echo $_": false,
		"set -- ${@:0:1}": false, "echo ${@::1}": false, "echo ${*: 0:1}": false, "n=0; echo ${!n}": false,
		"readlink /proc/$$/exe": false, "f() { caller 0; }": false,
	} {
		if got := StandsAlone([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	command := func(change func(c *transport.Cmd)) *transport.Cmd {
		c := &transport.Cmd{Interpreter: []string{"/bin/bash"}, Argv: []string{"./x.sh", "a"}, Files: []transport.File{{Name: "x.sh"}}}
		change(c)
		return c
	}
	named := func(name string) func(c *transport.Cmd) {
		return func(c *transport.Cmd) { c.Files[0].Name, c.Argv[0] = name, "./"+name }
	}
	read := func(by ...string) func(c *transport.Cmd) { return func(c *transport.Cmd) { c.Interpreter = by } }
	for n, change := range []func(c *transport.Cmd){
		func(*transport.Cmd) {}, read("/bin/sh", "-e"), read("/usr/bin/env", "bash"), read("/usr/bin/env", "bash", "-eu"), named("a_B-1.sh"),
	} {
		if !LoneScript(command(change)) {
			t.Errorf("command %d is no lone script", n)
		}
	}
	for n, change := range []func(c *transport.Cmd){
		read(), read("/bin/sh", "x"), read("/bin/sh", "-c"), read("/bin/sh", "-"), read("/bin/sh", "-es"), read("/bin/bash", "--login"), read("/usr/bin/env"),
		read("/usr/bin/env", "python3"), read("/usr/bin/env", "-S", "sh"), read("/usr/bin/env", "../sh"), read("/opt/sh"), read("/usr/bin/python3"),
		named(""), named("a/b"), named("a b"), named(".."), named(".x"), named("-x"), named("x'"),
		func(c *transport.Cmd) { c.Argv = nil },
		func(c *transport.Cmd) { c.Argv[0] = "./y" },
		func(c *transport.Cmd) { c.TTY = true },
		func(c *transport.Cmd) { c.KeepFiles = true },
		func(c *transport.Cmd) { c.ScriptDir = "x" },
		func(c *transport.Cmd) { c.Files = append(c.Files, transport.File{Name: "y"}) },
		func(c *transport.Cmd) { c.Files[0].Data = make([]byte, maxLone+1) },
	} {
		if LoneScript(command(change)) {
			t.Errorf("command %d is a lone script", n)
		}
	}
}
