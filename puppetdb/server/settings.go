package server

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/transport"
)

// Settings hold the sources of the options of a service.
type Settings struct {
	Values *ordered.Map // server_urls, cacert, …
	// Project is the directory that paths are relative to, Home the user's home
	// directory ("" if there is none).
	Project, Home string
	// Base has the options that are not settings: Agent, Proxy, Log.
	Base Options
}

// Read returns the options of the settings. If no token is set, it uses the user's token
// (~/.puppetlabs/token), if the file exists and no certificate is set.
func (s Service) Read(ctx context.Context, from Settings) (Options, error) {
	o := from.Base
	r := reader{service: &s, settings: from.Values}
	o.ServerURLs = r.texts("server_urls")
	o.CACert, o.Cert, o.Key = from.path(r.text("cacert")), from.path(r.text("cert")), from.path(r.text("key"))
	o.ConnectTimeout, o.ReadTimeout = r.seconds("connect_timeout"), r.seconds("read_timeout")
	o.Headers = r.headers()
	token := from.path(r.text("token"))
	if r.err != nil {
		return o, r.err
	}
	// An empty token prevents sending the user's token.
	_, set := from.Values.Get("token")
	if !set && from.Home != "" {
		token = filepath.Join(from.Home, ".puppetlabs", "token")
	}
	if token == "" || o.Cert != "" {
		return o, nil
	}
	data, err := readfile.Read(ctx, token, readfile.Key)
	if missing(err) && !set {
		return o, nil
	}
	if err != nil {
		return o, s.Wrong("token: %v", err)
	}
	o.Token = transport.NewSecret(strings.TrimSpace(string(data)))
	if strings.ContainsFunc(o.Token.Reveal(), func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return o, s.Wrong("token: the file %s must hold one line", token)
	}
	return o, nil
}

// path resolves the path of a setting.
func (s *Settings) path(text string) string {
	switch {
	case text == "":
		return ""
	case text == "~", strings.HasPrefix(text, "~/"):
		return filepath.Join(s.Home, text[1:])
	case filepath.IsAbs(text):
		return text
	}
	return filepath.Join(s.Project, text)
}

// A reader reads settings, and keeps the first error. Settings in puppetdb.conf, and from
// plugins, are not checked by a schema.
type reader struct {
	service  *Service
	settings *ordered.Map
	err      error
}

func (r *reader) wrong(format string, args ...any) {
	if r.err == nil {
		r.err = r.service.Wrong(format, args...)
	}
}

func (r *reader) text(key string) string {
	switch v := r.settings.Value(key).(type) {
	case nil:
	case string:
		return v
	case transport.Secret:
		return v.Reveal()
	default:
		r.wrong("%s must be a String", key)
	}
	return ""
}

func (r *reader) texts(key string) []string {
	list, ok := r.settings.Value(key).([]any)
	if !ok {
		switch r.settings.Value(key).(type) {
		case nil:
			return nil
		case string, transport.Secret:
			return []string{r.text(key)}
		}
		r.wrong("%s must be a String or an Array of them", key)
		return nil
	}
	var texts []string
	for _, v := range list {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case transport.Secret:
			texts = append(texts, v.Reveal())
		default:
			r.wrong("%s must be an Array of Strings", key)
		}
	}
	return texts
}

// maxSeconds limits durations; no caller waits longer.
const maxSeconds = 1_000_000

func (r *reader) seconds(key string) time.Duration {
	v, ok := r.settings.Get(key)
	if !ok || v == nil {
		return 0
	}
	n, ok := v.(int64)
	if !ok || n <= 0 {
		r.wrong("%s must be a positive Integer", key)
	}
	return time.Duration(min(n, maxSeconds)) * time.Second
}

// headers returns the headers to send; their values may be secrets.
func (r *reader) headers() map[string]transport.Secret {
	v := r.settings.Value("headers")
	if v == nil {
		return nil
	}
	m, ok := v.(*ordered.Map)
	if !ok {
		r.wrong("headers must be a Hash")
		return nil
	}
	headers := make(map[string]transport.Secret, m.Len())
	for name, v := range m.All() {
		switch v := v.(type) {
		case string:
			headers[name] = transport.NewSecret(v)
		case transport.Secret:
			headers[name] = v
		case int64, float64, bool:
			headers[name] = transport.NewSecret(fmt.Sprint(v))
		default:
			r.wrong("headers.%s must be a String", name)
		}
	}
	return headers
}
