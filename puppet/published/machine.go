package published

import (
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"bolt/internal/lazyregexp"
	"bolt/puppet/builtin"
	"bolt/puppet/eval"
	"bolt/puppet/value"
)

func machines() []Set {
	return []Set{
		{"puppetlabs/inifile", []*eval.Function{
			function("inifile::create_ini_settings", "Hash $settings, Hash $defaults = {}", "Declares resources ini_setting for a hash of sections.", iniSettings),
			former("create_ini_settings", "inifile::create_ini_settings"),
		}},
		{"saz/memcached", []*eval.Function{
			function("memcached::max_memory", "Any $memory", "Returns megabytes for a number, or for a share of the memory in percent.", maxMemory),
		}},
		{"puppet/swap_file", []*eval.Function{
			old("difference_within_margin", 2, "Returns whether the largest and the smallest number differ by less than a margin.", withinMargin),
			old("swap_file_size_from_csv", 2, "Returns the size of a swap file in a list of names and sizes, or false.", swapSize),
		}},
		{"puppet/systemd", []*eval.Function{
			function("systemd::systemd_escape", "String $text, Optional[Boolean] $path = false", "Returns the text as systemd-escape writes it.", func(c *eval.Call) (value.Value, error) {
				text := str(c, 0)
				if given(c.Arg(1)) {
					clean := strings.Trim(path.Clean("/"+text), "/")
					for part := range strings.SplitSeq(text, "/") {
						if part == ".." {
							return nil, invalid(c, "%s is not a normalized path", value.InspectShort(c.Args[0], 100))
						}
					}
					if clean == "" {
						return value.String("-"), nil
					}
					text = clean
				}
				return value.String(unitName(text)), nil
			}),
		}},
		{"puppet/letsencrypt", []*eval.Function{
			function("letsencrypt::letsencrypt_lookup", "String $name", "Returns the directory of the certificate for a domain, or undef.", func(c *eval.Call) (value.Value, error) {
				certificates, ok := fact(c, "letsencrypt_directory").(*value.Hash)
				if !ok {
					return value.Undef{}, nil
				}
				if v, ok := certificates.Get(c.Args[0]); ok {
					return v, nil
				}
				_, domain, _ := strings.Cut(str(c, 0), ".")
				return entry(certificates, "*."+domain), nil
			}),
		}},
	}
}

func iniSettings(c *eval.Call) (value.Value, error) {
	settings, defaults := c.Args[0].(*value.Hash), value.NewHash()
	if len(c.Args) > 1 {
		defaults = c.Args[1].(*value.Hash)
	}
	file := entry(defaults.Merge(settings), "path")
	var b value.HashBuilder
	for k, v := range settings.All() {
		section, ok := v.(*value.Hash)
		switch {
		case !ok:
			return nil, invalid(c, "takes hashes as sections, got %s", value.DescribeValue(v))
		case !given(file):
			return nil, invalid(c, "needs a path")
		}
		for name, v := range section.All() {
			title, err := title(c, file, k, name)
			if err != nil {
				return nil, err
			}
			params, ok := v.(*value.Hash)
			if !ok {
				params = hash("value", v)
			}
			b.Put(value.String(title), hash("ensure", "present", "section", k, "setting", name).Merge(params))
		}
	}
	return c.Call("create_resources", nil, value.String("ini_setting"), b.Build(), defaults)
}

// title returns the title of a resource for a setting.
func title(c *eval.Call, file, section, name value.Value) (string, error) {
	var parts [3]any
	for i, v := range []value.Value{file, section, name} {
		s, err := builtin.Text(c, v)
		if err != nil {
			return "", err
		}
		parts[i] = s
	}
	return fmt.Sprintf("%s [%s] %s", parts[:]...), nil
}

var (
	amount       = lazyregexp.New(`([0-9.e+-]*)\s*([^bB]?)`)
	leadingInt   = lazyregexp.New(`^\s*[+-]?[0-9]+`)
	leadingFloat = lazyregexp.New(`^\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`)
)

// rubyInt returns the number at the begin of a string, 0 if there is none.
func rubyInt(s string) int64 {
	n, _ := strconv.ParseInt(strings.TrimSpace(leadingInt().FindString(s)), 10, 64)
	return n
}

// rubyFloat returns the number at the begin of a string, 0 if there is none.
func rubyFloat(s string) float64 {
	f, _ := strconv.ParseFloat(strings.TrimSpace(leadingFloat().FindString(s)), 64)
	return f
}

func maxMemory(c *eval.Call) (value.Value, error) {
	share := "95%"
	if given(c.Args[0]) {
		text, err := builtin.Text(c, c.Args[0])
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(text, "%") {
			return value.Int(rubyInt(text)), nil
		}
		share = text
	}
	total := fact(c, "memory", "system", "total")
	if value.IsUndef(fact(c, "memory")) {
		total = fact(c, "memorysize")
	}
	text, ok := total.(value.String)
	if !ok {
		return nil, invalid(c, "the fact memory.system.total does not exist")
	}
	m := amount().FindStringSubmatch(string(text))
	shift, known := map[string]int{"k": 10, "M": 20, "G": 30, "T": 40, "E": 50}[m[2]]
	if !known {
		return nil, invalid(c, "the unit %q of the memory is unknown", m[2])
	}
	bytes := int64(math.Ldexp(rubyFloat(m[1]), shift))
	return value.Int(math.Floor(float64(bytes>>20) * (rubyFloat(share) / 100))), nil
}

// numberOf returns a number, or the number at the begin of a string.
func numberOf(c *eval.Call, v value.Value) (float64, error) {
	s, err := builtin.Text(c, v)
	return rubyFloat(s), err
}

func withinMargin(c *eval.Call, args []value.Value) (value.Value, error) {
	list, ok := args[0].(*value.Array)
	if !ok || list.Len() == 0 || len(args) != 2 {
		return nil, invalid(c, "takes an array of numbers, and a margin")
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range list.Elems() {
		n, err := numberOf(c, v)
		if err != nil {
			return nil, err
		}
		low, high = min(low, n), max(high, n)
	}
	margin, err := numberOf(c, args[1])
	return value.Bool(high-low < margin), err
}

func swapSize(c *eval.Call, args []value.Value) (value.Value, error) {
	name, ok := args[0].(value.String)
	list, two := args[1].(value.String)
	if !ok || !two {
		return nil, invalid(c, "takes a name and a list as strings")
	}
	var found value.Value = value.Bool(false)
	for item := range strings.SplitSeq(strings.TrimSpace(string(list)), ",") {
		file, size, ok := strings.Cut(item, "||")
		if file != string(name) || file == "" {
			continue
		}
		size, _, _ = strings.Cut(size, "||")
		if found = value.Value(value.String(size)); !ok || size == "" {
			found = value.Undef{}
		}
	}
	return found, nil
}

// unitName escapes a string for the name of a unit; see systemd.unit(5).
func unitName(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch ch := s[i]; {
		case ch == '/':
			b.WriteByte('-')
		case ch >= '0' && ch <= '9', ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch == ':', ch == '_', ch == '.' && i > 0:
			b.WriteByte(ch)
		default:
			fmt.Fprintf(&b, `\x%02x`, ch)
		}
	}
	return b.String()
}
