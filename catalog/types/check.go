package types

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"bolt/catalog"
)

// A ValueError reports a value that a parameter cannot have.
type ValueError struct {
	Resource *catalog.Resource
	Param    string
	Problem  string // such as: cannot be "x"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("The parameter %s of %s %s", e.Param, e.Resource.Ref, e.Problem)
}

// Check returns errors for the values of a resource that its type rejects, in the order of the
// parameters. An error does not contain the value of a secret parameter. A value that is computed
// on the target (Deferred) is not checked.
func Check(r *catalog.Resource) (errs []*ValueError) {
	bad := func(param, format string, a ...any) {
		errs = append(errs, &ValueError{r, param, fmt.Sprintf(format, a...)})
	}
	typ := strings.ToLower(r.Type)
	if slices.Contains(absolute, typ) {
		p, given := r.Params.Value("path").(string)
		if Find(typ).Key == "path" {
			p, given = pathOf(r), true
		}
		// Puppet applies Windows paths there; bolt's types file and tidy reject them.
		windows := slices.Contains(onWindows, typ) && absolutePath().MatchString(p)
		if given && !strings.HasPrefix(p, "/") && !windows {
			bad("path", "must be an absolute path, and is %q", p)
		}
	}
	if n, is := r.Params.Value("mode").(int64); is && typ == "file" {
		bad("mode", "must be a string, such as '0644', not the number %d", n)
	}
	if _, given := r.Params.Get(MetaParam); given {
		errs = append(errs, checkMeta(r)...)
	}
	for name, v := range r.Params.All() {
		allowed := values()[typ][name]
		switch {
		case name == "loglevel":
			allowed = levels
		case name == "audit":
			if p := notAudited(Find(typ), v); p != "" {
				bad(name, "names %q, which is not a parameter of the type %s", p, typ)
			}
		}
		if allowed == nil {
			continue
		}
		text, is := word(v)
		switch {
		case !is || slices.Contains(allowed, text):
		case r.Secret(name):
			bad(name, "has a secret value that it cannot have: it can be %s", alternatives(allowed))
		default:
			bad(name, "cannot be %q: it can be %s", text, alternatives(allowed))
		}
	}
	return errs
}

// CheckForms returns errors for the values of a resource that do not have the form that its type
// requires, and for the first problem with its parameters together. Check does not check these,
// because the types that bolt applies check them when a run is prepared. CheckForms treats values
// of secrets and Deferred values like Check.
func CheckForms(r *catalog.Resource) (errs []*ValueError) {
	bad := func(param, problem string) { errs = append(errs, &ValueError{r, param, problem}) }
	typ := strings.ToLower(r.Type)
	for name, v := range r.Params.All() {
		if f, is := forms()[typ][name]; is {
			if problem := f.problem(v, r.Secret(name)); problem != "" {
				bad(name, problem)
			}
		}
		if text, is := word(v); name == "noop" && Find(typ) != nil && is && text != "true" && text != "false" {
			bad(name, fmt.Sprintf("cannot be %q: it can be true or false", text))
		}
	}
	if t := Find(typ); t != nil && r.Params.Value(t.Key) == nil {
		if f, is := forms()[typ][t.Key]; is {
			if problem := f.problem(r.Title, false); problem != "" {
				bad(t.Key, problem)
			}
		}
	}
	if rule := rules()[typ]; rule != nil {
		if param, problem := rule(r); problem != "" {
			bad(param, problem)
		}
	}
	return errs
}

// levels are the words for the parameter loglevel.
var levels = strings.Fields("debug info notice warning err alert emerg crit verbose")

// notAudited returns the first name in a value of the parameter audit that is not a parameter of the type; ""
// if all names are parameters. The word "all" stands for all parameters.
func notAudited(t *Type, v any) string {
	list, is := v.([]any)
	if !is {
		list = []any{v}
	}
	for _, x := range list {
		if name, is := x.(string); is && t != nil && !t.Has(name) && (name != "all" || len(list) > 1) {
			return name
		}
	}
	return ""
}

