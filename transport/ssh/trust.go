package ssh

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"bolt/transport"
	"bolt/transport/ssh/knownhosts"
)

// trustAge is the time for which the state of known_hosts and RevokedHostKeys
// is cached for open connections, because many are checked at once. The cached
// state is not used for a caller that has come later.
const trustAge = 100 * time.Millisecond

// lookAge returns trustAge, or less if the latest caller has come since.
func (d *Dialer) lookAge() time.Duration {
	return max(1, min(trustAge, time.Since(d.made)-time.Duration(d.viewed.Load())))
}

// A trust is the reason why a connection's host key was accepted. It can check
// whether the key would still be accepted. It is safe for concurrent use.
type trust struct {
	known   *knownhosts.Files
	revoked *knownhosts.RevokedFiles
	age     func() time.Duration // maximum age of a cached state
	e       *endpoint
	rule    knownhosts.Rule
	files   []string // known_hosts

	mu     sync.Mutex
	key    ssh.PublicKey // the key that was accepted last
	remote net.Addr
	by     evidence
}

// An evidence is the state of the files that led to the acceptance of a key.
type evidence struct {
	known   *knownhosts.Set
	revoked *knownhosts.Revocations
}

// newTrust returns the rules for an endpoint's host key, or nil if any key is
// accepted.
func (d *Dialer) newTrust(e *endpoint) *trust {
	t := &trust{known: d.known, revoked: d.revoked, age: d.lookAge, e: e, rule: knownhosts.Rule{Policy: knownhosts.Strict, Hash: e.conf.HashKnownHosts}}
	switch e.to.HostKeyCheck {
	case transport.CheckNone:
		// Accept any key, also one that ssh_config revokes or regards as too
		// short.
		return nil
	case transport.CheckByConfig:
		switch e.conf.StrictHostKeyChecking {
		case "no", "off", "accept-new":
			t.rule.Policy = knownhosts.AcceptNew
		}
	}
	if len(e.conf.UserKnownHostsFiles) > 0 {
		t.rule.WriteTo = e.conf.UserKnownHostsFiles[0]
	}
	t.rule.Signatures = e.algorithms.authority
	t.files = slices.Concat(e.conf.UserKnownHostsFiles, e.conf.GlobalKnownHostsFiles)
	return t
}

// algorithms returns the host key algorithms to offer, in order.
func (t *trust) algorithms(e *endpoint) ([]string, error) {
	if t == nil {
		return e.algorithms.hostKeys(nil), nil
	}
	known, err := t.known.Load(t.files, 0)
	if err != nil {
		return nil, err
	}
	return e.algorithms.hostKeys(known.Algorithms(e.hostport)), nil
}

// check checks a key that the server presents against the files as they are
// now. A key that the server has presented before is accepted until the
// connection is checked with still. Keys are exchanged again while commands run
// (sshconnect.c, verify_host_key).
func (t *trust) check(remote net.Addr, key ssh.PublicKey) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	before := t.key
	t.mu.Unlock()
	if before != nil && bytes.Equal(before.Marshal(), key.Marshal()) {
		return nil
	}
	return t.judge(remote, key, 0)
}

// judge is check with cached files that are not older than age.
func (t *trust) judge(remote net.Addr, key ssh.PublicKey, age time.Duration) error {
	if err := t.e.longEnough(key); err != nil {
		return err
	}
	list, err := t.revoked.Check(t.e.conf.RevokedHostKeys, t.e.to.Host, key, age)
	if err != nil {
		return err
	}
	known, err := t.known.Load(t.files, age)
	if err != nil {
		return err
	}
	if err := known.Check(t.rule, t.e.to.Host, t.e.hostport, remote, key); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.key, t.remote, t.by = key, remote, evidence{known, list}
	return nil
}

// still returns nil if the key would still be accepted, and else the reason. If
// the files have not changed, it only compares a few pointers.
func (t *trust) still() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	key, remote, by := t.key, t.remote, t.by
	t.mu.Unlock()
	age := t.age()
	known, err := t.known.Load(t.files, age)
	if err != nil {
		return connectError(transport.ClassConnect, t.e.to.Host, err, "")
	}
	list, err := t.revoked.Load(t.e.conf.RevokedHostKeys, age)
	if err == nil && list == by.revoked && known.Same(by.known) && !outdated(key) {
		return nil
	}
	if err := t.judge(remote, key, age); err != nil {
		return hostKeyError(t.e, err)
	}
	return nil
}

// outdated reports whether a key is a certificate that has expired.
func outdated(key ssh.PublicKey) bool {
	cert, ok := key.(*ssh.Certificate)
	return ok && uint64(time.Now().Unix()) >= cert.ValidBefore
}
