package published

import (
	"strings"
	"unicode/utf8"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func logins() []Set {
	return []Set{
		{"puppetlabs/accounts", []*eval.Function{
			function("accounts_ssh_authorized_keys_line_parser", "String[1] $line", "Returns the options, the type, the key and the comment of a line of authorized_keys.", func(c *eval.Call) (value.Value, error) {
				line := str(c, 0)
				m := keyLine().FindStringSubmatchIndex(line)
				if m == nil {
					return nil, invalid(c, "%s is not a line of authorized_keys with a comment", value.InspectShort(c.Args[0], 100))
				}
				options := strings.TrimRight(line[:strings.Index(line, line[m[0]:m[1]])], "\x00\t\n\v\f\r ")
				return stringsOf([]string{options, line[m[2]:m[3]], line[m[4]:m[5]], line[m[6]:m[7]]}), nil
			}),
			function("accounts_ssh_options_parser", "String $options", "Splits the options of a key at commas outside of quotes.", keyOptions),
		}},
		{"saz/sudo", []*eval.Function{
			function("sudo::defaults", "Any *$defaults", "Returns the Defaults lines of sudoers.", sudoDefaults),
		}},
	}
}

var keyLine = lazyregexp.New(`((?:sk-ssh-ed25519|sk-ecdsa-|ssh-|ecdsa-)[^\s]+)\s+([^\s]+)\s+(.*)`)

// keyOptions splits options as sshd does: a part in double quotes keeps its
// quotes, one in single quotes does not, and a backslash quotes one character.
func keyOptions(c *eval.Call) (value.Value, error) {
	var words []string
	field := ""
	rest := str(c, 0)
	for rest != "" {
		part := strings.TrimLeft(rest, ",")
		if part == "" {
			return nil, invalid(c, "there is an empty option")
		}
		n, text := quotedPart(part)
		if n == 0 {
			return nil, invalid(c, "a quote is not closed")
		}
		field += text
		rest = part[n:]
		if rest == "" || rest[0] == ',' {
			words = append(words, field)
			field = ""
			rest = strings.TrimPrefix(rest, ",")
		}
	}
	return stringsOf(words), nil
}

// quotedPart returns the length of the first part of s and its text. The length
// is 0 if a quote is not closed.
func quotedPart(s string) (n int, text string) {
	switch s[0] {
	case '\'':
		if i := strings.IndexByte(s[1:], '\''); i >= 0 {
			return i + 2, s[1 : i+1]
		}
		return 0, ""
	case '"':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\\':
				i++
			case '"':
				return i + 1, s[:i+1]
			}
		}
		return 0, ""
	case '\\':
		if len(s) == 1 {
			return 1, s
		}
		_, size := utf8.DecodeRuneInString(s[1:])
		return 1 + size, s[1 : 1+size]
	}
	n = strings.IndexAny(s, `,\'"`)
	if n < 0 {
		n = len(s)
	}
	return n, s[:n]
}

func sudoDefaults(c *eval.Call) (value.Value, error) {
	var out strings.Builder
	for _, v := range c.Args {
		pair, ok := v.(*value.Array)
		if !ok || pair.Len() != 2 {
			return nil, invalid(c, "takes pairs of a name and its settings, got %s", value.DescribeValue(v))
		}
		name, err := builtin.Text(c, pair.At(0))
		if err != nil {
			return nil, err
		}
		out.WriteString("Defaults\t" + name)
		switch h := pair.At(1).(type) {
		case *value.Hash:
			if list, ok := h.GetString("list"); ok {
				s, err := builtin.Text(c, list)
				if err != nil {
					return nil, err
				}
				out.WriteString(s)
			}
			if v, ok := h.GetString("value"); ok {
				operator := "="
				if o, ok := h.GetString("operator"); ok {
					if operator, err = builtin.Text(c, o); err != nil {
						return nil, err
					}
				}
				s, err := builtin.Text(c, v)
				if err != nil {
					return nil, err
				}
				if _, text := v.(value.String); text {
					s = `"` + s + `"`
				}
				out.WriteString(operator + s)
			}
		default:
			if !value.IsUndef(h) {
				return nil, invalid(c, "takes hashes as settings, got %s", value.DescribeValue(h))
			}
		}
		out.WriteByte('\n')
	}
	return value.String(out.String()), nil
}
