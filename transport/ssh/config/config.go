// Package config reads ssh_config files (ssh_config(5)) and returns their
// settings for a host.
//
// A Cache stores parsed Files for any number of callers, and reads them again
// after they have changed. Files.Find returns the Host for one name: it
// evaluates Host and Match, and expands ~, tokens and ${NAME}. All data that
// depends on a caller (home directory, environment, commands of Match exec) is
// in the Query. The package owns no goroutines and no open files.
package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"bolt/transport"
	"bolt/transport/ssh/pattern"
)

// The parser of ssh_config is our own. The available library parses a Match
// line with several criteria as host patterns, and rejects a whole file because
// of one unknown line or Match criterion. It also keeps neither the order of
// included settings nor their positions. The reference is the output of "ssh
// -G"; the tests compare with it.

// A Host holds the settings of ssh_config files for one host. Tokens, ~ and
// ${ENV} are expanded; options that are not set are zero values. All callers
// that look up the same host share one Host, so its slices must not be changed.
type Host struct {
	HostName string // never "": the alias, if the files have no other name
	User     string
	Port     int

	IdentityFiles    []string // nil: not set, so the defaults apply; empty but not nil: "none"
	CertificateFiles []string
	IdentitiesOnly   bool
	IdentityAgent    string // path of a socket; "": $SSH_AUTH_SOCK; "none": no agent

	ProxyJump    string // [user@]host[:port][,…]; "" also for "none"
	ProxyCommand string // for sh -c; "" also for "none"; at most one of the two is set

	// Never nil: the defaults if unset, empty for "none".
	UserKnownHostsFiles, GlobalKnownHostsFiles []string

	HostKeyAlias          string
	HashKnownHosts        bool
	StrictHostKeyChecking string // yes, no, ask, accept-new, off, ""

	// The lists of OpenSSH unchanged, with their prefixes + - ^; "" if not set.
	HostKeyAlgorithms, Ciphers, KexAlgorithms, MACs, PubkeyAcceptedAlgorithms, CASignatureAlgorithms string

	RevokedHostKeys string // path of a file; "" also for "none"
	RequiredRSASize int    // bits; 0 unset

	GSSAPIAuthentication, GSSAPIDelegateCredentials bool

	ForwardAgentAt string // position of a ForwardAgent that ssh would apply; bolt warns about it

	SetEnv  []string // NAME=value
	SendEnv []string // patterns of names of variables of the caller
	// RequestTTY is true only for "force". The other values request a terminal
	// if standard input is a terminal, which is never the case here.
	RequestTTY bool

	BindAddress   string // a local address or its name; "" unset
	AddressFamily string // inet, inet6; "" also for "any"

	ConnectTimeout, ServerAliveInterval time.Duration
	ServerAliveCountMax                 int // 0: not set; -1: a connection never counts as dead

	// Unused are messages about the lines for this host that ssh would use and
	// bolt ignores, except for ForwardAgent.
	Unused []string
}

// Files are parsed ssh_config files. Nothing is read again after Cache.Load.
// They are safe for concurrent use, also by callers with different
// environments: the environment of local is used for reading the files, not for
// lookups.
type Files struct {
	local Local
	log   *slog.Logger
	read  reads

	blocks  []block
	byName  map[string][]int // blocks of Host lines without patterns, by name
	general []int            // all other blocks
	final   bool             // there is a "Match final"

	mu     sync.Mutex
	cache  map[searchKey]cachedHost
	unused map[position]string // unused lines that were logged
	notes  []string            // messages of reading the files, for callers that do not read the log
}

// maxCachedHosts limits the cached results. It is far above the number of
// targets of one invocation.
const maxCachedHosts = 50_000

// A cachedHost is a result, and the environment variables that it depends on.
type cachedHost struct {
	*Host
	env []envRead
}

type searchKey struct {
	alias, user string
	port        int
}

// block is a sequence of settings under one condition.
type block struct {
	when     *condition
	settings []setting
}

