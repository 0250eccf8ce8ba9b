package exampletest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bolt/internal/buildtest"
)

// inRoot enters an overlay, in memory, of the directory in $1 with the project in $2 and bolt in $3, and runs the script in $4
// there. All mounts and processes end with it. /etc is a copy, because other tests add users to this machine at the same time.
// Their files can disappear while they are copied, and their locks are removed.
const inRoot = `
mount -t tmpfs tmpfs "$5" && mkdir "$5/upper" "$5/work" "$5/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$5/upper,workdir=$5/work" "$5/root"
cp -a "$1/etc" "$5/etc" || [ -e "$5/etc/passwd" ]
rm -f "$5"/etc/*.lock
mount --bind "$5/etc" "$5/root/etc"
mount -t proc proc "$5/root/proc"
[ -e "$5/root/dev/null" ] || mount --rbind /dev "$5/root/dev"
cp -r "$2" "$5/root/srv/project" && cp "$3" "$5/root/usr/local/bin/bolt"
chroot "$5/root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root BOLT_POOL=off /bin/sh -ec "$4"
`

// TestApplyExample runs the commands of examples/apply/README.md, in a disposable root instead of
// the machines.
func TestApplyExample(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("the test makes and enters a root: run it as root")
	}
	readme, err := os.ReadFile(filepath.Join(root, "examples", "apply", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	output(t, "scripts/helpers.sh")
	bolt, project := buildtest.Build(t, root, "cmd/bolt"), filepath.Join(t.TempDir(), "project")
	if err := os.CopyFS(project, os.DirFS(filepath.Join(root, "examples", "apply"))); err != nil {
		t.Fatal(err)
	}
	const inventory = "groups: [{name: web, targets: [{name: web01, config: {transport: local}, facts: {role: web}}]}]\n"
	if err := os.WriteFile(filepath.Join(project, "inventory.yaml"), []byte(inventory), 0o600); err != nil {
		t.Fatal(err)
	}
	script, n := "cd /srv/project\n", 0
	for line := range strings.Lines(string(readme)) {
		if line, is := strings.CutPrefix(line, "$ "); is {
			n++
			script += fmt.Sprintf("echo @@@\n%s", line)
		}
	}
	base := strings.TrimSpace(output(t, "testdata/apply/run.py", "root"))
	out := output(t, "unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-ec", inRoot, "sh", base, project, bolt, script, t.TempDir())
	said := strings.Split(out, "@@@\n")[1:]
	if len(said) != n {
		t.Fatalf("%d of %d commands ended:\n%s", len(said), n, out)
	}
	for i, want := range []string{
		"Service[cron]: would happen: ensure changed from stopped to running",
		"changed: 4, failed: 0, unchanged: 1 skipped: 0",
		"changed: 0, failed: 0, unchanged: 5 skipped: 0",
		"Successful on 1 target",
		"-* * * * * root true",
		"Service[cron]: refreshed, because a resource that notifies it has changed",
		"unchanged: 1 skipped: 4",
		"+web",
	} {
		if i >= n || !strings.Contains(said[i], want) {
			t.Errorf("command %d of %d: want %s; all printed\n%s", i+1, n, want, out)
		}
	}
}
