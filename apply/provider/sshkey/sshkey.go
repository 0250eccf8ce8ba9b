// Package sshkey applies the keys of OpenSSH: sshkey resources, which are the host keys of known_hosts files, and
// ssh_authorized_key resources, which are the keys that let users in.
package sshkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/provider/record"
	"bolt/apply/resource"
	"bolt/catalog"
	"bolt/format/ordered"
)

const knownHosts = "/etc/ssh/ssh_known_hosts"

// aliases are the short names of types.
var aliases = map[string]string{
	"dsa": "ssh-dss", "rsa": "ssh-rsa", "ed25519": "ssh-ed25519",
	"ecdsa-sk": "sk-ecdsa-sha2-nistp256@openssh.com", "ed25519-sk": "sk-ssh-ed25519@openssh.com",
}

// keyTypes are the types of keys; certTypes are those of certificates, which users can have.
var (
	keyTypes = []string{
		"ssh-dss", "ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
		"sk-ecdsa-sha2-nistp256@openssh.com", "sk-ssh-ed25519@openssh.com",
	}
	certTypes = []string{
		"ssh-rsa-cert-v01@openssh.com", "ssh-ed25519-cert-v01@openssh.com", "ssh-dss-cert-v01@openssh.com",
		"ecdsa-sha2-nistp256-cert-v01@openssh.com", "ecdsa-sha2-nistp384-cert-v01@openssh.com", "ecdsa-sha2-nistp521-cert-v01@openssh.com",
	}
)

// keyType returns the full name of the type of a key.
func keyType(text string, allowed []string) (string, error) {
	if full := aliases[text]; full != "" {
		text = full
	}
	if !slices.Contains(allowed, text) {
		return "", &resource.ParamError{Param: "type", Problem: fmt.Sprintf("must be a type of key such as ssh-ed25519, and is %q", text)}
	}
	return text, nil
}

// keyText is the parameter key.
func keyText(r *resource.Resource) (key string, given bool, err error) {
	key, given, err = r.Text("key")
	if err == nil && given && (key == "" || strings.ContainsAny(key, blanks)) {
		err = &resource.ParamError{Param: "key", Problem: "must be the key alone, without blanks, type or comment"}
	}
	return key, given, err
}

const blanks = " \t\r\n\f\v"

type hostKeys struct{ *record.Store }

// Type returns the type sshkey.
func Type() resource.Type {
	return hostKeys{&record.Store{Format: record.Format{Parse: parseHosts, Line: hostLine, Mode: 0o644}}}
}

// New implements resource.Type.
func (t hostKeys) New(r *resource.Resource) (resource.Item, error) {
	name, typ, err := t.identity(r)
	if err != nil {
		return nil, err
	}
	if name == "" || strings.ContainsAny(name, blanks+",") {
		return nil, &resource.ParamError{Param: "name", Problem: fmt.Sprintf("must be one name without blanks and commas, and is %q: use host_aliases for more names", name)}
	}
	ensure, _, err := r.Text("ensure")
	if err != nil {
		return nil, err
	}
	i := &record.Item{Store: t.Store, Type: "sshkey", Name: name + "@" + typ, Absent: ensure == "absent"}
	key, given, err := keyText(r)
	if err != nil {
		return nil, err
	}
	if given {
		i.Want = append(i.Want, record.Property{Name: "key", Value: key})
	}
	names, given, err := r.Texts("host_aliases")
	if err != nil {
		return nil, err
	}
	if given {
		for _, n := range names {
			if n == "" || strings.ContainsAny(n, blanks+",") {
				return nil, &resource.ParamError{Param: "host_aliases", Problem: fmt.Sprintf("must be a list of names without blanks and commas, and has %q", n)}
			}
		}
		i.Want = append(i.Want, record.Property{Name: "host_aliases", Value: strings.Join(names, ",")})
	}
	target, given, err := r.Text("target")
	if err != nil {
		return nil, err
	}
	i.Places = func(_ context.Context, h *resource.Host) ([]record.Place, error) {
		places := []record.Place{{Path: h.Path(knownHosts)}}
		if given && target != knownHosts {
			places = append(places, record.Place{Path: target})
		}
		return places, nil
	}
	return i, nil
}

// identity is the host and the type of the key of a resource. A title can have both: HOST@TYPE.
func (t hostKeys) identity(r *resource.Resource) (name, typ string, err error) {
	name, typ, _ = strings.Cut(r.Title, "@")
	if text, given, err := r.Text("name"); err != nil {
		return "", "", err
	} else if given && text != r.Title {
		name = text
	}
	if text, given, err := r.Text("type"); err != nil {
		return "", "", err
	} else if given {
		typ = text
	}
	if typ == "" {
		return "", "", &resource.ParamError{Param: "type", Problem: "is needed, such as ssh-ed25519"}
	}
	typ, err = keyType(typ, keyTypes)
	return name, typ, err
}

// Identity returns the host and the type. Two resources with equal ones are the same key.
func (t hostKeys) Identity(r *resource.Resource) string {
	name, typ, err := t.identity(r)
	if err != nil {
		return r.Title
	}
	return name + "@" + typ
}

// List implements resource.Lister.
func (t hostKeys) List(ctx context.Context, h *resource.Host) (list []*resource.Resource, err error) {
	records, err := t.All(ctx, h.Path(knownHosts))
	for _, r := range records {
		_, typ, _ := strings.Cut(r.Name, "@")
		if !slices.Contains(keyTypes, typ) {
			continue
		}
		params := ordered.Of("ensure", "present", "type", typ, "key", r.Values["key"])
		if a := r.Values["host_aliases"]; a != "" {
			params.Set("host_aliases", ordered.Strings(strings.Split(a, ",")))
		}
		list = append(list, &resource.Resource{Ref: catalog.Ref{Type: "Sshkey", Title: r.Name}, Params: params})
	}
	return list, err
}

// parseHosts reads lines with names, a type and a key. Those with a marker (@revoked) are left alone.
func parseHosts(_ string, lines []string) []record.Record {
	records := make([]record.Record, len(lines))
	for i, l := range lines {
		fields := strings.Fields(l)
		if len(fields) < 3 || strings.HasPrefix(fields[0], "#") || strings.HasPrefix(fields[0], "@") {
			continue
		}
		name, others, _ := strings.Cut(fields[0], ",")
		if name != "" {
			records[i] = record.Record{Name: name + "@" + fields[1], Values: record.Values{"key": strings.Join(fields[2:], " "), "host_aliases": others}}
		}
	}
	return records
}

func hostLine(r record.Record) (string, error) {
	name, typ, _ := strings.Cut(r.Name, "@")
	if r.Values["key"] == "" {
		return "", errors.New("the parameter key is needed for a new key")
	}
	if a := r.Values["host_aliases"]; a != "" {
		name += "," + a
	}
	return name + " " + typ + " " + r.Values["key"], nil
}
