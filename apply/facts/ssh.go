package facts

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// ssh returns the host keys with their fingerprints as in SSHFP records (RFC 4255).
func (c *collector) ssh() (any, error) {
	out := object{}
	for _, dir := range []string{"/etc/ssh", "/usr/local/etc/ssh", "/etc", "/usr/local/etc", "/etc/opt/ssh"} {
		for _, kind := range []string{"rsa", "dsa", "ecdsa", "ed25519"} {
			text, is := c.read(dir + "/ssh_host_" + kind + "_key.pub")
			if !is {
				continue
			}
			if name, key := hostKey(text); name != "" {
				out[name] = key
			}
		}
	}
	return out, nil
}

// hostKey returns the fact of a public key in OpenSSH's format; name is "" if it is not one.
func hostKey(text string) (name string, fact object) {
	f := strings.Fields(text)
	if len(f) < 2 {
		return "", nil
	}
	number := 0
	switch f[0] {
	case "ssh-rsa":
		name, number = "rsa", 1
	case "ssh-dss":
		name, number = "dsa", 2
	case "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521":
		name, number = "ecdsa", 3
	case "ssh-ed25519":
		name, number = "ed25519", 4
	default:
		return "", nil
	}
	blob, err := base64.StdEncoding.DecodeString(f[1])
	if err != nil {
		return "", nil
	}
	return name, object{
		"fingerprints": object{
			"sha1":   fmt.Sprintf("SSHFP %d 1 %x", number, sha1.Sum(blob)),
			"sha256": fmt.Sprintf("SSHFP %d 2 %x", number, sha256.Sum256(blob)),
		},
		"key":  f[1],
		"type": f[0],
	}
}
