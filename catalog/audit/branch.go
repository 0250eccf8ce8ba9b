package audit

import (
	"slices"
	"strings"

	"bolt/puppet/syntax"
)

// bolt applies catalogs on Linux. Many modules have branches for other systems, so these would hide what a site needs.

// systems are facts that name the system of a node.
var systems = []string{"os.family", "os.name", "osfamily", "operatingsystem", "kernel"}

// others are values of these facts on systems other than Linux, in lower case.
var others = []string{"windows", "darwin", "freebsd", "openbsd", "netbsd", "dragonfly", "solaris", "sunos", "aix", "hp-ux"}

// branch leaves out the parts of a condition that are never evaluated on Linux. It returns false if it has visited the
// other parts itself.
func (x *extractor) branch(n syntax.Node) bool {
	x.conditions++
	defer func() { x.conditions-- }()
	switch n := n.(type) {
	case *syntax.If:
		if !x.elsewhere(n.Cond) {
			return true
		}
		x.left++
		x.walk(n.Cond)
		x.walk(n.Else)
		return false
	case *syntax.Case:
		if !x.system(n.X) {
			return true
		}
		x.walk(n.X)
		for _, o := range n.Options {
			if slices.ContainsFunc(o.Values, func(v syntax.Expr) bool { return !elsewhereValue(v) }) {
				syntax.Walk(o, x.node)
			} else {
				x.left++
			}
		}
		return false
	case *syntax.Selector:
		if !x.system(n.X) {
			return true
		}
		x.walk(n.X)
		for i := range n.Options {
			if elsewhereValue(n.Options[i].Key) {
				x.left++
			} else {
				x.walk(n.Options[i].Value)
			}
		}
		return false
	}
	return true
}

// elsewhere reports whether a condition is false on Linux.
func (x *extractor) elsewhere(cond syntax.Expr) bool {
	switch c := cond.(type) {
	case *syntax.Paren:
		return x.elsewhere(c.X)
	case *syntax.Binary:
		switch c.Op {
		case syntax.Eq:
			return x.system(c.X) && elsewhereValue(c.Y)
		case syntax.And:
			return x.elsewhere(c.X) || x.elsewhere(c.Y)
		}
	}
	return false
}

// elsewhereValue reports whether a value is that of another system.
func elsewhereValue(e syntax.Expr) bool {
	text, is := literal(e)
	if r, re := e.(*syntax.Regexp); re {
		text, is = strings.Trim(r.Source, "^$()?i:"), true
		text = strings.ReplaceAll(text, "[Ww]", "w")
	}
	return is && slices.Contains(others, strings.ToLower(text))
}

// system reports whether an expression is a fact that names the system.
func (x *extractor) system(e syntax.Expr) bool { return slices.Contains(systems, factPath(e)) }

// factPath returns the path of a fact: os.family for $facts['os']['family'], and osfamily for $::osfamily.
func factPath(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Paren:
		return factPath(e.X)
	case *syntax.Var:
		return strings.TrimPrefix(e.Name, "::")
	case *syntax.Method: // $facts.dig('os', 'family'), $x.downcase
		if f, is := e.Func.(*syntax.Name); is && f.Value == "downcase" {
			return factPath(e.X)
		}
	case *syntax.Call: // downcase($x)
		if f, is := e.Func.(*syntax.Name); is && f.Value == "downcase" && len(e.Args) == 1 {
			return factPath(e.Args[0])
		}
	case *syntax.Index:
		if len(e.Keys) != 1 {
			return ""
		}
		key, is := literal(e.Keys[0])
		base := factPath(e.X)
		switch {
		case !is || base == "":
			return ""
		case base == "facts":
			return key
		}
		return base + "." + key
	}
	return ""
}
