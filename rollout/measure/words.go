package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
	"bolt/rollout/gate"
)

// inBraces finds the words that stand for values.
var inBraces = lazyregexp.New(`\{\{ *(node|host|start) *\}\}`)

// ofNode are the words whose values are those of one node.
var ofNode = lazyregexp.New(`\{\{ *(node|host) *\}\}`)

// words has the values of the words in braces that gates and hooks can have.
type words struct {
	node  string // "" if the text has none of its words
	start time.Time
	host  func(node string) string
}

// A put returns a value in the form that the text needs at a place. before is the text up to there, in which earlier
// words are not replaced. The error is about a value that cannot be written there safely: the names of nodes can come from
// a query, and must not become a part of a command or a query.
type put func(before, value string) (string, error)

// replace replaces the words in a text.
func (w words) replace(text string, as put) (string, error) {
	var out strings.Builder
	last := 0
	for _, at := range inBraces().FindAllStringSubmatchIndex(text, -1) {
		word := text[at[2]:at[3]]
		value := w.node
		switch {
		case word == "start":
			value = w.start.UTC().Format(time.RFC3339)
		case word == "host" && w.host != nil:
			value = w.host(w.node)
		}
		written, err := as(text[:at[0]], value)
		if err != nil {
			return "", fmt.Errorf("{{%s}} cannot be replaced with %q: %w", word, value, err)
		}
		out.WriteString(text[last:at[0]] + written)
		last = at[1]
	}
	return out.String() + text[last:], nil
}

// params replaces the words in parameters. They are data for plans and tasks, so values are not quoted.
func (w words) params(params map[string]any) map[string]any {
	out := maps.Clone(params)
	for name, v := range out {
		out[name] = w.data(v)
	}
	return out
}

func (w words) data(v any) any {
	switch v := v.(type) {
	case string:
		text, _ := w.replace(v, plain) // plain has no errors
		return text
	case []any:
		list := slices.Clone(v)
		for i := range list {
			list[i] = w.data(list[i])
		}
		return list
	case map[string]any:
		return w.params(v)
	}
	return v
}

// HasWords reports whether parameters have words in braces, so that their values are not known before a measurement.
func HasWords(params map[string]any) bool { return found(inBraces(), params) }

// found reports whether data has a word.
func found(word *regexp.Regexp, v any) bool {
	switch v := v.(type) {
	case string:
		return word.MatchString(v)
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return found(word, e) })
	case map[string]any:
		for _, e := range v {
			if found(word, e) {
				return true
			}
		}
	}
	return false
}

// perNode reports whether a gate names a node, so that it is measured once for each node.
func perNode(g *gate.Spec) bool {
	texts := []string{g.Command, g.PQL}
	if g.HTTP != nil {
		texts = append(texts, g.HTTP.URL, g.HTTP.Body)
		texts = slices.AppendSeq(texts, maps.Values(g.HTTP.Headers))
	}
	return slices.ContainsFunc(texts, ofNode().MatchString) || found(ofNode(), g.Params)
}

func plain(_, value string) (string, error) { return value, nil }

// tame reports whether a shell gives no character of a value a meaning, in or outside of quotes.
func tame(value string) bool {
	return value != "" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:/@") == ""
}

// inCommand returns the form of values in a command line. posix reports whether a POSIX shell reads the line; it is called if
// a value needs quotes.
func inCommand(posix func() bool) put {
	return func(before, value string) (string, error) {
		if strings.HasPrefix(value, "-") && (before == "" || strings.ContainsAny(before[len(before)-1:], " \t\n'\"`;|&(")) {
			return "", errors.New("programs read it as an option")
		}
		if tame(value) {
			return value, nil
		}
		if !posix() {
			return "", errors.New("it has characters that the shell of this machine can misread. Use a task, which gets values as parameters")
		}
		if strings.ContainsRune(value, 0) {
			return "", errors.New("a command line cannot have a NUL character")
		}
		switch quotesAt(before) {
		case noQuotes:
			return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'", nil
		case singleQuotes:
			return strings.ReplaceAll(value, "'", `'\''`), nil
		case doubleQuotes:
			return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(value), nil
		}
		return "", errors.New("it has characters that a shell can misread after a substitution, a here-document, a comment or a backslash. " +
			"Write the word before these, or use a task")
	}
}