// readFiles reads the ssh_config of the user and of the system, and their
// included files. "" stands for no file, and missing files are ignored. Lines,
// blocks and files that cannot be used are left out and reported to log with
// file and line. It returns an error for a file that exists and whose
// permissions allow reading, but that cannot be read.
func readFiles(local Local, user, system string, log *slog.Logger) (*Files, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Files{
		local:  local,
		log:    log,
		byName: make(map[string][]int),
		cache:  make(map[searchKey]cachedHost),
		unused: make(map[position]string),
	}
	c.local.Env = recordEnv(local.Env, &c.read.env)
	for _, f := range []struct {
		path string
		user bool
	}{{user, true}, {system, false}} {
		if f.path == "" {
			continue
		}
		r := reader{files: c, user: f.user}
		// OpenSSH checks the permissions of the user's file and of all
		// included ones (readconf.c, SSHCONF_CHECKPERM).
		err := r.read(f.path, nil, f.user)
		switch {
		case r.limit != nil: // a part of the settings may lead to another machine
			return nil, fmt.Errorf("read ssh config: %w", r.limit)
		case err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		case errors.Is(err, fs.ErrPermission):
			log.Warn("ssh config file is not used", "file", f.path, "reason", err)
			c.note("%s: %v", f.path, err)
		default:
			return nil, fmt.Errorf("read ssh config: %w", err)
		}
	}
	c.local.Env = local.Env
	return c, nil
}

// Find returns the settings of a host. The result is shared and must not be
// changed. The error is a *transport.Error: a setting for this host cannot be
// expanded. To ignore it could lead to a different machine or key.
func (c *Files) Find(ctx context.Context, by Query) (*Host, error) {
	key := searchKey{by.Alias, by.User, by.Port}
	c.mu.Lock()
	h, ok := c.cache[key]
	c.mu.Unlock()
	if ok && sameEnv(h.env, by.Env) {
		return h.Host, nil
	}
	h = cachedHost{}
	e := evaluation{ctx: ctx, by: by, files: c, local: c.local, key: key, host: by.Alias}
	e.local.Env = recordEnv(by.Env, &h.env)
	found, err := e.run()
	if err != nil {
		return nil, &transport.Error{
			Class: transport.ClassUnsupported,
			Code:  "CONNECT_ERROR",
			Msg:   fmt.Sprintf("ssh config for %s: %v", by.Alias, err),
			Hint:  "Correct that line, or set load-config to false to ignore ssh_config.",
			Err:   err,
		}
	}
	h.Host = &found
	if e.ran {
		return h.Host, nil // the next invocation runs the command again
	}
	c.mu.Lock()
	if len(c.cache) >= maxCachedHosts {
		clear(c.cache)
	}
	c.cache[key] = h
	c.mu.Unlock()
	return h.Host, nil
}

// evaluation is one pass over the blocks for one host.
type evaluation struct {
	ctx   context.Context
	by    Query
	files *Files
	local Local // with the caller's environment
	key   searchKey

	host  string // name for Host patterns: the alias, or in the final pass the HostName
	final bool
	truth map[*condition]bool

	first [optCount]*setting // the first value takes effect
	keys  []*setting         // IdentityFile
	certs []*setting         // CertificateFile
	send  []string           // SendEnv
	name  string             // HostName, after it is decided

	unused []string // for Host.Unused

	ran  bool  // a command of Match exec was run
	fail error // the error of a command that could not be run
}

// A Query is the host to look up, with the data of the caller.
type Query struct {
	Alias string // the name that was given
	// User and Port are set if the caller already has a user or port (not "" or
	// 0). They override the files, and Match user sees the user.
	User string
	Port int

	Env       Environment   // for ${NAME}
	Execs     *Execs        // nil: the commands of Match exec cannot be run
	ExecLimit time.Duration // for each command of Match exec; 0: 30 s
}

