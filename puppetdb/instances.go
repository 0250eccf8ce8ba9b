package puppetdb

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/transport"
)

// Settings are where the options of instances come from.
type Settings struct {
	// Default is the setting puppetdb, Named is puppetdb-instances: a map with
	// the settings of each.
	Default, Named *ordered.Map
	// Instance is the one that is meant where none is named; "" is Default.
	Instance string
	// Project is the directory that paths of settings are relative to, Home the
	// user's home directory ("" if there is none), System the administrator's
	// directory of PuppetDB's client tools.
	Project, Home, System string
	// Resolve replaces references to plugins; nil leaves them.
	Resolve func(ctx context.Context, v any) (any, error)
	// Base has what all instances share: Agent, Proxy, Log.
	Base Options
}

// SystemDir is the administrator's directory of PuppetDB's client tools.
const SystemDir = "/etc/puppetlabs/client-tools"

// Instances are the PuppetDBs of a project. Each is made when it is needed
// first, so that nothing is read, and nothing wrong is told, before.
type Instances struct {
	s Settings

	mu      sync.Mutex
	clients map[string]*Client
}

// NewInstances returns the instances that settings describe.
func NewInstances(s Settings) *Instances {
	if s.Base.Log == nil {
		s.Base.Log = slog.New(slog.DiscardHandler)
	}
	return &Instances{s: s, clients: make(map[string]*Client)}
}

// Close ends all connections that are kept.
func (i *Instances) Close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.clients {
		c.Close()
	}
}

