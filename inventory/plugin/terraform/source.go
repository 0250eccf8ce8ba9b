package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bolt/format/fault"
	"bolt/internal/readfile"
	"bolt/inventory/plugin/fetch"
)

// maxState is the maximum size of a state. It is read into memory and needs twice
// its size there.
const maxState = 128 << 20

// A source is the location of a state.
type source struct {
	Options
	dir, file, backend string
}

// A record is the part of the file that "terraform init" writes about the backend
// of a directory.
type record struct {
	Backend struct {
		Type   string
		Config map[string]any
	}
}

func (r *record) text(key string) string {
	s, _ := r.Backend.Config[key].(string)
	return s
}

// load returns the state, "" if there is none, and its location. As in Puppet
// Bolt, an existing file is read unless the reference sets a backend.
func (s *source) load(ctx context.Context) (data []byte, from string, err error) {
	if s.file != "" && (s.backend == "" || s.backend == "local") {
		path := s.file
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.dir, path)
		}
		if data, err = readfile.Read(ctx, path, s.limit); absent(err) {
			// A missing state file means that there are no resources yet. This
			// applies only to the default file, not to a file that the option
			// 'state' names.
			return nil, path, errors.New("the option 'state' names a file that does not exist: " + path)
		}
		return data, path, err
	}
	r, err := s.record(ctx)
	if err != nil {
		return nil, "", err
	}
	switch s.backend {
	case "http":
		if r.Backend.Type != "http" {
			return nil, "", errors.New("no http backend is configured there; terraform init records it")
		}
		return s.overHTTP(ctx, r)
	case "remote":
		if r.Backend.Type == "http" {
			return s.overHTTP(ctx, r)
		}
		return s.pull(ctx)
	}
	path, err := s.path(ctx, r)
	if err != nil {
		return nil, "", err
	}
	data, from, err = s.local(ctx, path)
	if err != nil || len(data) > 0 || s.backend == "local" {
		return data, from, err
	}
	switch r.Backend.Type {
	case "", "local":
		return nil, from, nil
	case "http":
		return s.overHTTP(ctx, r)
	}
	return nil, "", fmt.Errorf("it is in the backend %q; set 'backend: remote' so that terraform itself pulls it", r.Backend.Type)
}

// record reads the recorded backend; the result is empty for a local state.
func (s *source) record(ctx context.Context) (*record, error) {
	r := &record{}
	path := filepath.Join(s.data(), "terraform.tfstate")
	data, err := readfile.Read(ctx, path, readfile.Config)
	if absent(err) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, unreadable(err))
	}
	return r, nil
}

