// Package types defines the resource types of Puppet: their parameters, the parameter that
// names a resource, and the resources on which a type depends by itself.
//
// The types come from Puppet's core, from the modules that its packages contain (cron, host,
// mount, sshkey, ssh_authorized_key, yumrepo, augeas, SELinux), and from modules in common use. Some
// types stand for kinds of mgmt, which Puppet does not have. The parameters of any other type are unknown, and Find returns nil for it.
//
// The sources are the type reference of Puppet 7 and 8, and the references of the modules
// (stdlib 9.7, concat 10.0, inifile 6.3, archive 8.1, vcsrepo 7.0, augeasproviders_sysctl 4.0, mysql 16.3,
// postgresql 10.6, rabbitmq 15.0, mongodb 7.0).
package types

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"bolt/catalog"
)

// A Type is one resource type.
type Type struct {
	Name string // in lower case
	// Module is the module that defines the type; "" for Puppet's own types.
	Module string
	// Key is the parameter that names the resource; its default is the title.
	Key string
	// Unique is set if no two resources can have the same value of Key.
	Unique bool
	// Also are the parameters of which one must differ if two resources have the same value
	// of Key. A type with such parameters is not Unique.
	Also []string
	// Properties are the states of the resource that are compared and changed. Params control
	// this. Both are in the order of the reference.
	Properties, Params []string
}

// Metaparams returns the parameters that all resources have: Puppet's metaparameters in its order, and Meta.
func Metaparams() []string { return slices.Clone(metaparams) }

var metaparams = []string{"noop", "schedule", "audit", "loglevel", "alias", "tag", "require", "subscribe", "before", "notify", "stage", MetaParam}

// IsMetaparam reports whether all resources have a parameter.
func IsMetaparam(name string) bool { return slices.Contains(metaparams, name) }

// Find returns the type with a name in lower case, nil if it is unknown.
func Find(name string) *Type { return byName()[name] }

// Names returns the names of the types that Find knows, sorted.
func Names() []string {
	return slices.Sorted(maps.Keys(byName()))
}

// Has reports whether resources of the type have a parameter. Every type has its key
// under the name "name", too.
func (t *Type) Has(param string) bool {
	return param == "name" || param == catalog.RecvParam || slices.Contains(t.Properties, param) || slices.Contains(t.Params, param) || IsMetaparam(param)
}

// byName is made at its first use, because few commands use it.
var byName = sync.OnceValue(func() map[string]*Type {
	m := make(map[string]*Type)
	for _, t := range append(all(), mgmtKinds()...) {
		m[t.Name] = &t
	}
	return m
})

