package pkg

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"bolt/apply/resource"
	"bolt/internal/safetext"
)

// lockWait is how long a manager waits for the lock of the package database. Unattended upgrades of many packages
// take minutes.
const lockWait = 5 * time.Minute

var lockSeconds = strconv.Itoa(int(lockWait / time.Second))

// A manager is a package manager: its features, and its commands.
type manager struct {
	name     string
	programs []string // one of these must be there; it is the program that is run
	versions bool     // it can install a certain version
	purges   bool     // it can remove configuration files, too
	virtual  bool     // names of virtual packages are allowed unless allow_virtual is false
	several  bool     // several versions of a package are a normal state
	single   bool     // a transaction has one package
	sourced  bool     // it installs from files only
	language bool     // its packages are those of a language, and another package can bring the program
	foresees bool     // it knows the candidates of packages that are not installed, too
	trusted  bool     // its exit code says whether the packages are as wanted
	// compare orders versions, as strings.Compare; nil if ranges of versions cannot be wanted.
	compare func(a, b string) int
	// wanted is compare for a wanted version and a present one, where this differs.
	wanted func(want, is string) int
	driver
	// hold sets or removes the mark of packages; nil if the manager has none that Puppet knows.
	hold func(ctx context.Context, c *call, items []*item, on bool) error
}

// against compares a wanted version with a present one.
func (m *manager) against(want, is string) int {
	if m.wanted != nil {
		return m.wanted(want, is)
	}
	return m.compare(want, is)
}

// A driver runs the programs of a manager.
type driver interface {
	// read sets the state of items, or their err.
	read(ctx context.Context, c *call, items []*item) error
	// latest sets the candidates of installed items, or their err.
	latest(ctx context.Context, c *call, items []*item) error
	// change makes the same change of items, in one transaction.
	change(ctx context.Context, c *call, o operation, items []*item) error
}

// An operation is a kind of change.
type operation string

const (
	install   operation = "install"
	upgrade   operation = "upgrade"
	downgrade operation = "downgrade"
	remove    operation = "remove"
	purge     operation = "purge"
	hold      operation = "hold"
	unhold    operation = "unhold"
)

// managers are all managers by their name, which is Puppet's.
func managers() map[string]*manager {
	m := make(map[string]*manager)
	for _, x := range []*manager{
		{name: "apt", programs: []string{"apt-get"}, versions: true, purges: true, foresees: true, trusted: true, compare: compareDebian, driver: apt{}, hold: setSelections},
		{name: "dpkg", programs: []string{"dpkg"}, purges: true, trusted: true, sourced: true, driver: dpkg{}, hold: setSelections},
		{name: "dnf", programs: []string{"dnf"}, versions: true, purges: true, virtual: true, compare: compareRPM, wanted: wantedRPM, driver: yum{upgrade: "upgrade"}},
		{name: "yum", programs: []string{"yum"}, versions: true, purges: true, virtual: true, compare: compareRPM, wanted: wantedRPM, driver: yum{upgrade: "update"}},
		{name: "rpm", programs: []string{"rpm"}, versions: true, virtual: true, sourced: true, compare: compareRPM, wanted: wantedRPM, driver: rpm{}},
		{name: "zypper", programs: []string{"zypper"}, versions: true, virtual: true, compare: compareRPM, wanted: wantedRPM, driver: zypper{}},
		{name: "apk", programs: []string{"apk"}, versions: true, purges: true, virtual: true, driver: apk{}},
		{name: "pacman", programs: []string{"pacman"}, purges: true, virtual: true, driver: pacman{}},
		{name: "pip", programs: []string{"pip", "pip-python", "pip2", "pip-2"}, language: true, versions: true, trusted: true, compare: compareDotted, driver: pip{}},
		{name: "pip3", programs: []string{"pip3"}, language: true, versions: true, trusted: true, compare: compareDotted, driver: pip{}},
		{name: "gem", programs: []string{"gem"}, language: true, versions: true, several: true, single: true, trusted: true, compare: compareDotted, driver: gem{}},
		{name: "npm", programs: []string{"npm"}, language: true, versions: true, trusted: true, driver: npm{}},
	} {
		m[x.name] = x
	}
	return m
}

