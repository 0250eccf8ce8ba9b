// Package vault is the plugin vault: it reads secrets of HashiCorp Vault or
// OpenBao, from key/value engines of version 1 and 2.
//
//	password: {_plugin: vault, path: secret/web, field: password, version: 2}
//
// A Plugin reads each path once, and logs in to each server once.
//
// The package uses the HTTP API directly: a login and a read.
//
// Source: https://developer.hashicorp.com/vault/api-docs (secret/kv,
// auth/userpass, auth/approle), and the plugin puppetlabs-vault of Puppet Bolt
// for its options.
package vault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/inventory/plugin/fetch"
	"bolt/inventory/plugin/mapping"
	"bolt/inventory/plugin/options"
	"bolt/transport"
)

// Name is the name of the plugin.
const Name = "vault"

// Options are the environment of the plugin.
type Options struct {
	Project string // directory that relative paths are relative to
	Home    string // the user's home directory, "" for none
	Env     func(name string) (string, bool)
	Agent   string
	Proxy   func(*http.Request) (*url.URL, error)
	// Timeout is the time limit of a request; 0 is a minute.
	Timeout time.Duration
}

// A Plugin reads secrets. It is safe for concurrent use.
type Plugin struct {
	o Options

	logins once[login, transport.Secret]
	reads  once[read, *ordered.Map]
}

// New returns the plugin.
func New(o Options) *Plugin {
	return &Plugin{o: o}
}

// Configures reports whether the plugin's configuration can contain a key.
func Configures(key string) bool {
	switch key {
	case "server_url", "auth", "cacert", "namespace", "version", "path", "field":
		return true
	}
	return false
}

// A server is the address of one Vault with a namespace and its TLS settings.
type server struct {
	url, namespace, cacert string
}

// A login describes how to get a token. If method is "", the token is known.
type login struct {
	server   server
	method   string
	mount    string
	name     string // the user, or the role_id
	password transport.Secret
}

// A read identifies a path and the login to read it with: other logins may not
// have access.
type read struct {
	login login
	path  string
}

// Resolve returns the value of a reference, a field of a secret or the whole
// secret; see plugin.Native.
func (p *Plugin) Resolve(ctx context.Context, config, ref *ordered.Map) (any, error) {
	r := options.New(Name, ref, config)
	path, field := strings.Trim(r.Required("path"), "/"), r.Text("field")
	version := r.Number("version", 0, 1)
	if version > 2 {
		r.Wrong("supports the versions 1 and 2 of the key/value engine, not %d", version)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			r.Wrong("requires that 'path' consists of names separated by slashes: secret/web")
		}
	}
	at := server{url: r.Text("server_url"), namespace: r.Text("namespace"), cacert: r.Text("cacert")}
	auth := r.Map("auth")
	if err := r.Err(); err != nil {
		return nil, err
	}
	p.fallBack(&at)
	if at.url == "" {
		r.Wrong("requires a 'server_url', in the reference, in the plugin's configuration or in the environment (VAULT_ADDR)")
	} else if _, err := fetch.Parse(at.url); err != nil {
		r.Wrong("cannot use 'server_url': %v", err)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	who, err := p.login(ctx, at, auth)
	if err != nil {
		return nil, err
	}
	secret, err := p.reads.do(ctx, read{who, place(path, version)}, func() (*ordered.Map, error) {
		return p.read(ctx, who, place(path, version))
	})
	if err != nil {
		return nil, about(path, err)
	}
	if secret, err = unwrap(secret, version); err != nil {
		return nil, about(path, err)
	}
	var v any = secret
	if field != "" {
		v = secret.Value(field)
	}
	switch {
	case v == nil:
		return nil, about(path, fmt.Errorf("it has no field '%s'", field))
	case !mapping.Safe(v):
		return nil, about(path, errors.New("it contains the key _plugin; secrets cannot be plugin references"))
	}
	return v, nil
}

func about(path string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	return fmt.Errorf("the secret '%s': %w", path, err)
}

// fallBack takes missing settings from the environment, as Vault's own tools do.
func (p *Plugin) fallBack(at *server) {
	for name, to := range map[string]*string{"VAULT_ADDR": &at.url, "VAULT_NAMESPACE": &at.namespace, "VAULT_CACERT": &at.cacert} {
		if *to == "" {
			*to, _ = p.o.Env(name)
		}
	}
	at.url = strings.TrimRight(at.url, "/")
	if at.cacert != "" && !filepath.IsAbs(at.cacert) {
		at.cacert = filepath.Join(p.o.Project, at.cacert)
	}
}

