package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The numbers of resources of the part mixed. Files make up the rest of mixedSize.
const (
	mixedSize     = 500
	mixedExecs    = 60
	mixedPackages = 80
	mixedAccounts = 40 // of each kind; fewer if the machine has fewer
)

// mixed measures one target with resources of many types that have the desired state. Resources outside the temporary directory are accounts and
// packages that the machine has, so nothing is changed.
func (b *bench) mixed(ctx context.Context) (err error) {
	s, err := b.stage(ctx, 1, line{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := s.clear(); err != nil {
		return err
	}
	text, err := mixture(ctx, s.tree("web01"))
	if err != nil {
		return err
	}
	manifest := filepath.Join(s.Dir, "mixed.pp")
	if err := os.WriteFile(manifest, []byte(text), 0o644); err != nil {
		return err
	}
	list := []*contestant{{name: "bolt, warm, no facts", program: s.bolt(manifest, "required", noFacts), near: []int{s.pid}, far: s.listeners}}
	if s.b.puppet != "" {
		pp, err := s.puppet(0)
		if err != nil {
			return err
		}
		pp.manifest = manifest
		list = append(list, &contestant{name: "puppet apply, no facts", program: pp.apply(false)})
	}
	if err := turns(ctx, b.runs, true, list...); err != nil {
		return err
	}
	if list[0].peak, err = s.helperPeak(ctx, list[0].program); err != nil {
		return err
	}
	fmt.Fprintf(b.out, "\n### %d resources of 5 types, unchanged, %d runs each\n\nThe CPU of `puppet apply` is that of its target.\n\n", mixedSize, b.runs)
	return b.table(list)
}

// mixture returns a manifest of mixedSize resources.
func mixture(ctx context.Context, dir string) (string, error) {
	var b strings.Builder
	n := 2
	add := func(most int, format string, names []string) {
		for _, name := range names[:min(most, len(names))] {
			fmt.Fprintf(&b, format, name)
			n++
		}
	}
	packages, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n").Output()
	if err != nil {
		return "", fmt.Errorf("dpkg-query: %w", err)
	}
	var installed []string
	for line := range strings.Lines(string(packages)) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "installed "); is {
			installed = append(installed, name)
		}
	}
	add(mixedPackages, "package { '%s': ensure => installed }\n", installed)
	for _, kind := range [][2]string{{"user", "/etc/passwd"}, {"group", "/etc/group"}} {
		text, err := os.ReadFile(kind[1])
		if err != nil {
			return "", err
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, ":")
			names = append(names, name)
		}
		add(mixedAccounts, kind[0]+" { '%s': ensure => present }\n", names)
	}
	fmt.Fprintf(&b, `$dir = '%s'
file { $dir: ensure => directory }
file { "${dir}/made": ensure => file, content => '' }
Integer[1, %d].each |$i| { exec { "/bin/true ${i}": creates => "${dir}/made" } }
Integer[1, %d].each |$i| { file { "${dir}/f${i}": ensure => file, content => "number ${i}\n", mode => '0644' } }
`, dir, mixedExecs, mixedSize-n-mixedExecs)
	return b.String(), nil
}
