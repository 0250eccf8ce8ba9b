package firewall

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bolt/apply/provider/tool"
	"bolt/apply/resource"
	"bolt/internal/lazyregexp"
)

const limit = 5 * time.Minute

// A family is a protocol with its programs.
type family struct {
	v6 bool
}

// name returns the name of a program of the family, such as ip6tables-save.
func (f family) program(suffix string) *tool.Tool {
	name := "iptables"
	if f.v6 {
		name = "ip6tables"
	}
	return &tool.Tool{Name: name + suffix, Hint: "Install the package iptables on the target", Limit: limit}
}

// familyOf returns the family of a value of the parameter protocol.
func familyOf(protocol string) family {
	return family{protocol == "IPv6" || protocol == "ip6tables"}
}

// A ruleset is the output of iptables-save. The types change it together with the kernel, so that one query is enough
// for many resources.
type ruleset struct {
	tables map[string]*chains
}

type chains struct {
	policies map[string]string // of all chains, by name; "" for chains that are not built in
	rules    []*rule           // the rules of a chain are in the order of the chain
}

// A rule is a line of iptables-save.
type rule struct {
	chain string
	line  string   // such as: -A INPUT -j ACCEPT
	args  []string // after the chain
	name  string   // the comment
}

// managed reports whether the name of a rule can be the title of a resource. Other rules get names from 9000 on when they are sorted.
func (r *rule) managed() bool {
	return named().MatchString(r.name) && !foreign().MatchString(r.name)
}

var (
	named   = lazyregexp.New(`^\d+(?:[ \t_-]\S+)+$`)
	foreign = lazyregexp.New(`^9[0-9]{3}\s`)
)

// title returns the title of a resource for a rule that is the n-th of all.
func (r *rule) title(n int) string {
	switch {
	case r.name == "":
		sum := sha256.Sum256([]byte(r.line))
		return fmt.Sprintf("%d %s", 9000+n, hex.EncodeToString(sum[:]))
	case !named().MatchString(r.name):
		return fmt.Sprintf("%d %s", 9000+n, r.name)
	}
	return r.name
}

func (s *ruleset) table(name string) *chains {
	if s.tables[name] == nil {
		s.tables[name] = &chains{policies: make(map[string]string)}
	}
	return s.tables[name]
}

// of returns the rules of a chain.
func (t *chains) of(chain string) (list []*rule) {
	for _, r := range t.rules {
		if r.chain == chain {
			list = append(list, r)
		}
	}
	return list
}

// put inserts a rule as the n-th of its chain, from 1 on.
func (t *chains) put(r *rule, n int) {
	at := len(t.rules)
	for i, old := range t.rules {
		if old.chain == r.chain {
			if n--; n == 0 {
				at = i
				break
			}
		}
	}
	t.rules = slices.Insert(t.rules, at, r)
}

func (t *chains) remove(r *rule) {
	if i := slices.Index(t.rules, r); i >= 0 {
		t.rules = slices.Delete(t.rules, i, i+1)
	}
}

// load reads the rules of a family.
func load(ctx context.Context, h *resource.Host, f family) (*ruleset, error) {
	save := f.program("-save")
	text, err := save.Query(ctx, h)
	if err != nil {
		return nil, err
	}
	s, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", save.Name, err)
	}
	return s, nil
}

// parse reads the output of iptables-save: tables with *NAME, chains with :NAME POLICY, and rules with -A CHAIN.
func parse(text string) (*ruleset, error) {
	s := &ruleset{tables: make(map[string]*chains)}
	var t *chains
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimRight(line, "\r\n"), "# Warning:")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '*':
			t = s.table(line[1:])
		case line == "COMMIT":
			t = nil
		case t == nil:
			return nil, errors.New("a line is in no table")
		case line[0] == ':':
			name, rest, _ := strings.Cut(line[1:], " ")
			policy, _, _ := strings.Cut(rest, " ")
			t.policies[name] = strings.Trim(policy, "-")
		case strings.HasPrefix(line, "-A "):
			args, ok := split(line)
			if !ok || len(args) < 2 {
				return nil, errors.New("a rule has a quote without an end, or no chain")
			}
			r := &rule{chain: args[1], line: line, args: args[2:]}
			for i, a := range r.args[:max(0, len(r.args)-1)] {
				if a == "--comment" {
					r.name = r.args[i+1]
					break
				}
			}
			t.rules = append(t.rules, r)
		default:
			return nil, errors.New("a line is not a table, a chain or a rule")
		}
	}
	return s, nil
}

