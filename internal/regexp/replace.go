package regexp

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Replace replaces the first match, or all matches, by the template, as Ruby's sub and gsub do. In a
// template \0 or \& is the match, \1 to \9 (empty in patterns with named groups) and \k<name> are groups,
// \` is the text before the match, \' is the text after it, and \\ is a backslash. Other backslashes
// stand for themselves. A group that took no part, or does not exist, is empty. A name that does not
// exist is an error, if there is a match.
func (r *Regexp) Replace(s, template string, all bool) (string, error) {
	return r.Within(nil).Replace(s, template, all)
}

// Replace is [Regexp.Replace] within the budget.
func (r Within) Replace(s, template string, all bool) (string, error) {
	var b strings.Builder
	done := 0
	for loc, err := range r.All(s) {
		if err != nil {
			return "", err
		}
		if b.Len() == 0 { // first, or cheap
			if err := r.checkTemplate(template); err != nil {
				return "", err
			}
		}
		b.WriteString(s[done:max(done, loc[0])])
		r.expand(&b, template, s, loc)
		if err := r.b.written(b.Len()); err != nil {
			return "", err
		}
		done = max(done, loc[1])
		if !all {
			break
		}
	}
	if done == 0 && b.Len() == 0 {
		return s, nil
	}
	b.WriteString(s[done:])
	return b.String(), nil
}

func (r *Regexp) checkTemplate(template string) error {
	for {
		i := strings.IndexByte(template, '\\')
		if i < 0 || i == len(template)-1 {
			return nil
		}
		name, _, ok := templateName(template[i+1:])
		if ok && r.pat.lookup(name) == nil {
			return fmt.Errorf("replacement: the pattern has no group <%s>", name)
		}
		if !ok && strings.HasPrefix(template[i+1:], "k<") {
			return errors.New(`replacement: \k< without its >`)
		}
		template = template[i+2:]
	}
}

// templateName reads k<name> and returns its length.
func templateName(s string) (name string, n int, ok bool) {
	if !strings.HasPrefix(s, "k<") {
		return "", 0, false
	}
	end := strings.IndexByte(s, '>')
	if end < 0 {
		return "", 0, false
	}
	return s[2:end], end + 1, true
}

func (r *Regexp) expand(b *strings.Builder, template, s string, loc []int) {
	for {
		i := strings.IndexByte(template, '\\')
		if i < 0 || i == len(template)-1 {
			b.WriteString(template)
			return
		}
		b.WriteString(template[:i])
		template = template[i+1:]
		c, n := template[0], 1
		switch {
		case '1' <= c && c <= '9':
			if len(r.pat.names) == 0 {
				b.WriteString(group(s, loc, int(c-'0')))
			}
		case c == '0' || c == '&':
			b.WriteString(group(s, loc, 0))
		case c == '`':
			b.WriteString(s[:loc[0]])
		case c == '\'':
			b.WriteString(s[loc[1]:])
		case c == '\\':
			b.WriteByte('\\')
		default:
			if name, w, ok := templateName(template); ok {
				b.WriteString(group(s, loc, lastSet(loc, r.pat.lookup(name))))
				n = w
				break
			}
			b.WriteByte('\\')
			_, n = utf8.DecodeRuneInString(template)
			b.WriteString(template[:n])
		}
		template = template[n:]
	}
}

// group returns the text of group g.
func group(s string, loc []int, g int) string {
	if 2*g >= len(loc) || loc[2*g] < 0 || loc[2*g] > loc[2*g+1] {
		return ""
	}
	return s[loc[2*g]:loc[2*g+1]]
}

// lastSet returns the last of groups that took part, or else the last group.
func lastSet(loc []int, groups []int) int {
	for i := len(groups) - 1; i > 0; i-- {
		if loc[2*groups[i]] >= 0 {
			return groups[i]
		}
	}
	return groups[0]
}

// Split cuts s at the matches, as Ruby's String#split does: captured groups are part of the result,
// and empty strings at the end are not. A limit above 0 is the maximum number of pieces, and the
// last piece has the rest. A limit below 0 keeps empty strings at the end. An empty match cuts
// between characters.
func (r *Regexp) Split(s string, limit int) ([]string, error) {
	return r.Within(nil).Split(s, limit)
}

// Split is [Regexp.Split] within the budget.
func (r Within) Split(s string, limit int) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if limit == 1 {
		return []string{s}, nil
	}
	var out []string
	q := r.search(s)
	begin, from, pieces := 0, 0, 1
	stuck := false // an empty match at begin was passed over
	for from <= len(s) {
		loc, err := q.find(from)
		if err != nil {
			return nil, err
		}
		if loc == nil {
			break
		}
		if loc[0] == from && loc[0] == loc[1] {
			if !stuck {
				from += charLen(s, from)
				stuck = true
				continue
			}
			out = append(out, s[begin:min(from, len(s))])
			begin = from
		} else {
			out = append(out, s[begin:max(begin, loc[0])])
			begin = loc[1]
			if begin > from {
				from = begin
			} else { // \K can give a match that ends at from without being empty
				from += charLen(s, from)
			}
		}
		stuck = false
		for g := 2; g < len(loc); g += 2 {
			if loc[g] >= 0 {
				out = append(out, group(s, loc, g/2))
			}
		}
		if pieces++; limit > 0 && pieces >= limit {
			break
		}
	}
	if begin < len(s) || limit != 0 {
		out = append(out, s[min(begin, len(s)):])
	}
	if limit == 0 {
		for len(out) > 0 && out[len(out)-1] == "" {
			out = out[:len(out)-1]
		}
	}
	return out, nil
}

// QuoteMeta returns a pattern that matches s, as Ruby's Regexp.escape does.
func QuoteMeta(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch c {
		case '[', ']', '{', '}', '(', ')', '|', '-', '*', '.', '\\', '?', '+', '^', '$', '#', ' ':
			b.WriteByte('\\')
		case '\t':
			c = 't'
			b.WriteByte('\\')
		case '\f':
			c = 'f'
			b.WriteByte('\\')
		case '\v':
			c = 'v'
			b.WriteByte('\\')
		case '\n':
			c = 'n'
			b.WriteByte('\\')
		case '\r':
			c = 'r'
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}
