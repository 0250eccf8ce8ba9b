package transporttest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// User is an account of this machine.
type User struct {
	Name     string
	Password string // "" if it has none
}

// Accounts are the users for the tests of run-as.
type Accounts struct {
	Free   User // can run commands as any user without a password, with sudo and doas
	Asked  User // can run commands as any user with its password, with sudo and doas
	Denied User // cannot run commands as any other user
}

// sudoRules are the rules of sudo for the accounts.
const sudoRules = `Defaults:cargo,cargopw,cargonosudo !lecture
Defaults:cargo,cargopw,cargonosudo timestamp_timeout=0
cargo ALL=(ALL:ALL) NOPASSWD: ALL
cargopw ALL=(ALL:ALL) ALL
`

// doasRules are the rules of doas for these users.
const doasRules = "permit nopass cargo\npermit cargopw\n"

// doasFile is the only file that doas reads.
const doasFile = "/etc/doas.conf"

// rulesFile has a name that differs from any administrator's file.
const rulesFile = "/etc/sudoers.d/bolt-corpus"

// Users creates the accounts and their sudo rules if they do not exist. If that
// fails, the test fails; root and sudo are required. Several test programs may
// call it at the same time.
func Users(t testing.TB) Accounts {
	t.Helper()
	a := Accounts{
		Free:   User{Name: "cargo"},
		Asked:  User{Name: "cargopw", Password: "secretpw"},
		Denied: User{Name: "cargonosudo"},
	}
	if os.Geteuid() != 0 {
		t.Fatal("only root can create the users for the tests of run-as: run the tests as root")
	}
	for _, program := range []string{"sudo", "useradd", "chpasswd", "usermod", "su", "doas"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("run-as cannot be tested: %v", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "bolt-transporttest.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, u := range []User{a.Free, a.Asked, a.Denied} {
		ensureUser(t, u)
	}
	if have, err := os.ReadFile(rulesFile); err != nil || string(have) != sudoRules {
		writeRules(t, rulesFile, sudoRules, 0o440)
	}
	switch have, err := os.ReadFile(doasFile); {
	case errors.Is(err, fs.ErrNotExist):
		writeRules(t, doasFile, doasRules, 0o600)
	case err != nil:
		t.Fatal(err)
	case string(have) != doasRules:
		t.Fatalf("run-as cannot be tested: %s has other rules than the tests need. Move it away", doasFile)
	}
	return a
}

func ensureUser(t testing.TB, u User) {
	t.Helper()
	if _, err := user.Lookup(u.Name); err == nil {
		return
	}
	command(t, "", "useradd", "-m", "-s", "/bin/bash", u.Name)
	if u.Password == "" {
		command(t, "", "usermod", "-p", "*", u.Name) // not locked, no password
		return
	}
	command(t, u.Name+":"+u.Password+"\n", "chpasswd")
}

// writeRules replaces the file as a whole, because an incomplete file makes
// sudo unusable for all users.
func writeRules(t testing.TB, file, rules string, mode fs.FileMode) {
	t.Helper()
	tmp := file + ".tmp" // sudo skips names with a dot
	if err := os.WriteFile(tmp, []byte(rules), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, file); err != nil {
		t.Fatal(err)
	}
}

func command(t testing.TB, stdin string, argv ...string) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
}
