// Command farmd is thousands of SSH servers in one process: it listens on
// many loopback addresses, accepts one public key, and answers every exec
// request with success and without a fork. What is measured against it is
// the client and nothing else.
//
// It writes what reaches it to -dir, as scripts/farm.sh does (inventory.yaml,
// hosts, home/.ssh), prints "ready", and runs until its standard input ends.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// firstAddress is the first target's; the others follow it.
const firstAddress = "127.1.0.1"

func main() {
	n := flag.Int("n", 1000, "number of `targets`")
	dir := flag.String("dir", "", "`folder` for the inventory, the keys and known_hosts")
	output := flag.String("output", "", "`text` that every command prints")
	flag.Parse()
	if *dir == "" || *n < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*n, *dir, []byte(*output)); err != nil {
		fmt.Fprintln(os.Stderr, "farmd:", err)
		os.Exit(1)
	}
}

// serve runs the farm until standard input ends. The process ends then, and
// with it all listeners and connections.
func serve(n int, dir string, output []byte) error {
	host, err := newKey()
	if err != nil {
		return err
	}
	user, err := newKey()
	if err != nil {
		return err
	}
	accepted := user.PublicKey().Marshal()
	config := &ssh.ServerConfig{
		MaxAuthTries: 20,
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if !bytes.Equal(key.Marshal(), accepted) {
				return nil, errors.New("another key")
			}
			return nil, nil
		},
	}
	config.AddHostKey(host.Signer)
	listeners, err := listen(n)
	if err != nil {
		return err
	}
	if err := describe(dir, listeners, host, user); err != nil {
		return err
	}
	for _, l := range listeners {
		go accept(l, config, output)
	}
	fmt.Println("ready", len(listeners))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A key is a private key with its text.
type key struct {
	ssh.Signer
	pem []byte
}

func newKey() (key, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return key{}, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return key{}, err
	}
	signer, err := ssh.NewSignerFromKey(private)
	return key{signer, pem.EncodeToMemory(block)}, err
}

// listen opens n addresses from firstAddress on one port that is free on the
// first of them.
func listen(n int) ([]net.Listener, error) {
	addr := netip.MustParseAddr(firstAddress)
	var port uint16
	listeners := make([]net.Listener, 0, n)
	for range n {
		l, err := net.Listen("tcp4", netip.AddrPortFrom(addr, port).String())
		if err != nil {
			return nil, fmt.Errorf("listen: %w (ulimit -n must exceed the number of targets)", err)
		}
		port = l.Addr().(*net.TCPAddr).AddrPort().Port()
		listeners = append(listeners, l)
		addr = addr.Next()
	}
	return listeners, nil
}

// describe writes the files that clients need.
func describe(dir string, listeners []net.Listener, host, user key) error {
	home := filepath.Join(dir, "home", ".ssh")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	private, known := filepath.Join(dir, "id_ed25519"), filepath.Join(home, "known_hosts")
	port := listeners[0].Addr().(*net.TCPAddr).Port
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	var inventory, hosts, records strings.Builder
	fmt.Fprintf(&inventory, "config:\n  transport: ssh\n  ssh:\n    user: root\n    port: %d\n    private-key: %s\n    host-key-check: true\ntargets:\n", port, private)
	for i, l := range listeners {
		ip := l.Addr().(*net.TCPAddr).IP
		fmt.Fprintf(&inventory, "  - name: node%05d\n    uri: %s\n", i+1, ip)
		fmt.Fprintln(&hosts, ip)
		fmt.Fprintf(&records, "[%s]:%d %s\n", ip, port, public)
	}
	config := fmt.Sprintf("Host 127.*\n    Port %d\n    User root\n    IdentityFile %s\n    IdentitiesOnly yes\n    UserKnownHostsFile %s\n    StrictHostKeyChecking yes\n    BatchMode yes\n", port, private, known)
	for name, text := range map[string]string{
		private:                              string(user.pem),
		known:                                records.String(),
		filepath.Join(home, "config"):        config,
		filepath.Join(dir, "hosts"):          hosts.String(),
		filepath.Join(dir, "inventory.yaml"): inventory.String(),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func accept(l net.Listener, config *ssh.ServerConfig, output []byte) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go connection(c, config, output)
	}
}

func connection(c net.Conn, config *ssh.ServerConfig, output []byte) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for nc := range channels {
		if nc.ChannelType() != "session" {
			nc.Reject(ssh.UnknownChannelType, "only sessions here")
			continue
		}
		ch, requests, err := nc.Accept()
		if err != nil {
			return
		}
		go session(ch, requests, output)
	}
}

// session answers the first exec request with success, RFC 4254 section 6.5
// and 6.10, and refuses everything else.
func session(ch ssh.Channel, requests <-chan *ssh.Request, output []byte) {
	defer ch.Close()
	for r := range requests {
		if r.Type != "exec" {
			r.Reply(false, nil)
			continue
		}
		r.Reply(true, nil)
		if len(output) > 0 {
			ch.Write(output)
		}
		ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{0}))
		ch.CloseWrite()
		ch.Close()
		go ssh.DiscardRequests(requests)
		return
	}
}
