package config

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	load := func(user, system string) (Host, string) {
		t.Helper()
		local := sshFacts(t)
		local.home = dir
		var log bytes.Buffer
		c, err := readFiles(local, user, system, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.lookup("web1", "", 0)
		if err != nil {
			t.Fatal(err)
		}
		return h, log.String()
	}
	system := write("system", "User system\nPort 5\n", 0o644)

	t.Run("user before system", func(t *testing.T) {
		if h, _ := load(write("u1", "User user\n", 0o600), system); h.User != "user" || h.Port != 5 {
			t.Errorf("got %q, %d", h.User, h.Port)
		}
	})
	t.Run("missing files", func(t *testing.T) {
		h, log := load(filepath.Join(dir, "no", "such"), filepath.Join(dir, "nor", "this"))
		if log != "" || h.HostName != "web1" {
			t.Errorf("got %+v, log %q", h, log)
		}
	})
	t.Run("relative and hidden includes", func(t *testing.T) {
		write(".ssh/conf.d/a", "Port 6\n", 0o600)
		write(".ssh/conf.d/.b", "User hidden\n", 0o600)
		h, log := load(write("u2", "Include conf.d/* conf.d\nInclude ~/.ssh/conf.d/none\n", 0o600), "")
		if h.Port != 6 || h.User != "" || log != "" {
			t.Errorf("got %+v, log %q", h, log)
		}
	})
	t.Run("no ~ in a system file", func(t *testing.T) {
		h, log := load("", write("s2", "Include ~/.ssh/conf.d/a\nUser a\n", 0o644))
		if h.Port != 0 || h.User != "a" || !strings.Contains(log, "s2:1") {
			t.Errorf("got %+v, log %q", h, log)
		}
	})
	t.Run("writable by others", func(t *testing.T) {
		bad := write("u3", "User bad\n", 0o666)
		if h, log := load(bad, system); h.User != "system" || !strings.Contains(log, bad) {
			t.Errorf("got %q, log %q", h.User, log)
		}
	})
	t.Run("writable by the private group", func(t *testing.T) {
		if h, log := load(write("u4", "User mine\n", 0o664), system); h.User != "mine" {
			t.Errorf("got %q, log %q", h.User, log)
		}
	})
	t.Run("writable by another group", func(t *testing.T) {
		p := write("u5", "User bad\n", 0o664)
		if err := os.Chown(p, -1, 12345); err != nil {
			t.Fatal(err)
		}
		if h, _ := load(p, system); h.User != "system" {
			t.Errorf("got %q", h.User)
		}
	})
	t.Run("foreign", func(t *testing.T) {
		p := write("u6", "User bad\n", 0o600)
		if err := os.Chown(p, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if h, log := load(p, system); h.User != "system" || !strings.Contains(log, "another user") {
			t.Errorf("got %q, log %q", h.User, log)
		}
	})
	t.Run("a directory is an error", func(t *testing.T) {
		if _, err := readFiles(Local{}, dir, "", nil); err == nil {
			t.Error("no error")
		}
	})
	t.Run("includes without end", func(t *testing.T) {
		for i := range 30 {
			write(fmt.Sprintf("deep%d", i), fmt.Sprintf("Include %s/deep%d\n", dir, i+1), 0o600)
		}
		write("deep30", "User deep\n", 0o600)
		if h, log := load(filepath.Join(dir, "deep0"), ""); h.User != "" || !strings.Contains(log, "levels") {
			t.Errorf("got %q, log %q", h.User, log)
		}
	})
}

// TestUnevaluatedSettings checks that ignored settings that restrict are
// reported once, with their position.
func TestUnevaluatedSettings(t *testing.T) {
	c, log := loadText(t, "Host web*\nKnownHostsCommand /bin/x %H\nHost *\nBindInterface lo\nKnownHostsCommand none\n")
	for range 2 {
		for _, name := range []string{"web1", "web2", "db1"} {
			if _, err := c.lookup(name, "", 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []string{"config0:2", "config0:4"} {
		if n := strings.Count(log.String(), want); n != 1 {
			t.Errorf("%s is told %d times: %s", want, n, log.String())
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("%d warnings: %s", n, log.String())
	}
}

// TestWarnsOfUnusedSettings checks that each relevant unused line is reported
// once, and no other line.
func TestWarnsOfUnusedSettings(t *testing.T) {
	matter := []string{"ForwardX11 yes", "LocalForward 1 a:2", "RemoteForward 3 b:4", "DynamicForward 5", "Tunnel yes", "RemoteCommand tmux", "LocalCommand x",
		"ProxyUseFdpass yes", "CanonicalizeHostname always", "PKCS11Provider /p", "SecurityKeyProvider /s", "PubkeyAuthentication no", "HostbasedAuthentication yes",
		"VerifyHostKeyDNS ask", "KnownHostsCommand /k", "BindInterface eth0"}
	c, log := loadText(t, strings.Join(matter, "\n")+"\nPermitLocalCommand yes\nForwardAgent no\nCompression yes\n")
	if _, err := c.lookup("web2", "", 0); err != nil {
		t.Fatal(err)
	}
	h, err := c.lookup("web1", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	notes := h.Unused
	if len(notes) != len(matter) {
		t.Errorf("got %d notes: %q\n%s", len(notes), notes, log)
	}
	if n := strings.Count(log.String(), "ssh config line is not used"); n != len(matter) {
		t.Errorf("the log has %d lines:\n%s", n, log)
	}
	all := strings.Join(notes, "\n")
	for i, line := range matter {
		keyword, _, _ := strings.Cut(line, " ")
		if want := fmt.Sprintf("config0:%d: %s: ", i+1, keyword); !strings.Contains(all, want) {
			t.Errorf("%q is not in %s", want, all)
		}
	}
	c, _ = loadText(t, "LocalCommand x\nForwardAgent no\nRemoteCommand none\nKnownHostsCommand none\nPubkeyAuthentication yes\n")
	if h, err := c.lookup("web1", "", 0); err != nil || len(h.Unused) > 0 {
		t.Errorf("got %+v, %v", h, err)
	}
}

// TestBinaryConfig checks that no part of a file is used if the file is not
// text, because a part of the settings could lead to another machine.
func TestBinaryConfig(t *testing.T) {
	for name, files := range map[string][]string{
		"config0:3": {"# \x01 in a comment\nUser a\nPort 2\x002\n"},
		"config1:1": {"Include DIR/config1\nUser a\n", "\x7fELF\x02\x01\x00\n"},
	} {
		_, err := readFiles(sshFacts(t), writeConfig(t, files...), "", nil)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "not a text file") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := readFiles(sshFacts(t), writeConfig(t, "# \x01\nUser\ta\f\r\nHost bjørn\n"), "", nil); err != nil {
		t.Error(err)
	}
}
