package vault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/internal/safetext"
	"bolt/inventory/plugin/fetch"
	"bolt/transport"
)

// maxAnswer is the maximum size of a secret; Vault's own storage accepts 1 MiB.
const maxAnswer = 8 << 20

// read reads a path, after a login if necessary.
func (p *Plugin) read(ctx context.Context, who login, path string) (*ordered.Map, error) {
	token, err := p.logins.do(ctx, who, func() (transport.Secret, error) { return p.logIn(ctx, who) })
	if err != nil {
		return nil, err
	}
	answer, err := p.ask(ctx, who.server, http.MethodGet, path, nil, token)
	if err != nil {
		return nil, err
	}
	data, ok := answer.Value("data").(*ordered.Map)
	if !ok {
		return nil, fmt.Errorf("%s: the response has no data", who.server.url)
	}
	return data, nil
}

// logIn returns a token.
func (p *Plugin) logIn(ctx context.Context, who login) (transport.Secret, error) {
	path, body := "auth/"+who.mount+"/login", ordered.Of("role_id", who.name)
	switch who.method {
	case "":
		return who.password, nil
	case "userpass":
		path, body = path+"/"+who.name, ordered.Of("password", who.password.Reveal())
	case "approle":
		if who.password.IsSet() {
			body.Set("secret_id", who.password.Reveal())
		}
	}
	answer, err := p.ask(ctx, who.server, http.MethodPost, path, body, who.password)
	if err != nil {
		return transport.Secret{}, fmt.Errorf("the login (%s): %w", who.method, err)
	}
	auth, _ := answer.Value("auth").(*ordered.Map)
	token, _ := auth.Value("client_token").(string)
	if token == "" {
		return transport.Secret{}, fmt.Errorf("the login (%s): %s: the response has no token; a second factor is not supported", who.method, who.server.url)
	}
	return transport.NewSecret(token), nil
}

// ask sends one request: a login if body is set, otherwise a request with a
// token. Errors do not contain secret in either case. A standby that cannot
// forward to the active node redirects to it. ask follows this redirect once,
// and only to the same path. If the first address was https, the second must be
// https, too. The node's certificate is verified like the first one, and the
// node is trusted as Vault's own client trusts it.
func (p *Plugin) ask(ctx context.Context, at server, method, path string, body *ordered.Map, secret transport.Secret) (*ordered.Map, error) {
	client, err := p.client(ctx, at)
	if err != nil {
		return nil, err
	}
	u, err := fetch.Parse(at.url)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath, u.RawQuery = strings.TrimRight(u.Path, "/")+"/v1/"+path, "", ""
	r := fetch.Request{Method: method, URL: u, Header: http.Header{"Accept": {"application/json"}, "X-Vault-Request": {"true"}}}
	if at.namespace != "" {
		r.Header.Set("X-Vault-Namespace", at.namespace)
	}
	if body == nil {
		r.Header.Set("X-Vault-Token", secret.Reveal())
	} else {
		r.Header.Set("Content-Type", "application/json")
		if r.Body, err = body.MarshalJSON(); err != nil {
			return nil, errors.New("the login cannot be written as JSON")
		}
	}
	a, err := client.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if to := a.Elsewhere(r.URL); to != nil {
		if (a.Code != http.StatusTemporaryRedirect && a.Code != http.StatusPermanentRedirect) || to.Path != u.Path || to.User != nil || to.Scheme != u.Scheme {
			return nil, fmt.Errorf("%s: %s: it redirects to %s, which is not followed; set server_url to the address of Vault itself", fetch.Place(u), a.Status, safetext.TerminalString(fetch.Place(to)))
		}
		r.URL = to
		if a, err = client.Do(ctx, r); err != nil {
			return nil, err
		}
	}
	if a.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", fetch.Place(r.URL), refused(a, secret))
	}
	return document(r.URL, a.Body)
}

// client returns a client for a server.
func (p *Plugin) client(ctx context.Context, at server) (*fetch.Client, error) {
	o := fetch.Options{Limit: maxAnswer, Agent: p.o.Agent, Proxy: p.o.Proxy, Timeout: p.o.Timeout}
	if at.cacert != "" {
		var err error
		if o.Authorities, err = readfile.Read(ctx, at.cacert, readfile.Key); err != nil {
			return nil, fmt.Errorf("cacert: %w", err)
		}
	}
	client, err := fetch.New(o)
	if err != nil {
		return nil, fmt.Errorf("cacert %s: %w", at.cacert, err)
	}
	return client, nil
}

// document parses a response. Errors do not quote it.
func document(u *url.URL, body []byte) (*ordered.Map, error) {
	v, err := ordered.ParseJSON(body)
	m, ok := v.(*ordered.Map)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: the response is not a JSON object", fetch.Place(u))
	}
	return m, nil
}

// refused returns the reason why a response contains no secret.
func refused(a *fetch.Answer, secret transport.Secret) string {
	var said struct {
		Errors   []string
		Warnings []string
		Data     struct {
			Metadata struct {
				DeletionTime string `json:"deletion_time"`
				Destroyed    bool
			}
		}
	}
	_ = json.Unmarshal(a.Body, &said) // if it is not JSON, it gives no reason
	text := a.Status
	if what := strings.Join(append(said.Errors, said.Warnings...), "; "); what != "" {
		text += ": " + fetch.Shown(what, secret.Reveal())
	}
	versioned := false
	for _, w := range said.Warnings {
		versioned = versioned || strings.Contains(w, "versioned")
	}
	switch {
	case a.Code == http.StatusNotFound && said.Data.Metadata.Destroyed:
		return text + " (its last version was destroyed)"
	case a.Code == http.StatusNotFound && said.Data.Metadata.DeletionTime != "":
		return text + " (its last version was deleted)"
	case a.Code == http.StatusNotFound && versioned:
		return text + " (the engine keeps versions: set version: 2)"
	case a.Code == http.StatusNotFound && len(said.Errors) == 0:
		return text + " (the secret does not exist; if the engine keeps versions, set version: 2)"
	case a.Code == http.StatusForbidden:
		return text + " (the token may have run out, or may not read this path)"
	case a.Code == http.StatusServiceUnavailable:
		return text + " (it is sealed, or not ready)"
	}
	return text
}
