package javaks

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bolt/apply/provider/textfile"
	"bolt/apply/resource"
)

// The variables with passwords, in the environment of keytool.
const (
	storePassword  = "BOLT_STORE_PASSWORD"
	sourcePassword = "BOLT_SOURCE_PASSWORD"
	keyPassword    = "BOLT_KEY_PASSWORD"
)

// errPassword is the error for a keystore that has another password.
var errPassword = errors.New("the keystore has another password")

// entries are the certificates of a keystore in DER, by alias.
type entries map[string][][]byte

// A keytool runs keytool for one keystore.
type keytool struct {
	h        *resource.Host
	program  string
	password string
	storeIs  string // the storetype
	timeout  time.Duration
}

// open finds the program and the password for a keystore.
func (s *store) open(ctx context.Context, h *resource.Host) (*keytool, error) {
	host := *h
	if s.search != "" {
		host.Env = append(append([]string{}, h.Env...), "PATH="+s.search)
	}
	k := &keytool{h: &host, program: host.Find("keytool"), password: s.password, storeIs: s.kind, timeout: s.timeout}
	if k.program == "" {
		return nil, errors.New("the program keytool is missing. Install a Java runtime on the target, or set path")
	}
	if s.passwordFile != "" {
		text, exists, err := textfile.Read(ctx, s.passwordFile)
		if err == nil && !exists {
			err = fmt.Errorf("the file with the password, %s, does not exist", s.passwordFile)
		}
		if err != nil {
			return nil, err
		}
		k.password = textfile.Chomp(text)
	}
	return k, nil
}

// An option is a pair of arguments that can be left out.
type option []string

// kind returns the option with the storetype if it is one of kinds; without kinds, if it is given.
func (k *keytool) kind(name string, kinds ...string) option {
	for _, kind := range kinds {
		if kind == k.storeIs {
			return option{name, kind}
		}
	}
	if len(kinds) == 0 && k.storeIs != "" {
		return option{name, k.storeIs}
	}
	return nil
}

// run runs keytool. args are strings and options.
func (k *keytool) run(ctx context.Context, args ...any) error {
	_, err := k.output(ctx, nil, args...)
	return err
}

// quick are options for a JVM that ends soon. They halve its CPU time. JVMs without such options ignore them.
var quick = [...]string{"-J-XX:+IgnoreUnrecognizedVMOptions", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"}

// output runs keytool with more variables, and returns its standard output.
func (k *keytool) output(ctx context.Context, vars []string, args ...any) (string, error) {
	argv := append([]string{k.program}, quick[:]...)
	for _, a := range args {
		switch a := a.(type) {
		case string:
			argv = append(argv, a)
		case option:
			argv = append(argv, a...)
		}
	}
	if args[0] == "-importkeystore" {
		argv = append(argv, "-deststorepass:env", storePassword)
	} else {
		argv = append(argv, "-storepass:env", storePassword)
	}
	env := k.h.Environ(append(vars, storePassword+"="+k.password)...)
	out, err := k.h.Run(ctx, &resource.Command{Argv: argv, Env: env, Timeout: k.timeout})
	if err != nil {
		return "", fmt.Errorf("keytool %s: %w", args[0], err)
	}
	if len(out.Stdout) > 0 { // keytool prints its errors there; the JVM prints notes to the other stream
		out.Stderr = nil
	}
	if err := out.Failure(fmt.Sprintf("keytool %s", args[0])); err != nil {
		if strings.Contains(string(out.Stdout), "password was incorrect") {
			return "", errPassword
		}
		return "", err
	}
	return string(out.Stdout), nil
}

// list returns the entries of a keystore; none if it does not exist, or is empty.
func (s *store) list(ctx context.Context, h *resource.Host) (entries, error) {
	text, exists, err := textfile.Read(ctx, s.path)
	if err != nil || !exists || text == "" {
		return nil, err
	}
	k, err := s.open(ctx, h)
	if err != nil {
		return nil, err
	}
	out, err := k.output(ctx, nil, "-list", "-rfc", "-keystore", s.path, k.kind("-storetype", "jceks"))
	if err != nil {
		return nil, err
	}
	return parse(out), nil
}

// parse reads the output of keytool -list -rfc: for each entry, a line with the alias, and its certificates in PEM
// format. Names in the certificates are not printed, so they cannot look like entries.
func parse(out string) entries {
	found := make(entries)
	var parts []string // of the output, each with one entry
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, aliasName) {
			parts = append(parts, "")
		}
		if n := len(parts); n > 0 {
			parts[n-1] += line
		}
	}
	for _, part := range parts {
		line, rest, _ := strings.Cut(part, "\n")
		alias := strings.ToLower(strings.TrimRight(strings.TrimPrefix(line, aliasName), "\r"))
		found[alias] = blocks([]byte(rest))
	}
	return found
}

const aliasName = "Alias name: "

// blocks returns the certificates in PEM format in data, in DER.
func blocks(data []byte) (certs [][]byte) {
	for {
		block, rest := pem.Decode(data)
		if block == nil {
			return certs
		}
		if strings.HasSuffix(block.Type, certificateBlock) {
			certs = append(certs, block.Bytes)
		}
		data = rest
	}
}

// certificateBlock is the end of the types of PEM blocks with certificates.
const certificateBlock = "CERTIFICATE"

// A work is a private directory for a copy of a keystore and for the files that keytool imports.
type work struct{ dir, store string }

func newWork() (*work, error) {
	dir, err := os.MkdirTemp("", "bolt-java_ks-")
	return &work{dir: dir, store: filepath.Join(dir, "keystore")}, err
}

func (w *work) close() { _ = os.RemoveAll(w.dir) } // in a directory for temporary files

// put writes the copy of a keystore. keytool refuses an empty file, and makes a missing one.
func (w *work) put(text string) error {
	if text == "" {
		return nil
	}
	return os.WriteFile(w.store, []byte(text), 0o600)
}

// file writes a file and returns its path.
func (w *work) file(name string, data []byte) (string, error) {
	path := filepath.Join(w.dir, name)
	return path, os.WriteFile(path, data, 0o600)
}

// result returns the keystore that keytool has written.
func (w *work) result() (string, error) {
	data, err := os.ReadFile(w.store)
	if err == nil && len(data) == 0 {
		err = errors.New("keytool wrote an empty keystore")
	}
	return string(data), err
}
