package krb5

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// canonicalize is the value of dns_canonicalize_hostname.
type canonicalize uint8

const (
	canonicalizeFirst    canonicalize = iota // "true"
	canonicalizeNever                        // "false"
	canonicalizeFallback                     // if the KDC does not know the name
)

// A config holds the settings of krb5.conf that this package uses.
type config struct {
	realm    string // default_realm; "" if there is none
	tree     *profile
	names    canonicalize
	rdns     bool
	qualify  string // domain for names without dots; "" if there is none
	srv      bool   // KDCs are looked up in DNS
	enctypes []int32
	lifetime time.Duration // lifetime of TGTs from a keytab
	forward  bool          // TGTs from a keytab are forwardable
	kcm      string        // socket
	ccache   string        // default_ccache_name, not expanded
	keytab   string        // default_client_keytab_name, not expanded
	where    string        // for messages: the files
}

const (
	defaultConfig  = "/etc/krb5.conf"
	defaultCache   = "FILE:/tmp/krb5cc_%{uid}"
	defaultKCM     = "/var/run/.heim_org.h5l.kcm-socket"
	defaultTickets = 24 * time.Hour
)

// readConfig reads the caller's krb5.conf: the files in KRB5_CONFIG, or else
// /etc/krb5.conf. Missing files are ignored. If DNS knows the KDCs, no
// krb5.conf is needed.
func readConfig(o Options) (*config, error) {
	list, ok := o.Env("KRB5_CONFIG")
	if !ok || list == "" {
		list = defaultConfig
	}
	r := &profileReader{into: newProfile(), open: openConfig, list: listConfig}
	read := 0
	for _, path := range filepath.SplitList(list) {
		if path == "" {
			continue
		}
		err := r.file(o.path(path), 0)
		switch {
		case err == nil:
			read++
		case isOf(err, o.path(path)) && errors.Is(err, fs.ErrNotExist):
		default:
			return nil, refuse(fmt.Sprintf("The Kerberos configuration cannot be read: %v", err), "Correct the file, or set KRB5_CONFIG to another file.", err)
		}
	}
	c := newConfig(r.into)
	c.where = strings.Join(filepath.SplitList(list), ", ")
	if read == 0 {
		c.where += " (which does not exist)"
	}
	return c, nil
}

// isOf reports whether an error is about the path itself, and not about a file
// that it includes.
func isOf(err error, path string) bool {
	p, ok := errors.AsType[*fs.PathError](err)
	return ok && p.Path == path
}

// newConfig reads the settings from a tree. An invalid value is ignored: MIT's
// library reads only the values that it needs and never checks the rest.
func newConfig(tree *profile) *config {
	lib := tree.find("libdefaults")
	c := &config{tree: tree, rdns: boolean(lib, "rdns", true), srv: boolean(lib, "dns_lookup_kdc", true), forward: boolean(lib, "forwardable", false),
		lifetime: defaultTickets, kcm: defaultKCM, ccache: defaultCache}
	c.realm, _ = lib.value("default_realm")
	switch v, _ := lib.value("dns_canonicalize_hostname"); {
	case strings.EqualFold(v, "fallback"):
		c.names = canonicalizeFallback
	case !boolean(lib, "dns_canonicalize_hostname", true):
		c.names = canonicalizeNever
	}
	var ok bool
	if c.qualify, ok = lib.value("qualify_shortname"); !ok {
		c.qualify = searchDomain()
	}
	if v, ok := lib.value("ticket_lifetime"); ok {
		if d, err := duration(v); err == nil && d > 0 {
			c.lifetime = d
		}
	}
	if v, ok := lib.value("kcm_socket"); ok {
		c.kcm = v
	}
	if v, ok := lib.value("default_ccache_name"); ok {
		c.ccache = v
	}
	c.keytab, _ = lib.value("default_client_keytab_name")
	c.enctypes = enctypes(lib)
	return c
}

// boolean parses a relation as the profile library does.
func boolean(p *profile, tag string, otherwise bool) bool {
	v, _ := p.value(tag)
	switch strings.ToLower(v) {
	case "y", "yes", "true", "t", "1", "on":
		return true
	case "n", "no", "false", "nil", "0", "off":
		return false
	}
	return otherwise
}

// duration parses the forms of krb5.conf(5): seconds, h:mm[:ss], and numbers
// with the units w, d, h, m, s.
func duration(text string) (time.Duration, error) {
	text = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
	bad := fmt.Errorf("%s is not a time", quote(text))
	const most = 100 * 365 * 24 * time.Hour
	var total time.Duration
	add := func(digits string, unit time.Duration) bool {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil || time.Duration(n) > most/unit {
			return false
		}
		total += time.Duration(n) * unit
		return total <= most
	}
	if parts := strings.Split(text, ":"); len(parts) == 2 || len(parts) == 3 {
		for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second}[:len(parts)] {
			if !add(parts[i], unit) {
				return 0, bad
			}
		}
		return total, nil
	}
	if add(text, time.Second) {
		return total, nil
	}
	units := map[byte]time.Duration{'w': 7 * 24 * time.Hour, 'd': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}
	if text == "" {
		return 0, bad
	}
	for total = 0; text != ""; {
		i := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
		if i <= 0 || units[text[i]] == 0 || !add(text[:i], units[text[i]]) {
			return 0, bad
		}
		text = text[i+1:]
	}
	return total, nil
}

