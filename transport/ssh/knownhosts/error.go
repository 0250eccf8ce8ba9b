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

// refusedCode is what Puppet Bolt prints.
const refusedCode = "HOST_KEY_ERROR"

// err puts a verdict into words; nil for an accepted key.
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
			what = fmt.Sprintf("the authority of its certificate, %s, is revoked at %s", describeKey(q.cert.SignatureKey), v.at)
		}
		e.Hint = "A revoked key may be in foreign hands: give the machine a new one and record that. Nothing was sent to it."
	case keyChanged:
		e.Class = transport.ClassHostKeyChanged
		what = fmt.Sprintf("it shows the %s, but the %s is on record at %s", describeKey(q.key), describeBlob(v.at.keyType, v.at.blob), v.at)
		e.Hint = v.changedHint(q)
	default:
		e.Class = transport.ClassHostKeyUnknown
		what = fmt.Sprintf("its %s is not on record in %s", describeKey(q.key), f.fileNames(c))
		e.Hint = unknownHint(c, q, f)
	}
	if v.why != "" {
		what += "; " + v.why
	}
	e.Msg = fmt.Sprintf("Host key verification failed for %s: %s", q.host, what)
	return e
}

// describeKey names a key for people: "ssh-ed25519 key SHA256:…".
func describeKey(key ssh.PublicKey) string { return describeBlob(key.Type(), key.Marshal()) }

func describeBlob(keyType string, blob []byte) string {
	sum := sha256.Sum256(blob)
	return keyType + " key SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// fileNames lists where a key could have been on record.
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
	return "any known_hosts file (there is none)"
}

// changedHint says how to get rid of a record that is no longer right.
func (v verdict) changedHint(q *question) string {
	hint := "Somebody may stand between us and the machine, or it was installed anew. If the new fingerprint is right (" +
		ownFingerprint(q.key) + "), "
	if v.at.hashed == nil && strings.ContainsAny(v.at.names, "*?!") {
		return hint + fmt.Sprintf("correct the record at %s.", v.at)
	}
	return hint + fmt.Sprintf("remove the old key and record the new one:\n  ssh-keygen -R %s -f %s", shellWord(q.name), shellWord(v.at.path))
}

// unknownHint says how to record a key.
func unknownHint(c Rule, q *question, f *Set) string {
	file := c.WriteTo
	if file == "" && len(f.files) > 0 {
		file = f.files[0].path
	}
	if file == "" {
		return "No UserKnownHostsFile is set: name one in ssh_config, and record the key in it."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "If the fingerprint is the machine's own (%s), record it:\n  %s >> %s\n", ownFingerprint(q.key), scanCommand(c, q), shellWord(file))
	if c.Policy == Strict {
		b.WriteString("To have new keys recorded, set StrictHostKeyChecking accept-new in ssh_config; --no-host-key-check checks none.")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// ownFingerprint is how to ask a machine for its own fingerprint.
func ownFingerprint(key ssh.PublicKey) string {
	return "there: ssh-keygen -lf /etc/ssh/ssh_host_" + shortType(key.Type()) + "_key.pub"
}

// shortType is a key type in the words of ssh-keyscan -t.
func shortType(keyType string) string {
	switch {
	case strings.HasPrefix(keyType, "ecdsa-"):
		return "ecdsa"
	default:
		return strings.TrimPrefix(keyType, "ssh-")
	}
}

// scanCommand prints the record of a host. For a HostKeyAlias the name must
// be put in, and the machine is asked at the address that we reached.
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

// shellWord quotes a word for a shell if it must be quoted.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_./:@%+=,-", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
