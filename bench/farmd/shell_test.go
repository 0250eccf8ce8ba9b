package main

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/transport"
	"bolt/transport/shell"
	transportssh "bolt/transport/ssh"
)

// TestBolt: bolt's own connection finds a shell here that proves itself, and
// one that stays.
func TestBolt(t *testing.T) {
	conn := boltConn(t, "hello")
	for range 3 {
		var out, complaints bytes.Buffer
		st, err := conn.Run(t.Context(), &transport.Cmd{Line: "command true", Stdout: &out, Stderr: &complaints})
		if err != nil || !st.OK() || out.String() != "hello" || complaints.Len() > 0 {
			t.Fatalf("got %+v, %v, %q, stderr %q", st, err, &out, &complaints)
		}
	}
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		var out bytes.Buffer
		st, err := conn.Run(t.Context(), &transport.Cmd{Line: "true", Stdout: &out})
		if err != nil || !st.OK() || out.String() != "hello" {
			t.Fatalf("got %+v, %v, %q", st, err, &out)
		}
		// What is asked beside that says where it runs.
		if answer, ok := conn.(shell.Warmer).Ask(t.Context(), []byte("true; printf '\\n%s %d\\n' token $?\n"), whole); ok {
			if string(answer) != "hello\ntoken 0\n" {
				t.Fatalf("the shell that stays said %q", answer)
			}
			return
		}
		if time.Since(begin) > 20*time.Second {
			t.Fatal("no shell stays")
		}
	}
}

func whole(answer []byte) bool { return bytes.HasSuffix(answer, []byte(" 0\n")) }

// boltConn connects to a server as bolt's daemon does.
func boltConn(t *testing.T, output string) transport.Conn {
	t.Helper()
	private := filepath.Join(t.TempDir(), "key")
	if _, err := newKey(private); err != nil {
		t.Fatal(err)
	}
	user, err := readKey(private)
	if err != nil {
		t.Fatal(err)
	}
	host, err := newKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	address := listen(t, &server{host: host, accepted: user.PublicKey().Marshal(), output: []byte(output)})
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	d, err := transportssh.NewDialer(transportssh.Options{Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	conn, err := d.Dial(t.Context(), transport.Dest{Protocol: "ssh", Host: "127.0.0.1", Port: n, User: "root",
		PrivateKey: private, HostKeyCheck: transport.CheckNone, ConnectTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestForms: the lines of package shell are known for what they are.
func TestForms(t *testing.T) {
	if m := resident.FindStringSubmatch(shell.ResidentLine("bolt%TOKEN2")); m == nil || m[1] != "bolt%TOKEN2" {
		t.Errorf("the line of a shell that stays is not known: %q", m)
	}
	if resident.MatchString("true") {
		t.Error("a command is taken for a shell that stays")
	}
}

// TestLines: a line may come in pieces.
func TestLines(t *testing.T) {
	ch, requests, err := connected(t, "x").OpenChannel("session", nil)
	if err != nil {
		t.Fatal(err)
	}
	go ssh.DiscardRequests(requests)
	if ok, err := ch.SendRequest("exec", true, ssh.Marshal(struct{ Line string }{shell.ResidentLine("bolt%T")})); !ok || err != nil {
		t.Fatal(ok, err)
	}
	want := "bolt%T\nx\na 0\n0\nx\nb 0\n"
	for _, piece := range []string{"tr", "ue; printf '\\n%s %d\\n' a $?", "\ntrue\n:; printf '\\n%s %d\\n' b $?\n"} {
		if _, err := ch.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, len(want))
	for n := 0; n < len(want); {
		m, err := ch.Read(got[n:])
		if n += m; err != nil {
			t.Fatalf("got %q, %v", got[:n], err)
		}
	}
	if string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
