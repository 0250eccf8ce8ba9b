// Package krb5 is the client side of Kerberos 5 for one caller. It finds the
// caller's ticket where MIT's library would find it, and gets tickets for hosts
// from the KDCs. It runs the GSS-API context that SSH's gssapi-with-mic needs
// (RFC 4120, RFC 4121, RFC 4462).
//
//	s := krb5.New(krb5.Options{Env: lookup})
//	name, err := s.Principal(ctx)
//	c, err := s.Context(ctx, "web1.example.com", false)
//
// It reads the same files as MIT's library: krb5.conf(5) with its includes,
// credential caches of the types FILE, DIR, KEYRING and KCM, and client
// keytabs. It never writes anything. If the cache has no ticket for a host, the
// Session gets one, and keeps it in memory only. So a Session is for one
// invocation, and two callers must never share one.
//
// A Session starts no goroutine that outlives a call, and every call ends with
// its context. The messages and their encryption come from gokrb5, which is no
// longer maintained; only this package imports it. gokrb5's parsers of files
// and its network code are not used: they reject a whole krb5.conf because of
// one valid line, panic on short caches, have no contexts and trust any length.
package krb5

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bolt/transport"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Options describe the caller of a Session.
type Options struct {
	// Env looks up the caller's environment variables; nil if there are none.
	// KRB5_CONFIG, KRB5CCNAME and KRB5_CLIENT_KTNAME are used.
	Env func(name string) (string, bool)
	// Dir is the base of relative paths in these variables; "" for this process's
	// working directory.
	Dir string

	// Resolver is used for names and KDCs; nil for the default one.
	Resolver *net.Resolver
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

const (
	// readAgain is the time for which the content of a cache is used. To read a
	// file takes some 30 µs, and a user may run kinit during a plan that runs
	// for days.
	readAgain = 5 * time.Second

	// soon is the remaining lifetime below which a ticket counts as expired: it
	// must be valid during its login.
	soon = 30 * time.Second
)

// A Session is the Kerberos client of one caller. It is safe for concurrent use
// and needs no Close.
type Session struct {
	o Options

	turn chan struct{} // held while the fields below are read or changed
	conf *config
	read time.Time // time at which cred was read
	cred *credentials
	err  error // why credentials are missing
	keys *keytab

	mu      sync.Mutex
	tickets map[string]*pending // by name of the service, including the realm
	owner   *ticket             // the TGT that was used for tickets
	silent  map[string]silence  // by realm, for KDCs that do not answer
}

// New returns a Session. It reads nothing before the first call.
func New(o Options) *Session {
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Session{o: o, turn: make(chan struct{}, 1), tickets: make(map[string]*pending), silent: make(map[string]silence)}
}

// Principal returns the principal that a login would use, as name@REALM: the
// principal of the cache, even if its ticket has expired, or of the client
// keytab. It returns "" if there is none. It does not query a KDC.
func (s *Session) Principal(ctx context.Context) string {
	if err := s.lock(ctx); err != nil {
		return ""
	}
	defer s.unlock()
	s.load(ctx)
	if s.cred == nil {
		return ""
	}
	return s.cred.client.String()
}

func (s *Session) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Session) unlock() { <-s.turn }

// load reads the configuration once, and the credentials if they are older than
// readAgain. The caller must hold the lock.
func (s *Session) load(ctx context.Context) {
	now := s.o.Now()
	if s.conf != nil && now.Sub(s.read).Abs() < readAgain {
		return
	}
	if s.conf == nil {
		conf, err := readConfig(s.o)
		if err != nil {
			s.cred, s.err = nil, err
			return
		}
		s.conf = conf
	}
	old := s.cred
	defer func() {
		if ctx.Err() == nil { // if ctx has ended, the next call reads again
			s.read = now
		}
	}()
	s.cred, s.err = s.conf.readCredentials(ctx, s.o)
	s.keys = nil
	if s.cred != nil && s.cred.valid(now) {
		return
	}
	// A client keytab is used if the cache has no valid ticket.
	keys, kerr := s.conf.clientKeytab(s.o)
	switch {
	case kerr != nil && (s.err == nil || errors.Is(s.err, errNoCache)):
		s.err, s.cred = kerr, nil
	case keys != nil:
		var want types.PrincipalName
		realm := ""
		if s.cred != nil {
			want, realm = s.cred.client.name, s.cred.client.realm
		}
		who, ok := keys.owner(want, realm)
		if !ok {
			return
		}
		s.keys, s.err = keys, nil
		if s.cred = old; old == nil || !old.keytab || old.client.String() != who.String() {
			s.cred = &credentials{client: who, keytab: true, where: keys.where}
		}
	}
}

