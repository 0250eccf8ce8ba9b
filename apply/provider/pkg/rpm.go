package pkg

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"bolt/apply/resource"
)

// rpmFormat has a line for each package: name, epoch, version, release, architecture, and its virtual packages.
const rpmFormat = `%{NAME}\t%|EPOCH?{%{EPOCH}}:{0}|\t%{VERSION}\t%{RELEASE}\t%{ARCH}\t[%{PROVIDENAME} ]\n`

// rpm installs files of packages.
type rpm struct{}

// An rpmLine is a package that rpm prints.
type rpmLine struct {
	name, version, arch string
	release             string
	provides            []string
}

// evr is the version with the release, and with the epoch unless it is 0.
func (l *rpmLine) evr(epoch string) string {
	v := l.version + "-" + l.release
	if epoch != "0" {
		v = epoch + ":" + v
	}
	return v
}

// matches reports whether a name is that of the package: NAME, NAME.ARCH, NAME-VERSION, and so on.
func (l *rpmLine) matches(name string) bool {
	for _, n := range []string{l.name, l.name + "-" + l.version, l.name + "-" + l.version + "-" + l.release} {
		if name == n || name == n+"."+l.arch {
			return true
		}
	}
	return false
}

func parseRPM(out *resource.Output, found func(l *rpmLine, evr string)) {
	for line := range strings.Lines(string(out.Stdout)) {
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) == 6 { // not: package x is not installed
			l := &rpmLine{name: f[0], version: f[2], release: f[3], arch: f[4], provides: strings.Fields(f[5])}
			found(l, l.evr(f[1]))
		}
	}
}

func (rpm) read(ctx context.Context, c *call, items []*item) error {
	var missing []*item
	add := func(it *item, l *rpmLine, evr string) {
		if it.is.name == "" || it.is.name == l.name {
			if !slices.Contains(it.is.versions, evr) {
				it.is.versions = append(it.is.versions, evr)
			}
		}
	}
	ask := func(items []*item, what string, matches func(it *item, l *rpmLine) bool) error {
		argv := []string{"rpm", "-q", "--nosignature", "--nodigest", "--qf", rpmFormat}
		if what != "" {
			argv = append(argv, what)
		}
		for _, it := range items {
			argv = append(argv, it.name)
		}
		out, err := c.query(ctx, unique(argv)...) // its exit code is the number of names that it does not find
		if err != nil {
			return err
		}
		if errs := strings.TrimSpace(string(out.Stderr)); out.Code != 0 && strings.Contains(errs, "error: ") {
			return out.Failure("rpm")
		}
		parseRPM(out, func(l *rpmLine, evr string) {
			for _, it := range items {
				if matches(it, l) {
					add(it, l, evr)
				}
			}
		})
		return nil
	}
	if err := ask(items, "", func(it *item, l *rpmLine) bool { return l.matches(it.name) }); err != nil {
		return err
	}
	for _, it := range items {
		if !it.is.installed() && it.virtual {
			missing = append(missing, it)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return ask(missing, "--whatprovides", func(it *item, l *rpmLine) bool {
		if it.is.installed() && it.is.name != l.name || !slices.Contains(l.provides, it.name) {
			return false
		}
		it.is.name = l.name
		return true
	})
}

func (rpm) latest(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		out, err := c.ask(ctx, "rpm", "-q", "--nosignature", "--nodigest", "--qf", rpmFormat, "-p", it.source)
		if err != nil {
			it.err = err
			continue
		}
		parseRPM(out, func(_ *rpmLine, evr string) { it.candidate = evr })
	}
	return nil
}

func (rpm) change(ctx context.Context, c *call, o operation, items []*item) error {
	argv := []string{"rpm", "-i"}
	switch o {
	case remove:
		argv = append([]string{"rpm", "-e"}, items[0].uninstall...)
		return c.transact(ctx, append(argv, eraseNames(items)...))
	case upgrade:
		argv = []string{"rpm", "-U", "--oldpackage"}
	}
	argv = append(argv, items[0].install...)
	for _, it := range items {
		argv = append(argv, it.source)
	}
	return c.transact(ctx, argv)
}

// eraseNames names all versions of packages that are installed several times.
func eraseNames(items []*item) (list []string) {
	for _, it := range items {
		if !it.only || len(it.is.versions) < 2 {
			list = append(list, it.real())
			continue
		}
		for _, v := range it.is.versions {
			_, v = cutEpoch(v)
			list = append(list, it.real()+"-"+v)
		}
	}
	return list
}

// yum is yum or dnf.
type yum struct {
	rpm
	upgrade string // the command for newer versions
}

// Options that choose repositories are options of queries, too.
var repositories = []string{"--enablerepo", "--disablerepo", "--disableexcludes", "--repo", "--setopt", "--nogpgcheck", "--releasever"}

func repositoryOptions(options []string) (list []string) {
	for _, o := range options {
		name, _, found := strings.Cut(o, "=")
		if slices.Contains(repositories, name) && (found || name == "--nogpgcheck") {
			list = append(list, o)
		}
	}
	return list
}

func (y yum) latest(ctx context.Context, c *call, items []*item) error {
	for _, group := range byOptions(items) {
		argv := append([]string{c.manager.name, "-q", "-y"}, repositoryOptions(group[0].install)...)
		argv = append(append(argv, "check-update"), names(group)...)
		out, err := c.query(ctx, argv...)
		if err != nil {
			return err
		}
		const updates = 100 // the exit code if there are newer versions
		if out.Code != updates {
			if err := out.Failure(argv[0]); err != nil {
				return err
			}
			continue
		}
		for _, it := range group {
			for _, p := range listed(string(out.Stdout)) {
				if p.name == it.real() || p.name+"."+p.arch == it.real() {
					it.candidate = strings.TrimPrefix(p.version, "0:")
					break
				}
			}
		}
	}
	return nil
}

// byOptions groups items with the same options.
func byOptions(items []*item) (groups [][]*item) {
	at := make(map[string]int)
	for _, it := range items {
		key := strings.Join(it.install, "\x00")
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], it)
	}
	return groups
}

