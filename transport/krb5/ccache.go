package krb5

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// errNoCache is the error if a credential cache does not exist.
var errNoCache = errors.New("the credential cache does not exist")

// maxCache limits the size of a cache. A cache with thousands of tickets has a
// few MiB.
const maxCache = 32 << 20

// readCredentials reads the caller's cache: KRB5CCNAME, else
// default_ccache_name, else FILE:/tmp/krb5cc_<uid>.
func (c *config) readCredentials(ctx context.Context, o Options) (*credentials, error) {
	name, _ := o.Env("KRB5CCNAME")
	if name == "" {
		expanded, err := expand(c.ccache)
		if err != nil {
			return nil, refuse(fmt.Sprintf("default_ccache_name in %s: %v", c.where, err), "Set KRB5CCNAME.", err)
		}
		name = expanded
	}
	kind, residual, ok := strings.Cut(name, ":")
	if !ok || strings.Contains(kind, "/") {
		kind, residual = "FILE", name
	}
	var found *credentials
	var err error
	switch kind {
	case "FILE":
		found, err = readFile(o.path(residual))
	case "DIR":
		found, err = readDir(o, residual)
	case "KEYRING":
		found, err = readKeyring(residual)
	case "KCM":
		found, err = readKCM(ctx, c.kcm, residual)
	default:
		return nil, refuse(fmt.Sprintf("Credential caches of the type %s cannot be read (KRB5CCNAME is %s)", quote(kind), quote(name)),
			"Set KRB5CCNAME to a cache of the type FILE, DIR, KEYRING or KCM, and run kinit.", nil)
	}
	switch {
	case errors.Is(err, errNoCache) || errors.Is(err, fs.ErrNotExist):
		return nil, refuse(fmt.Sprintf("No Kerberos ticket: %s does not exist", shown(name)), "Run kinit.", errNoCache)
	case err != nil:
		return nil, refuse(fmt.Sprintf("The Kerberos tickets in %s cannot be read: %v", shown(name), withoutPath(err)), "Run kinit, or set KRB5CCNAME to another cache.", err)
	}
	found.where = shown(name)
	return found, nil
}

// shown returns a cache's name for messages.
func shown(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return quote(name)
	}
	return name
}

func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

// readFile reads a cache of the type FILE.
func readFile(path string) (*credentials, error) {
	data, err := readBounded(path, maxCache)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, errNoCache
	}
	return parseCache(data)
}

// readDir reads the selected cache of a directory or, for ":path", the file at
// path (MIT's DIR type).
func readDir(o Options, residual string) (*credentials, error) {
	if path, ok := strings.CutPrefix(residual, ":"); ok {
		return readFile(o.path(path))
	}
	dir := o.path(residual)
	text, err := readBounded(filepath.Join(dir, "primary"), 4096)
	name := "tkt"
	switch {
	case err == nil:
		name, _, _ = strings.Cut(string(text), "\n")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	// The names of caches begin with tkt and are file names in the directory.
	if !strings.HasPrefix(name, "tkt") || strings.Contains(name, "/") {
		return nil, fmt.Errorf("the file primary does not name a cache: %s", quote(name))
	}
	return readFile(filepath.Join(dir, name))
}

// parseCache parses the file format (MIT's "Credential cache file format",
// versions 3 and 4). Older versions have not been written for twenty years.
func parseCache(data []byte) (*credentials, error) {
	r := &reader{rest: data}
	if r.u8() != 5 {
		return nil, errors.New("it is not a credential cache")
	}
	version := r.u8()
	if version != 3 && version != 4 {
		return nil, fmt.Errorf("its format %d is not known", version)
	}
	c := new(credentials)
	if version == 4 {
		header := &reader{rest: r.bytes(int(r.u16()))}
		for len(header.rest) > 0 && header.err == nil {
			tag, value := header.u16(), &reader{}
			value.rest = header.bytes(int(header.u16()))
			if tag == 1 {
				c.offset = kdcOffset(value)
			}
		}
		r.err = errors.Join(r.err, header.err)
	}
	c.client = r.principal()
	for len(r.rest) > 0 && r.err == nil {
		t := r.credential(version)
		if r.err == nil {
			c.add(t)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return c, nil
}

// kdcOffset parses the header's field with the KDC offset: seconds and
// microseconds.
func kdcOffset(r *reader) time.Duration {
	seconds, micros := int32(r.u32()), int32(r.u32())
	if r.err != nil {
		return 0
	}
	return time.Duration(seconds)*time.Second + time.Duration(micros)*time.Microsecond
}

// add adds a ticket, unless it is an entry of configuration data, which caches
// store in the form of tickets.
func (c *credentials) add(t *ticket) {
	switch t.server.realm {
	case "X-CACHECONF:":
		return
	case "": // requested by a client that left the realm to the KDC
		if t.server.realm = ticketRealm(t.raw); t.server.realm == "" {
			return
		}
	}
	if t.server.name.Equal(krbtgt(c.client.realm)) && t.server.realm == c.client.realm {
		if c.tgt == nil || t.end.After(c.tgt.end) {
			c.tgt = t
		}
		return
	}
	c.tickets = append(c.tickets, t)
}

// ticketRealm returns the realm that the ticket itself contains, "" if it
// cannot be read.
func ticketRealm(raw []byte) (realm string) {
	var err error
	defer recovered(&err)
	var t messages.Ticket
	if t.Unmarshal(raw) != nil {
		return ""
	}
	return t.Realm
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return os.ReadFile(path)
}

// A reader parses the binary formats of caches and keytabs, big-endian. After
// an error it returns zeroes.
type reader struct {
	rest []byte
	err  error
}

var errShort = errors.New("it is truncated")

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.rest, r.err = nil, errShort
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) data() []byte { return r.bytes(int(int32(r.u32()))) }

func (r *reader) time() time.Time { return time.Unix(int64(r.u32()), 0) }

// count reads the number of elements, each of which takes size bytes at least.
func (r *reader) count(size int) int {
	n := int(int32(r.u32()))
	if n < 0 || n > len(r.rest)/size {
		r.rest, r.err = nil, errShort
		return 0
	}
	return n
}

func (r *reader) principal() principal {
	p := principal{name: types.PrincipalName{NameType: int32(r.u32())}}
	n := r.count(4)
	p.realm = string(r.data())
	for range n {
		p.name.NameString = append(p.name.NameString, string(r.data()))
	}
	return p
}

// credential parses a credential. KEYRING and KCM use the format of version 4,
// too.
func (r *reader) credential(version uint8) *ticket {
	r.principal() // the client
	t := &ticket{server: r.principal()}
	t.key.KeyType = int32(r.u16())
	if version == 3 {
		r.u16() // repeated
	}
	t.key.KeyValue = r.data()
	t.authTime, t.start, t.end, t.renewTill = r.time(), r.time(), r.time(), r.time()
	r.u8() // is_skey
	t.flags = r.u32()
	for range 2 { // addresses, authorization data
		for range r.count(6) {
			r.u16()
			r.data()
		}
	}
	t.raw = r.data()
	r.data() // the second ticket
	return t
}
