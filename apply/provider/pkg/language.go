package pkg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bolt/internal/lazyregexp"
)

// pip is the manager of Python packages. The program is pip or pip3.
type pip struct{}

// pipName is the name of a package as pip compares names (PEP 503).
func pipName(name string) string {
	return pipSeparators().ReplaceAllString(strings.ToLower(name), "-")
}

var (
	pipSeparators = lazyregexp.New(`[-_.]+`)
	pipVersions   = lazyregexp.New(`from versions: (.+)\)`)
)

func (pip) read(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, c.manager.programs[0], "freeze", "--all")
	if err != nil {
		return err
	}
	installed := make(map[string]string)
	for line := range strings.Lines(string(out.Stdout)) {
		line = strings.TrimSpace(line)
		if name, v, found := strings.Cut(line, "=="); found {
			installed[pipName(name)] = strings.TrimPrefix(v, "=")
		} else if name, url, found := strings.Cut(line, " @ "); found {
			installed[pipName(name)] = url[strings.LastIndexByte(url, '@')+1:]
		}
	}
	for _, it := range items {
		if v := installed[pipName(it.name)]; v != "" {
			it.is.versions = []string{v}
		}
	}
	return nil
}

func (p pip) latest(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		// A version that cannot be: the error lists all versions. Older and newer versions of pip have this in common.
		argv := append([]string{c.manager.programs[0], "install"}, it.install...)
		out, err := c.query(ctx, append(argv, it.name+"==9!0dev0+x")...)
		if err != nil {
			return err
		}
		m := pipVersions().FindSubmatch(append(out.Stdout, out.Stderr...))
		if m == nil || string(m[1]) == "none" {
			it.err = fmt.Errorf("pip finds no version of %s", it.name)
			continue
		}
		for v := range strings.SplitSeq(string(m[1]), ", ") {
			if it.candidate == "" || compareDotted(v, it.candidate) > 0 {
				it.candidate = v
			}
		}
	}
	return nil
}

func (pip) change(ctx context.Context, c *call, o operation, items []*item) error {
	program := c.manager.programs[0]
	if o == remove {
		// Puppet passes no options here. A system that is managed by another manager needs one.
		argv := append([]string{program, "uninstall", "-y", "-q"}, items[0].uninstall...)
		return c.transact(ctx, append(argv, names(items)...))
	}
	argv := append([]string{program, "install", "-q"}, items[0].install...)
	if slices.ContainsFunc(items, func(it *item) bool { return it.wish == latest }) {
		argv = append(argv, "--upgrade")
	}
	for _, it := range items {
		terms := parseRange(it.version)
		switch {
		case it.source != "" && it.wish == version:
			argv = append(argv, it.source+"@"+it.version+"#egg="+it.name)
		case it.source != "":
			argv = append(argv, it.source+"#egg="+it.name)
		case it.wish == version && terms != nil:
			argv = append(argv, it.name+terms.join(",", ""))
		case it.wish == version:
			argv = append(argv, it.name+"=="+it.version)
		default:
			argv = append(argv, it.name)
		}
	}
	return c.transact(ctx, argv)
}

// join writes a range in the form of another manager.
func (r versionRange) join(between, space string) string {
	var list []string
	for _, t := range r {
		list = append(list, t.operator+space+t.version)
	}
	return strings.Join(list, between)
}

// gem is the manager of Ruby packages.
type gem struct{}

// gemLines parses lines such as: rake (13.1.0, default: 13.0.6).
func gemLines(text string) map[string][]string {
	gems := make(map[string][]string)
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(strings.TrimSpace(line), " (")
		if !found || !strings.HasSuffix(rest, ")") {
			continue
		}
		for v := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			if f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(v), "default: ")); len(f) > 0 { // a platform can follow
				gems[name] = append(gems[name], f[0])
			}
		}
	}
	return gems
}

func (gem) read(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, "gem", "list", "--local")
	if err != nil {
		return err
	}
	gems := gemLines(string(out.Stdout))
	for _, it := range items {
		it.is.versions = gems[it.name]
	}
	return nil
}

func (gem) latest(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		argv := []string{"gem", "list", "--remote"}
		if isURL(it.source) {
			argv = append(argv, "--source", it.source)
		}
		out, err := c.ask(ctx, append(argv, `\A`+it.name+`\z`)...)
		if err != nil {
			it.err = err
			continue
		}
		versions := gemLines(string(out.Stdout))[it.name]
		if len(versions) == 0 {
			it.err = fmt.Errorf("gem finds no version of %s", it.name)
			continue
		}
		it.candidate = versions[0]
	}
	return nil
}

func isURL(source string) bool {
	return strings.Contains(source, "://") && !strings.HasPrefix(source, "file://")
}

func (gem) change(ctx context.Context, c *call, o operation, items []*item) error {
	it := items[0] // its transactions have one package
	var argv []string
	if o == remove {
		argv = append([]string{"gem", "uninstall", "--executables", "--all", it.name}, it.uninstall...)
	} else {
		argv = append([]string{"gem", "install"}, it.install...)
		if it.wish == version {
			v := it.version
			if terms := parseRange(v); terms != nil {
				v = terms.join(", ", " ")
			}
			argv = append(argv, "-v", v)
		}
		argv = append(argv, "--no-document")
		switch {
		case it.source == "":
			argv = append(argv, it.name)
		case strings.HasPrefix(it.source, "puppet://"):
			return errors.New("gem cannot install from a puppet:// URL")
		case isURL(it.source):
			argv = append(argv, "--source", it.source, it.name)
		default:
			argv = append(argv, strings.TrimPrefix(it.source, "file://"))
		}
	}
	if err := c.transact(ctx, argv); err != nil {
		return err
	}
	// Some versions of gem end with 0 after a failure.
	if err := c.refresh(ctx, items); err != nil {
		return err
	}
	if it.is.installed() == (o == remove) {
		return errors.New("gem reported success, and the package is " + it.shown())
	}
	return nil
}

// npm is the manager of packages for Node.js, which it installs globally.
type npm struct{}

func (npm) read(ctx context.Context, c *call, items []*item) error {
	// It ends with another code than 0 if packages that others need are missing.
	out, err := c.query(ctx, "npm", "list", "--json", "--global", "--depth=0")
	if err != nil {
		return err
	}
	var list struct {
		Dependencies map[string]struct {
			Version string `json:"version"`
		} `json:"dependencies"`
	}
	if err := json.Unmarshal(out.Stdout, &list); err != nil {
		if err := out.Failure("npm"); err != nil {
			return err
		}
		return fmt.Errorf("npm list: %v", err)
	}
	for _, it := range items {
		if v := list.Dependencies[it.name].Version; v != "" {
			it.is.versions = []string{v}
		}
	}
	return nil
}

func (npm) latest(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		out, err := c.ask(ctx, "npm", "view", it.name, "version")
		if err != nil {
			it.err = err
			continue
		}
		it.candidate = strings.TrimSpace(string(out.Stdout))
	}
	return nil
}

func (npm) change(ctx context.Context, c *call, o operation, items []*item) error {
	if o == remove {
		return c.transact(ctx, append([]string{"npm", "uninstall", "--global"}, names(items)...))
	}
	argv := append([]string{"npm", "install", "--global"}, items[0].install...)
	for _, it := range items {
		switch {
		case it.source != "":
			argv = append(argv, it.source)
		case it.wish == version:
			argv = append(argv, it.name+"@"+it.version)
		case it.wish == latest:
			argv = append(argv, it.name+"@latest")
		default:
			argv = append(argv, it.name)
		}
	}
	return c.transact(ctx, argv)
}
