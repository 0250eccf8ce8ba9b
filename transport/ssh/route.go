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

	principal string // of the Kerberos ticket; "" if there is none
}

// Route decides all settings of a destination by the caller's ssh_config, files
// and agent. It opens only the Kerberos cache, and only if a ticket must be
// tried. It checks the state of key files, once for each View.
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

// open connects to the endpoint, through jump hosts if there are any.
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

// route resolves a destination, its jump host, that host's jump host, and so
// on. It refuses loops before any dial begins, because hops that wait for each
// other would wait forever.
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

// routeKeys computes the names of routes. They are HMACs with a random key of
// this process, so that a guessed password cannot be checked against a name.
type routeKeys struct{ macs sync.Pool }

func newRouteKeys() *routeKeys {
	secret := make([]byte, sha256.Size)
	rand.Read(secret) // never fails
	return &routeKeys{macs: sync.Pool{New: func() any { return &routeMAC{Hash: hmac.New(sha256.New, secret)} }}}
}

// A routeMAC is a hash with buffers for its input and output.
type routeMAC struct {
	hash.Hash
	in  fields
	out []byte
}

// fields is a list of values, each with a length prefix or of fixed size.
type fields []byte

func (f *fields) text(s string) { *f = append(binary.AppendUvarint(*f, uint64(len(s))), s...) }
func (f *fields) num(n int)     { *f = binary.AppendVarint(*f, int64(n)) }

func (f *fields) texts(list []string) {
	if list == nil {
		f.num(-1) // unset differs from an empty list
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

// key returns the name of the route.
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
	clear(m.in) // it held passwords
	return hex.EncodeToString(m.out)
}

// describe adds all properties that identify the connection, in a fixed order.
//
// Some properties are left out. Timeouts for dialing and closing are those of
// the caller that opened the connection (see endpoint.patience for the effect
// on other callers). Whether the passphrase of a key file is known is left out,
// too: an agent or a daemon of the same user does not ask for the passphrase
// either before it gives access to a connection.
func (r *route) describe(f *fields) {
	v, e, c := r.v, r.e, r.e.conf
	// The machine. Messages contain the name as it was given.
	f.text(e.to.Host)
	f.text(e.host)
	f.num(e.port)
	f.text(e.user)
	f.text(e.to.LoginShell)

	f.texts(e.env)
	f.flag(c.RequestTTY)

	// The path to the machine. The fields of a jump host follow later.
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

	// The rules for the host key.
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

// describeKey adds a key file and the public key and certificate that may
// belong to it.
func (v *View) describeKey(f *fields, path string) {
	if path == "" {
		f.text("")
		return
	}
	f.text(v.stamp("key "+path, func() []string { return []string{path, path + ".pub", path + "-cert.pub"} }))
}

// defaultKeys returns the files that are tried if no key file is configured.
func (v *View) defaultKeys() []string {
	var paths []string
	for _, name := range defaultKeys {
		path := filepath.Join(v.caller.Home, ".ssh", name)
		paths = append(paths, path, path+".pub", path+"-cert.pub")
	}
	return paths
}

// stamp returns the paths and states of files. The result is cached when it is
// first computed.
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

// environDigest returns a digest of an environment. Variables that differ
// between terminals, logins or working directories are left out, because they
// do not affect where a ProxyCommand connects to.
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

// volatileVariable reports whether a variable describes the terminal, the login
// session or the shell of the caller. SSH_AUTH_SOCK does not count as volatile,
// because a ProxyCommand may run ssh.
func volatileVariable(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "SHLVL", "_", // set by the shell; Caller.Dir is a separate field
		"TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "GPG_TTY",
		"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "ITERM_SESSION_ID", "VTE_VERSION",
		"TMUX", "TMUX_PANE", "STY", "WINDOW",
		"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY",
		"XDG_SESSION_ID", "XDG_VTNR", "XDG_SEAT", "INVOCATION_ID", "JOURNAL_STREAM":
		return true
	}
	return false
}