// split returns the arguments in a line. iptables-save puts a backslash before quotes and backslashes.
func split(line string) (args []string, ok bool) {
	var b strings.Builder
	inWord, quoted := false, false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
			inWord = true
		case c == '"':
			quoted, inWord = !quoted, true
		case c == ' ' && !quoted:
			if inWord {
				args = append(args, b.String())
				b.Reset()
			}
			inWord = false
		default:
			b.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		args = append(args, b.String())
	}
	return args, !quoted
}

// settings returns the parameters of a rule.
func (r *rule) settings(v6 bool) map[string]setting {
	out := make(map[string]setting)
	module, negated := base, false
	for i := 0; i < len(r.args); i++ {
		a := r.args[i]
		switch {
		case a == "!":
			negated = true
			continue
		case a == "-m" && i+1 < len(r.args):
			i++
			if module = r.args[i]; slices.Contains(transports, module) {
				module = proto
			}
			if o, is := find(module, "", v6); is && o.kind == bare {
				out[o.param] = setting{values: []string{"true"}}
			}
			continue
		}
		o, is := find(module, a, v6)
		if !is {
			o, is = find(base, a, v6)
		}
		if a == "-j" || a == "-g" {
			module = target
		}
		n := 1
		switch {
		case !is: // an option without a parameter: its arguments are skipped
			for n = 0; i+1+n < len(r.args) && !strings.HasPrefix(r.args[i+1+n], "-") && r.args[i+1+n] != "!"; n++ {
			}
		case o.kind == flag || o.kind == switches:
			n = 0
		case o.kind == pair || o.param == "ipset":
			n = 2
		case o.kind == each:
			for i+1+n < len(r.args) && strings.HasPrefix(r.args[i+1+n], "--limit-iface") {
				n++
			}
		}
		args := r.args[i+1 : min(len(r.args), i+1+n)]
		i += len(args)
		if is {
			r.add(out, o, negated, a, args, v6)
		}
		negated = false
	}
	return out
}

// add records an option of a rule.
func (r *rule) add(out map[string]setting, o option, negated bool, name string, args []string, v6 bool) {
	s := out[o.param]
	switch o.kind {
	case flag:
		s = setting{values: []string{"true"}}
	case switches:
		s.negated = s.negated || negated
		s.values = append(s.values, strings.TrimPrefix(name, "--"))
	case each:
		text := strings.Join(args, " ")
		if negated {
			text = "! " + text
		}
		s.values = append(s.values, text)
	case words, ports:
		s.negated = negated
		for v := range strings.SplitSeq(strings.Join(args, " "), ",") {
			v, _ = canonical(o.param, v, v6)
			s.values = append(s.values, v)
		}
	default:
		v, _ := canonical(o.param, strings.Join(args, " "), v6)
		s = setting{negated, []string{v}}
	}
	out[o.param] = s
}

// transports are the modules that iptables adds for a protocol.
var transports = strings.Fields("tcp udp sctp dccp udplite")

// find returns the parameter of an option.
func find(module, name string, v6 bool) (option, bool) {
	if module == "multiport" {
		module, name = proto, strings.TrimSuffix(name, "s")
	}
	for _, o := range options() {
		m, n := o.at(v6)
		if m != module {
			continue
		}
		if n == name || o.kind == switches && n == "" && slices.Contains(switchNames[o.param], name) {
			return o, true
		}
	}
	return option{}, false
}

// switchNames are the options that are values of a parameter.
var switchNames = map[string][]string{
	"recent":   {"--set", "--update", "--rcheck", "--remove"},
	"rpfilter": {"--loose", "--validmark", "--accept-local", "--invert"},
}
