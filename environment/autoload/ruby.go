package autoload

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bolt/internal/lazyregexp"
	"bolt/internal/readfile"
	"bolt/modules"
	"bolt/puppet/eval"
)

// A ResourceType is the facts about a resource type that its Ruby file has. It is the
// Data of a definition. Ruby is not evaluated: only parameters that the file declares by
// the usual calls are known.
type ResourceType struct {
	// Key is the parameter that names a resource. It is "name" if several parameters do
	// so together, or if the file does not say.
	Key string
	// Unique is set if no two resources can have the same value of Key.
	Unique bool
	// Params are the parameters and properties that the file names.
	Params []string
}

// What the lines of such a file contain: the calls of Puppet::Type, and the attributes of
// Puppet::ResourceApi.
var (
	attributeCall = lazyregexp.New(`^\s*(newparam|newproperty)\b[\s(]*:["']?(\w+)(.*)`)
	namevarOption = lazyregexp.New(`(\bnamevar:|:namevar\s*=>)\s*true\b`)
	namevarCall   = lazyregexp.New(`^\s*isnamevar\b`)
	ensurableCall = lazyregexp.New(`^\s*ensurable\b`)
	attributeKey  = lazyregexp.New(`^\s*:?(\w+)(?::|\s*=>)\s*\{`)
	behaviour     = lazyregexp.New(`\bbehaviou?r(?::|\s*=>)\s*:namevar\b`)
)

// readType reads the Ruby text of a type.
func readType(text string) *ResourceType {
	t := &ResourceType{Unique: true}
	var keys []string
	attribute := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := attributeCall().FindStringSubmatch(line); m != nil {
			attribute = m[2]
			t.Params = append(t.Params, attribute)
			// A parameter that is called name is always a key.
			if m[1] == "newparam" && (attribute == "name" || namevarOption().MatchString(m[3])) {
				keys = append(keys, attribute)
			}
			continue
		}
		if m := attributeKey().FindStringSubmatch(line); m != nil {
			attribute = m[1]
		}
		switch {
		case ensurableCall().MatchString(line):
			t.Params = append(t.Params, "ensure")
		case namevarCall().MatchString(line) || behaviour().MatchString(line):
			if attribute != "" && !slices.Contains(keys, attribute) {
				keys = append(keys, attribute)
			}
		case strings.Contains(line, "title_patterns") || strings.Contains(line, "@isomorphic"):
			t.Unique = false
		}
	}
	t.Key = "name"
	if len(keys) == 1 {
		t.Key = keys[0]
	} else {
		t.Unique = false
	}
	return t
}

// A typeFile is the Ruby file of a type.
type typeFile struct{ module, path string }

// typeFiles returns the Ruby files of all modules that define types, by the names of the
// types. The first module that has a type defines it. Each directory is watched, so that
// a Loader notices a new type without a search for it.
func (l *Loader) typeFiles() map[string]typeFile {
	watch := func(dir string) {
		at := time.Now()
		l.seen.file(dir, stampOf(dir), at)
	}
	for _, dir := range l.path.Dirs() {
		watch(dir)
	}
	found := make(map[string]typeFile)
	for _, m := range l.all() {
		if m.BuiltIn() {
			continue
		}
		dir := filepath.Join(m.Dir, "lib", "puppet", "type")
		watch(dir)
		entries, _ := os.ReadDir(dir) // a module without types has no such directory
		for _, e := range entries {
			name, is := strings.CutSuffix(e.Name(), ".rb")
			if _, known := found[name]; is && !known && modules.ValidName(name) {
				found[name] = typeFile{m.Name, filepath.Join(dir, e.Name())}
			}
		}
	}
	return found
}

// withAgents are the types of resources that come with Puppet's agent packages
// as modules, beside those of its core.
var withAgents = [...]string{
	"augeas", "cron", "host", "mount", "scheduled_task", "selboolean", "selmodule", "ssh_authorized_key", "sshkey", "yumrepo", "zfs", "zone", "zpool",
}

// applied are the types of modules and of mgmt that bolt applies itself, such as file_line of stdlib. The modules are
// not needed for these types. If a module defines such a type, the definition of the module is used.
var applied = [...]string{
	"alternative_entry",
	"alternatives",
	"anchor",
	"apt_key",
	"archive",
	"cert_file",
	"concat_file",
	"concat_fragment",
	"debconf",
	"dhparam",
	"docker_compose",
	"docker_network",
	"docker_stack",
	"docker_volume",
	"file_line",
	"filesystem",
	"firewall",
	"firewallchain",
	"firewalld_port",
	"firewalld_rich_rule",
	"firewalld_service",
	"firewalld_zone",
	"htgroup",
	"htpasswd",
	"http_check",
	"ini_setting",
	"ini_subsetting",
	"java_ks",
	"kv",
	"logical_volume",
	"loginctl_user",
	"mongodb_conn_validator",
	"mongodb_database",
	"mongodb_user",
	"mysql_database",
	"mysql_datadir",
	"mysql_grant",
	"mysql_plugin",
	"mysql_user",
	"password",
	"physical_volume",
	"postgresql_conf",
	"postgresql_conn_validator",
	"postgresql_psql",
	"postgresql_replication_slot",
	"rabbitmq_plugin",
	"rabbitmq_policy",
	"rabbitmq_user",
	"rabbitmq_user_permissions",
	"rabbitmq_vhost",
	"selinux_fcontext",
	"selinux_fcontext_equivalence",
	"selinux_permissive",
	"selinux_port",
	"ssl_pkey",
	"swap_file",
	"sysctl",
	"systemd_purge_units",
	"timer",
	"value",
	"vcsrepo",
	"volume_group",
	"x509_cert",
	"x509_request",
}

// resourceType finds types of resources that are written in Ruby.
func (l *Loader) resourceType(ctx context.Context, name string) (*eval.Definition, error) {
	if slices.Contains(withAgents[:], name) {
		return &eval.Definition{Kind: eval.KindResourceType, Name: name}, nil
	}
	file, known := l.types()[name]
	switch {
	case !known && slices.Contains(applied[:], name):
		return &eval.Definition{Kind: eval.KindResourceType, Name: name}, nil
	case !known:
		return nil, nil
	}
	l.seen.file(file.path, stampOf(file.path), time.Now())
	text, err := readfile.Read(ctx, file.path, readfile.Language)
	if err != nil {
		return nil, err
	}
	return &eval.Definition{Kind: eval.KindResourceType, Name: name, Module: file.module, Data: readType(string(text))}, nil
}
