package ssh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"bolt/transport/ssh/pattern"
)

// algorithmSet holds the algorithms that one connection offers.
type algorithmSet struct {
	kex, ciphers, macs []string

	// hostKey is in the configured order. If no order is configured, the
	// algorithms of the host's keys in known_hosts go first.
	hostKey      []string
	hostKeyAsked bool

	publicKey []string // signature algorithms for our own keys
	authority []string // signature algorithms that are allowed in a host's certificate
}

// algorithmLists holds the settings that decide an algorithmSet: the lists of a
// Dest and, in the fields with conf, those of ssh_config.
type algorithmLists struct {
	kex, ciphers, macs, hostKey               string
	confKex, confCiphers, confMACs            string
	confHostKey, confPublicKey, confAuthority string
}

// maxAlgorithmLists limits the cached sets. Usually, many machines share few
// settings.
const maxAlgorithmLists = 256

// chooseAlgorithms returns the algorithms that a connection offers. They are
// computed once for all machines with the same lists. The slices in the result
// must not be changed.
func (d *Dialer) chooseAlgorithms(l algorithmLists) (algorithmSet, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if set, ok := d.algorithms[l]; ok {
		return set, nil
	}
	set, err := l.choose()
	if err == nil {
		if len(d.algorithms) >= maxAlgorithmLists {
			clear(d.algorithms)
		}
		d.algorithms[l] = set
	}
	return set, err
}

// choose applies the lists of a Dest, or else those of ssh_config, to the
// defaults. The defaults are the algorithms that x/crypto regards as secure;
// the first key exchange is mlkem768x25519.
func (lists algorithmLists) choose() (algorithmSet, error) {
	secure, insecure := ssh.SupportedAlgorithms(), ssh.InsecureAlgorithms()
	var set algorithmSet
	for _, l := range []struct {
		into               *[]string
		what, dest, config string
		defaults, insecure []string
	}{
		{&set.kex, "key exchange", lists.kex, lists.confKex, secure.KeyExchanges, insecure.KeyExchanges},
		{&set.ciphers, "cipher", lists.ciphers, lists.confCiphers, secure.Ciphers, insecure.Ciphers},
		{&set.macs, "MAC", lists.macs, lists.confMACs, secure.MACs, insecure.MACs},
		{&set.hostKey, "host key", lists.hostKey, lists.confHostKey, modernFirst(secure.HostKeys), insecure.HostKeys},
		{&set.publicKey, "public key", "", lists.confPublicKey, modernFirst(secure.PublicKeyAuths), insecure.PublicKeyAuths},
		{&set.authority, "certificate signature", "", lists.confAuthority, modernFirst(secure.PublicKeyAuths), insecure.PublicKeyAuths},
	} {
		all := slices.Concat(l.defaults, l.insecure)
		switch {
		case l.dest != "":
			*l.into = destList(l.dest, l.defaults, all)
		case l.config != "":
			*l.into = configList(l.config, l.defaults, all)
		default:
			*l.into = l.defaults
		}
		if len(*l.into) == 0 {
			return set, fmt.Errorf("no supported %s algorithm in %q; supported are %s", l.what, cmp.Or(l.dest, l.config), strings.Join(all, ", "))
		}
	}
	set.hostKeyAsked = lists.hostKey != "" || lists.confHostKey != "" && !strings.ContainsAny(lists.confHostKey[:1], "+-")
	return set, nil
}

// hostKeys puts the algorithms that fit the known keys of a host first. A
// server with several keys then presents one that bolt can check.
func (a *algorithmSet) hostKeys(onRecord []string) []string {
	if a.hostKeyAsked || len(onRecord) == 0 {
		return a.hostKey
	}
	var out []string
	for _, name := range slices.Concat(onRecord, a.hostKey) {
		if slices.Contains(a.hostKey, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// modernFirst sorts algorithms as OpenSSH does: certificates first, Ed25519
// before ECDSA before RSA, SHA-512 before SHA-256.
func modernFirst(names []string) []string {
	rank := func(name string) int {
		r := 0
		switch {
		case strings.Contains(name, "ed25519"):
		case strings.Contains(name, "ecdsa"):
			r = 1
		case strings.Contains(name, "rsa-sha2-512"):
			r = 2
		case strings.Contains(name, "rsa"):
			r = 3
		default:
			r = 4
		}
		if !strings.Contains(name, "-cert-") {
			r += 10
		}
		return r
	}
	out := slices.Clone(names)
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// destList parses a list of a Dest: names, and "defaults" for all default
// names. It ignores unknown names, as net-ssh does.
func destList(list string, defaults, all []string) []string {
	var out []string
	for name := range strings.SplitSeq(list, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "defaults":
			out = append(out, defaults...)
		case slices.Contains(all, name):
			out = append(out, name)
		}
	}
	return unique(out)
}

// configList parses a list of ssh_config. It is either the whole list or
// changes the defaults with + (append), - (remove) or ^ (prepend). Names may be
// patterns.
func configList(list string, defaults, all []string) []string {
	op := list[0]
	if op == '+' || op == '-' || op == '^' {
		list = list[1:]
	}
	var named []string
	for p := range strings.SplitSeq(list, ",") {
		p = strings.TrimSpace(p)
		for _, name := range all {
			if pattern.Match(p, name) {
				named = append(named, name)
			}
		}
	}
	switch op {
	case '+':
		return unique(slices.Concat(defaults, named))
	case '^':
		return unique(slices.Concat(named, defaults))
	case '-':
		return slices.DeleteFunc(slices.Clone(defaults), func(name string) bool { return slices.Contains(named, name) })
	}
	return unique(named)
}

// unique removes repeated names and preserves the order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