func (e *evaluation) run() (Host, error) {
	if e.pass(); e.fail != nil {
		return Host{}, e.fail
	}
	name, err := e.hostName()
	if err != nil {
		return Host{}, err
	}
	e.name = name
	if e.files.final {
		// The second pass adds settings of "Match final" and of the real host
		// name. Values that are already set do not change (ssh_config(5),
		// Match).
		e.host, e.final = name, true
		if e.pass(); e.fail != nil {
			return Host{}, e.fail
		}
	}
	return e.result()
}

// pass applies all matching blocks, in the order of the files.
func (e *evaluation) pass() {
	e.truth = make(map[*condition]bool)
	named, general := e.files.byName[e.host], e.files.general
	for len(named) > 0 || len(general) > 0 {
		next := &general
		if len(general) == 0 || len(named) > 0 && named[0] < general[0] {
			next = &named
		}
		b := &e.files.blocks[(*next)[0]]
		*next = (*next)[1:]
		if !e.holds(b.when) {
			continue
		}
		for i := range b.settings {
			e.apply(&b.settings[i])
		}
	}
}

func (e *evaluation) apply(s *setting) {
	switch s.opt {
	case optIdentityFile:
		e.keys = appendSetting(e.keys, s)
	case optCertificateFile:
		e.certs = appendSetting(e.certs, s)
	case optSendEnv:
		for _, name := range s.args {
			if gone, remove := strings.CutPrefix(name, "-"); remove {
				e.send = slices.DeleteFunc(e.send, func(p string) bool { return pattern.Match(gone, p) })
			} else {
				e.send = append(e.send, name)
			}
		}
	case optProxyCommand:
		// If both ProxyJump and ProxyCommand are set, the first one takes
		// effect.
		if jump := e.first[optProxyJump]; jump != nil && !jump.none() {
			return
		}
		e.setOnce(s)
	case optProxyJump:
		if e.first[optProxyCommand] == nil || s.none() {
			e.setOnce(s)
		}
	default:
		e.setOnce(s)
	}
}

func (e *evaluation) setOnce(s *setting) {
	if e.first[s.opt] == nil {
		e.first[s.opt] = s
	}
}

func appendSetting(list []*setting, s *setting) []*setting {
	for _, old := range list {
		if old.args[0] == s.args[0] {
			return list
		}
	}
	return append(list, s)
}

// hostName returns the name to connect to. As in OpenSSH, names are converted
// to lower case, and addresses to their canonical form. The result is looked up
// in known_hosts.
func (e *evaluation) hostName() (string, error) {
	name, err := e.rawHostName()
	if err != nil {
		return "", err
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.String(), nil
	}
	return pattern.Lower(name), nil
}

func (e *evaluation) rawHostName() (string, error) {
	s := e.first[optHostName]
	switch {
	case e.name != "":
		return e.name, nil
	case s == nil:
		return e.key.alias, nil
	}
	return s.expand(e.local, false, func(token byte) (string, error) {
		if token == 'h' {
			return e.key.alias, nil
		}
		return "", errNoToken
	})
}

// user returns the remote user for Match user and for tokens.
func (e *evaluation) user() string {
	switch {
	case e.key.user != "":
		return e.key.user
	case e.first[optUser] != nil:
		return e.first[optUser].args[0]
	}
	return e.local.user
}

