package erb

import (
	"net/netip"
	"path"
	"strings"

	"bolt/internal/regexp"
	"bolt/puppet/value"
)

// constants returns the names of the constants that templates can use.
func constants() []string {
	return []string{
		"String", "Symbol", "Integer", "Fixnum", "Float", "Numeric", "Array", "Hash", "Range", "Regexp", "Proc", "MatchData", "NilClass", "TrueClass",
		"FalseClass", "Object", "BasicObject", "Kernel", "Enumerable", "Comparable", "Class", "Struct", "Set", "Time",
		"Exception", "StandardError", "RuntimeError", "ArgumentError", "TypeError", "NameError", "NoMethodError", "KeyError", "IndexError",
		"ZeroDivisionError", "RangeError", "RegexpError", "NotImplementedError", "StopIteration", "JSON::ParserError", "Puppet::Error", "Puppet::ParseError",
		"JSON", "YAML", "Psych", "Shellwords", "File", "IPAddr", "ERB", "ERB::Util", "Puppet", "Boolean",
	}
}

// constant returns a class or a module.
func (r *rendering) constant(name string) (any, error) {
	name = strings.TrimPrefix(name, "::")
	for _, known := range constants() {
		if known == name && name != "Boolean" {
			if name == "Fixnum" {
				name = "Integer"
			}
			return &class{name}, nil
		}
	}
	return nil, r.subset("the constant %s", name)
}

// shellEscape implements Shellwords.escape.
func shellEscape(s string) string {
	if s == "" {
		return "''"
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("'\n'")
			continue
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_-.,:+/@", r):
		default:
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shellSplit implements Shellwords.split.
func shellSplit(s string) (list []string, ok bool) {
	var b strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote == 0 && strings.IndexByte(" \t\n", c) >= 0:
			if in {
				list = append(list, b.String())
			}
			b.Reset()
			in = false
			continue
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			if quote == '"' && strings.IndexByte("$`\"\\\n", s[i]) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(s[i])
		default:
			b.WriteByte(c)
		}
		in = true
	}
	if in {
		list = append(list, b.String())
	}
	return list, quote == 0
}

