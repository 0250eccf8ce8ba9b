package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// pacman is the manager of Arch. A group of packages is a virtual package: it is installed if all of its
// packages are, and its version is the list of theirs.
type pacman struct{}

func (pacman) read(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, "pacman", "--query")
	if err != nil {
		return err
	}
	installed := make(map[string]string)
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Fields(line); len(f) == 2 {
			installed[f[0]] = f[1]
		}
	}
	var missing []*item
	for _, it := range items {
		if v := installed[it.name]; v != "" {
			it.is.versions = []string{v}
		} else {
			missing = append(missing, it)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	groups, err := pacmanGroups(ctx, c, names(missing))
	if err != nil {
		return err
	}
	for _, it := range missing {
		members := groups[it.name]
		if len(members) == 0 {
			continue
		}
		if !it.virtual {
			it.err = fmt.Errorf("%s is a group of packages, and allow_virtual is false", it.name)
			continue
		}
		var all []string
		for _, m := range members {
			if v := installed[m]; v != "" {
				all = append(all, m+" "+v)
			}
		}
		if len(all) == len(members) {
			slices.Sort(all)
			it.is.versions = []string{strings.Join(all, ", ")}
		}
	}
	return nil
}

// pacmanGroups returns the packages of those names that are groups.
func pacmanGroups(ctx context.Context, c *call, names []string) (map[string][]string, error) {
	out, err := c.query(ctx, append([]string{"pacman", "--sync", "--groups"}, names...)...) // 1 if a name is not a group
	if err != nil {
		return nil, err
	}
	groups := make(map[string][]string)
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Fields(line); len(f) == 2 {
			groups[f[0]] = append(groups[f[0]], f[1])
		}
	}
	return groups, nil
}

func (p pacman) latest(ctx context.Context, c *call, items []*item) error {
	var single []*item
	for _, it := range items {
		if !strings.Contains(it.is.String(), " ") {
			single = append(single, it)
			continue
		}
		if err := p.latestGroup(ctx, c, it); err != nil {
			it.err = err
		}
	}
	if len(single) == 0 {
		return nil
	}
	// The exit code is 1 if a package is in no repository.
	out, err := c.query(ctx, append([]string{"pacman", "--sync", "--info"}, names(single)...)...)
	if err != nil {
		return err
	}
	candidates := make(map[string]string)
	name := ""
	for line := range strings.Lines(string(out.Stdout)) {
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); strings.TrimSpace(field) {
		case "Name":
			name = value
		case "Version":
			if candidates[name] == "" { // the first repository takes effect
				candidates[name] = value
			}
		}
	}
	for _, it := range single {
		if it.candidate = candidates[it.name]; it.candidate == "" {
			it.err = fmt.Errorf("no repository of pacman has the package %s", it.name)
		}
	}
	return nil
}

func (pacman) latestGroup(ctx context.Context, c *call, it *item) error {
	groups, err := pacmanGroups(ctx, c, []string{it.name})
	if err != nil {
		return err
	}
	out, err := c.ask(ctx, append([]string{"pacman", "--sync", "--print", "--nodeps", "--nodeps", "--print-format", "%n %v"}, groups[it.name]...)...)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(out.Stdout)), "\n")
	slices.Sort(lines)
	it.candidate = strings.Join(lines, ", ")
	return nil
}

func (pacman) change(ctx context.Context, c *call, o operation, items []*item) error {
	argv := []string{"pacman", "--noconfirm", "--noprogressbar"}
	if o == remove || o == purge {
		groups, err := pacmanGroups(ctx, c, names(items))
		if err != nil {
			return err
		}
		argv = append(append(argv, items[0].uninstall...), "--remove")
		if len(groups) > 0 {
			argv = append(argv, "--recursive")
		}
		if o == purge {
			argv = append(argv, "--nosave")
		}
		return c.transact(ctx, append(argv, names(items)...))
	}
	argv = append(argv, items[0].install...)
	if items[0].source != "" {
		argv = append(argv, "--upgrade")
		for _, it := range items {
			argv = append(argv, strings.TrimPrefix(it.source, "file://"))
		}
		return c.transact(ctx, argv)
	}
	return c.transact(ctx, append(append(argv, "--needed", "--sync"), names(items)...))
}
