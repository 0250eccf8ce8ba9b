package ssh

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"bolt/internal/filestamp"
	"bolt/transport"
)

// A route is a transport.Route: an endpoint and the route to its jump host.
type route struct {
	v    *View
	e    *endpoint
	via  *route // to the jump host, or nil
	name string

	principal string // whose ticket would log in; "" if there is none
}

// Route decides all that the caller's ssh_config, files and agent say about a
// destination. Nothing is opened but the Kerberos cache, and that only where
// its ticket is to be tried; key files are only looked at, once for each View.
func (v *View) Route(ctx context.Context, to transport.Dest) (transport.Route, error) {
	r, err := v.route(ctx, to)
	if err != nil {
		return nil, err
	}
	for hop := r; hop != nil; hop = hop.via {
		if hop.e.gssapi {
			hop.principal = v.kerberos().Principal(ctx)
		}
	}
	r.name = r.key()
	return r, nil
}

// Key implements transport.Route.
func (r *route) Key() string { return r.name }

// Dial implements transport.Route.
func (r *route) Dial(ctx context.Context) (transport.Conn, error) {
	c, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	c.prepareSpare()
	return c, nil
}

// open reaches the endpoint, through jump hosts if need be.
func (r *route) open(ctx context.Context) (*Conn, error) {
	if err := r.v.reachAgent(ctx, r.e); err != nil {
		return nil, err
	}
	if r.via == nil {
		return r.v.connect(ctx, r.e, r.v.straight(r.e))
	}
	hop, release, err := r.v.d.borrow(ctx, r.via)
	if err != nil {
		return nil, r.e.throughJump(err)
	}
	c, err := r.v.connect(ctx, r.e, hop.reach(r.e))
	if err != nil {
		release()
		return nil, err
	}
	c.onClosed, c.via = release, hop
	c.peer += " through " + hop.peer
	return c, nil
}

// route follows a destination's jump hosts, and theirs. It refuses loops
// before anybody waits for anybody: a hop that waits for itself, or two for
// each other, would do so forever.
func (v *View) route(ctx context.Context, to transport.Dest) (*route, error) {
	if to.Protocol != "" && to.Protocol != "ssh" {
		return nil, &transport.Error{Class: transport.ClassUnsupported, Code: codeConnect,
			Msg: fmt.Sprintf("Failed to connect to %s: protocol %q is not ssh", to.Host, to.Protocol)}
	}
	e, err := v.resolve(ctx, to)
	if err != nil {
		return nil, err
	}
	first := &route{v: v, e: e}
	if e.jump == nil {
		return first, nil
	}
	trail := []string{e.identity()}
	for last := first; last.e.jump != nil; last = last.via {
		hop, err := v.resolve(ctx, *last.e.jump)
		if err != nil {
			return nil, err
		}
		id := hop.identity()
		loop := slices.Contains(trail, id)
		if trail = append(trail, id); loop {
			return nil, connectError(transport.ClassConnect, to.Host,
				fmt.Errorf("jump hosts form a loop: %s", strings.Join(trail, " through ")),
				fmt.Sprintf("Give %s a `ProxyJump none` in ssh_config, before the pattern that matches it.", hop.to.Host))
		}
		last.via = &route{v: v, e: hop}
	}
	return first, nil
}

// routeKeys makes the names of routes: HMACs under a key that dies with the
// process, so that nobody can tell a guessed password by one.
type routeKeys struct{ macs sync.Pool }

func newRouteKeys() *routeKeys {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	return &routeKeys{macs: sync.Pool{New: func() any { return &routeMAC{Hash: hmac.New(sha256.New, secret)} }}}
}

// A routeMAC is a hash with room for its input and output.
type routeMAC struct {
	hash.Hash
	in  fields
	out []byte
}

// fields is a list of values, each framed by its length or of fixed size.
type fields []byte

func (f *fields) text(s string) { *f = append(binary.AppendUvarint(*f, uint64(len(s))), s...) }
func (f *fields) num(n int)     { *f = binary.AppendVarint(*f, int64(n)) }

func (f *fields) texts(list []string) {
	if list == nil {
		f.num(-1) // unset, which is not the same as none
		return
	}
	f.num(len(list))
	for _, s := range list {
		f.text(s)
	}
}

func (f *fields) flag(b bool) {
	if b {
		f.num(1)
	} else {
		f.num(0)
	}
}

// key names the route.
func (r *route) key() string {
	k := r.v.d.routes
	m := k.macs.Get().(*routeMAC)
	defer k.macs.Put(m)
	m.Reset()
	m.in = m.in[:0]
	for ; r != nil; r = r.via {
		r.describe(&m.in)
	}
	m.Write(m.in)
	m.out = m.Sum(m.out[:0])
	clear(m.in) // passwords were in it
	return hex.EncodeToString(m.out)
}

