package plans

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"bolt/internal/lazyregexp"
)

// doc is the comment above a plan, in the format of puppet-strings, which is
// YARD's.
type doc struct {
	summary    string              // the first tag @summary
	text       string              // everything that is not part of a tag
	private    bool                // @api private, or @private true
	old        bool                // the deprecated tag @private is present
	badPrivate *string             // a value of @private that is not a boolean
	params     map[string]docParam // the tags @param by the name of the parameter
	order      []string            // the names of params in their order
}

// A docParam is a tag @param.
type docParam struct {
	types []string // the list of types in brackets, if there is one
	text  string
}

// description returns the summary, or the text if the summary is missing.
func (d doc) description() string {
	if d.summary != "" {
		return d.summary
	}
	return d.text
}

// commentAbove returns the lines of comments directly above a line, without
// their marks. Line numbers begin at 1.
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

var (
	tagLine   = lazyregexp.New(`^@(!?)((?:\w\.?)+)(?:\s+(.*))?$`)
	reference = lazyregexp.New(`^\s*\(see \S+\s*\)(?:\s|$)`)
	// tagReference is the text of a tag that only refers to another object.
	tagReference = lazyregexp.New(`^\s*(?:\S+\s+)?\(\s*see\s+\S+\s*\)\s*$`)
	quotedWord   = map[byte]func() *regexp.Regexp{'\'': lazyregexp.New(`'.+?'`), '"': lazyregexp.New(`".+?"`)}
)

// parseDoc reads the lines of a comment as YARD does. A tag begins in the first
// column. The indentation of its first continuation line is removed from all
// its lines; a line with less ends the tag. A run of blank lines inside of a
// tag becomes one blank line.
func parseDoc(lines []string) doc {
	var d doc
	if len(lines) > 0 {
		if first := lines[0]; reference().MatchString(first) {
			lines = append([]string{first[len(reference().FindString(first)):]}, lines[1:]...)
		}
	}
	var text, value []string
	tag, inTag, tagIndent, last := "", false, 0, ""
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		empty := strings.TrimSpace(line) == ""
		if inTag && !empty && (indent == 0 || indent < tagIndent) {
			d.add(tag, strings.Join(value, "\n"))
			inTag = false
		}
		m := tagLine().FindStringSubmatch(line)
		switch {
		case m != nil:
			tag, inTag, tagIndent, value = m[1]+m[2], true, 0, []string{m[3]}
		case inTag && !empty:
			if tagIndent == 0 {
				tagIndent = indent
			}
			if strings.TrimSpace(last) == "" {
				value = append(value, "")
			}
			value = append(value, line[tagIndent:])
		case !inTag:
			text = append(text, line)
		}
		last = line
	}
	if inTag {
		d.add(tag, strings.Join(value, "\n"))
	}
	d.text = strings.TrimSpace(strings.Join(text, "\n"))
	return d
}

// add takes one tag with its text. Tags that do not describe the plan or its
// parameters are dropped.
func (d *doc) add(tag, text string) {
	if tagReference().MatchString(text) {
		return
	}
	words := strings.TrimSpace(text)
	switch tag {
	case "summary":
		if d.summary == "" {
			d.summary = words
		}
	case "api":
		d.private = d.private || words == "private"
	case "private":
		d.old = true
		switch strings.ToLower(words) {
		case "true":
			d.private = true
		case "false":
		default:
			d.badPrivate = &words
		}
	case "param":
		d.param(text)
	}
}

// param reads the text of a tag @param: the name, the description, and a list
// of types before or after the name. The first tag of a parameter takes effect.
func (d *doc) param(text string) {
	name, types, rest := typesAndName(text)
	if name == "" {
		name, rest = nameAndText(rest)
	}
	if _, known := d.params[name]; known || name == "" {
		return
	}
	if d.params == nil {
		d.params = make(map[string]docParam)
	}
	d.params[name] = docParam{types, rest}
	d.order = append(d.order, name)
}

// nameAndText splits the first word from a text.
func nameAndText(text string) (name, rest string) {
	text = strings.TrimSpace(text)
	i := strings.IndexAny(text, " \t\n")
	if i < 0 {
		return text, ""
	}
	return text[:i], strings.TrimLeft(text[i:], " \t\n")
}

// typesAndName looks for a list of types in brackets of any kind at the
// beginning of a text, or after its first word, which then is the name. Without
// such a list, name is empty and rest the whole text. The scan is YARD's, with
// its treatment of quotation marks and of brackets that are not closed.
func typesAndName(text string) (name string, types []string, rest string) {
	var before strings.Builder
	list := []string{""}
	level, end, seenSpace := 0, 0, false
	var last byte
	for i := 0; i < len(text); {
		c := text[i]
		if quoted := quotedWord[c]; quoted != nil {
			if word := quoted().FindString(text[i:]); word != "" {
				list[len(list)-1] += word
				i += len(word)
				continue
			}
		}
		size := 1
		if c >= utf8.RuneSelf {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		char, none := text[i:i+size], len(list) == 1 && list[0] == ""
		done := false
		switch {
		case strings.IndexByte("[({<", c) >= 0:
			if level > 0 {
				list[len(list)-1] += char
			}
			level++
		case strings.IndexByte(">})]", c) >= 0:
			if last != '=' || c != '>' {
				level--
			}
			if done = level == 0; !done {
				list[len(list)-1] += char
			}
		case c == ',' && level == 1:
			list = append(list, "")
		case level == 0 && c != ' ' && c != '\t' && c != '\n':
			if done = seenSpace && none; !done {
				before.WriteString(char)
			}
		case level == 0 && c != '\n':
			seenSpace = seenSpace || before.Len() > 0
		case level >= 1:
			list[len(list)-1] += char
		case c == '\n':
			done = true
		}
		if done {
			end = i
			break
		}
		last = c
		i += size
	}
	if len(list) == 1 && list[0] == "" {
		return "", nil, strings.TrimSpace(text)
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return strings.TrimSpace(before.String()), list, strings.TrimSpace(text[end+1:])
}
