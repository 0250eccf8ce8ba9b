package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"bolt/bench/modules/machine"
	"bolt/catalog"
	"bolt/format/ordered"
)

// An applied has the cells of the apply columns.
type applied struct {
	applies outcome // bolt ends with 0
	second  outcome // a second run of bolt changes nothing
	equal   outcome // the machine is equal to the machine that puppet changed
}

// The commands in a machine. Both programs read the same manifest, modules and facts.
const (
	boltRun   = "cd /srv/bolt && /usr/local/bin/bolt apply site.pp -t " + node + " --format human --no-color --report /tmp/report.json"
	puppetRun = "puppet apply --environmentpath /srv/bolt --environment production --certname " + node +
		" --facts_terminus yaml --detailed-exitcodes --color false /srv/bolt/site.pp"
)

// apply applies the manifest of a module twice: with puppet in one machine, and with bolt in an equal machine.
func (t *tester) apply(ctx context.Context, m module, env, compiled string) (a applied, err error) {
	needs, err := needs(compiled)
	if err != nil {
		return a, err
	}
	dir := filepath.Join(t.work, "machines", m.short())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return a, err
	}
	standins, err := fs.Sub(t.data, "standins")
	if err != nil {
		return a, err
	}
	set, err := machine.New(ctx, dir, t.base, standins, needs, func(root string) error { return t.fill(root, env) })
	if err != nil {
		return a, err
	}
	defer set.Close()
	theirs, err := set.Machine("puppet")
	if err != nil {
		return a, err
	}
	mine, err := set.Machine("bolt")
	if err != nil {
		return a, err
	}
	for _, x := range []*machine.Machine{theirs, mine} {
		if err := x.Bind(t.modules, "srv/bolt/modules"); err != nil {
			return a, err
		}
	}

	var runs sync.WaitGroup
	var puppet, bolt [2]run
	var puppetErr, boltErr error
	runs.Go(func() { puppet, puppetErr = twice(ctx, theirs, puppetRun, t.puppetOutcome) })
	runs.Go(func() { bolt, boltErr = twice(ctx, mine, boltRun, boltOutcome) })
	runs.Wait()
	if puppetErr != nil {
		return a, puppetErr
	}
	if boltErr != nil {
		return a, boltErr
	}
	if t.verbose {
		for i := range 2 {
			fmt.Fprintf(os.Stderr, "--- %s, puppet, run %d: %s\n%s\n--- %s, bolt, run %d: %s\n%s\n",
				m.name, i+1, puppet[i].reason, puppet[i].out, m.name, i+1, bolt[i].reason, bolt[i].out)
		}
	}
	also := ""
	if puppet[0].reason != "" {
		also = " (puppet fails too: " + puppet[0].reason + ")"
	}
	a.applies = outcome{done: true, ok: bolt[0].reason == ""}
	if !a.applies.ok {
		a.applies.reason = bolt[0].reason + also
		return a, nil
	}
	a.second = outcome{true, bolt[1].reason == "" && bolt[1].changed == "", bolt[1].reason}
	if !a.second.ok && a.second.reason == "" {
		a.second.reason = "changed again: " + bolt[1].changed
		if puppet[1].changed != "" {
			a.second.reason += " (by puppet: " + puppet[1].changed + ")"
		}
	}
	if puppet[0].reason != "" {
		a.equal = outcome{true, false, "puppet fails: " + puppet[0].reason}
		return a, nil
	}
	differences, err := machine.Differences(theirs, mine)
	if err != nil {
		return a, err
	}
	a.equal = outcome{true, len(differences) == 0, strings.Join(differences, "; ")}
	if t.verbose {
		fmt.Fprintf(os.Stderr, "--- %s, differences (puppet, bolt)\n%s\n", m.name, strings.Join(differences, "\n"))
	}
	return a, nil
}

// A run is the outcome of a command in a machine.
type run struct {
	reason  string // of its failure
	changed string // the resources that it changed
	out     string
}

func twice(ctx context.Context, m *machine.Machine, script string, judge func(m *machine.Machine, out string, code int) (run, error)) (r [2]run, err error) {
	for i := range r {
		short, cancel := context.WithTimeout(ctx, 2*limit)
		out, code, err := m.Run(short, script)
		cancel()
		if err != nil {
			return r, fmt.Errorf("%s: %w\n%s", script, err, out)
		}
		if r[i], err = judge(m, string(out), code); err != nil {
			return r, err
		}
		r[i].out = string(out)
	}
	return r, nil
}

// puppetChange is a message about a changed resource.
var puppetChange = regexp.MustCompile(`(?m)^Notice: (?:/Stage\[main\]/)?(\S.*?): .*$`)

