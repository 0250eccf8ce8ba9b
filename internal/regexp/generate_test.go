package regexp

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// generator makes patterns by the grammar, over a small alphabet, so that
// they match now and then.
type generator struct {
	rand   *rand.Rand
	groups int
	names  int
	closed []string // groups that are complete: Onigmo forgets to reset open ones
	named  bool
	simple bool // only what Go's regexp can do
}

func (g *generator) pick(list ...string) string { return list[g.rand.IntN(len(list))] }

func (g *generator) pattern() string {
	g.groups, g.names, g.closed = 0, 0, nil
	g.named = !g.simple && g.rand.IntN(8) == 0
	p := g.alternatives(3)
	if g.rand.IntN(6) == 0 {
		p = "(?i)" + p
	}
	return p
}

func (g *generator) alternatives(depth int) string {
	n := 1
	if g.rand.IntN(3) == 0 {
		n += 1 + g.rand.IntN(2)
	}
	parts := make([]string, n)
	for i := range parts {
		parts[i] = g.sequence(depth)
	}
	return strings.Join(parts, "|")
}

func (g *generator) sequence(depth int) string {
	var b strings.Builder
	for range g.rand.IntN(4) {
		b.WriteString(g.atom(depth))
		if g.rand.IntN(3) == 0 {
			b.WriteString(g.quantifier())
		}
	}
	return b.String()
}

func (g *generator) quantifier() string {
	if !g.simple && g.rand.IntN(12) == 0 {
		return g.pick("*+", "++", "?+", "{2}+", "{1,2}+", "{2}?", "**", "+?*", "{20,30}", "*?+", "??+", "+??")
	}
	return g.pick("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{,2}", "{1,}", "{0,2}?")
}

func (g *generator) atom(depth int) string {
	if depth > 0 && g.rand.IntN(3) == 0 {
		return g.group(depth - 1)
	}
	if !g.simple && g.rand.IntN(12) == 0 {
		if s := g.reference(); s != "" {
			return s
		}
	}
	switch g.rand.IntN(10) {
	case 0:
		return g.pick("^", "$", `\A`, `\z`, `\Z`, `\b`, `\B`)
	case 1:
		return g.pick(".", `\w`, `\W`, `\d`, `\s`, `\S`, `\h`, `\n`)
	case 2:
		return g.pick("[ab]", "[^a]", "[a-c&&[^b]]", "[[:alpha:]]", `[\w&&[^a]]`, "[^a-b\\n]", "[[:^upper:]]", "[é-ü]", `\p{Nd}`, `\P{Ll}`)
	case 3:
		if !g.simple {
			return g.pick(`\G`, `\K`, `\R`, "s", "é", "ss", "ß", "(?#x)", "(?i)", "(?m)")
		}
	}
	return g.pick("a", "b", "ab", "c", "a", "b", "ba")
}

func (g *generator) group(depth int) string {
	body := func() string { return g.alternatives(depth) }
	if g.simple || g.rand.IntN(2) == 0 {
		if g.rand.IntN(2) == 0 {
			return "(?:" + body() + ")"
		}
		if g.named {
			g.names++
			name := string(rune('m' + g.names%4))
			p := "(?<" + name + ">" + body() + ")"
			g.closed = append(g.closed, name)
			return p
		}
		g.groups++
		number := strconv.Itoa(g.groups)
		p := "(" + body() + ")"
		g.closed = append(g.closed, number)
		return p
	}
	switch g.rand.IntN(8) {
	case 0:
		return "(?=" + body() + ")"
	case 1:
		return "(?!" + body() + ")"
	case 2:
		return "(?<=" + g.pick("a", "ab|b", "^", "(?:b|ba)", "[ab]", "\\n", body()) + ")"
	case 3:
		return "(?<!" + g.pick("a", "ab|b", "^", "b", "é", body()) + ")"
	case 4:
		return "(?>" + body() + ")"
	case 5:
		return "(?" + g.pick("i", "m", "-i", "x", "im-x", "a", "u") + ":" + body() + ")"
	case 6:
		if len(g.closed) > 0 && !g.named {
			return "(?(" + g.pick(g.closed...) + ")" + g.sequence(depth) + "|" + g.sequence(depth) + ")"
		}
	}
	return "(?:" + body() + ")"
}

func (g *generator) reference() string {
	if g.rand.IntN(4) == 0 { // a call, of open groups too
		switch {
		case g.names > 0:
			return `\g<` + string(rune('m'+(1+g.rand.IntN(g.names))%4)) + ">"
		case g.groups > 0:
			return `\g<` + strconv.Itoa(1+g.rand.IntN(g.groups)) + ">"
		}
	}
	if len(g.closed) == 0 {
		return ""
	}
	name := g.pick(g.closed...)
	if g.named || g.rand.IntN(3) == 0 {
		return `\k<` + name + ">"
	}
	return `\` + name
}

func (g *generator) subject() string {
	var b strings.Builder
	for range g.rand.IntN(9) {
		b.WriteString(g.pick("a", "b", "c", "a", "b", "A", "ab", "\n", "1", " "))
	}
	if g.rand.IntN(4) == 0 {
		b.WriteString(g.pick("é", "ß", "ss", "\n", "\r\n", "ſ", "É", "ba\n"))
		b.WriteString(g.pick("", "a", "b", "é"))
	}
	return b.String()
}
