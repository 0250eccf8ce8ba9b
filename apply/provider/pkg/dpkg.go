package pkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bolt/apply/report"
	"bolt/catalog"
)

// dpkgFormat is the format in which dpkg-query prints each package: the wanted state, the error, the state, the
// name, the architecture, the version, and the virtual packages that it provides.
const dpkgFormat = `${db:Status-Want}\t${db:Status-Eflag}\t${db:Status-Status}\t${Package}\t${Architecture}\t${Version}\t${Provides}\n`

// dpkg installs files of packages.
type dpkg struct{}

func (dpkg) read(ctx context.Context, c *call, items []*item) error {
	// The database is read as a whole for a single package, too.
	out, err := c.ask(ctx, "dpkg-query", "-W", "-f", dpkgFormat)
	if err != nil {
		return err
	}
	wanted, virtual := make(map[string][]*item), make(map[string][]*item)
	for _, it := range items {
		wanted[it.name] = append(wanted[it.name], it)
		if it.virtual {
			virtual[it.name] = append(virtual[it.name], it)
		}
	}
	known := make(map[*item]bool)
	for line := range strings.Lines(string(out.Stdout)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 7 {
			continue
		}
		for _, name := range []string{f[3], f[3] + ":" + f[4]} {
			for _, it := range wanted[name] {
				// A package can have a line for each architecture.
				if !known[it] || it.is.name != "" || !it.is.installed() {
					it.is = dpkgState(f)
					known[it] = true
				}
			}
		}
		for provided := range strings.SplitSeq(f[6], ",") {
			provided, _, _ = strings.Cut(strings.TrimSpace(provided), " ")
			for _, it := range virtual[provided] {
				if !known[it] && f[2] == "installed" {
					it.is = dpkgState(f)
					it.is.name = f[3]
					known[it] = true
				}
			}
		}
	}
	return nil
}

func dpkgState(f []string) (s state) {
	s.held = f[0] == "hold"
	if f[1] != "ok" { // reinstreq
		s.partial, s.torn = true, true
		return s
	}
	switch f[2] {
	case "not-installed":
	case "config-files":
		s.leftover = true
	case "half-installed", "unpacked", "half-configured":
		s.partial = true
	default: // installed, perhaps with triggers to be run
		s.versions = []string{f[5]}
	}
	return s
}

func (dpkg) latest(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		out, err := c.ask(ctx, "dpkg-deb", "--show", it.source)
		if err != nil {
			it.err = err
			continue
		}
		name, v, _ := strings.Cut(strings.TrimSpace(string(out.Stdout)), "\t")
		if name != it.name {
			c.Logf(it.r.Ref, report.Warning, "The source has the package %s, and not %s", name, it.name)
		}
		it.candidate = v
	}
	return nil
}

func (dpkg) change(ctx context.Context, c *call, o operation, items []*item) error {
	repair(ctx, c)
	if o == remove || o == purge {
		argv := []string{"dpkg"}
		if anyTorn(items) {
			argv = append(argv, removeTorn)
		}
		return c.transact(ctx, append(append(argv, "--"+string(o)), names(items)...))
	}
	argv := []string{"dpkg", confOption(items[0], "--force-conf"), "-i"}
	for _, it := range items {
		argv = append(argv, it.source)
	}
	return c.transact(ctx, argv)
}

// repair finishes the configuration of packages that a reboot has interrupted: apt refuses to do anything before that.
// The journal of dpkg shows such packages. If they cannot be configured, the transaction returns the error.
func repair(ctx context.Context, c *call) {
	entries, err := os.ReadDir(c.Path("/var/lib/dpkg/updates"))
	if err != nil || !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.Trim(e.Name(), "0123456789") == "" }) {
		return
	}
	if err := c.transact(ctx, []string{"dpkg", "--force-confold", "--configure", "-a"}); err != nil {
		c.Logf(catalog.Ref{}, report.Warning, "dpkg was interrupted earlier, and cannot finish now: %v", err)
	}
}

// removeTorn is the option of dpkg to remove packages that are torn.
const removeTorn = "--force-remove-reinstreq"

func anyTorn(items []*item) bool {
	return slices.ContainsFunc(items, func(it *item) bool { return it.is.torn })
}

// confOption returns the option for configuration files that were changed by hand.
func confOption(it *item, prefix string) string {
	if it.replace {
		return prefix + "new"
	}
	return prefix + "old"
}

// setSelections holds or releases packages.
func setSelections(ctx context.Context, c *call, items []*item, on bool) error {
	word := "install"
	if on {
		word = "hold"
	}
	var lines strings.Builder
	for _, it := range items {
		fmt.Fprintf(&lines, "%s %s\n", it.real(), word)
	}
	return c.feed(ctx, lines.String(), []string{"dpkg", "--set-selections"})
}

// apt installs packages of repositories, or files.
type apt struct{ dpkg }

