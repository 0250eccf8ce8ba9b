package install

import (
	"cmp"
	"math/rand/v2"
	"net/http"

	"bolt/format/fault"
	"bolt/format/ordered"
	"bolt/modules/install/forge"
	"bolt/modules/install/gitcache"
	"bolt/transport"
)

// Settings set the sources of modules, and the project.
type Settings struct {
	Project string // its directory
	File    string // its bolt-project.yaml
	// Install is the setting module-install, with references resolved; nil for none.
	Install *ordered.Map
	// GitCache is the directory for copies of repositories, and Environ the
	// environment of git.
	GitCache string
	Environ  []string
	Agent    string // as which the Forge knows this program
	// Step receives a sentence about the next step; it can be nil.
	Step func(string)
}

// Connect returns an installer that fetches modules from the Forge and from
// git, according to the settings. done must be called after its last use.
func Connect(s Settings) (in *Installer, done func(), err error) {
	from, _ := s.Install.Value("forge").(*ordered.Map)
	text := func(m *ordered.Map, key string) string {
		s, _ := m.Value(key).(string)
		return s
	}
	client, err := forge.New(forge.Options{
		BaseURL:  text(from, "baseurl"),
		Token:    transport.NewSecret(text(from, "authorization_token")),
		Proxy:    cmp.Or(text(from, "proxy"), text(s.Install, "proxy")),
		ProxyFor: http.ProxyFromEnvironment,
		Agent:    s.Agent,
		Jitter:   rand.Float64,
	})
	if err != nil {
		return nil, nil, fault.New("bolt/validation-error", "The setting 'module-install' is not right: %v", err)
	}
	git := gitcache.New(gitcache.Options{Dir: s.GitCache, Env: s.Environ, Proxy: text(s.Install, "proxy")})
	return New(Options{Project: s.Project, File: s.File, Forge: client, Git: git, Step: s.Step}), client.Close, nil
}