// quotes are the quotes around a place in a command line.
type quotes uint8

const (
	noQuotes quotes = iota
	singleQuotes
	doubleQuotes
	nested // or it is not known
)

// quotesAt returns the quotes that are open at the end of the beginning of a command line. It does not follow
// substitutions, here-documents and comments.
func quotesAt(line string) quotes {
	now := noQuotes
	for i := 0; i < len(line); i++ {
		rest := line[i+1:]
		switch c := line[i]; {
		case now == singleQuotes:
			if c == '\'' {
				now = noQuotes
			}
		case c == '\\':
			if i++; rest == "" {
				return nested
			}
		case c == '`', c == '$' && (rest == "" || strings.ContainsAny(rest[:1], "({['\"")):
			return nested
		case c == '"' && now == doubleQuotes:
			now = noQuotes
		case now == doubleQuotes:
		case c == '"':
			now = doubleQuotes
		case c == '\'':
			now = singleQuotes
		case c == '<' && strings.HasPrefix(rest, "<"), c == '#' && (i == 0 || strings.ContainsAny(line[i-1:i], " \t\n;|&()")):
			return nested
		}
	}
	return now
}

// inURL escapes a value in an address. A colon and brackets can be those of a port or an IPv6 address, which
// gets brackets in the place of a host.
func inURL(before, value string) (string, error) {
	if a, err := netip.ParseAddr(value); err == nil && a.Is6() && strings.HasSuffix(before, "://") {
		return "[" + url.PathEscape(value) + "]", nil
	}
	return strings.NewReplacer("%5B", "[", "%5D", "]", "%3A", ":", "+", "%20").Replace(url.QueryEscape(value)), nil
}

// inBody returns the form of values in the body of a request: that of JSON or a form, or the value as it is.
func inBody(h *gate.HTTP) put {
	kind := ""
	for name, v := range h.Headers {
		if strings.EqualFold(name, "content-type") {
			kind, _, _ = mime.ParseMediaType(v)
		}
	}
	text := strings.TrimSpace(h.Body)
	switch {
	case kind == "application/x-www-form-urlencoded":
		return func(_, value string) (string, error) { return url.QueryEscape(value), nil }
	case isJSON(kind), kind == "" && (strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "{{") || strings.HasPrefix(text, "[")):
		return inJSON
	}
	return plain
}

func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }

// inJSON escapes a value in a string of JSON. Outside of strings, it makes a string of it.
func inJSON(before, value string) (string, error) {
	return quoted(value, openString(before, `"`) == 0), nil
}

// quoted returns a value as a string of JSON, with or without its quotes.
func quoted(value string, quotes bool) string {
	text, _ := json.Marshal(value) // a string has no errors
	if quotes {
		return string(text)
	}
	return string(text[1 : len(text)-1])
}

// inPQL escapes a value in a query. Strings in double quotes have the escapes of JSON, and those in single
// quotes have only one: for the quote.
func inPQL(before, value string) (string, error) {
	open := openString(before, `"'`)
	if open != '\'' {
		return quoted(value, open == 0), nil
	}
	if strings.Contains(value, `\`) {
		return "", errors.New("a string in single quotes cannot have a backslash. Use double quotes")
	}
	return strings.ReplaceAll(value, "'", `\'`), nil
}

// openString returns the quote of the string that is open at the end of a text, 0 without one.
func openString(text, quotes string) (open byte) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case open == 0 && strings.IndexByte(quotes, c) >= 0:
			open = c
		case open != 0 && c == '\\':
			i++
		case c == open:
			open = 0
		}
	}
	return open
}
