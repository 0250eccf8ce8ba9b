// Package sshtest starts SSH servers for tests: real OpenSSH servers, small servers
// inside the test's process for scale, links with delay, and peers that misbehave.
//
// All servers listen on loopback addresses, keep their files in the test's temporary
// directory and end with the test. The real servers need root, /usr/sbin/sshd and
// ssh-keygen. Without them the test fails with a message.
package sshtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	sshdProgram = "/usr/sbin/sshd"
	startTime   = 20 * time.Second
)

// Options configure a real server. By default it has OpenSSH's limits, and root can
// only log in with a key.
type Options struct {
	// Config is added before the package's own configuration: the first value of an
	// option takes effect.
	Config string
	// Address is the address to listen on, "" for 127.0.0.1.
	Address string
	// HostKeys are the kinds of host keys (ed25519, ecdsa, rsa), in order;
	// nil for ed25519 and ecdsa.
	HostKeys []string
	// Env is added to its environment: KRB5_CONFIG, KRB5_KTNAME.
	Env []string
}

// A Server is an OpenSSH server of one test.
type Server struct {
	Host string // the address that it listens on
	Port int
	Addr string // both

	Dir     string // the directory of its files
	KeyFile string // a private key with which root (and any user) can log in
	// Authorized is the file of the authorized keys, one a line. Tests may add keys.
	Authorized string
	HostKeys   []ssh.PublicKey

	cmd    *exec.Cmd
	exited chan struct{}
	log    string
}

// Start starts a server and waits until it sends its version.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	HeedSignals()
	if os.Getuid() != 0 {
		t.Fatal("sshtest: a real sshd needs root")
	}
	if _, err := os.Stat(sshdProgram); err != nil {
		t.Fatalf("sshtest: %v; install openssh-server", err)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Server{Host: o.Address, Dir: t.TempDir()}
	if s.Host == "" {
		s.Host = "127.0.0.1"
	}
	s.log = filepath.Join(s.Dir, "log")
	s.KeyFile = filepath.Join(s.Dir, "id")
	s.Authorized = filepath.Join(s.Dir, "authorized_keys")
	user := WriteKey(t, s.KeyFile, "ed25519")
	if err := os.WriteFile(s.Authorized, ssh.MarshalAuthorizedKey(user.PublicKey()), 0o644); err != nil {
		t.Fatal(err)
	}
	kinds := o.HostKeys
	if kinds == nil {
		kinds = []string{"ed25519", "ecdsa"}
	}
	var keys strings.Builder
	for _, kind := range kinds {
		file := filepath.Join(s.Dir, "host_"+kind)
		s.HostKeys = append(s.HostKeys, WriteKey(t, file, kind).PublicKey())
		fmt.Fprintf(&keys, "HostKey %s\n", file)
	}
	// Another process may take the port before the start.
	for range 5 {
		s.Port = freePort(t, s.Host)
		s.Addr = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
		s.write(t, o.Config, keys.String())
		if s.start(t, o.Env) {
			t.Cleanup(func() {
				s.Kill()
				if t.Failed() {
					t.Logf("log of the sshd at %s:\n%s", s.Addr, s.Log())
				}
			})
			return s
		}
	}
	t.Fatalf("sshtest: sshd did not start:\n%s", s.Log())
	return nil
}

// write writes the configuration. A command reads the authorized keys, so that the
// modes of the directories above do not matter. SHLVL keeps bash from reading
// ~/.bashrc, as it does when it takes sshd for its parent.
func (s *Server) write(t testing.TB, first, hostKeys string) {
	t.Helper()
	config := first + "\n" + hostKeys + fmt.Sprintf(`
ListenAddress %s:%d
PidFile none
AuthorizedKeysFile none
AuthorizedKeysCommand /bin/cat %s
AuthorizedKeysCommandUser root
PermitRootLogin yes
PubkeyAuthentication yes
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
UsePAM no
UseDNS no
LogLevel VERBOSE
SetEnv SHLVL=1
Subsystem sftp internal-sftp
`, bracketed(s.Host), s.Port, s.Authorized)
	if err := os.WriteFile(filepath.Join(s.Dir, "sshd_config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

func bracketed(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}

func (s *Server) start(t testing.TB, env []string) bool {
	t.Helper()
	log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	before := len(s.Log())
	s.cmd = exec.Command("/usr/bin/env", append(slices.Clone(env), sshdProgram, "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"))...)
	s.cmd.Stderr = log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.exited = make(chan struct{})
	go func() {
		s.cmd.Wait()
		close(s.exited)
	}()
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); {
		// The SSH server at this port may belong to another process that chose the
		// same port.
		if greets(s.Addr) && strings.Contains(s.Log()[before:], "Server listening on ") {
			return true
		}
		select {
		case <-s.exited:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.Kill()
	return false
}

// greets reports whether an SSH server answers.
func greets(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(5 * time.Second))
	head := make([]byte, 4)
	n, _ := c.Read(head)
	return bytes.Equal(head[:n], []byte("SSH-"))
}

// Kill ends the server and its session processes immediately (SIGKILL), like a
// machine that crashes. The processes that the sessions run stay. Kill waits for the
// server.
func (s *Server) Kill() {
	select {
	case <-s.exited:
		return
	default:
	}
	for _, pid := range descendants(s.cmd.Process.Pid) {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.HasPrefix(string(name), "sshd") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	s.cmd.Process.Kill()
	<-s.exited
}

// descendants lists the processes below pid.
func descendants(pid int) []int {
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		text, _ := os.ReadFile(file)
		for _, f := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(f); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// Log returns the text that the server has written so far.
func (s *Server) Log() string {
	text, _ := os.ReadFile(s.log)
	return string(text)
}

// Authorize adds a key to the authorized keys. options are the options of
// authorized_keys for it.
func (s *Server) Authorize(t testing.TB, options string, key ssh.PublicKey) {
	t.Helper()
	text, err := os.ReadFile(s.Authorized)
	if err != nil {
		t.Fatal(err)
	}
	if options != "" {
		options += " "
	}
	text = append(append(text, options...), ssh.MarshalAuthorizedKey(key)...)
	if err := os.WriteFile(s.Authorized, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// KnownHosts returns the server's lines for a known_hosts file.
func (s *Server) KnownHosts() string {
	name := s.Host
	if s.Port != 22 {
		name = fmt.Sprintf("[%s]:%d", s.Host, s.Port)
	}
	var b strings.Builder
	for _, k := range s.HostKeys {
		fmt.Fprintf(&b, "%s %s", name, ssh.MarshalAuthorizedKey(k))
	}
	return b.String()
}

// NewKey makes a key: ed25519, ecdsa or rsa.
func NewKey(t testing.TB, kind string) crypto.Signer {
	t.Helper()
	var key crypto.Signer
	var err error
	switch kind {
	case "ed25519":
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case "ecdsa":
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "rsa":
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		t.Fatalf("sshtest: no kind of key %q", kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// WriteKey makes a key and writes it to path, and its public key to path.pub.
func WriteKey(t testing.TB, path, kind string) ssh.Signer {
	t.Helper()
	key := NewKey(t, kind)
	block, err := ssh.MarshalPrivateKey(key, "sshtest")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromSigner(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(signer.PublicKey()), 0o644); err != nil {
		t.Fatal(err)
	}
	return signer
}

// freePort finds a free port.
func freePort(t testing.TB, host string) int {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
