package knownhosts

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	"bolt/transport"
)

// refusedCode is the error code of Puppet Bolt.
const refusedCode = "HOST_KEY_ERROR"

// err returns the error of a verdict, or nil for an accepted key.
func (v verdict) err(c Rule, q *question, f *Set) error {
	e := &transport.Error{Code: refusedCode}
	var what string
	switch v.outcome {
	case keyOK:
		return nil
	case keyRevoked:
		e.Class = transport.ClassHostKeyChanged
		what = fmt.Sprintf("its %s is revoked at %s", describeKey(q.key), v.at)
		if q.cert != nil && string(v.at.blob) == string(q.caKey) {
			what = fmt.Sprintf("the CA of its certificate, %s, is revoked at %s", describeKey(q.cert.SignatureKey), v.at)
		}
		e.Hint = "Other people may have the revoked key: create a new key on the machine and record it. Nothing was sent to the machine."
	case keyChanged:
		e.Class = transport.ClassHostKeyChanged
		what = fmt.Sprintf("it presents the %s, but known_hosts has the %s at %s", describeKey(q.key), describeBlob(v.at.keyType, v.at.blob), v.at)
		e.Hint = v.changedHint(q)
	default:
		e.Class = transport.ClassHostKeyUnknown
		what = fmt.Sprintf("its %s is not in %s", describeKey(q.key), f.fileNames(c))
		e.Hint = unknownHint(c, q, f)
	}
	if v.why != "" {
		what += "; " + v.why
	}
	e.Msg = fmt.Sprintf("Host key verification failed for %s: %s", q.host, what)
	return e
}

// describeKey returns a description of a key: "ssh-ed25519 key SHA256:…".
func describeKey(key ssh.PublicKey) string { return describeBlob(key.Type(), key.Marshal()) }

func describeBlob(keyType string, blob []byte) string {
	sum := sha256.Sum256(blob)
	return keyType + " key SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// fileNames lists the files that could contain a key.
func (f *Set) fileNames(c Rule) string {
	var names []string
	for _, k := range f.files {
		k.mu.RLock()
		if len(k.records) > 0 || k.path == c.WriteTo {
			names = append(names, k.path)
		}
		k.mu.RUnlock()
	}
	switch {
	case len(names) > 0:
		return strings.Join(names, " or ")
	case len(f.files) > 0:
		return f.files[0].path
	}
	return "any known_hosts file (no file exists)"
}

// changedHint returns the instruction to remove a record that has become wrong.
func (v verdict) changedHint(q *question) string {
	hint := "Another machine may intercept the connection, or the machine was reinstalled. If the new fingerprint is correct (" +
		ownFingerprint(q.key) + "), "
	if v.at.hashed == nil && strings.ContainsAny(v.at.names, "*?!") {
		return hint + fmt.Sprintf("correct the line at %s.", v.at)
	}
	return hint + fmt.Sprintf("remove the old key and record the new one:\n  ssh-keygen -R %s -f %s", shellWord(q.name), shellWord(v.at.path))
}

// unknownHint returns the instruction to record a key.
func unknownHint(c Rule, q *question, f *Set) string {
	file := c.WriteTo
	if file == "" && len(f.files) > 0 {
		file = f.files[0].path
	}
	if file == "" {
		return "No UserKnownHostsFile is set: set one in ssh_config, and record the key in it."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "If the fingerprint is the machine's own (%s), record it:\n  %s >> %s\n", ownFingerprint(q.key), scanCommand(c, q), shellWord(file))
	if c.Policy == Strict {
		b.WriteString("To record new keys automatically, set StrictHostKeyChecking accept-new in ssh_config. --no-host-key-check disables the check.")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ownFingerprint returns the command that prints a machine's own fingerprint.
func ownFingerprint(key ssh.PublicKey) string {
	return "there: ssh-keygen -lf /etc/ssh/ssh_host_" + shortType(key.Type()) + "_key.pub"
}

// shortType returns the name of a key type for ssh-keyscan -t.
func shortType(keyType string) string {
	switch {
	case strings.HasPrefix(keyType, "ecdsa-"):
		return "ecdsa"
	default:
		return strings.TrimPrefix(keyType, "ssh-")
	}
}

// scanCommand returns the command that prints the record of a host. For a
// HostKeyAlias, it inserts the alias and queries the address that was reached.
func scanCommand(c Rule, q *question) string {
	host, port, err := net.SplitHostPort(q.hostport)
	alias := err != nil
	if alias {
		host, port = q.host, "22"
		if tcp, ok := q.remote.(*net.TCPAddr); ok && !tcp.IP.IsUnspecified() {
			host, port = tcp.IP.String(), fmt.Sprint(tcp.Port)
		}
	}
	cmd := "ssh-keyscan -t " + shortType(q.key.Type())
	if port != "22" {
		cmd += " -p " + port
	}
	if c.Hash && !alias {
		cmd += " -H"
	}
	cmd += " " + shellWord(host)
	if alias {
		cmd += " | sed " + shellWord("s/^[^ ]*/"+strings.NewReplacer(`\`, `\\`, "/", `\/`, "&", `\&`).Replace(q.name)+"/")
	}
	return cmd
}

// shellWord quotes a word for a shell if necessary.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./:@%+=,-", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