// client returns the client of an instance; "" is the default one.
func (i *Instances) client(ctx context.Context, name string) (*Client, error) {
	if name == "" {
		name = i.s.Instance
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if c, ok := i.clients[name]; ok {
		return c, nil
	}
	settings, err := i.settings(ctx, name)
	if err != nil {
		return nil, err
	}
	o, err := i.options(ctx, name, settings)
	if err != nil {
		return nil, err
	}
	c, err := New(ctx, o)
	if err != nil {
		return nil, err
	}
	i.clients[name] = c
	return c, nil
}

// Query returns all rows of a query, a string in PQL or the syntax tree of one,
// as Client.Rows does.
func (i *Instances) Query(ctx context.Context, query any, instance string) ([]any, error) {
	c, err := i.client(ctx, instance)
	if err != nil {
		return nil, err
	}
	return c.Rows(ctx, Query{Text: query})
}

// Facts is Client.Facts.
func (i *Instances) Facts(ctx context.Context, certnames []string, instance string) (*ordered.Map, error) {
	c, err := i.client(ctx, instance)
	if err != nil {
		return nil, err
	}
	return c.facts(ctx, certnames)
}

// Command submits a command, and returns the UUID that PuppetDB gives it.
func (i *Instances) Command(ctx context.Context, command string, version int64, payload *ordered.Map, instance string) (uuid string, err error) {
	c, err := i.client(ctx, instance)
	if err != nil {
		return "", err
	}
	done, err := c.Submit(ctx, Command{Name: command, Version: version, Payload: payload})
	return done.UUID, err
}

// settings are those of an instance, with all references to plugins replaced.
func (i *Instances) settings(ctx context.Context, name string) (*ordered.Map, error) {
	settings := i.s.Default
	if name != "" {
		named, err := i.resolved(ctx, "puppetdb-instances", i.s.Named)
		if err != nil {
			return nil, err
		}
		one, ok := named.Get(name)
		if !ok {
			return nil, &fault.Error{Kind: kind, Msg: fmt.Sprintf("The PuppetDB instance '%s' has not been configured.", name),
				Hint: known(named)}
		}
		m, ok := one.(*ordered.Map)
		if !ok {
			return nil, wrong("puppetdb-instances."+name, "it must be a Hash")
		}
		return m, nil
	}
	settings, err := i.resolved(ctx, "puppetdb", settings)
	if err != nil {
		return nil, err
	}
	conf, err := i.toolsConfig(ctx)
	if err != nil {
		i.s.Base.Log.Error(fmt.Sprintf("The configuration of PuppetDB's own tools is not used: %v", err))
		return settings, nil
	}
	merged := &ordered.Map{}
	for _, m := range []*ordered.Map{conf, settings} {
		for k, v := range m.All() {
			merged.Set(k, v)
		}
	}
	return merged, nil
}

// known says which instances there are.
func known(named *ordered.Map) string {
	if named.Len() == 0 {
		return "there is no puppetdb-instances in bolt-project.yaml or bolt-defaults.yaml"
	}
	return "puppetdb-instances has " + strings.Join(named.Keys(), ", ")
}

func (i *Instances) resolved(ctx context.Context, setting string, m *ordered.Map) (*ordered.Map, error) {
	if i.s.Resolve == nil || m.Len() == 0 {
		return m, nil
	}
	v, err := i.s.Resolve(ctx, m)
	if err != nil {
		return nil, err
	}
	r, ok := v.(*ordered.Map)
	if !ok {
		return nil, wrong(setting, "the plugin that stands for it must return a Hash")
	}
	return r, nil
}

// toolsConfig are the settings in puppetdb.conf: the user's, or else the
// administrator's. A file that is not there has none.
func (i *Instances) toolsConfig(ctx context.Context) (*ordered.Map, error) {
	const name = "puppetdb.conf"
	var files []string
	if i.s.Home != "" {
		files = append(files, filepath.Join(i.s.Home, ".puppetlabs", "client-tools", name))
	}
	if i.s.System != "" {
		files = append(files, filepath.Join(i.s.System, name))
	}
	for _, file := range files {
		data, err := readfile.Read(ctx, file, readfile.Config)
		if missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		v, err := ordered.ParseJSON(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m, _ := v.(*ordered.Map)
		settings, ok := m.Value("puppetdb").(*ordered.Map)
		if !ok && m.Len() > 0 {
			return nil, fmt.Errorf("%s: it must be a JSON object with an object under \"puppetdb\"", file)
		}
		return settings, nil
	}
	return nil, nil
}

// options are the settings of an instance as New takes them.
func (i *Instances) options(ctx context.Context, name string, settings *ordered.Map) (Options, error) {
	o := i.s.Base
	o.Name = name
	r := reader{section: (&Client{o: o}).section(), settings: settings}
	o.ServerURLs = r.texts("server_urls")
	o.CACert, o.Cert, o.Key = i.path(r.text("cacert")), i.path(r.text("cert")), i.path(r.text("key"))
	o.ConnectTimeout, o.ReadTimeout = r.seconds("connect_timeout"), r.seconds("read_timeout")
	o.Headers = r.headers()
	token := i.path(r.text("token"))
	if r.err != nil {
		return o, r.err
	}
	// A token that is set to nothing keeps the user's own from being sent.
	_, set := settings.Get("token")
	if !set && i.s.Home != "" {
		token = filepath.Join(i.s.Home, ".puppetlabs", "token")
	}
	if token == "" || o.Cert != "" {
		return o, nil
	}
	data, err := readfile.Read(ctx, token, readfile.Key)
	if missing(err) && !set {
		return o, nil
	}
	if err != nil {
		return o, wrong(r.section, "token: %v", err)
	}
	o.Token = transport.NewSecret(strings.TrimSpace(string(data)))
	if strings.ContainsFunc(o.Token.Reveal(), func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return o, wrong(r.section, "token: the file %s must hold one line", token)
	}
	return o, nil
}

// path is a path of a setting as it is meant.
func (i *Instances) path(text string) string {
	switch {
	case text == "":
		return ""
	case text == "~", strings.HasPrefix(text, "~/"):
		return filepath.Join(i.s.Home, text[1:])
	case filepath.IsAbs(text):
		return text
	}
	return filepath.Join(i.s.Project, text)
}

// A reader reads settings, and keeps the first thing that is wrong with them.
// Those of puppetdb.conf, and of plugins, have not been checked before.
type reader struct {
	section  string
	settings *ordered.Map
	err      error
}

func (r *reader) wrong(format string, args ...any) {
	if r.err == nil {
		r.err = wrong(r.section, format, args...)
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

// maxSeconds is a longer time than anybody waits.
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

// headers are sent as they are; their values may be secrets.
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