// result returns the collected settings as a Host.
func (e *evaluation) result() (Host, error) {
	h := Host{
		HostName:                 e.name,
		User:                     e.key.user,
		Port:                     e.key.port,
		IdentitiesOnly:           e.flag(optIdentitiesOnly),
		HostKeyAlias:             pattern.Lower(e.text(optHostKeyAlias)),
		HashKnownHosts:           e.flag(optHashKnownHosts),
		StrictHostKeyChecking:    e.text(optStrictHostKeyChecking),
		HostKeyAlgorithms:        e.text(optHostKeyAlgorithms),
		Ciphers:                  e.text(optCiphers),
		KexAlgorithms:            e.text(optKexAlgorithms),
		MACs:                     e.text(optMACs),
		PubkeyAcceptedAlgorithms: e.text(optPubkeyAcceptedAlgorithms),
		CASignatureAlgorithms:    e.text(optCASignatureAlgorithms),
		RequiredRSASize:          e.number(optRequiredRSASize),
		BindAddress:              e.text(optBindAddress),
		SendEnv:                  e.send,
		RequestTTY:               e.text(optRequestTTY) == "force",

		GSSAPIAuthentication:      e.flag(optGSSAPIAuthentication),
		GSSAPIDelegateCredentials: e.flag(optGSSAPIDelegateCredentials),
		AddressFamily:             e.text(optAddressFamily),
		ConnectTimeout:            time.Duration(e.number(optConnectTimeout)) * time.Second,
		ServerAliveInterval:       time.Duration(e.number(optServerAliveInterval)) * time.Second,
		ServerAliveCountMax:       e.number(optServerAliveCountMax),
	}
	if h.User == "" {
		h.User = e.text(optUser)
	}
	if h.Port == 0 {
		h.Port = e.number(optPort)
	}
	if s := e.first[optSetEnv]; s != nil {
		h.SetEnv = s.args
	}
	if s := e.first[optForwardAgent]; s != nil && !slices.Contains([]string{"no", "false"}, pattern.Lower(s.args[0])) {
		h.ForwardAgentAt = s.at.String()
	}
	if e.first[optServerAliveCountMax] != nil && h.ServerAliveCountMax == 0 {
		h.ServerAliveCountMax = -1
	}
	e.warnUnevaluated()
	h.Unused = e.unused
	err := e.expandInto(&h)
	return h, err
}

// warnUnevaluated warns about settings of the host that ssh would use and bolt
// ignores. For example, without the keys that a KnownHostsCommand would print,
// bolt refuses more host keys.
func (e *evaluation) warnUnevaluated() {
	for _, o := range unevaluated {
		s := e.first[o.opt]
		if s == nil || slices.Contains(o.harmless, pattern.Lower(s.args[0])) {
			continue
		}
		if o.opt == optLocalCommand && (e.first[optPermitLocalCommand] == nil || pattern.Lower(e.text(optPermitLocalCommand)) != "yes") {
			continue
		}
		e.warnUnused(s.at, o.keyword, o.why)
	}
}

// warnUnused warns that a line for this host is not used. Each line is logged
// once.
func (e *evaluation) warnUnused(at position, keyword, why string) {
	c := e.files
	c.mu.Lock()
	text, again := c.unused[at]
	if !again {
		text = fmt.Sprintf("%s: %s: %s", at, keyword, why)
		c.unused[at] = text
	}
	c.mu.Unlock()
	if !again {
		c.log.Warn("ssh config line is not used", "at", at.String(), "keyword", keyword, "target", e.key.alias, "reason", why)
	}
	if !slices.Contains(e.unused, text) { // Match can be evaluated twice
		e.unused = append(e.unused, text)
	}
}

// note stores a message about a line that cannot be used for any host.
func (c *Files) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// Unreadable returns the messages about lines that cannot be used for any host.
func (c *Files) Unreadable() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notes)
}

// expandInto sets the settings that contain tokens.
func (e *evaluation) expandInto(h *Host) (err error) {
	tokens := e.tokens(h)
	if h.IdentityFiles, err = e.paths(e.keys, tokens); err != nil {
		return err
	}
	if h.CertificateFiles, err = e.paths(e.certs, tokens); err != nil {
		return err
	}
	if h.IdentityAgent, err = e.agent(tokens); err != nil {
		return err
	}
	if s := e.first[optProxyJump]; s != nil && !s.none() {
		if s.err != nil {
			return s.errorf(s.err)
		}
		if h.ProxyJump, err = s.expand(e.local, false, tokens.forProxy(false)); err != nil {
			return err
		}
	}
	if s := e.first[optProxyCommand]; s != nil && !s.none() {
		if h.ProxyCommand, err = s.expand(e.local, false, tokens.forProxy(true)); err != nil {
			return err
		}
	}
	if h.UserKnownHostsFiles, err = e.knownHosts(optUserKnownHostsFile, tokens); err != nil {
		return err
	}
	if s := e.first[optRevokedHostKeys]; s != nil && !s.none() {
		if s.err != nil {
			return s.errorf(s.err)
		}
		if h.RevokedHostKeys, err = s.path(e.local, s.args[0], tokens); err != nil {
			return err
		}
	}
	h.GlobalKnownHostsFiles, err = e.knownHosts(optGlobalKnownHostsFile, nil)
	return err
}

