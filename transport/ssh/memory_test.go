package ssh

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"bolt/internal/sshtest"
	"bolt/transport"
)

// A mask holds a text that occurs nowhere else in memory.
type mask struct{ a, b []byte }

func newMask() *mask {
	m := &mask{make([]byte, 32), make([]byte, 32)}
	rand.Read(m.a)
	rand.Read(m.b)
	return m
}

// text returns a new string each time.
func (m *mask) text() string {
	sum := make([]byte, len(m.a))
	for i := range sum {
		sum[i] = m.a[i] ^ m.b[i]
	}
	return base64.StdEncoding.EncodeToString(sum)
}

// TestNoSecretsInMemory searches the heap of a process that holds a connection,
// as the pool daemon does, for secrets: the password and the key of the
// destination, and sudo's password, which is sent to sudo.
func TestNoSecretsInMemory(t *testing.T) {
	s := sshtest.Start(t, sshtest.Options{})
	l := newLab(t, nil)
	login, sudo, known := newMask(), newMask(), newMask()
	c := func() *Conn {
		to := dest(s)
		to.Password = transport.NewSecret(login.text())
		key, err := os.ReadFile(s.KeyFile)
		if err != nil {
			t.Fatal(err)
		}
		to.PrivateKey, to.KeyData = "", transport.NewSecret(string(key))
		v := l.As(Caller{Home: t.TempDir(), Dir: t.TempDir()})
		to.HostKeyCheck = transport.CheckNone
		r, err := v.Route(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := r.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// The sudo of this test prompts, and accepts any password.
		fake := filepath.Join(t.TempDir(), "sudo")
		script := "#!/bin/sh\nwhile [ $# -gt 0 ]; do case $1 in -p) prompt=$2; shift 2;; -u) shift 2;; -*) shift;; *) break;; esac; done\nprintf %s \"$prompt\" >&2; read -r answer; exec \"$@\"\n"
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := &transport.Cmd{Line: "echo done", Stdout: io.Discard, Stderr: io.Discard,
			RunAs: transport.RunAs{User: "root", Password: transport.NewSecret(sudo.text()), Executable: fake}}
		if st, err := conn.Run(context.WithoutCancel(t.Context()), cmd); err != nil || !st.OK() {
			t.Fatalf("%v, %v", st, err)
		}
		return conn.(*Conn)
	}()
	held := known.text() // shows that the search works
	dump := filepath.Join(t.TempDir(), "heap")
	f, err := os.Create(dump)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	runtime.GC()
	runtime.GC() // pools release their memory at the second run
	debug.WriteHeapDump(f.Fd())
	heap, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(s.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	// Files of OpenSSH keys of one type begin alike; the fifth line holds the private part.
	secret := strings.Split(string(key), "\n")[4]
	if !bytes.Contains(heap, []byte(held)) {
		t.Fatal("what is held is not found")
	}
	for name, text := range map[string]string{"the password": login.text(), "sudo's password": sudo.text(), "the key's text": secret} {
		if bytes.Contains(heap, []byte(text)) {
			t.Errorf("%s is still there", name)
		}
	}
	runtime.KeepAlive(held)
	runtime.KeepAlive(c)
}