// word returns the text of a value that can be compared with the words of a parameter.
func word(v any) (text string, is bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

func alternatives(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// absolute are the types whose path must be an absolute path.
var absolute = []string{"archive", "cert_file", "concat_file", "dhparam", "file", "file_line", "ini_setting", "ini_subsetting", "ssl_pkey", "systemd_purge_units", "tidy", "vcsrepo", "x509_cert", "x509_request"}

// onWindows are the types in absolute that catalogs for Windows can have.
var onWindows = []string{"archive", "file", "tidy", "vcsrepo"}

const (
	boolean  = "true false"
	yesOrNo  = boolean + " yes no"
	presence = "present absent"
	digests  = "none md5 sha1 sha2 sha256 sha384 sha512"
)

// values are the words of the parameters that only accept certain words.
var values = sync.OnceValue(func() map[string]map[string][]string {
	return map[string]map[string][]string{
		"alternative_entry":            words("ensure", presence),
		"alternatives":                 words("mode", "auto manual"),
		"apt_key":                      words("ensure", presence, "refresh", yesOrNo, "weak_ssl", yesOrNo),
		"archive":                      words("ensure", presence, "extract", boolean, "cleanup", boolean, "checksum_type", digests, "digest_type", digests, "checksum_verify", boolean, "proxy_type", "none ftp http https", "allow_insecure", yesOrNo),
		"cert_file":                    words("ensure", presence, "format", "der pem"),
		"concat_file":                  words("ensure", presence, "order", "alpha numeric", "replace", yesOrNo, "ensure_newline", yesOrNo, "format", "plain yaml json json-array json-pretty json-array-pretty", "force", yesOrNo, "selinux_ignore_defaults", yesOrNo, "show_diff", yesOrNo, "create_empty_file", yesOrNo),
		"cron":                         words("ensure", presence),
		"debconf":                      words("ensure", presence, "type", "string boolean select multiselect note text password title", "seen", boolean),
		"dhparam":                      words("ensure", presence, "fastmode", boolean),
		"docker_compose":               words("ensure", presence),
		"docker_network":               words("ensure", presence),
		"docker_stack":                 words("ensure", presence),
		"docker_volume":                words("ensure", presence),
		"exec":                         words("logoutput", "true false on_failure", "refreshonly", boolean),
		"file":                         words("replace", yesOrNo, "force", yesOrNo, "purge", yesOrNo, "recurse", "true false remote", "links", "follow manage", "sourceselect", "first all", "checksum", "sha256 sha256lite md5 md5lite sha1 sha1lite sha512 sha384 sha224 mtime ctime none", "source_permissions", "use use_when_creating ignore"),
		"file_line":                    words("ensure", presence, "match_for_absence", boolean, "multiple", boolean, "replace", boolean, "replace_all_matches_not_matching_line", boolean, "append_on_no_match", boolean),
		"firewall":                     words("ensure", presence, "protocol", "iptables ip6tables IPv4 IPv6", "table", "nat mangle filter raw rawpost broute security", "stat_mode", "nth random", "pkttype", "unicast broadcast multicast", "ipsec_dir", "in out", "ipsec_policy", "none ipsec", "ctdir", "REPLY ORIGINAL", "string_algo", "bm kmp", "action", "accept reject drop"),
		"firewallchain":                words("ensure", presence, "policy", "accept drop queue return", "purge", boolean, "ignore_foreign", boolean),
		"firewalld_port":               words("ensure", presence),
		"firewalld_rich_rule":          words("ensure", presence, "family", "ipv4 ipv6 eb"),
		"firewalld_service":            words("ensure", presence),
		"firewalld_zone":               words("ensure", presence, "masquerade", boolean, "icmp_block_inversion", boolean, "purge_rich_rules", boolean, "purge_services", boolean, "purge_ports", boolean),
		"filesystem":                   words("ensure", presence),
		"logical_volume":               words("ensure", presence, "persistent", boolean, "size_is_minsize", boolean, "resize_fs", boolean, "range", "maximum minimum", "mirrorlog", "core disk mirrored", "alloc", "anywhere contiguous cling inherit normal"),
		"physical_volume":              words("ensure", presence, "force", boolean),
		"volume_group":                 words("ensure", presence, "followsymlinks", yesOrNo, "createonly", yesOrNo),
		"group":                        words("ensure", presence),
		"htgroup":                      words("ensure", presence),
		"htpasswd":                     words("ensure", presence),
		"http_check":                   words("method", "GET HEAD OPTIONS", "insecure", yesOrNo),
		"host":                         words("ensure", presence),
		"ini_setting":                  words("ensure", presence, "force_new_section_creation", yesOrNo, "show_diff", "true md5 false", "refreshonly", yesOrNo),
		"ini_subsetting":               words("ensure", presence, "show_diff", "true md5 false", "use_exact_match", boolean, "insert_type", "start end before after index", "delete_if_empty", boolean),
		"kv":                           words("skiplessthan", yesOrNo, "skipcmpstyle", "int string 0 1"),
		"java_ks":                      words("ensure", "present absent latest", "storetype", "jceks pkcs12 jks", "private_key_type", "rsa dsa ec", "password_fail_reset", yesOrNo, "trustcacerts", yesOrNo),
		"loginctl_user":                words("linger", "enabled disabled"),
		"mongodb_conn_validator":       words("ensure", presence),
		"mongodb_database":             words("ensure", presence),
		"mongodb_user":                 words("ensure", presence, "auth_mechanism", "scram_sha_1 scram_sha_256", "update_password", yesOrNo),
		"mount":                        words("ensure", "defined present unmounted absent mounted"),
		"mysql_database":               words("ensure", presence),
		"mysql_datadir":                words("ensure", presence),
		"mysql_grant":                  words("ensure", presence),
		"mysql_plugin":                 words("ensure", presence),
		"mysql_user":                   words("ensure", presence),
		"package":                      words("mark", "hold none", "configfiles", "keep replace"),
		"password":                     words("saved", yesOrNo, "check_recovery", yesOrNo),
		"postgresql_conf":              words("ensure", presence),
		"postgresql_conn_validator":    words("ensure", presence),
		"postgresql_psql":              words("refreshonly", boolean, "sensitive", boolean),
		"postgresql_replication_slot":  words("ensure", presence),
		"rabbitmq_plugin":              words("ensure", presence, "mode", "online offline best"),
		"rabbitmq_policy":              words("ensure", presence, "applyto", "all classic_queues exchanges queues quorum_queues streams"),
		"rabbitmq_user":                words("ensure", presence, "admin", boolean),
		"rabbitmq_user_permissions":    words("ensure", presence),
		"rabbitmq_vhost":               words("ensure", presence, "default_queue_type", "classic quorum stream"),
		"schedule":                     words("period", "hourly daily weekly monthly never", "periodmatch", "number distance"),
		"selinux_fcontext":             words("ensure", presence),
		"selinux_fcontext_equivalence": words("ensure", presence),
		"selinux_permissive":           words("ensure", presence),
		"selinux_port":                 words("ensure", presence, "protocol", "tcp udp"),
		"selmodule":                    words("ensure", presence),
		"service":                      words("ensure", "stopped running true false", "enable", "true false manual mask delayed", "hasstatus", boolean, "hasrestart", boolean),
		"ssh_authorized_key":           words("ensure", presence),
		"sshkey":                       words("ensure", presence),
		"swap_file":                    words("ensure", presence),
		"ssl_pkey":                     words("ensure", presence, "authentication", "rsa ec"),
		"sysctl":                       words("ensure", presence, "apply", boolean, "persist", boolean, "silent", boolean),
		"systemd_purge_units":          words("ensure", "purged purgable"),
		"tidy":                         words("type", "atime mtime ctime"),
		"user":                         words("ensure", "present absent role", "membership", "inclusive minimum"),
		"vcsrepo":                      words("ensure", "present bare mirror absent latest", "force", yesOrNo, "submodules", boolean, "trust_server_cert", boolean, "keep_local_changes", boolean, "safe_directory", boolean, "skip_hooks", boolean),
		"x509_cert":                    words("ensure", presence, "force", boolean, "req_ext", yesOrNo),
		"x509_request":                 words("ensure", presence, "force", boolean, "encrypted", boolean),
		"yumrepo":                      words("ensure", presence),
	}
})

// words makes a table of pairs of a parameter and its words.
func words(pairs ...string) map[string][]string {
	m := make(map[string][]string, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = strings.Fields(pairs[i+1])
	}
	return m
}
