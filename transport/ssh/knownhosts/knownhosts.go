// Package knownhosts judges the host keys of SSH servers by known_hosts files and
// lists of revoked keys.
//
// Files caches known_hosts files; a Set is the records of the files that count
// for one host. Set.Check handles plain and hashed names, patterns, ports,
// @cert-authority and @revoked, and records new keys if its Rule requires it.
// RevokedFiles does the same for the files that RevokedHostKeys names: plain
// lists and key revocation lists (KRL). Files are read again when they have
// changed; the package owns no goroutines and no open files.
//
// Specifications: sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; OpenSSH's
// PROTOCOL.certkeys and PROTOCOL.krl.
package knownhosts

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/internal/safetext"
	"bolt/transport/ssh/pattern"
)

// The checking of known_hosts is our own because the libraries at hand give
// a whole file up for one bad line, parse every key of it for every reading,
// hold a name against each hashed line in turn for each question, and treat
// @revoked, ports and patterns otherwise than OpenSSH does
// (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT; hostfile.c; sshconnect.c).

// A Policy defines how Check handles a key that is not in the files.
type Policy uint8

const (
	Strict    Policy = iota // refuse it
	AcceptNew               // record it, but refuse changed ones
)

// A Rule is how one connection wants its key checked.
type Rule struct {
	Policy  Policy
	WriteTo string // the file for accept-new, ~ expanded; "": there is none, so nothing new is accepted
	Hash    bool   // record the name hashed

	// Signatures are the algorithms of signatures that may be on a certificate
	// (ssh_config(5), CASignatureAlgorithms); nil for those held secure.
	Signatures []string
}

// Files caches known_hosts files, read and indexed. It is safe for
// concurrent use and owns nothing that must be closed.
type Files struct {
	log *slog.Logger

	mu    sync.Mutex
	slots map[string]*knownSlot // by path
}

// maxKnownSlots bounds the cache. One user has few files, but their names may
// have the machine's in them (ssh_config(5), TOKENS).
const maxKnownSlots = 1024

// NewFiles returns an empty cache. What is not used of a file is reported to log;
// nil discards.
func NewFiles(log *slog.Logger) *Files {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Files{log: log, slots: make(map[string]*knownSlot)}
}

// Load returns the records of files. A file is read again when its size, its
// time or its place on disk has changed. Files that are missing or may not be
// read hold no records; the latter are reported to the log. The error is for
// a file that is there and yet cannot be read: what it revokes is not known.
//
// A look at a file that is no older than age will do.
func (k *Files) Load(files []string, age time.Duration) (*Set, error) {
	f := &Set{keys: k}
	for i, path := range files {
		if slices.Contains(files[:i], path) {
			continue
		}
		known, err := k.slot(path).current(k.log, age)
		if err != nil {
			return nil, fmt.Errorf("read known hosts: %w", err)
		}
		f.files = append(f.files, known)
	}
	return f, nil
}

func (k *Files) slot(path string) *knownSlot {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.slots[path]
	if s == nil {
		if len(k.slots) >= maxKnownSlots {
			clear(k.slots)
		}
		s = &knownSlot{path: path}
		k.slots[path] = s
	}
	return s
}

// A Set is a set of known_hosts files, in the order of the search.
type Set struct {
	keys  *Files
	files []*knownFile
}

// Same reports whether two sets are of the same files in the same state.
func (f *Set) Same(g *Set) bool {
	return f == g || f != nil && g != nil && slices.Equal(f.files, g.files)
}

// find returns the records for a name, in the order of files and lines.
func (f *Set) find(name string) []found {
	var all []found
	for _, known := range f.files {
		for _, r := range known.find(name) {
			all = append(all, found{r, known.path})
		}
	}
	return all
}

// found is a record, and where it stands.
type found struct {
	*record
	path string
}

func (r found) String() string { return fmt.Sprintf("%s:%d", r.path, r.line) }