// ready returns credentials with a valid TGT.
func (s *Session) ready(ctx context.Context) (*config, *credentials, error) {
	if err := s.lock(ctx); err != nil {
		return nil, nil, err
	}
	defer s.unlock()
	s.load(ctx)
	if s.err != nil {
		return nil, nil, s.err
	}
	if s.keys != nil && !s.cred.valid(s.o.Now()) {
		tgt, err := s.initial(ctx)
		if err != nil {
			return nil, nil, err
		}
		fresh := *s.cred
		fresh.tgt = tgt
		fresh.tickets = nil
		s.cred = &fresh
	}
	c := s.cred
	switch {
	case c.tgt == nil:
		return nil, nil, refuse(fmt.Sprintf("%s has no ticket-granting ticket of %s", c.where, c.client), "Run kinit.", nil)
	case !c.valid(s.o.Now()):
		what := "has expired"
		if c.tgt.end.After(s.o.Now().Add(c.offset)) {
			what = "expires too soon"
		}
		return nil, nil, refuse(fmt.Sprintf("The Kerberos ticket of %s in %s %s (%s)", c.client, c.where, what, c.tgt.end.Local().Format(time.DateTime)), "Run kinit.", nil)
	}
	return s.conf, c, nil
}

// refuse returns an error of class auth with a message and a hint.
func refuse(msg, hint string, err error) error {
	return &transport.Error{Class: transport.ClassAuth, Code: "AUTH_ERROR", Msg: msg, Hint: hint, Err: err}
}

// principal is a name and its realm.
type principal struct {
	name  types.PrincipalName
	realm string
}

