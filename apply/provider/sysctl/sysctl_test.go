package sysctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/apply/provider/hosttest"
	"bolt/apply/resource"
)

var types = map[string]resource.Type{"Sysctl": Type()}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each case applies a resource with noop, then twice. The second time nothing changes.
func TestApply(t *testing.T) {
	const before = "# general\n\n#net.ipv4.ip_forward=1\nvm.swappiness=10 \n# kernel.x: why\nkernel.x = 1\nbroken line\n"
	for _, c := range []struct {
		name, title, params string
		out                 string // after the reference
		file                string // "" for before
		live                string // of the parameter: "" for as before
	}{
		{"new", "net.ipv4.ip_forward", `"value":1`, "value( -> 1)", strings.Replace(before, "ip_forward=1\n", "ip_forward=1\nnet.ipv4.ip_forward = 1\n", 1), "1"},
		{"live is right", "net.ipv4.ip_forward", `"ensure":"present","val":"0"`, "val( -> 0)", strings.Replace(before, "ip_forward=1\n", "ip_forward=1\nnet.ipv4.ip_forward = 0\n", 1), ""},
		{"changed", "vm.swappiness", `"value":"5"`, "value(10 -> 5)", strings.Replace(before, "=10 ", "=5", 1), "5"},
		{"right", "vm.swappiness", `"value":"10"`, "value(60 -> 10)", "", "10"},
		{"only live", "vm.swappiness", `"value":"7","persist":false`, "value(60 -> 7)", "", "7"},
		{"only the file", "vm.swappiness", `"value":"7","apply":false`, "value(10 -> 7)", strings.Replace(before, "=10 ", "=7", 1), ""},
		{"blanks", "net.ipv4.tcp_rmem", `"value":"4096  131072 6291456","persist":false`, "", "", ""},
		{"several numbers", "net.ipv4.tcp_rmem", `"value":"1 2 3"`, "value( -> 1 2 3)", before + "net.ipv4.tcp_rmem = 1 2 3\n", "1 2 3"},
		{"an interface", "net.ipv4.conf.eth0/1.forwarding", `"value":"1","persist":false`, "value(0 -> 1)", "", "1"},
		{"comment", "vm.swappiness", `"value":"60","apply":false,"comment":"because"`, "value(10 -> 60) comment( -> because)", strings.Replace(before, "vm.swappiness=10 ", "# vm.swappiness: because\nvm.swappiness=60", 1), ""},
		{"another comment", "kernel.x", `"comment":"so"`, "comment(why -> so)", strings.Replace(before, "x: why", "x: so", 1), ""},
		{"no comment", "kernel.x", `"comment":""`, "comment(why -> )", strings.Replace(before, "# kernel.x: why\n", "", 1), ""},
		{"absent", "kernel.x", `"ensure":"absent"`, "sysctl_removed", strings.Replace(before, "# kernel.x: why\nkernel.x = 1\n", "", 1), ""},
		{"absent, live", "net.ipv4.ip_forward", `"ensure":"absent"`, "", "", ""},
		{"unknown, silent", "net.unknown", `"value":"1","silent":true`, "", "", ""},
		{"silent", "vm.swappiness", `"value":"9","silent":true`, "value(10 -> 9)", strings.Replace(before, "=10 ", "=9", 1), "9"},
		{"unknown, in the file", "kernel.x", `"value":"2","apply":false`, "value(1 -> 2)", strings.Replace(before, "x = 1", "x = 2", 1), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := hosttest.Host(t)
			put(t, h.Path("/etc/sysctl.conf"), before)
			live := map[string]string{"net.ipv4.ip_forward": "0", "vm.swappiness": "60", "net.ipv4.tcp_rmem": "4096\t131072\t6291456", "net.ipv4.conf.eth0/1.forwarding": "0"}
			for name, value := range live {
				put(t, h.Path("/proc/sys/"+place(name)), value+"\n")
			}
			r := "Sysctl[" + c.title + "] {" + c.params + "}"
			ref := "Sysctl[" + c.title + "]"
			noop, changed, failed := "", "", ""
			if c.out != "" {
				noop, changed = ref+" noop "+c.out+"\n", ref+" changed "+c.out+"\n"
			}
			for i, want := range []string{noop, changed, failed} {
				if out := hosttest.Apply(t, h, types, i == 0, r); out != want {
					t.Errorf("run %d: %swant %s", i, out, want)
				}
			}
			want := c.file
			if want == "" {
				want = before
			}
			if got, err := os.ReadFile(h.Path("/etc/sysctl.conf")); err != nil || string(got) != want {
				t.Errorf("the file is %q, %v, want %q", got, err, want)
			}
			should := c.live
			if should == "" {
				should = live[c.title]
			}
			if got, _ := os.ReadFile(h.Path("/proc/sys/" + place(c.title))); strings.TrimSpace(string(got)) != should {
				t.Errorf("the kernel has %q, want %q", got, should)
			}
		})
	}
}