// recordNames returns the names under which a host is on record: for a port
// that is not 22 "[host]:port", and as second, which counts for acceptance
// only, "host" (sshconnect.c, check_host_key). For certificates the name has
// no port.
func recordNames(hostport string) (name, bare, principal string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		// A HostKeyAlias stands for the host and its port.
		name = pattern.Lower(hostport)
		return name, "", name
	}
	host = pattern.Lower(host)
	if port == "22" {
		return host, "", host
	}
	return "[" + host + "]:" + port, host, host
}

// preference is the order of host key algorithms that OpenSSH has by
// default (ssh_config(5), HostKeyAlgorithms), each with its key type.
func preference() []struct{ algorithm, keyType string } {
	return []struct{ algorithm, keyType string }{
		{ssh.CertAlgoED25519v01, ssh.KeyAlgoED25519},
		{ssh.CertAlgoECDSA256v01, ssh.KeyAlgoECDSA256},
		{ssh.CertAlgoECDSA384v01, ssh.KeyAlgoECDSA384},
		{ssh.CertAlgoECDSA521v01, ssh.KeyAlgoECDSA521},
		{ssh.CertAlgoRSASHA512v01, ssh.KeyAlgoRSA},
		{ssh.CertAlgoRSASHA256v01, ssh.KeyAlgoRSA},
		{ssh.KeyAlgoED25519, ssh.KeyAlgoED25519},
		{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA256},
		{ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA384},
		{ssh.KeyAlgoECDSA521, ssh.KeyAlgoECDSA521},
		{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSA},
		{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA},
	}
}

// Algorithms returns the host key algorithms to ask a server for, so that of
// its keys it shows one that is on record: those first, then all others of
// the usual ones, and ssh-rsa (SHA-1) at the very end if an RSA key is on
// record. A @cert-authority line prefers all certificates. It returns nil for
// a host of which there is no record. hostport is net.JoinHostPort(host,
// port), or the HostKeyAlias alone.
func (f *Set) Algorithms(hostport string) []string {
	name, bare, _ := recordNames(hostport)
	authority, types := recordedTypes(f.find(name))
	if !authority && len(types) == 0 && bare != "" {
		authority, types = recordedTypes(f.find(bare))
	}
	if !authority && len(types) == 0 {
		return nil
	}
	var first, last []string
	for _, p := range preference() {
		if types[p.keyType] || authority && strings.Contains(p.algorithm, "-cert-") {
			first = append(first, p.algorithm)
		} else {
			last = append(last, p.algorithm)
		}
	}
	all := append(first, last...)
	if types[ssh.KeyAlgoRSA] {
		all = append(all, ssh.KeyAlgoRSA)
	}
	return all
}

func recordedTypes(records []found) (authority bool, types map[string]bool) {
	types = make(map[string]bool)
	for _, r := range records {
		switch r.marker {
		case markAuthority:
			authority = true
		case markNone:
			types[r.keyType] = true
		}
	}
	return authority, types
}

// Check judges the key that a server has shown. host is the machine's name
// for the error texts, hostport as for Algorithms; remote may be nil. The
// error is a *transport.Error with the code HOST_KEY_ERROR: of
// ClassHostKeyUnknown, or of ClassHostKeyChanged for another key on record
// and for a revoked one.
//
// As with OpenSSH's default (CheckHostIP no) the address is not looked up,
// only the name.
func (f *Set) Check(c Rule, host, hostport string, remote net.Addr, key ssh.PublicKey) error {
	q := newQuestion(host, hostport, remote, key)
	q.authority = c.Signatures
	v := f.judge(q)
	if v.outcome == keyUnknown && c.Policy == AcceptNew && c.WriteTo != "" && recordable(q.principal) {
		v = f.record(c, q)
	}
	return v.err(c, q, f)
}

// question is a key to be judged.
type question struct {
	host, hostport        string
	remote                net.Addr
	name, bare, principal string // as recordNames has them

	key   ssh.PublicKey    // never a certificate
	blob  []byte           // key, marshalled
	cert  *ssh.Certificate // or nil
	caKey []byte           // who signed it, marshalled

	authority []string // as Rule.Signatures
}