// In returns the settings with relative paths joined to dir, the working
// directory of the caller. If dir is "", the paths are unchanged.
func (h *Host) In(dir string) *Host {
	relative := func(path string) bool { return path != "" && path[0] != '/' }
	agent := relative(h.IdentityAgent) && h.IdentityAgent != "none"
	lists := [...][]string{h.IdentityFiles, h.CertificateFiles, h.UserKnownHostsFiles, h.GlobalKnownHostsFiles}
	if dir == "" || !agent && !relative(h.RevokedHostKeys) && !slices.ContainsFunc(lists[:], func(l []string) bool { return slices.ContainsFunc(l, relative) }) {
		return h
	}
	there := *h
	for i, into := range []*[]string{&there.IdentityFiles, &there.CertificateFiles, &there.UserKnownHostsFiles, &there.GlobalKnownHostsFiles} {
		*into = slices.Clone(lists[i]) // nil stays nil
		for j, path := range *into {
			if relative(path) {
				(*into)[j] = filepath.Join(dir, path)
			}
		}
	}
	if agent {
		there.IdentityAgent = filepath.Join(dir, h.IdentityAgent)
	}
	if relative(h.RevokedHostKeys) {
		there.RevokedHostKeys = filepath.Join(dir, h.RevokedHostKeys)
	}
	return &there
}

// paths expands IdentityFile or CertificateFile. The result for "none" is an
// empty list, which differs from nil.
func (e *evaluation) paths(from []*setting, t *tokens) ([]string, error) {
	var list []string
	for _, s := range from {
		if list == nil {
			list = []string{}
		}
		if s.none() {
			continue
		}
		p, err := s.path(e.local, s.args[0], t)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list, nil
}

// agent resolves IdentityAgent: none, SSH_AUTH_SOCK, $NAME or a path.
func (e *evaluation) agent(t *tokens) (string, error) {
	s := e.first[optIdentityAgent]
	switch {
	case s == nil || s.args[0] == "SSH_AUTH_SOCK":
		return "", nil
	case s.args[0] == "none":
		return "none", nil
	case strings.HasPrefix(s.args[0], "$") && !strings.HasPrefix(s.args[0], "${"):
		if sock, ok := e.local.Env.get(s.args[0][1:]); ok && sock != "" {
			return sock, nil
		}
		return "none", nil
	}
	return s.path(e.local, s.args[0], t)
}

// knownHosts expands a list of known_hosts files, or returns the default list
// (ssh_config(5), UserKnownHostsFile and GlobalKnownHostsFile). If t is nil, it
// expands only ~.
func (e *evaluation) knownHosts(opt option, t *tokens) ([]string, error) {
	s := e.first[opt]
	switch {
	case s == nil && opt == optUserKnownHostsFile:
		return []string{e.local.home + "/.ssh/known_hosts", e.local.home + "/.ssh/known_hosts2"}, nil
	case s == nil:
		return []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}, nil
	case s.none():
		return []string{}, nil
	}
	list := make([]string, 0, len(s.args))
	for _, a := range s.args {
		p, err := s.path(e.local, a, t)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func (e *evaluation) text(opt option) string {
	if s := e.first[opt]; s != nil {
		return s.args[0]
	}
	return ""
}

func (e *evaluation) number(opt option) int {
	if s := e.first[opt]; s != nil {
		return s.n
	}
	return 0
}

func (e *evaluation) flag(opt option) bool { return e.number(opt) != 0 }