func managerNames() []string {
	var names []string
	for name := range managers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A call is the host with the program of a manager.
type call struct {
	*resource.Host
	manager *manager
	program string
}

// newCall finds the program of a manager. If it does not exist, the error is errNoProgram.
func newCall(h *resource.Host, m *manager, command string) (*call, error) {
	switch {
	case command == "":
		if command = h.Find(m.programs...); command == "" {
			return nil, fmt.Errorf("%w the package manager %s", errNoProgram, m.name)
		}
	case path.IsAbs(command):
		if _, err := os.Stat(h.Path(command)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w the program %s", errNoProgram, command)
		}
	case h.Find(command) == "":
		return nil, fmt.Errorf("%w the program %s", errNoProgram, command)
	}
	return &call{h, m, command}, nil
}

var errNoProgram = errors.New("the host does not have")

// query runs a program that changes nothing. Its exit code is looked at by the caller.
func (c *call) query(ctx context.Context, argv ...string) (*resource.Output, error) {
	out, err := c.Run(ctx, &resource.Command{Argv: c.argv(argv), Env: c.Environ(environment...), Timeout: resource.QueryLimit})
	if err != nil {
		return nil, fmt.Errorf("%s: %v", argv[0], err)
	}
	return out, nil
}

// ask is a query that must end with exit code 0.
func (c *call) ask(ctx context.Context, argv ...string) (*resource.Output, error) {
	out, err := c.query(ctx, argv...)
	if err == nil {
		err = out.Failure(argv[0])
	}
	return out, err
}

// transact runs a transaction, which is not interrupted. ok are exit codes other than 0 that mean success.
func (c *call) transact(ctx context.Context, argv []string, ok ...int) error {
	return c.feed(ctx, "", argv, ok...)
}

// feed is transact with something to read.
func (c *call) feed(ctx context.Context, stdin string, argv []string, ok ...int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out, err := c.Run(ctx, &resource.Command{Argv: c.argv(argv), Env: c.Environ(environment...), Stdin: []byte(stdin), Session: true, Timeout: resource.ChangeLimit})
	if err != nil {
		return fmt.Errorf("%s: %v", argv[0], err)
	}
	if slices.Contains(ok, out.Code) {
		return nil
	}
	out.Stderr = withoutWarnings(out.Stderr)
	err = out.Failure(argv[0])
	if err != nil && locked(c.manager.name, out) {
		err = &lockError{err}
	}
	return err
}

// withoutWarnings removes the lines of apt that are not about its failure.
func withoutWarnings(text []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("W: ")) && !bytes.HasPrefix(line, []byte("N: ")) && !bytes.HasPrefix(line, []byte("debconf: ")) {
			kept = append(kept, line...)
		}
	}
	return kept
}

// argv puts the path of a program in place of its name.
func (c *call) argv(argv []string) []string {
	argv = slices.Clone(argv)
	if slices.Contains(c.manager.programs, argv[0]) {
		argv[0] = c.program
	} else if path := c.Find(argv[0]); path != "" {
		argv[0] = path
	}
	return argv
}

// environment keeps package managers from asking, and makes libzypp wait for its lock.
var environment = []string{
	"DEBIAN_FRONTEND=noninteractive", "APT_LISTBUGS_FRONTEND=none", "APT_LISTCHANGES_FRONTEND=none",
	"ZYPP_LOCK_TIMEOUT=" + lockSeconds, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_INPUT=1", "NO_UPDATE_NOTIFIER=1",
}

// A lockError means that another program holds the lock of the package database: trying again at once is of no use.
type lockError struct{ error }

func (e *lockError) Unwrap() error { return e.error }

// locked reports whether a transaction did not get the lock. Only zypper has an exit code for it.
func locked(name string, out *resource.Output) bool {
	if name == "zypper" {
		return out.Code == 7
	}
	text := strings.ToLower(string(out.Stderr) + string(out.Stdout))
	for _, phrase := range []string{"could not get lock", "frontend lock was locked", "database is locked", "unable to lock database", "can't create transaction lock", "existing lock"} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// platform chooses the manager of the system, as Puppet does by the facts os.name and os.family. If
// the programs of the system's own manager are missing, it is the first one that is there.
func platform(h *resource.Host) (*manager, error) {
	text, err := os.ReadFile(h.Path("/etc/os-release"))
	if err != nil {
		text, _ = os.ReadFile(h.Path("/usr/lib/os-release"))
	}
	release := make(map[string]string)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		release[name] = strings.Trim(value, `"'`)
	}
	all := managers()
	for _, name := range append(own(release), "apt", "dnf", "yum", "zypper", "apk", "pacman", "dpkg", "rpm") {
		if m := all[name]; h.Find(m.programs...) != "" {
			return m, nil
		}
	}
	return nil, fmt.Errorf("the system %q has no package manager that bolt knows. Set the parameter provider", safetext.Message(release["PRETTY_NAME"]))
}

// own are the managers of a system, best first.
func own(release map[string]string) []string {
	major, _, _ := strings.Cut(release["VERSION_ID"], ".")
	number, _ := strconv.Atoi(major)
	for _, id := range append([]string{release["ID"]}, strings.Fields(release["ID_LIKE"])...) {
		switch {
		case id == "debian" || id == "ubuntu":
			return []string{"apt"}
		case id == "amzn" && number < 2023, (id == "rhel" || id == "centos") && number != 0 && number < 8:
			return []string{"yum"}
		case id == "fedora" || id == "rhel" || id == "centos" || id == "amzn":
			return []string{"dnf", "yum"}
		case id == "suse" || id == "sles" || id == "sled" || strings.HasPrefix(id, "opensuse"):
			return []string{"zypper"}
		case id == "alpine":
			return []string{"apk"}
		case id == "arch" || id == "archlinux" || id == "manjaro" || id == "artix":
			return []string{"pacman"}
		}
	}
	return nil
}