// The encryption types of GSS-API tokens by RFC 4121, the strongest first.
// Tickets may be encrypted with other types, because only the service reads
// them.
const (
	aes128SHA1 = 17
	aes256SHA1 = 18
	aes128SHA2 = 19
	aes256SHA2 = 20
)

func strong(enctype int32) bool { return enctype >= aes128SHA1 && enctype <= aes256SHA2 }

// enctypes returns the permitted encryption types, in order. Types that cannot
// be used are left out. If none is left, all usable types are returned.
func enctypes(lib *profile) []int32 {
	all := []int32{aes256SHA1, aes128SHA1, aes256SHA2, aes128SHA2}
	for _, tag := range [...]string{"default_tgs_enctypes", "permitted_enctypes"} {
		text, ok := lib.value(tag)
		if !ok {
			continue
		}
		var list []int32
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == ' ' || r == '\t' || r == ',' }) {
			var these []int32
			switch strings.TrimPrefix(strings.TrimPrefix(word, "-"), "+") {
			case "default", "aes":
				these = all
			case "aes256-cts-hmac-sha1-96", "aes256-cts", "aes256-sha1":
				these = all[:1]
			case "aes128-cts-hmac-sha1-96", "aes128-cts", "aes128-sha1":
				these = all[1:2]
			case "aes256-cts-hmac-sha384-192", "aes256-sha2":
				these = all[2:3]
			case "aes128-cts-hmac-sha256-128", "aes128-sha2":
				these = all[3:]
			}
			list = slices.DeleteFunc(list, func(e int32) bool { return slices.Contains(these, e) })
			if word[0] != '-' {
				list = append(list, these...)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return all
}

// realmsOf returns the realms whose KDC may know a host, in order. If
// [domain_realm] has an entry for it, that is the only one. Otherwise they are
// the client's realm, whose KDC may refer to another; a realm with the name of
// the host's domain; and the default realm.
func (c *config) realmsOf(host, client string) []string {
	table := c.tree.find("domain_realm")
	for name := host; name != ""; {
		if realm, ok := table.value(name); ok && realm != "" {
			return []string{realm}
		}
		if name[0] == '.' {
			name = name[1:]
		} else if i := strings.IndexByte(name, '.'); i >= 0 {
			name = name[i:]
		} else {
			break
		}
	}
	list := []string{client}
	also := func(realm string) {
		if realm != "" && !slices.Contains(list, realm) {
			list = append(list, realm)
		}
	}
	if _, domain, ok := strings.Cut(host, "."); ok && len(c.tree.find("realms", strings.ToUpper(domain)).values("kdc")) > 0 {
		also(strings.ToUpper(domain))
	}
	also(c.realm)
	return list
}

// hostNames returns the names under which a host's service may be known, the
// most likely one first (krb5.conf(5), dns_canonicalize_hostname, rdns and
// qualify_shortname).
func (c *config) hostNames(ctx context.Context, dns *net.Resolver, host string) []string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	given := []string{host}
	if c.qualify != "" && !strings.ContainsAny(host, ".:") {
		given = []string{host + "." + c.qualify, host}
	}
	switch c.names {
	case canonicalizeFirst:
		given = append([]string{c.canonical(ctx, dns, host)}, host)
	case canonicalizeFallback:
		given = append(given, c.canonical(ctx, dns, host))
	}
	var list []string
	for _, name := range given {
		if name != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// dnsPatience limits the DNS queries for one name, so that a login does not
// fail if a name server is down.
const dnsPatience = 3 * time.Second

// canonical returns the name of a host in DNS, "" if it has none.
func (c *config) canonical(ctx context.Context, dns *net.Resolver, host string) string {
	ctx, cancel := context.WithTimeout(ctx, dnsPatience)
	defer cancel()
	name := host
	_, isAddress := netip.ParseAddr(host)
	if isAddress != nil {
		found, err := dns.LookupCNAME(ctx, host)
		if err != nil {
			return ""
		}
		name = found
	}
	if c.rdns {
		if addrs, err := dns.LookupIPAddr(ctx, name); err == nil && len(addrs) > 0 {
			if names, err := dns.LookupAddr(ctx, addrs[0].String()); err == nil && len(names) > 0 {
				name = names[0]
			}
		}
	}
	return strings.ToLower(strings.TrimSuffix(name, "."))
}

// searchDomain returns the first domain that the resolver appends to short
// names.
func searchDomain() string {
	text, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		return ""
	}
	domain := ""
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "search" || f[0] == "domain") {
			domain = f[1] // the last line takes effect (resolv.conf(5))
		}
	}
	return strings.ToLower(strings.Trim(domain, "."))
}
