package pkg

import (
	"context"
	"strings"
)

// apk is the manager of Alpine. Puppet has no provider for it.
type apk struct{}

func (apk) read(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, "apk", "info", "-v")
	if err != nil {
		return err
	}
	installed := make(map[string]string)
	for line := range strings.Lines(string(out.Stdout)) {
		if name, v := cutAPK(strings.TrimSpace(line)); v != "" {
			installed[name] = v
		}
	}
	var missing []*item
	for _, it := range items {
		if v := installed[it.name]; v != "" {
			it.is.versions = []string{v}
		} else if it.virtual {
			missing = append(missing, it)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	// The answer has the packages that provide the names, and not which name they provide. Mostly there are none.
	exists := []string{"apk", "info", "-v", "-e"}
	if out, err = c.query(ctx, append(exists, names(missing)...)...); err != nil || len(strings.TrimSpace(string(out.Stdout))) == 0 {
		return err
	}
	for _, it := range missing {
		if out, err = c.query(ctx, append(exists, it.name)...); err != nil {
			return err
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), "\n")
		if name, v := cutAPK(line); v != "" {
			it.is.name, it.is.versions = name, []string{v}
		}
	}
	return nil
}

// cutAPK cuts NAME-VERSION-rN. A version has no other hyphen in it.
func cutAPK(text string) (name, v string) {
	release := strings.LastIndex(text, "-r")
	if release < 0 {
		return "", ""
	}
	i := strings.LastIndexByte(text[:release], '-')
	if i < 0 {
		return "", ""
	}
	return text[:i], text[i+1:]
}

func (apk) latest(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, append([]string{"apk", "version", "-l", "<"}, names(items)...)...)
	if err != nil {
		return err
	}
	newer := make(map[string]string)
	for line := range strings.Lines(string(out.Stdout)) {
		f := strings.Fields(line) // NAME-VERSION < VERSION
		if len(f) >= 3 && f[1] == "<" {
			name, _ := cutAPK(f[0])
			newer[name] = f[2]
		}
	}
	for _, it := range items {
		it.candidate = newer[it.real()]
	}
	return nil
}

func (apk) change(ctx context.Context, c *call, o operation, items []*item) error {
	argv := []string{"apk", "--wait", lockSeconds, "--no-progress"}
	switch o {
	case remove:
		argv = append(append(argv, items[0].uninstall...), "del")
		return c.transact(ctx, append(argv, names(items)...))
	case purge:
		argv = append(append(argv, items[0].uninstall...), "del", "--purge")
		return c.transact(ctx, append(argv, names(items)...))
	}
	argv = append(append(argv, items[0].install...), "add")
	for _, it := range items {
		// A newer version is wanted of these packages only.
		if it.wish == latest {
			argv = append(argv, "--upgrade")
			break
		}
	}
	for _, it := range items {
		switch {
		case it.source != "":
			argv = append(argv, it.source)
		case it.wish == version:
			argv = append(argv, it.name+"="+it.version)
		default:
			argv = append(argv, it.name)
		}
	}
	return c.transact(ctx, argv)
}