// data returns the data directory of Terraform for a directory.
func (s *source) data() string {
	dir, _ := s.Env("TF_DATA_DIR")
	switch {
	case dir == "":
		dir = ".terraform"
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join(s.dir, dir)
}

// path returns the path of the local state, in the selected workspace.
func (s *source) path(ctx context.Context, r *record) (string, error) {
	const standard = "terraform.tfstate"
	path, dir := standard, "terraform.tfstate.d"
	if r.Backend.Type == "local" {
		path, dir = or(r.text("path"), path), or(r.text("workspace_dir"), dir)
	}
	workspace, _ := s.Env("TF_WORKSPACE")
	if workspace == "" {
		text, err := readfile.Read(ctx, filepath.Join(s.data(), "environment"), readfile.Key)
		if err != nil && !absent(err) {
			return "", err
		}
		workspace = strings.TrimSpace(string(text))
	}
	if workspace != "" && workspace != "default" {
		if workspace != filepath.Base(workspace) {
			return "", fmt.Errorf("%q is not a valid name of a workspace", workspace)
		}
		path = filepath.Join(dir, workspace, standard)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.dir, path)
	}
	return path, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

// local reads a file. If the file does not exist, the state has no resources yet.
func (s *source) local(ctx context.Context, path string) (data []byte, from string, err error) {
	data, err = readfile.Read(ctx, path, s.limit)
	if !absent(err) {
		return data, path, err
	}
	if _, err := os.Stat(s.dir); err != nil {
		return nil, path, fmt.Errorf("the directory cannot be read: %w", fault.WithoutPath(err))
	}
	return nil, path, nil
}

// overHTTP reads the state from the http backend, with the recorded settings or
// the settings from the environment.
func (s *source) overHTTP(ctx context.Context, r *record) (data []byte, from string, err error) {
	value := func(key string) string {
		if v := r.text(key); v != "" {
			return v
		}
		v, _ := s.Env("TF_HTTP_" + strings.ToUpper(key))
		return v
	}
	u, err := fetch.Parse(value("address"))
	if err != nil {
		return nil, "", fmt.Errorf("the address of the http backend: %w", err)
	}
	from = fetch.Place(u)
	unverified, _ := r.Backend.Config["skip_cert_verification"].(bool)
	pem := func(key string) []byte {
		if v := value(key); v != "" {
			return []byte(v)
		}
		return nil
	}
	client, err := fetch.New(fetch.Options{
		Authorities: pem("client_ca_certificate_pem"), Certificate: pem("client_certificate_pem"), Key: pem("client_private_key_pem"),
		Unverified: unverified, Limit: s.limit, Agent: s.Agent, Proxy: s.Proxy, Timeout: s.Timeout,
	})
	if err != nil {
		return nil, "", err
	}
	ask := fetch.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	user, password := value("username"), value("password")
	if user != "" {
		basic := http.Request{Header: ask.Header}
		basic.SetBasicAuth(user, password)
	}
	a, err := client.Do(ctx, ask)
	if err != nil {
		return nil, "", err
	}
	switch a.Code {
	case http.StatusOK:
		return a.Body, from, nil
	case http.StatusNoContent, http.StatusNotFound:
		return nil, from, nil // no resources yet
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, "", fmt.Errorf("%s: %s: the username or the password is wrong (set by terraform init, or by TF_HTTP_USERNAME and TF_HTTP_PASSWORD)", from, a.Status)
	}
	if to := a.Elsewhere(u); to != nil {
		return nil, "", fmt.Errorf("%s: %s: it redirects to %s, which is not followed", from, a.Status, fetch.Shown(fetch.Place(to)))
	}
	return nil, "", fmt.Errorf("%s: %s", from, a.Status)
}

// pull runs the program, which reads the state itself. A backend may take long to
// answer.
func (s *source) pull(ctx context.Context) (data []byte, from string, err error) {
	if _, err := os.Stat(s.dir); err != nil {
		return nil, "", fmt.Errorf("the directory cannot be read: %w", fault.WithoutPath(err))
	}
	program, err := exec.LookPath("terraform")
	if err != nil {
		if program, err = exec.LookPath("tofu"); err != nil {
			return nil, "", errors.New("neither terraform nor tofu is on PATH to pull it")
		}
	}
	within, stop := context.WithTimeout(ctx, 5*s.Timeout)
	defer stop()
	cmd := exec.CommandContext(within, program, "state", "pull")
	cmd.Dir = s.dir
	cmd.Env = append(cmd.Environ(), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	// The program starts plugins, which end with its session.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, said := &kept{limit: s.limit, full: stop}, &kept{limit: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	from = filepath.Base(program) + " state pull"
	switch {
	case ctx.Err() != nil:
		return nil, "", context.Cause(ctx)
	case out.over:
		return nil, "", fmt.Errorf("%s: it is larger than %d MiB", from, s.limit>>20)
	case within.Err() != nil:
		return nil, "", fmt.Errorf("%s: it took longer than %v", from, 5*s.Timeout)
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w: %s", from, err, fetch.Shown(said.b.String()))
	}
	return out.b.Bytes(), from, nil
}

// kept stores the beginning of the written data.
type kept struct {
	b     bytes.Buffer
	limit int64
	over  bool
	full  func() // called when there is more; if nil, more data is dropped
}

// Write never fails.
func (k *kept) Write(p []byte) (int, error) {
	n := int(min(int64(len(p)), k.limit-int64(k.b.Len())))
	k.b.Write(p[:n])
	if n < len(p) {
		k.over = true
		if k.full != nil {
			k.full()
		}
	}
	return len(p), nil
}