// String formats a principal as MIT's tools do: separators within a part are
// escaped.
func (p principal) String() string {
	plain := strings.Join(p.name.NameString, "/") + "@" + p.realm
	if !strings.ContainsAny(plain, "\\\n\t\b\x00") && strings.Count(plain, "@") == 1 && strings.Count(plain, "/") == max(0, len(p.name.NameString)-1) {
		return plain
	}
	var b strings.Builder
	escape := strings.NewReplacer(`\`, `\\`, "/", `\/`, "@", `\@`, "\n", `\n`, "\t", `\t`, "\b", `\b`, "\x00", `\0`)
	for i, part := range p.name.NameString {
		if i > 0 {
			b.WriteByte('/')
		}
		escape.WriteString(&b, part)
	}
	b.WriteByte('@')
	escape.WriteString(&b, p.realm)
	return b.String()
}

// krbtgt returns the name of a realm's ticket-granting service.
func krbtgt(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nameService, NameString: []string{"krbtgt", realm}}
}

// The types of names (RFC 4120 6.2).
const (
	namePrincipal = 1
	nameService   = 2 // and instance
	nameHost      = 3 // service and host
)

// A ticket is a ticket with its key.
type ticket struct {
	server     principal
	raw        []byte // DER of the Ticket
	key        types.EncryptionKey
	flags      uint32 // numbered as in RFC 4120 5.3: bit 0 is the highest
	start, end time.Time
	authTime   time.Time
	renewTill  time.Time
}

// validAt reports whether the ticket can be used for a login that begins now.
func (t *ticket) validAt(now time.Time) bool { return now.Add(soon).Before(t.end) }

// credentials are the content of a cache or keytab.
type credentials struct {
	client  principal
	tgt     *ticket // of the client's realm; nil if there is none
	tickets []*ticket
	offset  time.Duration // difference between the KDC's clock and ours, as recorded by kinit
	where   string        // for messages: TYPE:residual
	keytab  bool
}

func (c *credentials) valid(now time.Time) bool {
	return c.tgt != nil && c.tgt.validAt(now.Add(c.offset))
}

// cached returns the ticket of a service from the cache.
func (c *credentials) cached(name types.PrincipalName, realm string, now time.Time) *ticket {
	for _, t := range c.tickets {
		if t.server.name.Equal(name) && (realm == "" || t.server.realm == realm) && t.validAt(now.Add(c.offset)) && strong(t.key.KeyType) {
			return t
		}
	}
	return nil
}

// path returns the path of a caller's file name.
func (o Options) path(name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(o.Dir, name)
}

// expand replaces those %{…} parameters of krb5.conf(5), "Parameter expansion",
// that have a meaning in names of caches and keytabs.
func expand(text string) (string, error) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "%{")
		b.WriteString(before)
		if !ok {
			return b.String(), nil
		}
		token, after, ok := strings.Cut(rest, "}")
		if !ok {
			return "", fmt.Errorf("%%{%s has no end", rest)
		}
		text = after
		switch token {
		case "uid":
			fmt.Fprint(&b, os.Getuid())
		case "euid", "USERID":
			fmt.Fprint(&b, os.Geteuid())
		case "username":
			b.WriteString(userName())
		case "TEMP":
			b.WriteString("/tmp")
		case "null":
		default:
			return "", fmt.Errorf("%%{%s} is not known", token)
		}
	}
}

// pending is a ticket that one caller requests and others wait for.
type pending struct {
	done chan struct{}
	t    *ticket
	err  error
}

// ticket returns a ticket for a service. One exchange serves all callers that
// wait for it.
func (s *Session) ticket(ctx context.Context, conf *config, c *credentials, name types.PrincipalName, realm string) (*ticket, error) {
	if t := c.cached(name, realm, s.o.Now()); t != nil {
		return t, nil
	}
	id := principal{name, realm}.String()
	for {
		s.mu.Lock()
		if s.owner != c.tgt && (s.owner == nil || !slices.Equal(s.owner.raw, c.tgt.raw)) {
			s.owner = c.tgt
			clear(s.tickets)
		}
		p := s.tickets[id]
		if p == nil {
			p = &pending{done: make(chan struct{})}
			s.tickets[id] = p
			s.mu.Unlock()
			p.t, p.err = s.serviceTicket(ctx, conf, c, name, realm)
			if p.err != nil {
				s.forget(id, p)
			}
			close(p.done)
			return p.t, p.err
		}
		s.mu.Unlock()
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch {
		case p.err == nil && p.t.validAt(s.o.Now().Add(c.offset)):
			return p.t, nil
		case p.err == nil:
			s.forget(id, p)
		case !errors.Is(p.err, context.Canceled): // the other caller was cancelled, not this one
			return nil, p.err
		}
	}
}

func (s *Session) forget(id string, p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tickets[id] == p {
		delete(s.tickets, id)
	}
}

// hostTicket returns a ticket for a host, for the first of its names that a KDC
// knows.
func (s *Session) hostTicket(ctx context.Context, conf *config, c *credentials, host string) (*ticket, error) {
	var first error
	for _, name := range conf.hostNames(ctx, s.o.Resolver, host) {
		service := types.PrincipalName{NameType: nameHost, NameString: []string{"host", name}}
		for _, realm := range conf.realmsOf(name, c.client.realm) {
			t, err := s.ticket(ctx, conf, c, service, realm)
			if err == nil {
				return t, nil
			}
			first = cmp.Or(first, err)
			if !isUnknownService(err) || ctx.Err() != nil {
				return nil, err
			}
		}
	}
	return nil, first
}
