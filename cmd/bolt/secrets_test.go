package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bolt/internal/sshtest"
)

// TestSecrets logs in and escalates with correct and wrong passwords and
// passphrases. Then it searches for them in everything that other users can see:
// the arguments and environments of all processes of the machine, which is also the
// target, during the run; the output; and the log at its most verbose level.
func TestSecrets(t *testing.T) {
	server := sshtest.Start(t, sshtest.Options{Config: "PasswordAuthentication yes\nMaxAuthTries 20\n"})
	login := "right-" + rand.Text()
	account := newAccount(t, login)
	passphrase := "phrase-" + rand.Text()
	key := encryptedKey(t, server, passphrase)
	// The command shows that it has run, and runs long enough to be seen.
	const command = "sleep 0.7; id -un"
	tests := []struct {
		name     string
		settings string // of config: ssh:
		secret   string
		answer   string // typed at the terminal
		want     string
		ok       bool
	}{
		{"login and sudo", fmt.Sprintf("user: %s, password: '%s', run-as: root", account, login), login, "", "root", true},
		{"wrong login password", fmt.Sprintf("user: %s, password: 'wrong-login-1742'", account), "wrong-login-1742", "", "Authentication failed", false},
		{"wrong sudo password", fmt.Sprintf("user: %s, password: '%s', run-as: root, sudo-password: wrong-sudo-1742", account, login), "wrong-sudo-1742", "", "not recognized", false},
		{"passphrase", fmt.Sprintf("user: root, private-key: %s", key), passphrase, passphrase + "\n", "root", true},
		{"wrong passphrase", fmt.Sprintf("user: root, private-key: %s", key), "wrong-phrase-1742", strings.Repeat("wrong-phrase-1742\n", 3), "Authentication failed", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := writeHome(filepath.Join(dir, "home"), server); err != nil {
				t.Fatal(err)
			}
			// "via" can only be reached with the key that the settings name.
			inventory := fmt.Sprintf("targets: [{name: via, uri: %s}]\nconfig: {ssh: {%s, port: %d, host-key-check: false}}\n",
				server.Host, tt.settings, server.Port)
			project := "log: {trace.log: {level: trace, append: false}}\n"
			for name, text := range map[string]string{"inventory.yaml": inventory, "bolt-project.yaml": project} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			stop := make(chan struct{})
			var seen []string
			var watching sync.WaitGroup
			watching.Go(func() { seen = watchProcesses(stop, tt.secret) })
			pool := ownPool(t)
			text, err := inTerminal(t, dir, pool, tt.answer, "bolt", "command", "run", command, "-t", "via", "--log-level", "trace")
			close(stop)
			watching.Wait()
			if ok := err == nil; ok != tt.ok || !strings.Contains(text, tt.want) {
				t.Errorf("ended with %v:\n%s", err, text)
			}
			for _, s := range seen {
				t.Errorf("the secret is in %s", s)
			}
			for name, said := range map[string]string{
				"what was printed": text,
				"bolt-debug.log":   readFile(t, filepath.Join(dir, "bolt-debug.log")),
				"trace.log":        readFile(t, filepath.Join(dir, "trace.log")),
				"the daemon's log": readFile(t, strings.TrimSuffix(strings.TrimPrefix(pool, "BOLT_POOL_SOCKET="), "sock")+"log"),
			} {
				if strings.Contains(said, tt.secret) {
					t.Errorf("the secret is in %s:\n%s", name, said)
				}
			}
			if !strings.Contains(readFile(t, filepath.Join(dir, "trace.log")), "action begins") {
				t.Error("the trace log has nothing in it, so looking there shows nothing")
			}
		})
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// newAccount makes a user who may use sudo with its password.
func newAccount(t *testing.T, password string) string {
	t.Helper()
	name := "boltsecret" + strings.ToLower(rand.Text()[:6])
	run := func(stdin, program string, args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s (this test needs root and sudo)", program, err, out)
		}
	}
	run("", "useradd", "-m", "-s", "/bin/bash", name)
	t.Cleanup(func() { _ = exec.Command("userdel", "-rf", name).Run() })
	run(name+":"+password+"\n", "chpasswd")
	rules := "/etc/sudoers.d/" + name
	if err := os.WriteFile(rules, []byte(name+" ALL=(ALL) ALL\nDefaults:"+name+" !lecture, timestamp_timeout=0\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(rules) })
	return name
}

// encryptedKey makes a key with a passphrase with which root can log in.
func encryptedKey(t *testing.T, server *sshtest.Server, passphrase string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key")
	signer := sshtest.WriteKey(t, path, "ed25519")
	server.Authorize(t, "", signer.PublicKey())
	// The new passphrase is in the arguments of ssh-keygen, but before the search
	// begins.
	if out, err := exec.Command("ssh-keygen", "-q", "-p", "-P", "", "-N", passphrase, "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("ssh-keygen: %v: %s", err, out)
	}
	return path
}

// terminalCommand returns the program in its own terminal, by script(1). Its input
// is typed; the terminal shows none of it.
func terminalCommand(t *testing.T, dir, pool string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, args[0])); err != nil {
		t.Fatal(err)
	}
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = "'" + a + "'"
	}
	cmd := exec.Command("script", "-qec", "stty -echo; exec "+strings.Join(quoted, " "), "/dev/null")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "BOLT_PROJECT="+dir, pool, "PATH="+bin+":"+os.Getenv("PATH"), "SHELL=/bin/sh")
	return cmd
}

// inTerminal runs the program in its own terminal, with typed input.
func inTerminal(t *testing.T, dir, pool, typed string, args ...string) (string, error) {
	t.Helper()
	cmd := terminalCommand(t, dir, pool, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := awaited{text: "assphrase", seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatalf("script(1): %v", err)
	}
	ended := make(chan struct{})
	go func() { // the text is typed after the question
		select {
		case <-out.seen:
			_, _ = in.Write([]byte(typed))
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	return out.String(), err
}

// watchProcesses searches for a secret in the arguments and environment of every
// process, repeatedly until stop, and returns the places that contain it.
func watchProcesses(stop <-chan struct{}, secret string) []string {
	found := map[string]bool{}
	for {
		for _, kind := range []string{"cmdline", "environ"} {
			files, _ := filepath.Glob("/proc/[0-9]*/" + kind)
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err == nil && bytes.Contains(text, []byte(secret)) {
					found[fmt.Sprintf("%s: %q", f, bytes.ReplaceAll(text, []byte{0}, []byte(" ")))] = true
				}
			}
		}
		select {
		case <-stop:
			var list []string
			for f := range found {
				list = append(list, f)
			}
			return list
		case <-time.After(5 * time.Millisecond):
		}
	}
}