func (t *tester) puppetOutcome(_ *machine.Machine, out string, code int) (run, error) {
	r := run{}
	if code != 0 && code != 2 {
		r.reason = fmt.Sprintf("exit code %d", code)
		if _, after, ok := strings.Cut(out, "Error: "); ok {
			r.reason, _, _ = strings.Cut(after, "\n")
		}
	}
	if code == 2 {
		if found := puppetChange.FindStringSubmatch(out); found != nil {
			r.changed = found[1]
		}
	}
	return r, nil
}

// boltOutcome reads the report of bolt.
func boltOutcome(m *machine.Machine, out string, code int) (run, error) {
	var r run
	text, err := os.ReadFile(filepath.Join(m.Root, "tmp/report.json"))
	var report struct {
		Resources []struct {
			Ref, Status string
			Events      []struct{ Status, Message string }
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &report)
	}
	if err == nil {
		err = os.Remove(filepath.Join(m.Root, "tmp/report.json"))
	}
	var changed []string
	for _, res := range report.Resources {
		switch res.Status {
		case "changed":
			changed = append(changed, res.Ref)
		case "failed":
			for _, e := range res.Events {
				if e.Status == "failure" && r.reason == "" {
					r.reason = res.Ref + ": " + e.Message
				}
			}
		}
	}
	r.changed = strings.Join(changed, ", ")
	if code != 0 && r.reason == "" || err != nil {
		lines := strings.Split(strings.TrimSpace(out), "\n")
		r.reason = fmt.Sprintf("exit code %d: %s", code, strings.Join(lines[max(0, len(lines)-3):], " "))
	}
	return r, nil
}

// fill writes the input of both programs into a root.
func (t *tester) fill(root, env string) error {
	for _, dir := range []string{"srv/bolt/production", "srv/bolt/modules", "var/cache/puppet/client_yaml/facts"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("../modules", filepath.Join(root, "srv/bolt/production/modules")); err != nil {
		return err
	}
	facts, err := os.ReadFile(filepath.Join(env, "facts.json"))
	if err != nil {
		return err
	}
	manifest, err := os.ReadFile(filepath.Join(env, "production/manifests/site.pp"))
	if err != nil {
		return err
	}
	bolt, err := os.ReadFile(t.bolt)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		mode os.FileMode
		data string
	}{
		{"srv/bolt/site.pp", 0o644, string(manifest)},
		{"srv/bolt/bolt-project.yaml", 0o644, `{"name": "machine", "analytics": false}`},
		{"srv/bolt/inventory.yaml", 0o644, fmt.Sprintf(`{"targets": [{"uri": %q, "config": {"transport": "local"}, "facts": %s}]}`, node, facts)},
		{"var/cache/puppet/client_yaml/facts/" + node + ".yaml", 0o644,
			fmt.Sprintf("--- !ruby/object:Puppet::Node::Facts\n{\"name\": %q, \"values\": %s}\n", node, facts)},
		{"usr/local/bin/bolt", 0o755, string(bolt)},
	} {
		if err := os.WriteFile(filepath.Join(root, f.name), []byte(f.data), f.mode); err != nil {
			return err
		}
	}
	return nil
}

// needs returns the packages that a catalog installs by apt, and the hosts that it downloads files from.
func needs(file string) (n machine.Needs, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return n, err
	}
	c, err := catalog.Parse(text)
	if err != nil {
		return n, err
	}
	for _, r := range c.Resources() {
		switch r.Ref.Type {
		case "File", "Archive":
			for _, name := range []string{"source", "url"} {
				if u, err := url.Parse(parameter(r.Params, name)); err == nil && strings.HasPrefix(u.Scheme, "http") && !slices.Contains(n.Hosts, u.Hostname()) {
					n.Hosts = append(n.Hosts, u.Hostname())
				}
			}
		case "Package":
			if p := parameter(r.Params, "provider"); p == "" || p == "apt" {
				n.Packages = appendPackage(n.Packages, r)
			}
		}
	}
	return n, nil
}

// appendPackage adds the package of a resource, with the version that the resource wants.
func appendPackage(all []machine.Package, r *catalog.Resource) []machine.Package {
	name, version := parameter(r.Params, "name"), parameter(r.Params, "ensure")
	if name == "" {
		name = r.Ref.Title
	}
	switch {
	case version == "absent" || version == "purged":
		return all
	case version == "" || version[0] < '0' || version[0] > '9':
		version = "99:1.0" // later than any version that a real package breaks
	}
	return append(all, machine.Package{Name: name, Version: version})
}

// parameter returns a parameter that is a string.
func parameter(params *ordered.Map, name string) string {
	if params == nil {
		return ""
	}
	s, _ := params.Value(name).(string)
	return s
}