// moduleMethods returns the methods of constants.
func moduleMethods() map[string]map[string]method {
	str := func(f func(s string) string) method {
		return method{1, 1, func(c *call) (any, error) {
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			return c.rendering.str(f(s))
		}}
	}
	through := func(function string) method {
		return method{1, 2, func(c *call) (any, error) {
			v, err := c.toPuppet(c.args[0])
			if err != nil {
				return nil, err
			}
			x, err := c.rendering.call(function, v)
			if err != nil {
				return nil, c.failed(err)
			}
			if s, is := x.(value.String); is {
				return c.rendering.str(string(s))
			}
			return c.fromPuppet(x)
		}}
	}
	parse := func(function, class string) method {
		m := through(function)
		return method{1, 2, func(c *call) (any, error) {
			v, err := m.run(c)
			if fault, is := err.(*rubyError); is {
				fault.class = class
			}
			return v, err
		}}
	}
	split := method{1, 1, func(c *call) (any, error) {
		s, err := c.str(0)
		if err != nil {
			return nil, err
		}
		list, ok := shellSplit(s)
		if !ok {
			return nil, c.raise("ArgumentError", "unmatched quote: %s", s)
		}
		return c.texts(list)
	}}
	join := method{1, 1, func(c *call) (any, error) {
		list, err := c.arr(0)
		if err != nil {
			return nil, err
		}
		words := make([]string, len(list))
		for i, x := range list {
			words[i] = shellEscape(toS(x))
		}
		return c.rendering.str(strings.Join(words, " "))
	}}
	escapeShell := method{1, 1, func(c *call) (any, error) {
		s, err := c.toS(c.args[0])
		if err != nil {
			return nil, err
		}
		return c.rendering.str(shellEscape(s))
	}}
	escape := str(regexp.QuoteMeta)
	html := str(func(s string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;").Replace(s)
	})
	generate := method{1, 2, func(c *call) (any, error) {
		args := make([]value.Value, len(c.args))
		for i, a := range c.args {
			var err error
			if args[i], err = c.toPuppet(a); err != nil {
				return nil, err
			}
		}
		function := "stdlib::to_json_pretty"
		switch args[0].(type) {
		case *value.Array, *value.Hash:
		default:
			function, args = "stdlib::to_json", args[:1]
		}
		if len(args) == 2 {
			// The third argument of the function is a hash of Ruby's options.
			args = []value.Value{args[0], value.Bool(false), args[1]}
		}
		x, err := c.rendering.call(function, args...)
		if err != nil {
			return nil, c.failed(err)
		}
		return c.rendering.str(strings.TrimSuffix(value.ToString(x), "\n"))
	}}
	yaml := map[string]method{"dump": through("stdlib::to_yaml"), "load": parse("parseyaml", "StandardError"), "safe_load": parse("parseyaml", "StandardError")}
	return map[string]map[string]method{
		"JSON": {
			"pretty_generate": generate, "generate": through("stdlib::to_json"), "dump": through("stdlib::to_json"),
			"parse": parse("parsejson", "JSON::ParserError"),
		},
		"YAML": yaml, "Psych": yaml,
		"Shellwords": {"escape": escapeShell, "shellescape": escapeShell, "split": split, "shellsplit": split, "shellwords": split, "join": join, "shelljoin": join},
		"Regexp": {"escape": escape, "quote": escape, "new": {1, 2, func(c *call) (any, error) {
			if len(c.args) == 2 {
				return nil, c.subset("an option of Regexp.new")
			}
			return c.rendering.patternOf(c)
		}}},
		"File": {
			"basename": {1, 2, func(c *call) (any, error) {
				s, err := c.str(0)
				if err != nil {
					return nil, err
				}
				base := path.Base(s)
				if len(c.args) == 2 {
					suffix := toS(c.args[1])
					if suffix == ".*" {
						suffix = path.Ext(base)
					}
					base = strings.TrimSuffix(base, suffix)
				}
				return &text{base}, nil
			}},
			"dirname": str(path.Dir),
			"extname": str(path.Ext),
			"join": {0, -1, func(c *call) (any, error) {
				var parts []string
				for i, a := range c.args {
					s := toS(a)
					if i > 0 {
						s = strings.TrimLeft(s, "/")
					}
					if i < len(c.args)-1 {
						s = strings.TrimRight(s, "/")
					}
					parts = append(parts, s)
				}
				return c.rendering.str(strings.Join(parts, "/"))
			}},
		},
		"ERB::Util": {"html_escape": html, "h": html},
		"Hash": {"[]": {1, 1, func(c *call) (any, error) {
			if h, is := c.args[0].(*hash); is {
				return h.copy(), c.made(32 * len(h.keys))
			}
			return c.send(c.args[0], "to_h", nil, nil)
		}}, "new": {0, 1, func(c *call) (any, error) {
			h := newHash(0)
			h.maker = c.block
			if len(c.args) == 1 {
				h.missing = c.args[0]
			}
			return h, nil
		}}},
		"Array": {"new": {0, 2, func(c *call) (any, error) {
			if len(c.args) == 0 {
				return &array{}, nil
			}
			n, err := c.int(0)
			if err != nil {
				return nil, err
			}
			if err := c.fits(16 * min(max(n, 0), 1<<40)); err != nil {
				return nil, err
			}
			a := &array{make([]any, max(n, 0))}
			for i := range a.e {
				if len(c.args) == 2 {
					a.e[i] = c.args[1]
				} else if c.block != nil {
					if a.e[i], err = c.yield(c.block, int64(i)); err != nil {
						return nil, err
					}
				}
			}
			return a, nil
		}}},
		"String": {"new": {0, 1, func(c *call) (any, error) {
			if len(c.args) == 0 {
				return &text{}, nil
			}
			s, err := c.str(0)
			return &text{s}, err
		}}},
		"IPAddr": {"new": {1, 1, func(c *call) (any, error) {
			s, err := c.str(0)
			if err != nil {
				return nil, err
			}
			if p, err := netip.ParsePrefix(s); err == nil {
				return &address{p.Masked().Addr().String()}, nil
			}
			a, err := netip.ParseAddr(s)
			if err != nil {
				return nil, c.raise("ArgumentError", "invalid address: %s", s)
			}
			return &address{a.String()}, nil
		}}},
	}
}

// patternOf implements Regexp.new.
func (r *rendering) patternOf(c *call) (any, error) {
	if p, is := c.args[0].(*pattern); is {
		return p, nil
	}
	return c.pattern(0)
}

func addressMethods() map[string]method {
	return map[string]method{
		"ipv4?": {0, 0, func(c *call) (any, error) { return !strings.Contains(c.recv.(*address).s, ":"), nil }},
		"ipv6?": {0, 0, func(c *call) (any, error) { return strings.Contains(c.recv.(*address).s, ":"), nil }},
		"to_i": {0, 0, func(c *call) (any, error) {
			a, err := netip.ParseAddr(c.recv.(*address).s)
			if err != nil || !a.Is4() {
				return nil, c.subset("an Integer of more than 64 bits")
			}
			n := int64(0)
			for _, b := range a.As4() {
				n = n<<8 | int64(b)
			}
			return n, nil
		}},
	}
}
