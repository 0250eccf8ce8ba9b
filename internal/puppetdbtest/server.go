// Package puppetdbtest provides a PuppetDB for tests.
//
// It is a real PuppetDB with a PostgreSQL of its own (scripts/puppetdb.sh), started when a test first
// needs it. If the machine has no PuppetDB, a server takes its place. It sends the recorded responses
// of a real one (testdata/recorded.jsonl), behind the same certificates.
//
//	BOLT_TEST_PUPPETDB=recorded   the recorded responses, also if there is a real one
//	BOLT_TEST_PUPPETDB=record     the real one; its responses are written to $BOLT_TEST_RECORDING
package puppetdbtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"bolt/internal/freeport"
)

// jar exists if a PuppetDB is installed.
const jar = "/usr/share/puppetdb/puppetdb.jar"

// A Server holds the data that a client needs.
type Server struct {
	URL       string // https://localhost:PORT
	Plain     string // http://localhost:PORT, which needs no certificate; "" if there is none
	CACert    string // the path of its CA certificate
	CAKey     string // the path of the CA's key, to make certificates in tests
	Cert, Key string // of a client that has access to everything
}

// Shared is one Server for all tests of a package. The zero value is ready to use. The package's
// TestMain must stop it with Stop.
type Shared struct {
	once   sync.Once
	err    error
	server Server
	said   bytes.Buffer
	stop   []func() error
}

// Server starts the server if it does not run yet.
func (s *Shared) Server(t testing.TB) Server {
	t.Helper()
	s.once.Do(func() { s.err = s.start(os.Getenv("BOLT_TEST_PUPPETDB")) })
	if s.err != nil {
		t.Fatalf("no PuppetDB: %v\n%s", s.err, s.said.String())
	}
	return s.server
}

func (s *Shared) start(mode string) error {
	if _, err := os.Stat(jar); mode == "recorded" || mode == "" && errors.Is(err, os.ErrNotExist) {
		return s.startRecorded()
	}
	if err := s.startReal(); err != nil || mode != "record" {
		return err
	}
	return s.startRecording(os.Getenv("BOLT_TEST_RECORDING"))
}

// Stop stops the server, if it runs.
func (s *Shared) Stop() error {
	var errs []error
	for i := len(s.stop) - 1; i >= 0; i-- {
		errs = append(errs, s.stop[i]())
	}
	s.stop = nil
	if s.err != nil {
		return nil // a test has reported it
	}
	return errors.Join(errs...)
}

// scriptPath finds scripts/puppetdb.sh above the working directory.
func scriptPath() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, "scripts", "puppetdb.sh")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no parent of the working directory holds scripts/puppetdb.sh")
		}
		dir = up
	}
}

// startReal runs the script. The script stops the server at the end of its standard input, which
// also comes if this process is killed.
func (s *Shared) startReal() error {
	dir, err := s.directory()
	if err != nil {
		return err
	}
	ports, err := freeport.Find(3)
	if err != nil {
		return err
	}
	script, err := scriptPath()
	if err != nil {
		return err
	}
	cmd := exec.Command(script, append([]string{"serve", dir}, ports...)...)
	cmd.Stderr = &s.said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	life, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.stop = append(s.stop, func() error {
		life.Close()
		return cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		return errors.Join(fmt.Errorf("it says %q", line), err)
	}
	ssl := func(name string) string { return filepath.Join(dir, "ssl", name) }
	s.server = Server{URL: "https://localhost:" + ports[1], Plain: "http://localhost:" + ports[0],
		CACert: ssl("ca.pem"), CAKey: ssl("ca.key"), Cert: ssl("client.pem"), Key: ssl("client.key")}
	return nil
}

// directory makes a directory that is removed at the end. The path of PostgreSQL's socket must be
// short.
func (s *Shared) directory() (string, error) {
	dir, err := os.MkdirTemp("", "puppetdb")
	s.stop = append(s.stop, func() error { return os.RemoveAll(dir) })
	return dir, err
}
