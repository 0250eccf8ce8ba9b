package firewall

import (
	"slices"
	"strconv"
	"strings"
)

func itoa(n int) string { return strconv.Itoa(n) }

// args returns the arguments of iptables for the rule of a resource, without the chain.
func (x *item) args() (args []string) {
	loaded := ""
	for _, o := range options() {
		s := x.want[o.param]
		if len(s.values) == 0 || o.param == "proto" && s.values[0] == "all" {
			continue
		}
		module, name := o.at(x.family.v6)
		lists := o.kind == ports && x.multiport(o)
		if module != base && module != proto && module != target && module != loaded && o.kind != each {
			args = append(args, "-m", module)
			loaded = module
		}
		if lists {
			args = append(args, "-m", "multiport")
			name += "s"
		}
		if s.negated && o.kind != each {
			args = append(args, "!")
		}
		args = appendOption(args, o, module, name, s)
	}
	return args
}

// multiport reports whether ports are a list. A single port in a list is a list, too, as in Puppet.
func (x *item) multiport(o option) bool {
	_, is := x.r.Params.Value(o.param).([]any)
	return is
}

func appendOption(args []string, o option, module, name string, s setting) []string {
	switch o.kind {
	case bare:
		return args
	case flag:
		return append(args, name)
	case switches:
		for _, v := range s.values {
			args = append(args, "--"+v)
		}
		return args
	case each:
		for _, v := range s.values {
			args = append(args, "-m", module)
			if rest, negated := cut(v); negated {
				args, v = append(args, "!"), rest
			}
			args = append(append(args, name), strings.Fields(v)...)
		}
		return args
	case pair:
		return append(append(args, name), strings.Fields(s.values[0])...)
	}
	return append(args, name, strings.Join(s.values, ","))
}

// position returns where a new rule belongs in its chain, from 1 on. Rules of resources are in the order of their titles. As
// in the module, a rule without a resource stays before the new rule if it is before the predecessor of the new rule.
// Otherwise it stays after the new rule.
func (t *chains) position(chain, name string) int {
	var names []string
	own := make(map[string]bool)
	for i, r := range t.of(chain) {
		title := r.title(i + 1)
		names = append(names, title)
		own[title] = r.managed()
	}
	if len(names) == 0 {
		return 1
	}
	all := slices.Sorted(slices.Values(append(slices.Clone(names), name)))
	all = slices.Compact(all)
	before := names[0]
	if at := slices.Index(all, name); at > 0 {
		before = all[at-1]
	}
	strange := 0
	for _, n := range names[:slices.Index(names, before)+1] {
		if !own[n] {
			strange++
		}
	}
	if !own[before] && !strings.HasPrefix(name, "9") {
		strange--
	}
	after := 0
	for _, n := range names {
		if own[n] && n < name {
			after++
		}
	}
	return min(after+1+strange, len(names)+1)
}
