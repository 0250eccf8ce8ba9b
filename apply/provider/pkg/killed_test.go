package pkg

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slow makes the package demo-slow 1.0. Its script writes its process ID and that of dpkg to a file, and waits until /srv/go exists.
const slow = `
d=$(mktemp -d); mkdir -p $d/DEBIAN $d/opt; chmod 755 $d; echo x > $d/opt/slow
printf 'Package: demo-slow\nVersion: 1.0\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: demo\n' > $d/DEBIAN/control
cat > $d/DEBIAN/WHEN <<'X'
#!/bin/sh
echo $$ $PPID > /srv/pids.new; mv /srv/pids.new /srv/pids
while ! [ -e /srv/go ]; do sleep 0.05; done
X
chmod 755 $d/DEBIAN/WHEN; dpkg-deb -b --root-owner-group $d /srv/demo-slow_1.0.deb >/dev/null
mk demo-a 1.0; mk demo-z 1.0; index
`

// TestKilled kills the processes of a transaction while a script of a package runs. The next apply installs the packages, and neither
// a lock nor a half-configured package is left.
func TestKilled(t *testing.T) {
	for _, when := range []string{"preinst", "postinst"} {
		for name, kill := range map[string]func(script, dpkg, apt int) []int{
			"apt-get":    func(_, _, apt int) []int { return []int{apt} },
			"dpkg":       func(_, dpkg, _ int) []int { return []int{dpkg} },
			"the script": func(script, _, _ int) []int { return []int{script} },
			"all":        func(script, dpkg, apt int) []int { return []int{apt, dpkg, script} },
		} {
			t.Run(when+" "+name, func(t *testing.T) {
				m := aptMachine(t, strings.ReplaceAll(slow, "WHEN", when))
				resources := []string{`Package[demo-a]`, `Package[demo-slow]`, `Package[demo-z]`}
				first := make(chan string)
				go func() { first <- m.Apply(false, resources...) }()
				script, dpkg := pids(t, filepath.Join(m.Root, "srv/pids"))
				for i, pid := range kill(script, dpkg, parent(t, dpkg)) {
					// The end of the first one can have ended the others.
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && (i == 0 || err != syscall.ESRCH) {
						t.Errorf("kill %d: %v", pid, err)
					}
				}
				m.Write("srv/go", "", 0o644)
				t.Log(<-first) // a part of the packages can have failed
				if got := m.Apply(false, resources...); strings.Contains(got, "failed") {
					t.Errorf("the next apply:\n%s", got)
				}
				m.Want("states", states(m, "'demo-*'"), "demo-a install installed 1.0\ndemo-slow install installed 1.0\ndemo-z install installed 1.0")
				m.Want("audit of dpkg", m.Shell("dpkg --audit"), "")
				m.Want("again", m.Apply(false, resources...), "Package[demo-a] unchanged\nPackage[demo-slow] unchanged\nPackage[demo-z] unchanged")
				m.Want("purge", m.Apply(false, `Package[demo-slow] {"ensure":"purged"}`), "Package[demo-slow] changed package_purged") // no lock is left
			})
		}
	}
}

// TestTornPurge purges a package whose unpacking was killed.
func TestTornPurge(t *testing.T) {
	for provider, install := range map[string]string{"apt": "apt-get -q -y install demo-slow", "dpkg": "dpkg -i /srv/demo-slow_1.0.deb"} {
		m := aptMachine(t, strings.ReplaceAll(strings.ReplaceAll(slow, "WHEN", "preinst"), "#!/bin/sh", "#!/bin/sh\nkill -9 $PPID; exit")+install+" || :")
		if got := states(m, "demo-slow"); !strings.Contains(got, "half-installed") {
			t.Fatalf("the package is %s", got)
		}
		m.Want(provider, m.Apply(false, `Package[demo-slow] {"ensure":"purged","provider":"`+provider+`"}`), "Package[demo-slow] changed package_purged")
		m.Want("states", states(m, "demo-slow"), "")
	}
}

// pids waits for the file of the script.
func pids(t *testing.T, file string) (script, dpkg int) {
	t.Helper()
	for range 60_000 {
		if text, err := os.ReadFile(file); err == nil {
			if _, err := fmt.Sscan(string(text), &script, &dpkg); err != nil {
				t.Fatal(err)
			}
			return script, dpkg
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the script of the package does not run")
	return 0, 0
}

// parent is the parent of a process.
func parent(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	ppid, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	return ppid
}