// TestTargets checks the file for the values.
func TestTargets(t *testing.T) {
	for release, file := range map[string]string{
		"ID=debian\nVERSION_ID=\"13\"\n":  "/etc/sysctl.d/99-puppet.conf",
		"ID=debian\nVERSION_ID=\"12\"\n":  "/etc/sysctl.conf",
		"ID=ubuntu\nVERSION_ID='24.04'\n": "/etc/sysctl.conf",
		"":                                "/etc/sysctl.conf",
	} {
		h := hosttest.Host(t)
		put(t, h.Path("/etc/os-release"), release)
		put(t, h.Path("/etc/sysctl.d/x"), "")
		put(t, h.Path("/proc/sys/vm/x"), "1")
		if out := hosttest.Apply(t, h, types, false, `Sysctl[vm.x] {"value":2}`); out != "Sysctl[vm.x] changed value( -> 2)\n" {
			t.Error(out)
		}
		got, err := os.ReadFile(h.Path(file))
		info, _ := os.Stat(h.Path(file))
		if err != nil || string(got) != "vm.x = 2\n" || info.Mode() != 0o644 {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

// TestFailures checks that nothing is changed after a failure, and that a malformed file is not replaced.
func TestFailures(t *testing.T) {
	h := hosttest.Host(t)
	put(t, h.Path("/proc/sys/vm/x"), "1")
	if out := hosttest.Apply(t, h, types, false, `Sysctl[net.none] {"value":2}`); !strings.Contains(out, "net.none is not a kernel parameter of this machine") {
		t.Error(out)
	}
	if out := hosttest.Apply(t, h, types, false, `Sysctl[vm.x.y] {"value":2}`); !strings.Contains(out, "vm.x.y is not a kernel parameter of this machine") {
		t.Error(out)
	}
	if err := os.MkdirAll(h.Path("/etc/sysctl.conf/d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out := hosttest.Apply(t, h, types, false, `Sysctl[vm.x] {"value":2}`); !strings.Contains(out, "it is not a regular file") {
		t.Error(out)
	}
	if got, _ := os.ReadFile(h.Path("/proc/sys/vm/x")); string(got) != "1" {
		t.Errorf("the kernel has %q", got)
	}
	noise := "\x00\xff\n= 1\nvm.y\n"
	file := h.Path("/noise")
	put(t, file, noise)
	if out := hosttest.Apply(t, h, types, false, `Sysctl[vm.x] {"value":2,"target":"`+file+`"}`); out != "Sysctl[vm.x] changed value( -> 2)\n" {
		t.Error(out)
	}
	if got, _ := os.ReadFile(file); string(got) != noise+"vm.x = 2\n" {
		t.Errorf("the file is %q", got)
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		`Sysctl[x.//.y] {}`:               "The parameter name must be the name of a kernel parameter",
		`Sysctl[x y] {}`:                  "The parameter name must be",
		`Sysctl[x] {"value":"a\nb"}`:      "The parameter value must be one line",
		`Sysctl[x] {"comment":"a\nb"}`:    "The parameter comment must be one line",
		`Sysctl[x] {"comment":["a"]}`:     "The parameter comment must be a string",
		`Sysctl[x] {"target":"relative"}`: "The parameter target must be an absolute path",
	} {
		if _, err := hosttest.Try(t, hosttest.Host(t), types, false, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A file is its text until it is changed. A value that was set is found, and nothing is left of one that was removed.
func FuzzFile(f *testing.F) {
	f.Add("# a: x\na=1\r\n;b\nb = 2", "a", "3")
	f.Fuzz(func(t *testing.T, text, name, value string) {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz._/0123456789") != "" || strings.Trim(value, "abc0123456789") != "" {
			return
		}
		dir := t.TempDir()
		if err := os.WriteFile(dir+"/f", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		file, err := open(t.Context(), dir+"/f")
		if err != nil || strings.Join(file.lines, "") != text {
			t.Fatalf("%q, %v", file.lines, err)
		}
		file.set(name, value)
		file.setComment(name, "c")
		if got, found := file.value(name); !found || got != value || file.comment(name) != "c" {
			t.Errorf("%q has %q", file.lines, got)
		}
		file.remove(name)
		if file.find(name) >= 0 {
			t.Errorf("%q is left", file.lines)
		}
	})
}