// login returns how to get a token for a server.
func (p *Plugin) login(ctx context.Context, at server, auth *ordered.Map) (login, error) {
	l := login{server: at}
	if auth == nil {
		token, err := p.token(ctx)
		l.password = token
		return l, err
	}
	r := options.New(Name+"'s auth", auth, nil)
	switch l.method = r.Required("method"); l.method {
	case "token":
		l.method, l.password = "", r.Secret("token")
		if err := r.Err(); err != nil || l.password.IsSet() {
			return l, err
		}
		token, err := p.token(ctx)
		l.password = token
		return l, err
	case "userpass":
		l.name, l.password = r.Required("user"), transport.NewSecret(r.Required("pass"))
	case "approle":
		l.name, l.password = r.Required("role_id"), r.Secret("secret_id")
	case "":
	default:
		r.Wrong("has no method '%s': the methods are token, userpass and approle", l.method)
	}
	if l.mount = strings.Trim(r.Text("mount"), "/"); l.mount == "" {
		l.mount = l.method
	}
	return l, r.Err()
}

// token returns the token in the environment, or the token file that Vault's own
// tools wrote at login.
func (p *Plugin) token(ctx context.Context) (transport.Secret, error) {
	const hint = "say who asks: auth: {method: token, token: ...}, VAULT_TOKEN, or vault login"
	if t, _ := p.o.Env("VAULT_TOKEN"); t != "" {
		return transport.NewSecret(t), nil
	}
	if p.o.Home != "" {
		data, err := readfile.Read(ctx, filepath.Join(p.o.Home, ".vault-token"), readfile.Key)
		if t := strings.TrimSpace(string(data)); err == nil && t != "" {
			return transport.NewSecret(t), nil
		}
	}
	return transport.Secret{}, &fault.Error{Kind: "bolt/validation-error", Msg: "The plugin " + Name + " requires 'auth', or a token in VAULT_TOKEN or ~/.vault-token", Hint: hint}
}

// place returns the path in the API: version 2 of the engine has "data" after
// the name of the mount.
func place(path string, version int64) string {
	mount, rest, _ := strings.Cut(path, "/")
	if version != 2 || rest == "" || strings.HasPrefix(rest, "data/") {
		return path
	}
	return mount + "/data/" + rest
}

// unwrap returns the secret in a response: version 2 of the engine wraps it with
// metadata. If no version is set, unwrap detects it.
func unwrap(m *ordered.Map, version int64) (*ordered.Map, error) {
	inner, wrapped := m.Value("data").(*ordered.Map)
	about, _ := m.Value("metadata").(*ordered.Map)
	if version == 0 {
		_, numbered := about.Get("version")
		wrapped = wrapped && numbered && m.Len() == 2
	}
	switch {
	case version == 1, version == 0 && !wrapped:
		return m, nil
	case !wrapped:
		return nil, errors.New("the response is not from version 2 of the key/value engine; remove 'version'")
	}
	return inner, nil
}

// once runs work once for each key, even if it fails: Vault locks out users
// after too many wrong passwords.
type once[K comparable, V any] struct {
	mu   sync.Mutex
	done map[K]*outcome[V]
}

type outcome[V any] struct {
	ready chan struct{} // closed when the rest is set
	value V
	err   error
}

func (o *once[K, V]) do(ctx context.Context, key K, work func() (V, error)) (V, error) {
	var none V
	o.mu.Lock()
	if o.done == nil {
		o.done = make(map[K]*outcome[V])
	}
	f, known := o.done[key]
	if !known {
		f = &outcome[V]{ready: make(chan struct{})}
		o.done[key] = f
	}
	o.mu.Unlock()
	if !known {
		f.value, f.err = work()
		if f.err != nil && ctx.Err() != nil { // it was canceled, so there is no result
			o.mu.Lock()
			delete(o.done, key)
			o.mu.Unlock()
		}
		close(f.ready)
		return f.value, f.err
	}
	select {
	case <-f.ready:
		return f.value, f.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
}