func (apt) latest(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, append([]string{"apt-cache", "policy"}, names(items)...)...)
	if err != nil {
		return err
	}
	candidates := make(map[string]string)
	name := ""
	for line := range strings.Lines(string(out.Stdout)) {
		line = strings.TrimRight(line, "\n")
		if v, is := strings.CutPrefix(line, "  Candidate: "); is && v != "(none)" {
			candidates[name] = v
		}
		if n, is := strings.CutSuffix(line, ":"); is && !strings.HasPrefix(line, " ") {
			name = n
		}
	}
	for _, it := range items {
		n, _, _ := strings.Cut(it.real(), ":") // policy leaves out the native architecture
		it.candidate = candidates[it.real()]
		if it.candidate == "" {
			it.candidate = candidates[n]
		}
		if it.candidate == "" && it.is.installed() {
			it.err = errors.New("apt-cache knows no version of the package")
		}
	}
	return nil
}

func (a apt) change(ctx context.Context, c *call, o operation, items []*item) error {
	repair(ctx, c)
	for _, it := range items {
		if it.response == "" {
			continue
		}
		if _, err := os.Stat(c.Path(it.response)); err != nil {
			c.Logf(it.r.Ref, report.Info, "The responsefile does not exist, so no question is answered before")
			continue
		}
		if err := c.transact(ctx, []string{"debconf-set-selections", it.response}); err != nil {
			return err
		}
	}
	// Pattern-Only keeps apt from taking a name that it does not know for a regular expression.
	argv := []string{"apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=" + lockSeconds, "-o", "Dpkg::Use-Pty=0", "-o", "APT::Cmd::Pattern-Only=true"}
	if o == remove || o == purge {
		if slices.ContainsFunc(items, func(it *item) bool { return it.is.held }) {
			argv = append(argv, "--allow-change-held-packages")
		}
		if anyTorn(items) {
			argv = append(argv, "-o", "DPkg::Options::="+removeTorn)
		}
		return c.transact(ctx, append(append(argv, string(o)), names(items)...))
	}
	if err := checkCDROM(c, items); err != nil {
		return err
	}
	if err := a.choose(ctx, c, items); err != nil {
		return err
	}
	argv = append(argv, "-o", "DPkg::Options::="+confOption(items[0], "--force-conf"))
	if slices.ContainsFunc(items, func(it *item) bool { return it.wish == version }) {
		argv = append(argv, "--allow-downgrades")
	}
	if anyTorn(items) { // apt reports success otherwise, and does nothing
		argv = append(argv, "--reinstall")
	}
	argv = append(append(argv, items[0].install...), "install")
	for _, it := range items {
		switch {
		case it.source != "":
			argv = append(argv, it.source)
		case it.wish == version:
			argv = append(argv, it.real()+"="+it.pick)
		default:
			argv = append(argv, it.real())
		}
	}
	if err := c.transact(ctx, argv); err != nil || items[0].source == "" || items[0].wish != version {
		return err
	}
	return checkSources(ctx, c, items)
}

// checkSources reads the states again: a file has the version that it has.
func checkSources(ctx context.Context, c *call, items []*item) error {
	if err := c.refresh(ctx, items); err != nil {
		return err
	}
	for _, it := range items {
		if it.err == nil && !it.inSync() {
			return fmt.Errorf("%s has the version %s, and not %s", it.source, &it.is, it.version)
		}
	}
	return nil
}

// choose finds the newest version in the range of each item.
func (apt) choose(ctx context.Context, c *call, items []*item) error {
	var ranged []*item
	for _, it := range items {
		it.pick = it.version
		if it.wish == version && it.source == "" && parseRange(it.version) != nil {
			ranged = append(ranged, it)
		}
	}
	if len(ranged) == 0 {
		return nil
	}
	out, err := c.ask(ctx, append([]string{"apt-cache", "madison"}, names(ranged)...)...)
	if err != nil {
		return err
	}
	available := make(map[string][]string)
	for line := range strings.Lines(string(out.Stdout)) {
		if f := strings.Split(line, "|"); len(f) > 2 {
			name := strings.TrimSpace(f[0])
			available[name] = append(available[name], strings.TrimSpace(f[1]))
		}
	}
	return pick(ranged, func(it *item) []string { return available[it.real()] })
}

// pick sets the newest version in the range of each item. The error names the first item that has none.
func pick(items []*item, available func(*item) []string) error {
	for _, it := range items {
		if it.pick = parseRange(it.version).best(available(it), it.m.compare); it.pick == "" {
			return fmt.Errorf("%s has no version of %s in the range %q", it.m.name, it.real(), it.version)
		}
	}
	return nil
}

// checkCDROM is an error if apt would wait for a disc.
func checkCDROM(c *call, items []*item) error {
	text, err := os.ReadFile(c.Path("/etc/apt/sources.list"))
	if err != nil || !slices.ContainsFunc(items, func(it *item) bool { return !it.cdrom }) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if before, _, found := strings.Cut(line, "cdrom:"); found && !strings.Contains(before, "#") {
			return errors.New("/etc/apt/sources.list has a disc as a source: apt would ask for it. Set allowcdrom to allow that")
		}
	}
	return nil
}
