// Command farmd is thousands of SSH servers in a few processes: it listens on all
// loopback addresses, accepts one public key, and answers every exec request with
// success, without a fork. It proves to bolt that it is a shell. It is for
// measurements of the client.
//
// It writes the files for clients to -dir, as scripts/farm.sh does
// (inventory.yaml, hosts, home/.ssh), prints "ready" and the IDs of the serving
// processes, and runs until its standard input ends.
package main

import (
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
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

// firstAddress is the address of the first target; the others follow it.
const firstAddress = "127.1.0.1"

func main() {
	n := flag.Int("n", 1000, "number of `targets`")
	dir := flag.String("dir", "", "`folder` for the inventory, the keys and known_hosts")
	output := flag.String("output", "", "`text` that every command prints")
	worker := flag.Bool("worker", false, "serve on the listener that is descriptor 3; for farmd itself")
	flag.Parse()
	if *dir == "" || *n < 1 || len(*output) > maxOutput || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	do := run
	if *worker {
		do = func(_ int, dir, output string) error { return serve(dir, []byte(output)) }
	}
	if err := do(*n, *dir, *output); err != nil {
		fmt.Fprintln(os.Stderr, "farmd:", err)
		os.Exit(1)
	}
}

const (
	// maxOutput is the maximum that fits into one packet.
	maxOutput = 30000
	// perWorker is the number of targets of a process: a common limit is 20,000
	// descriptors, and some clients hold several connections to a target.
	perWorker = 4000
)

// run starts the workers and ends them when standard input ends.
func run(n int, dir, output string) (err error) {
	host, err := newKey(filepath.Join(dir, hostKeyFile))
	if err != nil {
		return err
	}
	if _, err := newKey(filepath.Join(dir, userKeyFile)); err != nil {
		return err
	}
	// One listener serves all addresses, because one for each would take as many
	// descriptors as the connections.
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		return err
	}
	if err := describe(dir, n, listener.Addr().(*net.TCPAddr).Port, host); err != nil {
		return err
	}
	shared, err := listener.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Print("ready")
	for range (n + perWorker - 1) / perWorker {
		w := exec.Command(self, "-worker", "-dir", dir, "-output", output)
		w.Stderr, w.ExtraFiles = os.Stderr, []*os.File{shared}
		stdin, err := w.StdinPipe() // its end ends the worker, also if this process is killed
		if err == nil {
			err = w.Start()
		}
		if err != nil {
			return err // the end of this process ends the workers
		}
		defer func() {
			stdin.Close()
			w.Wait()
		}()
		fmt.Print(" ", w.Process.Pid)
	}
	fmt.Println()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// serve runs a worker: it answers until its standard input ends. The process ends
// then, and with it all connections.
func serve(dir string, output []byte) error {
	host, err := readKey(filepath.Join(dir, hostKeyFile))
	if err != nil {
		return err
	}
	user, err := readKey(filepath.Join(dir, userKeyFile))
	if err != nil {
		return err
	}
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	s := &server{host: host, accepted: user.PublicKey().Marshal(), output: output}
	go s.accept(listener)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// accept accepts connections as long as the process lives. Without a free
// descriptor it leaves them to other workers.
func (s *server) accept(listener net.Listener) {
	said := false
	for {
		c, err := listener.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			if !said {
				fmt.Fprintf(os.Stderr, "farmd: %v; ulimit -n must exceed the number of connections\n", err)
				said = true
			}
			time.Sleep(10 * time.Millisecond)
		case err != nil:
			fmt.Fprintln(os.Stderr, "farmd:", err)
			return
		case !c.LocalAddr().(*net.TCPAddr).IP.IsLoopback():
			c.Close() // from another machine
		default:
			go s.greet(c)
		}
	}
}

const (
	hostKeyFile = "host_ed25519"
	userKeyFile = "id_ed25519"
)

// newKey makes a private key and writes it to a file.
func newKey(file string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(private)
}

func readKey(file string) (ssh.Signer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKey(text)
}

// describe writes the files that clients need.
func describe(dir string, n, port int, host ssh.Signer) error {
	home := filepath.Join(dir, "home", ".ssh")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	private, known := filepath.Join(dir, userKeyFile), filepath.Join(home, "known_hosts")
	public := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	var inventory, hosts, records strings.Builder
	fmt.Fprintf(&inventory, "config:\n  transport: ssh\n  ssh:\n    user: root\n    port: %d\n    private-key: %s\n    host-key-check: true\ntargets:\n", port, private)
	ip := netip.MustParseAddr(firstAddress)
	for i := range n {
		fmt.Fprintf(&inventory, "  - name: node%05d\n    uri: %s\n", i+1, ip)
		fmt.Fprintln(&hosts, ip)
		fmt.Fprintf(&records, "[%s]:%d %s\n", ip, port, public)
		ip = ip.Next()
	}
	config := fmt.Sprintf("Host 127.*\n    Port %d\n    User root\n    IdentityFile %s\n    IdentitiesOnly yes\n    UserKnownHostsFile %s\n    StrictHostKeyChecking yes\n    BatchMode yes\n", port, private, known)
	for name, text := range map[string]string{
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

// greet logs a client in. Another goroutine, with a small stack, then serves the
// client.
func (s *server) greet(c net.Conn) {
	l, err := s.login(c)
	if err != nil {
		c.Close()
		return
	}
	go func() {
		defer c.Close()
		// The client notices the end of the connection.
		_ = s.serve(l)
	}()
}
