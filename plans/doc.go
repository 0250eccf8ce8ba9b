package plans

import (
	"slices"
	"strings"

	"bolt/internal/lazyregexp"
)

// doc is what the comment above a plan says (the format of puppet-strings,
// which is YARD's).
type doc struct {
	summary string            // of the tag @summary
	text    string            // what is no tag
	private bool              // @api private, or @private true
	old     bool              // by the latter, which is deprecated
	params  map[string]string // what @param says of each
	order   []string          // their names, as they come
}

// description is the shortest of what a person wrote for people.
func (d doc) description() string {
	if d.summary != "" {
		return d.summary
	}
	return d.text
}

// commentAbove returns the lines of comments that stand directly above a line,
// without their marks. Line numbers begin at 1.
func commentAbove(src string, line int) []string {
	var lines []string
	n := 1
	for text := range strings.Lines(src) {
		if n == line {
			break
		}
		n++
		text = strings.TrimSpace(text)
		bare := strings.TrimLeft(text, "#")
		if len(bare) == len(text) {
			lines = lines[:0]
			continue
		}
		if bare != "" && (bare[0] == ' ' || bare[0] == '\t') {
			bare = bare[1:]
		}
		lines = append(lines, bare)
	}
	return lines
}

var tagLine = lazyregexp.New(`^@!?([a-zA-Z_]\w*)(?:\s+(.*))?$`)

var (
	paramName  = lazyregexp.New(`^\$?(\w+)(?:\s+|$)`)
	paramTypes = lazyregexp.New(`^\[[^\n]*?\](?:\s+|$)`)
)

// param reads the words of @param: a name and a text, and types in brackets
// before or behind the name, which the plan itself tells better. The first text
// of a parameter counts.
func (d *doc) param(words string) {
	words = words[len(paramTypes().FindString(words)):]
	m := paramName().FindStringSubmatch(words)
	if m == nil {
		return
	}
	text := words[len(m[0]):]
	text = text[len(paramTypes().FindString(text)):]
	if _, known := d.params[m[1]]; known {
		return
	}
	if d.params == nil {
		d.params = make(map[string]string)
	}
	d.params[m[1]] = strings.TrimSpace(text)
	d.order = append(d.order, m[1])
}

// parseDoc reads the lines of a comment. A tag begins a line and goes on with
// the lines behind it that are indented; blank lines among those belong to it.
func parseDoc(lines []string) doc {
	var d doc
	var text, value []string
	tag := ""
	end := func() {
		words := strings.TrimSpace(strings.Join(value, "\n"))
		switch {
		case tag == "summary" && d.summary == "":
			d.summary = words
		case tag == "api" && words == "private":
			d.private = true
		case tag == "private":
			d.private, d.old = d.private || words == "true", true
		case tag == "param":
			d.param(words)
		}
		tag, value = "", nil
	}
	for _, line := range lines {
		m := tagLine().FindStringSubmatch(line)
		indented := strings.TrimLeft(line, " \t") != line
		switch {
		case m != nil:
			end()
			tag, value = strings.ToLower(m[1]), []string{m[2]}
		case tag != "" && (line == "" || indented):
			value = append(value, strings.TrimSpace(line))
		default:
			end()
			text = append(text, strings.TrimRight(line, " \t"))
		}
	}
	end()
	for len(text) > 0 && text[0] == "" {
		text = slices.Delete(text, 0, 1)
	}
	d.text = strings.TrimRight(strings.Join(text, "\n"), "\n")
	return d
}