// describe lists what makes the connection what it is, in a fixed order.
//
// Not in it: limits of time for dialling and closing, which are those of who
// opened the connection (endpoint.patience says what that means for others);
// whether a key file's passphrase is known, since whoever is
// let through to a connection by an agent, or by a daemon of the same user, is
// not asked for it either.
func (r *route) describe(f *fields) {
	v, e, c := r.v, r.e, r.e.conf
	// The machine. The name as it was given is in messages.
	f.text(e.to.Host)
	f.text(e.host)
	f.num(e.port)
	f.text(e.user)
	f.text(e.to.LoginShell)

	f.texts(e.env)
	f.flag(c.RequestTTY)

	// The way to it. A jump host's own fields follow.
	f.text(c.BindAddress)
	f.text(c.AddressFamily)
	f.text(e.command)
	if e.command != "" {
		f.text(v.caller.Dir)
		f.text(string(v.environ()))
	}
	f.num(int(e.keepalive))
	f.num(e.keepaliveMisses)

	// Credentials.
	f.flag(e.gssapi)
	f.flag(e.delegate)
	f.text(r.principal)
	f.text(e.to.Password.Reveal())
	f.text(e.to.KeyData.Reveal())
	v.describeKey(f, e.to.PrivateKey)
	if files := c.IdentityFiles; files != nil {
		f.num(len(files))
		for _, path := range files {
			v.describeKey(f, path)
		}
	} else {
		f.num(-1)
		f.text(v.stamp("\x00default keys", v.defaultKeys))
	}
	f.num(len(c.CertificateFiles))
	for _, path := range c.CertificateFiles {
		f.text(v.stamp(path, func() []string { return []string{path} }))
	}
	f.flag(c.IdentitiesOnly)
	f.num(c.RequiredRSASize)
	f.flag(e.agent != "")
	if socket := v.agentSocket(e); socket != "" && (e.to.LoadConfig || e.agent != "") {
		f.text(v.stamp(socket, func() []string { return []string{socket} }))
	} else {
		f.text("")
	}

	// The rules for its host key.
	f.text(e.hostport)
	f.num(int(e.to.HostKeyCheck))
	f.text(c.StrictHostKeyChecking)
	f.flag(c.HashKnownHosts)
	f.texts(c.UserKnownHostsFiles)
	f.texts(c.GlobalKnownHostsFiles)
	f.text(c.RevokedHostKeys)

	for _, list := range [...]string{e.lists.kex, e.lists.ciphers, e.lists.macs, e.lists.hostKey, e.lists.confKex, e.lists.confCiphers,
		e.lists.confMACs, e.lists.confHostKey, e.lists.confPublicKey, e.lists.confAuthority} {
		f.text(list)
	}
}

// describeKey adds a key file and what may stand beside it.
func (v *View) describeKey(f *fields, path string) {
	if path == "" {
		f.text("")
		return
	}
	f.text(v.stamp("key "+path, func() []string { return []string{path, path + ".pub", path + "-cert.pub"} }))
}

// defaultKeys are the files that are tried when none is named.
func (v *View) defaultKeys() []string {
	var paths []string
	for _, name := range defaultKeys {
		path := filepath.Join(v.caller.Home, ".ssh", name)
		paths = append(paths, path, path+".pub", path+"-cert.pub")
	}
	return paths
}

// stamp tells the paths and states of files as they were when it was first
// asked for.
func (v *View) stamp(name string, files func() []string) string {
	v.mu.Lock()
	s, ok := v.stamps[name]
	v.mu.Unlock()
	if ok {
		return s
	}
	var f fields
	for _, path := range files() {
		f.text(path)
		s := filestamp.At(path)
		f.flag(s.Exists)
		if s.Exists {
			for _, n := range [...]int64{int64(s.Dev), int64(s.Ino), s.Size, s.Time.UnixNano(), int64(s.Mode), int64(s.UID), int64(s.GID)} {
				f.num(int(n))
			}
		}
	}
	s = string(f)
	v.mu.Lock()
	v.stamps[name] = s
	v.mu.Unlock()
	return s
}

// environDigest is a digest of an environment without what differs from one
// terminal, login or working directory to the next and so tells nothing of
// where a ProxyCommand leads.
func environDigest(list []string) []byte {
	kept := slices.DeleteFunc(slices.Clone(list), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return volatileVariable(name)
	})
	slices.Sort(kept)
	var f fields
	f.texts(kept)
	sum := sha256.Sum256(f)
	return sum[:]
}

// volatileVariable reports whether a variable describes the terminal, the
// login or the shell that a command was typed into. SSH_AUTH_SOCK is none of
// these: a ProxyCommand may be ssh.
func volatileVariable(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", // the shell's; Caller.Dir is told apart
		"TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "GPG_TTY",
		"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "ITERM_SESSION_ID", "VTE_VERSION",
		"TMUX", "TMUX_PANE", "STY", "WINDOW",
		"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY",
		"XDG_SESSION_ID", "XDG_VTNR", "XDG_SEAT", "INVOCATION_ID", "JOURNAL_STREAM":
		return true
	}
	return false
}