type listedPackage struct{ name, arch, version string }

// listed parses the table of dnf and yum: NAME.ARCH VERSION REPOSITORY. A long name makes yum break the line, so
// the table is read by words, up to the list of obsolete packages.
func listed(text string) (list []listedPackage) {
	if i := strings.Index(text, "\nObsoleting"); i >= 0 {
		text = text[:i]
	}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i++ {
		dot := strings.LastIndexByte(words[i], '.')
		v := words[i+1]
		if dot <= 0 || !strings.Contains(v, "-") || !slices.Contains(architectures, words[i][dot+1:]) {
			continue
		}
		list = append(list, listedPackage{words[i][:dot], words[i][dot+1:], v})
		i++
	}
	return list
}

// architectures are those of rpm packages.
var architectures = []string{"noarch", "x86_64", "i386", "i486", "i586", "i686", "aarch64", "armv7hl", "armhfp", "ppc64", "ppc64le", "ppc", "s390x", "s390", "riscv64", "ia64"}

func (y yum) change(ctx context.Context, c *call, o operation, items []*item) error {
	if o == remove {
		// dnf would also remove packages that need the package. With rpm that is an error, as in Puppet.
		return c.transact(ctx, append([]string{"rpm", "-e"}, eraseNames(items)...))
	}
	argv := []string{c.manager.name, "-q", "-y"}
	if o == purge {
		return c.transact(ctx, append(append(argv, "remove"), names(items)...))
	}
	if err := y.choose(ctx, c, items); err != nil {
		return err
	}
	command := string(o)
	if o == upgrade {
		command = y.upgrade
	}
	argv = append(append(argv, items[0].install...), command)
	for _, it := range items {
		switch {
		case it.source != "" && it.wish != latest:
			argv = append(argv, it.source)
		case it.wish == version:
			argv = append(argv, withVersion(it.real(), it.pick))
		default:
			argv = append(argv, it.real())
		}
	}
	return c.transact(ctx, argv)
}