func newQuestion(host, hostport string, remote net.Addr, key ssh.PublicKey) *question {
	q := &question{host: host, hostport: hostport, remote: remote, key: key}
	q.name, q.bare, q.principal = recordNames(hostport)
	if cert, ok := key.(*ssh.Certificate); ok {
		q.cert, q.key, q.caKey = cert, cert.Key, cert.SignatureKey.Marshal()
	}
	q.blob = q.key.Marshal()
	return q
}

// outcome is what the records say about a key.
type outcome uint8

const (
	keyUnknown outcome = iota
	keyOK
	keyChanged
	keyRevoked
)

type verdict struct {
	outcome outcome
	at      found  // the record that decided; none for keyUnknown
	why     string // why a certificate did not count
}

// judge holds a key against the records. A revoked key is refused whatever
// else is on record, also if it is revoked for the name without the port.
func (f *Set) judge(q *question) verdict {
	records := f.find(q.name)
	var bare []found
	if q.bare != "" {
		bare = f.find(q.bare)
	}
	for _, list := range [][]found{records, bare} {
		for _, r := range list {
			if r.marker == markRevoked && (bytes.Equal(r.blob, q.blob) || q.cert != nil && bytes.Equal(r.blob, q.caKey)) {
				return verdict{outcome: keyRevoked, at: r}
			}
		}
	}
	v := judgeRecords(records, q)
	if v.outcome == keyUnknown {
		if b := judgeRecords(bare, q); b.outcome == keyOK || b.outcome == keyUnknown && v.why == "" {
			return b
		}
	}
	return v
}

// judgeRecords judges by the records of one name. A certificate that does not
// count leaves the key in it to be judged as a plain one, as in OpenSSH.
func judgeRecords(records []found, q *question) verdict {
	v := verdict{outcome: keyUnknown}
	authorities := false
	for _, r := range records {
		switch {
		case r.marker == markAuthority:
			authorities = true
			if q.cert == nil || !bytes.Equal(r.blob, q.caKey) {
				continue
			}
			why := certificateFault(q.cert, q.principal, q.authority)
			if why == "" {
				return verdict{outcome: keyOK, at: r}
			}
			v.why = why
		case r.marker == markNone && bytes.Equal(r.blob, q.blob):
			return verdict{outcome: keyOK, at: r}
		case r.marker == markNone && (v.outcome != keyChanged || v.at.keyType != q.key.Type() && r.keyType == q.key.Type()):
			v.outcome, v.at = keyChanged, r
		}
	}
	switch {
	case v.why != "" || !authorities:
	case q.cert != nil:
		v.why = "its certificate is signed by " + describeKey(q.cert.SignatureKey) + ", which is not on record as an authority for it"
	default:
		v.why = "there is a certificate authority on record for it, but it shows no certificate"
	}
	return v
}

// certificateFault returns why a host certificate does not prove a name, or
// "" if it does (PROTOCOL.certkeys; sshkey.c, sshkey_cert_check_host).
func certificateFault(cert *ssh.Certificate, name string, authority []string) string {
	if cert.CertType != ssh.HostCert {
		return "its certificate is not one for hosts"
	}
	if authority == nil {
		authority = ssh.SupportedAlgorithms().PublicKeyAuths
	}
	if cert.Signature == nil {
		return "its certificate is not signed"
	}
	if !slices.Contains(authority, cert.Signature.Format) {
		return fmt.Sprintf("its certificate is signed with %s, which is not among the accepted algorithms (CASignatureAlgorithms in ssh_config)", safetext.Message(cert.Signature.Format))
	}
	if len(cert.ValidPrincipals) == 0 {
		return "its certificate names no hosts"
	}
	i := slices.IndexFunc(cert.ValidPrincipals, func(p string) bool { return pattern.Match(p, name) })
	if i < 0 {
		return fmt.Sprintf("its certificate is for %q", safetext.Messages(cert.ValidPrincipals))
	}
	// CheckCert adds critical options (none is known for hosts), the time
	// and the signature.
	if err := new(ssh.CertChecker).CheckCert(cert.ValidPrincipals[i], cert); err != nil {
		return "its certificate is not good: " + safetext.Message(strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return ""
}
