// Package provider lists the resource types that bolt applies.
package provider

import (
	"bolt/apply/provider/account"
	"bolt/apply/provider/alternatives"
	"bolt/apply/provider/anchor"
	"bolt/apply/provider/aptkey"
	"bolt/apply/provider/archive"
	"bolt/apply/provider/augeas"
	"bolt/apply/provider/concat"
	"bolt/apply/provider/cron"
	"bolt/apply/provider/debconf"
	"bolt/apply/provider/docker"
	"bolt/apply/provider/exec"
	"bolt/apply/provider/file"
	"bolt/apply/provider/fileline"
	"bolt/apply/provider/firewall"
	"bolt/apply/provider/firewalld"
	"bolt/apply/provider/host"
	"bolt/apply/provider/htpasswd"
	"bolt/apply/provider/httpcheck"
	"bolt/apply/provider/ini"
	"bolt/apply/provider/javaks"
	"bolt/apply/provider/kv"
	"bolt/apply/provider/lvm"
	"bolt/apply/provider/mongodb"
	"bolt/apply/provider/mount"
	"bolt/apply/provider/mysql"
	"bolt/apply/provider/notify"
	"bolt/apply/provider/openssl"
	"bolt/apply/provider/password"
	"bolt/apply/provider/pkg"
	"bolt/apply/provider/postgresql"
	"bolt/apply/provider/purge"
	"bolt/apply/provider/rabbitmq"
	"bolt/apply/provider/selinux"
	"bolt/apply/provider/service"
	"bolt/apply/provider/sshkey"
	"bolt/apply/provider/swapfile"
	"bolt/apply/provider/sysctl"
	"bolt/apply/provider/systemd"
	"bolt/apply/provider/tidy"
	"bolt/apply/provider/timer"
	"bolt/apply/provider/value"
	"bolt/apply/provider/vcsrepo"
	"bolt/apply/provider/yumrepo"
	"bolt/apply/resource"
)

// All returns the types, by capitalized name.
func All() map[string]resource.Type {
	types := map[string]resource.Type{
		"Alternative_entry":            alternatives.Entry(),
		"Alternatives":                 alternatives.Type(),
		"Anchor":                       anchor.Type(),
		"Apt_key":                      aptkey.Type(),
		"Archive":                      archive.Type(),
		"Augeas":                       augeas.Type(),
		"Cert_file":                    openssl.Downloaded(),
		"Concat_file":                  concat.File(),
		"Concat_fragment":              concat.Fragment(),
		"Cron":                         cron.Type(),
		"Debconf":                      debconf.Type(),
		"Dhparam":                      openssl.Parameters(),
		"Docker_compose":               docker.Compose(),
		"Docker_network":               docker.Network(),
		"Docker_stack":                 docker.Stack(),
		"Docker_volume":                docker.Volume(),
		"Exec":                         exec.Type(),
		"File":                         file.New(),
		"File_line":                    fileline.Type(),
		"Filesystem":                   lvm.Filesystem(),
		"Firewall":                     firewall.Type(),
		"Firewallchain":                firewall.Chain(),
		"Firewalld_port":               firewalld.Port(),
		"Firewalld_rich_rule":          firewalld.RichRule(),
		"Firewalld_service":            firewalld.Service(),
		"Firewalld_zone":               firewalld.Zone(),
		"Group":                        account.Group(),
		"Host":                         host.Type(),
		"Htgroup":                      htpasswd.Group(),
		"Htpasswd":                     htpasswd.Type(),
		"Http_check":                   httpcheck.Type(),
		"Ini_setting":                  ini.Setting(),
		"Ini_subsetting":               ini.Subsetting(),
		"Java_ks":                      javaks.Type(),
		"Kv":                           kv.Type(),
		"Logical_volume":               lvm.LogicalVolume(),
		"Loginctl_user":                systemd.User(),
		"Mongodb_conn_validator":       mongodb.ConnValidator(),
		"Mongodb_database":             mongodb.Database(),
		"Mongodb_user":                 mongodb.User(),
		"Mount":                        mount.Type(),
		"Mysql_database":               mysql.Database(),
		"Mysql_datadir":                mysql.Datadir(),
		"Mysql_grant":                  mysql.Grant(),
		"Mysql_plugin":                 mysql.Plugin(),
		"Mysql_user":                   mysql.User(),
		"Notify":                       notify.Type(),
		"Package":                      pkg.Type(),
		"Password":                     password.Type(),
		"Physical_volume":              lvm.PhysicalVolume(),
		"Postgresql_conf":              postgresql.Conf(),
		"Postgresql_conn_validator":    postgresql.ConnValidator(),
		"Postgresql_psql":              postgresql.Psql(),
		"Postgresql_replication_slot":  postgresql.ReplicationSlot(),
		"Rabbitmq_plugin":              rabbitmq.Plugin(),
		"Rabbitmq_policy":              rabbitmq.Policy(),
		"Rabbitmq_user":                rabbitmq.User(),
		"Rabbitmq_user_permissions":    rabbitmq.Permissions(),
		"Rabbitmq_vhost":               rabbitmq.Vhost(),
		"Selboolean":                   selinux.Boolean(),
		"Selinux_fcontext":             selinux.Fcontext(),
		"Selinux_fcontext_equivalence": selinux.Equivalence(),
		"Selinux_permissive":           selinux.Permissive(),
		"Selinux_port":                 selinux.Port(),
		"Selmodule":                    selinux.Module(),
		"Service":                      service.Type(),
		"Ssh_authorized_key":           sshkey.Authorized(),
		"Sshkey":                       sshkey.Type(),
		"Ssl_pkey":                     openssl.Key(),
		"Swap_file":                    swapfile.Type(),
		"Sysctl":                       sysctl.Type(),
		"Systemd_purge_units":          systemd.Purge(),
		"Tidy":                         tidy.Type{},
		"Timer":                        timer.Type(),
		"User":                         account.User(),
		"Value":                        value.Type(),
		"Vcsrepo":                      vcsrepo.Type(),
		"Volume_group":                 lvm.VolumeGroup(),
		"X509_cert":                    openssl.Certificate(),
		"X509_request":                 openssl.Request(),
		"Yumrepo":                      yumrepo.Type(),
	}
	types["Resources"] = purge.Type(types)
	return types
}
