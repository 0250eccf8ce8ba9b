// Package knownhosts checks the host keys of SSH servers against known_hosts
// files and lists of revoked keys.
//
// Files caches known_hosts files. A Set holds the records of the files for one
// host. Set.Check handles plain and hashed names, patterns, ports,
// @cert-authority and @revoked, and records new keys if its Rule requires it.
// RevokedFiles does the same for the files of RevokedHostKeys: plain lists and
// key revocation lists (KRL). Files are read again after they have changed. The
// package owns no goroutines and no open files.
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

// The check of known_hosts is our own. The available libraries reject a whole
// file because of one bad line, parse every key at every reading, and compare
// each name with each hashed line again. They also handle @revoked, ports and
// patterns differently from OpenSSH (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT;
// hostfile.c; sshconnect.c).

// A Policy defines how Check handles a key that is not in the files.
type Policy uint8

const (
	Strict    Policy = iota // refuse it
	AcceptNew               // record it, but refuse changed ones
)

// A Rule defines how the host key of one connection is checked.
type Rule struct {
	Policy  Policy
	WriteTo string // file for accept-new, with ~ expanded; "": none, so new keys are not accepted
	Hash    bool   // record the hashed name

	// Signatures are the signature algorithms that are allowed in a certificate
	// (ssh_config(5), CASignatureAlgorithms); nil for the secure ones.
	Signatures []string
}

// Files caches known_hosts files with their indexes. It is safe for concurrent
// use and need not be closed.
type Files struct {
	log *slog.Logger

	mu    sync.Mutex
	slots map[string]*knownSlot // by path
}

// maxKnownSlots limits the cache. One user has few files, but their names may
// contain the machine's name (ssh_config(5), TOKENS).
const maxKnownSlots = 1024

// NewFiles returns an empty cache. Unused lines of files are reported to log;
// nil discards the reports.
func NewFiles(log *slog.Logger) *Files {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Files{log: log, slots: make(map[string]*knownSlot)}
}

// Load returns the records of files. A file is read again when its size, its
// time or its place on disk has changed. Missing files and files without read
// permission have no records; the latter are logged. Load returns an error for
// a file that exists but cannot be read: its revoked keys are not known.
//
// A state of a file that is not older than age is used without another look.
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

// A Set is a list of known_hosts files, in the order of the search.
type Set struct {
	keys  *Files
	files []*knownFile
}

// Same reports whether two sets have the same files in the same state.
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

// found is a record and its position.
type found struct {
	*record
	path string
}

func (r found) String() string { return fmt.Sprintf("%s:%d", r.path, r.line) }

// recordNames returns the names under which known_hosts lists a host. For a
// port other than 22, the name is "[host]:port", and bare is "host", which is
// used only to accept a key (sshconnect.c, check_host_key). The name for
// certificates has no port.
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

// preference returns OpenSSH's default order of host key algorithms
// (ssh_config(5), HostKeyAlgorithms), each with its key type.
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

// Algorithms returns the host key algorithms to offer, so that a server
// presents one of its known keys. The algorithms of known keys are first, then
// the other usual ones. ssh-rsa (SHA-1) is last, and only if an RSA key is
// known. A @cert-authority line puts all certificates first. It returns nil for
// an unknown host. hostport is net.JoinHostPort(host, port), or only the
// HostKeyAlias.
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

// Check checks the key that a server has presented. host is the machine's name
// for error messages; hostport is the same as for Algorithms; remote may be
// nil. The error is a *transport.Error with the code HOST_KEY_ERROR. Its class
// is ClassHostKeyUnknown, or ClassHostKeyChanged for a revoked key or if
// another key is known.
//
// As with OpenSSH's default (CheckHostIP no), only the name is looked up, not
// the address.
func (f *Set) Check(c Rule, host, hostport string, remote net.Addr, key ssh.PublicKey) error {
	q := newQuestion(host, hostport, remote, key)
	q.authority = c.Signatures
	v := f.judge(q)
	if v.outcome == keyUnknown && c.Policy == AcceptNew && c.WriteTo != "" && recordable(q.principal) {
		v = f.record(c, q)
	}
	return v.err(c, q, f)
}

// question is a key to check.
type question struct {
	host, hostport        string
	remote                net.Addr
	name, bare, principal string // as returned by recordNames

	key   ssh.PublicKey    // never a certificate
	blob  []byte           // marshalled key
	cert  *ssh.Certificate // or nil
	caKey []byte           // marshalled key of the CA

	authority []string // as in Rule.Signatures
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

// outcome is the result of comparing a key with the records.
type outcome uint8

const (
	keyUnknown outcome = iota
	keyOK
	keyChanged
	keyRevoked
)

type verdict struct {
	outcome outcome
	at      found  // the decisive record; none for keyUnknown
	why     string // why a certificate was not accepted
}

// judge compares a key with the records. A revoked key is refused whatever else
// is recorded, also if it is revoked for the name without the port.
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

// judgeRecords compares a key with the records of one name. If a certificate is
// not accepted, its key is compared as a plain key, as in OpenSSH.
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
		v.why = "its certificate is signed by " + describeKey(q.cert.SignatureKey) + ", which is not a CA for it in known_hosts"
	default:
		v.why = "known_hosts has a CA for it, but it presents no certificate"
	}
	return v
}

// certificateFault returns the reason why a host certificate does not prove a
// name, or "" if it does (PROTOCOL.certkeys; sshkey.c, sshkey_cert_check_host).
func certificateFault(cert *ssh.Certificate, name string, authority []string) string {
	if cert.CertType != ssh.HostCert {
		return "its certificate is not a host certificate"
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
	// CheckCert also checks critical options (none is defined for hosts), the
	// time and the signature.
	if err := new(ssh.CertChecker).CheckCert(cert.ValidPrincipals[i], cert); err != nil {
		return "its certificate is not valid: " + safetext.Message(strings.TrimPrefix(err.Error(), "ssh: "))
	}
	return ""
}
