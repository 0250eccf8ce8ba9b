package puppetdb

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/internal/readfile"
	"bolt/puppetdb/server"
)

// Settings hold the sources of the options of instances.
type Settings struct {
	// Default is the setting puppetdb. Named is the setting puppetdb-instances: a map with the settings
	// of each instance.
	Default, Named *ordered.Map
	// Instance is the instance that is used if none is named; "" is Default.
	Instance string
	// Project is the directory that paths of settings are relative to, Home the
	// user's home directory ("" if there is none), System the administrator's
	// directory of PuppetDB's client tools.
	Project, Home, System string
	// Resolve replaces references to plugins; nil leaves them.
	Resolve func(ctx context.Context, v any) (any, error)
	// Base has the options that all instances share: Agent, Proxy, Log.
	Base Options
}

// SystemDir is the administrator's directory of PuppetDB's client tools.
const SystemDir = "/etc/puppetlabs/client-tools"

// Instances are the PuppetDBs of a project. Each client is created when it is first needed, so that no
// file is read and no error is reported before.
type Instances struct {
	s Settings

	mu      sync.Mutex
	clients map[string]*Client
}

// NewInstances returns the instances of the settings.
func NewInstances(s Settings) *Instances {
	if s.Base.Log == nil {
		s.Base.Log = slog.New(slog.DiscardHandler)
	}
	return &Instances{s: s, clients: make(map[string]*Client)}
}

// Close closes all idle connections.
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
	o, err := service(name).Read(ctx, server.Settings{Values: settings, Project: i.s.Project, Home: i.s.Home, Base: i.s.Base})
	if err != nil {
		return nil, err
	}
	o.Name = name
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

// Command submits a command, and returns the UUID that PuppetDB assigns to it.
func (i *Instances) Command(ctx context.Context, command string, version int64, payload *ordered.Map, instance string) (uuid string, err error) {
	c, err := i.client(ctx, instance)
	if err != nil {
		return "", err
	}
	done, err := c.Submit(ctx, Command{Name: command, Version: version, Payload: payload})
	return done.UUID, err
}

// Check reads the settings of an instance, and returns an error if they are invalid. It does not
// connect.
func (i *Instances) Check(ctx context.Context, instance string) error {
	_, err := i.client(ctx, instance)
	return err
}

// settings returns the settings of an instance, with all references to plugins replaced.
func (i *Instances) settings(ctx context.Context, name string) (*ordered.Map, error) {
	settings := i.s.Default
	if name != "" {
		named, err := i.resolved(ctx, server.Service{Kind: kind, Section: "puppetdb-instances"}, i.s.Named)
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
			return nil, service(name).Wrong("it must be a Hash")
		}
		return m, nil
	}
	settings, err := i.resolved(ctx, service(""), settings)
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

// known returns a hint with the names of the instances.
func known(named *ordered.Map) string {
	if named.Len() == 0 {
		return "bolt-project.yaml and bolt-defaults.yaml do not have puppetdb-instances"
	}
	return "puppetdb-instances has " + strings.Join(named.Keys(), ", ")
}

func (i *Instances) resolved(ctx context.Context, of server.Service, m *ordered.Map) (*ordered.Map, error) {
	if i.s.Resolve == nil || m.Len() == 0 {
		return m, nil
	}
	v, err := i.s.Resolve(ctx, m)
	if err != nil {
		return nil, err
	}
	r, ok := v.(*ordered.Map)
	if !ok {
		return nil, of.Wrong("its plugin reference must return a Hash")
	}
	return r, nil
}

// toolsConfig returns the settings in puppetdb.conf: the user's file, or else the administrator's. If
// the file does not exist, there are none.
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
