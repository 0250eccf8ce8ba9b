// Package inputs records the reads of a catalog's compilation: facts, and keys of Hiera.
// It has names only, never values.
//
// A fact is recorded as a path, such as os.family, in the form that the function get of
// the Puppet language takes: parts with dots between them. A part is in quotes if it has a
// dot, a quote or a blank at its ends, or is a number: networking.interfaces."eth0.100".ip.
//
// A path stands for everything below it. A change of facts can change the catalog only if
// it is at a recorded path, below one or above one. A change is at the outermost path at
// which the facts before and after differ, so a hash that appears is a change at its own
// path. Facts that do not exist are recorded, because they would change the catalog.
package inputs

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Everything is the path of all facts, without trusted ones.
const Everything = "*"

// trusted is the first part of the paths of trusted facts. The fact of this name is
// $trusted (environment.Certified).
const trusted = "trusted"

// A Record has the reads of one compilation. It is not safe for concurrent use.
type Record struct {
	other map[string]bool // variables that are not facts
	all   bool            // all facts but trusted ones
	facts level
	keys  map[string]bool
}

// A level is the paths below a path.
type level struct {
	whole bool // the path itself: there is nothing below
	under map[string]*level
}

// New returns an empty Record. The names are variables of the top scope whose values never
// come from facts.
func New(names ...string) *Record {
	r := &Record{other: map[string]bool{"server_facts": true, "title": true, "name": true, "module_name": true}, keys: map[string]bool{}}
	for _, n := range names {
		r.other[n] = true
	}
	return r
}

// Variable records that a program reads a variable of the top scope (eval.Env.Read).
func (r *Record) Variable(name string, path []string) {
	switch {
	case name == "":
		r.everything()
		r.add(trusted, nil)
	case name != "facts":
		if !r.other[name] {
			r.add(name, path)
		}
	case len(path) == 0:
		r.everything()
	default:
		r.add(path[0], path[1:])
	}
}

// Key records that a key is looked up (hiera.SessionOptions.Looked).
func (r *Record) Key(key string) { r.keys[key] = true }

// everything records all facts. Single facts are then part of them.
func (r *Record) everything() {
	if r.all {
		return
	}
	r.all = true
	maps.DeleteFunc(r.facts.under, func(name string, _ *level) bool { return name != trusted })
}

// add records a path, up to the first part that cannot be written.
func (r *Record) add(name string, path []string) {
	switch {
	case r.all && name != trusted:
		return
	case !writable(name):
		r.everything()
		return
	}
	at := r.facts.below(name)
	for _, part := range path {
		if at.whole || !writable(part) {
			break
		}
		at = at.below(part)
	}
	if at.whole {
		return
	}
	at.whole, at.under = true, nil
}

func (l *level) below(part string) *level {
	next := l.under[part]
	if next == nil {
		next = &level{}
		if l.under == nil {
			l.under = map[string]*level{}
		}
		l.under[part] = next
	}
	return next
}

// Facts returns the paths of the facts that were read, sorted. None is below another one.
// Trusted facts begin with trusted.
func (r *Record) Facts() []string {
	list := []string{}
	if r.all {
		list = append(list, Everything)
	}
	list = r.facts.paths(list, "")
	slices.Sort(list)
	return list
}

func (l *level) paths(list []string, prefix string) []string {
	for part, next := range l.under {
		path := prefix + quoted(part)
		if next.whole {
			list = append(list, path)
		} else {
			list = next.paths(list, path+".")
		}
	}
	return list
}

// Keys returns the keys that were looked up, sorted.
func (r *Record) Keys() []string { return slices.Sorted(maps.Keys(r.keys)) }

// writable reports whether a part of a path can be written: in quotes of one kind.
func writable(part string) bool {
	return part != "" && !(strings.Contains(part, `"`) && strings.Contains(part, "'"))
}

// quoted returns a part as it is written.
func quoted(part string) string {
	_, err := strconv.ParseInt(part, 10, 64)
	switch {
	case err != nil && !strings.ContainsAny(part, `."'`) && strings.TrimSpace(part) == part && part != Everything:
		return part
	case strings.Contains(part, `"`):
		return "'" + part + "'"
	}
	return `"` + part + `"`
}
