package main

import (
	"bytes"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"bolt/transport"
	transportssh "bolt/transport/ssh"
)

// TestBolt checks that bolt's own connection accepts the server as a shell.
func TestBolt(t *testing.T) {
	conn := boltConn(t, "hello")
	for range 3 {
		var out, complaints bytes.Buffer
		st, err := conn.Run(t.Context(), &transport.Cmd{Line: "command true", Stdout: &out, Stderr: &complaints})
		if err != nil || !st.OK() || out.String() != "hello" || complaints.Len() > 0 {
			t.Fatalf("got %+v, %v, %q, stderr %q", st, err, &out, &complaints)
		}
	}
}

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
