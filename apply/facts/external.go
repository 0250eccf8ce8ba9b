package facts

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"bolt/format/ordered"
	"bolt/format/yaml"
	"bolt/internal/lazyregexp"
)

// external adds the external facts to facts, where they replace core facts of the same name. A fact that
// is in several files has the value of the first. The environment overrides files.
func (c *collector) external(facts map[string]any) error {
	found := map[string]any{}
	add := func(name string, value any) {
		name = strings.ToLower(name)
		if _, is := found[name]; !is {
			found[name] = value
		}
	}
	for _, pair := range c.o.Env {
		name, value, _ := strings.Cut(pair, "=")
		if fact, is := strings.CutPrefix(strings.ToLower(name), "facter_"); is && fact != "" {
			add(fact, value)
		}
	}
	for _, dir := range c.externalDirs() {
		names := c.list(dir)
		slices.Reverse(names) // facter starts with the last
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				continue
			}
			file := path.Join(dir, name)
			c.guard(file, func() error {
				m, err := c.externalFile(file)
				for name, value := range m.All() {
					add(name, value)
				}
				return err
			})
		}
	}
	for name, value := range found {
		facts[name] = value
	}
	return nil
}

// externalDirs returns the directories with external facts of root, or those of another user.
func (c *collector) externalDirs() []string {
	if uid, _ := c.o.sys.ids(); uid == 0 {
		return []string{"/etc/facter/facts.d", "/etc/puppetlabs/facter/facts.d", "/opt/puppetlabs/facter/facts.d"}
	}
	if home := c.env("HOME"); home != "" {
		return []string{path.Join(home, ".facter/facts.d"), path.Join(home, ".puppetlabs/opt/facter/facts.d")}
	}
	return nil
}

// externalFile returns the facts of a file; none if it is not a file with facts.
func (c *collector) externalFile(file string) (*ordered.Map, error) {
	fi, err := os.Stat(c.file(file))
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, nil
	}
	ext := strings.ToLower(path.Ext(file))
	switch ext {
	case ".txt", ".yaml", ".json":
	case ".bat", ".cmd", ".com", ".exe", ".ps1":
		return nil, nil
	default:
		if fi.Mode()&0o111 == 0 {
			return nil, nil
		}
		return c.externalProgram(file)
	}
	if fi.Size() > fileLimit {
		return nil, fmt.Errorf("it has more than %d bytes", fileLimit)
	}
	text, is := c.read(file)
	if !is {
		return nil, errors.New("it cannot be read")
	}
	switch ext {
	case ".yaml":
		return yamlFacts(text)
	case ".json":
		v, err := ordered.ParseJSON([]byte(text))
		if err != nil {
			return nil, err
		}
		return asFacts(v)
	}
	return pairs(text), nil
}

// externalProgram runs a program that prints facts as YAML, JSON, or lines. The exit code is ignored, as
// in facter.
func (c *collector) externalProgram(file string) (*ordered.Map, error) {
	out, err := c.output(c.o.ProgramLimit, c.file(file))
	if err != nil {
		return nil, err
	}
	text := string(out.Stdout)
	if m, err := yamlFacts(text); err == nil {
		return m, nil
	}
	return pairs(text), nil
}

// yamlTime is a date with a time, which facter leaves a string.
var yamlTime = lazyregexp.New(`(?m)(\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]|[ \t]+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:\s*(?:Z|[-+]\d{1,2}:?(?:\d\d)?))?)?[ \t]*$)`)

func yamlFacts(text string) (*ordered.Map, error) {
	v, err := yaml.DecodeData([]byte(yamlTime().ReplaceAllString(text, `"$1"`)), "")
	if err != nil {
		return nil, err
	}
	return asFacts(v)
}

func asFacts(v any) (*ordered.Map, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *ordered.Map:
		return v, nil
	}
	return nil, errors.New("it has no names of facts")
}

// pairs returns the facts of lines such as NAME=VALUE; other lines are ignored.
func pairs(text string) *ordered.Map {
	m := &ordered.Map{}
	for line := range strings.Lines(text) {
		name, value, is := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if is && name != "" && value != "" {
			m.Set(name, strings.ToValidUTF8(value, "\uFFFD"))
		}
	}
	return m
}