// all returns the types. A row has the key, the properties and the other parameters.
func all() []Type {
	return []Type{
		of("alternatives", shared(row("alternative_entry", "name", "ensure altlink_ro altname priority", "altlink provider"), "altlink")),
		of("alternatives", row("alternatives", "name", "path mode", "provider")),
		of("stdlib", row("anchor", "name", "", "")),
		of("apt", row("apt_key", "id", "ensure fingerprint long short expired expiry size type created", "content source server options refresh weak_ssl provider")),
		of("archive", row("archive", "path", "ensure creates",
			"filename extract extract_path target extract_command temp_dir extract_flags cleanup source url cookie checksum digest_string "+
				"checksum_url digest_url checksum_type digest_type checksum_verify username password headers user group proxy_type "+
				"proxy_server allow_insecure download_options provider")),
		row("augeas", "name", "returns", "context onlyif changes root load_path force type_check lens incl show_diff provider"),
		of("openssl", row("cert_file", "path", "ensure", "source format provider")),
		of("concat", row("concat_file", "path", "ensure",
			"owner group mode order backup replace validate_cmd ensure_newline format force selinux_ignore_defaults selrange selrole "+
				"seltype seluser show_diff create_empty_file")),
		of("concat", row("concat_fragment", "name", "", "target content source order")),
		row("cron", "name", "ensure command special minute hour weekday month monthday environment user target", "provider"),
		of("debconf", row("debconf", "name", "ensure value seen", "item package type provider")),
		of("openssl", row("dhparam", "path", "ensure owner group mode", "size fastmode provider")),
		of("docker", row("docker_compose", "name", "ensure", "scale options up_args compose_files tmpdir provider")),
		of("docker", row("docker_network", "name", "ensure driver ipam_driver id", "subnet gateway ip_range aux_address options additional_flags provider")),
		of("docker", row("docker_stack", "name", "ensure", "bundle_file compose_files up_args provider")),
		of("docker", row("docker_volume", "name", "ensure driver mountpoint", "options provider")),
		shared(row("exec", "command", "returns", "path user group cwd logoutput refresh environment umask timeout tries try_sleep refreshonly creates unless onlyif provider")),
		row("file", "path", "ensure content checksum_value target owner group mode type seluser selrole seltype selrange ctime mtime",
			"backup recurse recurselimit max_files replace force ignore links purge sourceselect show_diff staging_location validate_cmd validate_replacement "+
				"provider checksum source source_permissions selinux_ignore_defaults"),
		of("stdlib", row("file_line", "name", "ensure line",
			"match match_for_absence multiple after path replace replace_all_matches_not_matching_line encoding append_on_no_match provider")),
		of("lvm", row("filesystem", "name", "ensure size",
			"fs_type mkfs_cmd options initial_size ag_size large_files compress frag nbpi logname logsize maxext mountguard agbl"+
				"ksize extended_attributes encrypted isnapshot mount_options vix log_partitions nodename accounting mountgroup atboot perms device volume_group provider")),
		of("firewall", row("firewall", "name", "ensure protocol table chain source destination iniface outiface proto isfragment sport dport tcp_option tcp_flags icmp physdev_in physdev_out "+
			"physdev_is_bridged physdev_is_in physdev_is_out stat_mode stat_every stat_packet stat_probability src_range dst_range uid gid mac_source src_type "+
			"dst_type socket pkttype ipsec_dir ipsec_policy state ctstate ctproto ctorigsrc ctorigdst ctreplsrc ctrepldst ctorigsrcport ctorigdstport ctreplsrcport "+
			"ctrepldstport ctstatus ctexpire ctdir hop_limit limit burst length recent rseconds reap rhitcount rttl rname mask rsource rdest ipset string string_hex "+
			"string_algo string_from string_to match_mark connmark mss connlimit_upto connlimit_above connlimit_mask time_start time_stop month_days week_days "+
			"date_start date_stop time_contiguous kernel_timezone hashlimit_upto hashlimit_above hashlimit_name hashlimit_burst hashlimit_mode hashlimit_srcmask "+
			"hashlimit_dstmask hashlimit_htable_size hashlimit_htable_max hashlimit_htable_expire hashlimit_htable_gcinterval rpfilter jump goto queue_num "+
			"queue_bypass nflog_group nflog_prefix nflog_range nflog_size nflog_threshold gateway clamp_mss_to_pmtu set_mss set_dscp todest tosource toports to "+
			"checksum_fill random_fully random log_prefix log_level log_uid log_tcp_sequence log_tcp_options log_ip_options reject restore_mark set_mark nfmask "+
			"ctmask notrack helper zone set_dscp_class action isfirstfrag ishasmorefrags islastfrag clusterip_new clusterip_hashmode clusterip_clustermac "+
			"clusterip_total_nodes clusterip_local_node clusterip_hash_init u32 src_cc dst_cc bytecode ipvs cgroup condition", "line provider")),
		of("firewall", row("firewallchain", "name", "ensure policy", "purge ignore ignore_foreign provider")),
		of("firewalld", row("firewalld_port", "name", "ensure", "zone policy port protocol provider")),
		of("firewalld", row("firewalld_rich_rule", "name", "ensure",
			"zone policy family priority source dest service port protocol icmp_block icmp_type masquerade forward_port log audit action raw_rule provider")),
		of("firewalld", row("firewalld_service", "name", "ensure", "service zone policy provider")),
		of("firewalld", row("firewalld_zone", "name", "ensure target interfaces masquerade sources protocols icmp_blocks icmp_block_inversion purge_rich_rules purge_services purge_ports",
			"zone description short provider")),
		row("filebucket", "name", "", "server port path"),
		row("group", "name", "ensure gid members attributes", "auth_membership allowdupe ia_load_module attribute_membership system forcelocal provider"),
		row("host", "name", "ensure ip host_aliases comment target", "provider"),
		of("htpasswd", row("htgroup", "name", "ensure users target", "provider")),
		of("htpasswd", row("htpasswd", "name", "ensure username cryptpasswd target", "provider")),
		of("inifile", row("ini_setting", "name", "ensure value",
			"section setting force_new_section_creation path show_diff key_val_separator section_prefix section_suffix indent_char indent_width "+
				"refreshonly provider")),
		of("inifile", row("ini_subsetting", "name", "ensure value",
			"section setting subsetting subsetting_separator subsetting_key_val_separator path show_diff key_val_separator quote_char "+
				"use_exact_match insert_type insert_value delete_if_empty provider")),
		of("lvm", row("logical_volume", "name", "ensure volume_group size stripes mirror mirrorlog",
			"initial_size extents persistent thinpool poolmetadatasize minor type range stripesize readahead size_is_minsize resize_fs alloc no_sync region_size yes_flag provider")),
		of("java_ks", shared(row("java_ks", "name", "ensure password",
			"target certificate certificate_content storetype private_key private_key_content private_key_type chain password_file password_fail_reset "+
				"destkeypass trustcacerts path keytool_timeout source_password source_alias provider"), "target")),
		of("systemd", row("loginctl_user", "name", "linger", "provider")),
		of("mongodb", row("mongodb_conn_validator", "name", "ensure", "server port timeout provider")),
		of("mongodb", row("mongodb_database", "name", "ensure", "tries provider")),
		of("mongodb", row("mongodb_user", "name", "ensure username database roles password_hash password scram_credentials", "tries auth_mechanism update_password provider")),
		row("mount", "name", "ensure device blockdevice fstype options pass atboot dump target", "remounts provider"),
		of("mysql", row("mysql_database", "name", "ensure charset collate", "provider")),
		of("mysql", row("mysql_datadir", "datadir", "ensure", "basedir user defaults_extra_file insecure log_error provider")),
		of("mysql", row("mysql_grant", "name", "ensure privileges table user options", "provider")),
		of("mysql", row("mysql_plugin", "name", "ensure soname", "provider")),
		of("mysql", row("mysql_user", "name",
			"ensure password_hash plugin max_user_connections max_connections_per_hour max_queries_per_hour max_updates_per_hour tls_options", "provider")),
		row("notify", "name", "message", "withpath"),
		shared(row("package", "name", "ensure package_settings flavor mark",
			"provider command source instance status adminfile responsefile configfiles category platform root vendor description allowcdrom enable_only "+
				"install_only install_options uninstall_options allow_virtual reinstall_on_refresh"), "command", "provider"),
		of("postgresql", row("postgresql_conf", "name", "ensure value comment", "key target provider")),
		of("postgresql", row("postgresql_conn_validator", "name", "ensure",
			"db_name db_username db_password host port connect_settings sleep tries psql_path run_as command provider")),
		of("postgresql", row("postgresql_psql", "name", "command",
			"unless onlyif connect_settings db port search_path psql_path psql_user psql_group cwd environment refreshonly instance sensitive provider")),
		of("postgresql", row("postgresql_replication_slot", "name", "ensure", "provider")),
		of("rabbitmq", row("rabbitmq_plugin", "name", "ensure", "mode umask provider")),
		of("rabbitmq", row("rabbitmq_policy", "name", "ensure pattern applyto definition priority", "provider")),
		of("rabbitmq", row("rabbitmq_user", "name", "ensure password admin tags", "provider")),
		of("rabbitmq", row("rabbitmq_user_permissions", "name", "ensure configure_permission read_permission write_permission", "provider")),
		of("rabbitmq", row("rabbitmq_vhost", "name", "ensure description default_queue_type tags", "provider")),
		of("lvm", row("physical_volume", "name", "ensure", "unless_vg force provider")),
		row("resources", "name", "", "purge unless_system_user unless_uid"),
		row("schedule", "name", "", "range periodmatch period repeat weekday"),
		row("selboolean", "name", "value", "persistent provider"),
		of("selinux", row("selinux_fcontext", "title", "ensure file_type seltype seluser selrole selrange", "pathspec provider")),
		of("selinux", row("selinux_fcontext_equivalence", "path", "ensure target", "provider")),
		of("selinux", row("selinux_permissive", "seltype", "ensure", "local provider")),
		of("selinux", row("selinux_port", "title", "ensure low_port high_port protocol seltype source", "provider")),
		row("selmodule", "name", "ensure syncversion", "selmoduledir selmodulepath provider"),
		row("service", "name", "ensure enable logonaccount flags",
			"logonpassword binary hasstatus path pattern restart start status stop control hasrestart manifest timeout provider"),
		row("ssh_authorized_key", "name", "ensure type key user target options", "drop_privileges provider"),
		shared(row("sshkey", "name", "ensure key host_aliases target", "type provider"), "type"),
		of("openssl", row("ssl_pkey", "path", "ensure owner group mode", "authentication size curve password provider")),
		row("stage", "name", "", ""),
		of("swap_file", row("swap_file", "file", "ensure type size used priority", "provider")),
		of("augeasproviders_sysctl", row("sysctl", "name", "ensure val value comment", "target apply persist silent provider")),
		of("systemd", row("systemd_purge_units", "path", "ensure", "unit_types provider")),
		shared(row("tidy", "path", "", "recurse max_files matches backup age size type rmdirs")),
		row("user", "name",
			"ensure home uid gid comment shell password password_min_age password_max_age password_warn_days groups expiry roles auths profiles keys "+
				"project attributes salt iterations loginclass",
			"membership system allowdupe managehome role_membership auth_membership profile_membership key_membership ia_load_module "+
				"attribute_membership forcelocal purge_ssh_keys provider"),
		of("vcsrepo", row("vcsrepo", "path", "ensure source revision includes module skip_hooks",
			"fstype owner group user excludes force compression basic_auth_username basic_auth_password identity remote configuration cvs_rsh "+
				"depth branch p4config submodules conflict trust_server_cert keep_local_changes safe_directory umask http_proxy tmpdir provider")),
		of("lvm", row("volume_group", "name", "ensure physical_volumes", "extent_size followsymlinks createonly provider")),
		row("whit", "name", "", ""),
		of("openssl", row("x509_cert", "path", "ensure owner group mode",
			"private_key days force password req_ext template csr ca cakey cakey_password provider")),
		of("openssl", row("x509_request", "path", "ensure owner group mode", "force password template private_key encrypted provider")),
		row("yumrepo", "name",
			"assumeyes bandwidth baseurl cost deltarpm_metadata_percentage deltarpm_percentage descr enabled enablegroups exclude failovermethod gpgcakey "+
				"gpgcheck gpgkey http_caching include includepkgs keepalive metadata_expire metalink minrate mirrorlist mirrorlist_expire module_hotfixes "+
				"password payload_gpgcheck priority protect proxy proxy_password proxy_username repo_gpgcheck retries s3_enabled skip_if_unavailable "+
				"sslcacert sslclientcert sslclientkey sslverify throttle timeout username ensure", "target provider"),
	}
}

func row(name, key, properties, params string) Type {
	return Type{Name: name, Key: key, Unique: true, Properties: strings.Fields(properties), Params: append([]string{key}, strings.Fields(params)...)}
}

// of is for a type that a module defines.
func of(module string, t Type) Type {
	t.Module = module
	return t
}

// shared is for a type whose key several resources can have. If the type has other
// parameters of which one must then differ, also names them.
func shared(t Type, also ...string) Type {
	t.Unique, t.Also = false, also
	return t
}