// withVersion is NAME-VERSION, or NAME-VERSION-RELEASE.ARCH for NAME.ARCH.
func withVersion(name, v string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 && slices.Contains(architectures, name[dot+1:]) {
		if !strings.Contains(v, "-") {
			v += "-*" // dnf knows no form with an architecture and without a release
		}
		return name[:dot] + "-" + v + name[dot:]
	}
	return name + "-" + v
}

// choose finds the newest version in the range of each item.
func (yum) choose(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		it.pick = it.version
		if it.wish != version || it.source != "" || parseRange(it.version) == nil {
			continue
		}
		argv := append([]string{c.manager.name, "-q", "-y"}, repositoryOptions(it.install)...)
		out, err := c.ask(ctx, append(argv, "list", "--showduplicates", it.real())...)
		if err != nil {
			return err
		}
		var versions []string
		for _, p := range listed(string(out.Stdout)) {
			if p.name == it.real() || p.name+"."+p.arch == it.real() {
				versions = append(versions, p.version)
			}
		}
		if err := pick([]*item{it}, func(*item) []string { return versions }); err != nil {
			return err
		}
		_, it.pick = cutEpoch(it.pick)
	}
	return nil
}

// zypper is the manager of SUSE.
type zypper struct{ rpm }

func (zypper) latest(ctx context.Context, c *call, items []*item) error {
	out, err := c.ask(ctx, "zypper", "--quiet", "--non-interactive", "list-updates")
	if err != nil {
		return err
	}
	newer := make(map[string]string)
	for _, f := range zypperTable(string(out.Stdout)) {
		// status, repository, name, current version, available version, architecture
		if len(f) > 4 && f[0] == "v" {
			newer[f[2]] = f[4]
		}
	}
	for _, it := range items {
		it.candidate = newer[it.real()]
	}
	return nil
}

// zypperTable returns the cells of tables.
func zypperTable(text string) (rows [][]string) {
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "|") {
			continue
		}
		f := strings.Split(line, "|")
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		rows = append(rows, f)
	}
	return rows
}

// Exit codes of zypper that mean success: a reboot or a restart of zypper is needed, or a repository was skipped.
var zypperSuccess = []int{102, 103, 106}

func (z zypper) change(ctx context.Context, c *call, o operation, items []*item) error {
	argv := []string{"zypper", "--quiet", "--non-interactive"}
	if o == remove {
		return c.transact(ctx, append(append(argv, "remove", "--no-confirm"), names(items)...), zypperSuccess...)
	}
	if err := z.choose(ctx, c, items); err != nil {
		return err
	}
	var options []string
	for _, o := range items[0].install {
		if o == "--no-gpg-check" || o == "--no-gpg-checks" { // global options
			argv = append(argv, o)
		} else {
			options = append(options, o)
		}
	}
	argv = append(argv, "install", "--auto-agree-with-licenses", "--no-confirm")
	argv = append(argv, options...)
	if slices.ContainsFunc(items, func(it *item) bool { return it.wish == version }) {
		argv = append(argv, "--oldpackage")
	}
	if !slices.ContainsFunc(items, func(it *item) bool { return it.virtual || it.wish == version || it.source != "" }) {
		argv = append(argv, "--name")
	}
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
	return c.transact(ctx, argv, zypperSuccess...)
}

// choose finds the newest version in the range of each item.
func (zypper) choose(ctx context.Context, c *call, items []*item) error {
	for _, it := range items {
		it.pick = it.version
		if it.wish != version || it.source != "" || parseRange(it.version) == nil {
			continue
		}
		out, err := c.ask(ctx, "zypper", "--quiet", "--non-interactive", "search", "--match-exact", "--type", "package", "--details", it.real())
		if err != nil {
			return fmt.Errorf("search %s: %v", it.real(), err)
		}
		var versions []string
		for _, f := range zypperTable(string(out.Stdout)) {
			if len(f) > 3 && f[1] == it.real() {
				versions = append(versions, f[3])
			}
		}
		if err := pick([]*item{it}, func(*item) []string { return versions }); err != nil {
			return err
		}
	}
	return nil
}
