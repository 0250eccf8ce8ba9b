package ssh

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"bolt/transport/ssh/pattern"
)

// algorithmSet is what one connection offers.
type algorithmSet struct {
	kex, ciphers, macs []string

	// hostKey is the order asked for; if it was not, what known_hosts holds
	// goes first.
	hostKey      []string
	hostKeyAsked bool

	publicKey []string // signatures that our keys may make
	authority []string // signatures that may be on a host's certificate
}

// algorithmLists are what decides over an algorithmSet: a Dest's lists and,
// under names with conf, ssh_config's.
type algorithmLists struct {
	kex, ciphers, macs, hostKey               string
	confKex, confCiphers, confMACs            string
	confHostKey, confPublicKey, confAuthority string
}

// maxAlgorithmLists bounds what is worked out ahead: there are few settings for
// many machines.
const maxAlgorithmLists = 256

// chooseAlgorithms returns what a connection offers. It is worked out once for
// all machines with the same lists; nobody changes the slices in it.
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

// choose applies a Dest's lists, else ssh_config's, to the defaults: what
// x/crypto holds secure, mlkem768x25519 first among the key exchanges.
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
			return set, fmt.Errorf("no %s algorithm left of %q; known are %s", l.what, cmp.Or(l.dest, l.config), strings.Join(all, ", "))
		}
	}
	set.hostKeyAsked = lists.hostKey != "" || lists.confHostKey != "" && !strings.ContainsAny(lists.confHostKey[:1], "+-")
	return set, nil
}

// hostKeys puts the algorithms that fit the recorded keys of a host first, so
// that a server with many keys shows one that we can check.
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

// modernFirst orders as OpenSSH does: certificates first, Ed25519 before
// ECDSA before RSA, SHA-512 before SHA-256.
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

// destList reads a Dest's list: names, and "defaults" for all of those.
// Unknown names are dropped, as net-ssh does.
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

// configList reads a list of ssh_config: plain, or changing the defaults with
// + (add), - (take away) or ^ (put first); names may be patterns.
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

// unique drops repetitions and keeps the order.
func unique(names []string) []string {
	var out []string
	for _, n := range names {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
