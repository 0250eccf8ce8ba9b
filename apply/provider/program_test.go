package provider_test

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"unicode"
	"unicode/utf8"

	"bolt/apply/provider"
	"bolt/apply/provider/hosttest"
	"bolt/apply/provider/providertest"
	"bolt/apply/resource"
)

// programs has a resource of each type that runs programs, the programs of the target, and the files that it needs: PATH or PATH:TEXT.
var programs = []struct {
	resource, programs, files string
	trusted                   bool // the exit code decides, because the programs that succeed print no result that is read
}{
	{`Alternatives[editor] {"path":"/usr/bin/vi"}`, "update-alternatives", "", false},
	{`Alternative_entry[/usr/bin/vi] {"ensure":"present","altlink":"/usr/bin/editor","altname":"editor","priority":10}`, "update-alternatives", "", false},
	{`Apt_key[0123456789ABCDEF0123456789ABCDEF01234567] {"ensure":"present","server":"hkp://keys.example.com"}`, "apt-key gpg", "", true},
	{`Archive[/srv/a.tgz] {"source":"https://www.example.com/a.tgz"}`, "curl tar", "", true},
	{`Augeas[a] {"context":"/files/etc/hosts","changes":"set 1/ipaddr 127.0.0.1"}`, "augtool", "", false},
	{`Cert_file[/srv/c.crt] {"ensure":"present","source":"https://www.example.com/c.crt"}`, "curl openssl", "", false},
	{`Cron[c] {"command":"/bin/true","minute":"5"}`, "crontab", "etc/passwd:root:x:0:0::/root:/bin/sh", false},
	{`Debconf[man-db/auto-update] {"package":"man-db","type":"boolean","value":"true"}`, "debconf-communicate debconf-set-selections", "", false},
	{`Dhparam[/srv/d.pem] {"ensure":"present","fastmode":true}`, "openssl", "", false},
	{`Docker_compose[c] {"ensure":"present","compose_files":["/srv/compose.yaml"]}`, "docker", "srv/compose.yaml:{\"services\":{\"a\":{\"image\":\"b\"}}}", false},
	{`Docker_network[n] {"ensure":"present"}`, "docker", "", false},
	{`Docker_stack[s] {"ensure":"present","compose_files":["/srv/compose.yaml"]}`, "docker", "srv/compose.yaml:{\"version\":\"3\",\"services\":{\"a\":{\"image\":\"b\"}}}", true},
	{`Docker_volume[v] {"ensure":"present"}`, "docker", "", false},
	{`Filesystem[/dev/v/l] {"ensure":"present","fs_type":"ext4"}`, "blkid mkfs.ext4", "dev/v/l", false},
	{`Firewall[100 ssh] {"proto":"tcp","dport":22,"jump":"accept"}`, "iptables iptables-save ip6tables ip6tables-save", "", false},
	{`Firewallchain[OWN:filter:IPv4] {"ensure":"present"}`, "iptables iptables-save ip6tables ip6tables-save", "", false},
	{`Firewalld_port[p] {"zone":"public","port":"80","protocol":"tcp"}`, "firewall-cmd firewall-offline-cmd", "", true},
	{`Firewalld_rich_rule[r] {"zone":"public","raw_rule":"rule service name=\"ssh\" accept"}`, "firewall-cmd firewall-offline-cmd", "", true},
	{`Firewalld_service[s] {"zone":"public","service":"ssh"}`, "firewall-cmd firewall-offline-cmd", "", true},
	{`Firewalld_zone[own] {"ensure":"present"}`, "firewall-cmd firewall-offline-cmd", "", true},
	{`Group[g] {"ensure":"present","gid":4242}`, "groupadd groupmod groupdel gpasswd getent", "etc/group", true},
	{`Java_ks[a:/srv/ks] {"ensure":"absent","password":"changeit"}`, "keytool openssl", "srv/ks:x", true},
	{`Logical_volume[l] {"ensure":"present","volume_group":"v","size":"1G"}`, "lvs lvcreate vgs pvs", "", false},
	{`Loginctl_user[root] {"linger":"enabled"}`, "loginctl", "", true},
	{`Mount[/srv] {"ensure":"mounted","device":"/dev/x","fstype":"ext4"}`, "mount umount", "etc/fstab proc/self/mounts:proc", true},
	{`Mongodb_database[d] {"ensure":"present"}`, "mongosh", "", false},
	{`Mongodb_user[u] {"ensure":"present","database":"d","username":"u","password":"p"}`, "mongosh", "", false},
	{`Mysql_database[d] {"ensure":"present"}`, "mysql", "", false},
	{`Mysql_grant[u@h/d.*] {"user":"u@h","table":"d.*","privileges":["SELECT"]}`, "mysql", "", false},
	{`Mysql_plugin[auth_socket] {"ensure":"present","soname":"auth_socket.so"}`, "mysql", "", false},
	{`Mysql_user[u@h] {"ensure":"present"}`, "mysql", "", false},
	{`Package[p] {"ensure":"present"}`, "apt-get dpkg-query dpkg", "etc/os-release:ID=debian", true},
	{`Package[p] {"ensure":"present","provider":"gem"}`, "gem", "", false},
	{`Package[p] {"ensure":"present","provider":"npm"}`, "npm", "", false},
	{`Package[p] {"ensure":"present","provider":"pip3"}`, "pip3", "", true},
	{`Physical_volume[/dev/x] {"ensure":"present"}`, "pvs pvcreate blkid", "dev/x", false},
	{`Postgresql_conn_validator[c] {"db_name":"d"}`, "psql", "etc/passwd:postgres:x:0:0::/:/bin/sh etc/group:postgres:x:0:", true},
	{`Postgresql_psql[SELECT 1] {"db":"d"}`, "psql", "etc/passwd:postgres:x:0:0::/:/bin/sh etc/group:postgres:x:0:", true},
	{`Postgresql_replication_slot[s] {"ensure":"present"}`, "psql", "etc/passwd:postgres:x:0:0::/:/bin/sh etc/group:postgres:x:0:", true},
	{`Rabbitmq_plugin[p] {"ensure":"present"}`, "rabbitmq-plugins rabbitmqctl", "", true},
	{`Rabbitmq_user[u] {"ensure":"present","password":"secret"}`, "rabbitmqctl", "", false},
	{`Rabbitmq_vhost[v] {"ensure":"present"}`, "rabbitmqctl", "", false},
	{`Selboolean[b] {"value":"on"}`, "getsebool setsebool", "", false},
	{`Selinux_permissive[httpd_t] {"ensure":"present"}`, "semanage", "", true},
	{`Selinux_port[p] {"ensure":"present","seltype":"http_port_t","low_port":80,"high_port":80,"protocol":"tcp"}`, "semanage", "", false},
	{`Selmodule[m] {"ensure":"present","selmodulepath":"/srv/m.pp"}`, "semodule", "srv/m.pp", true},
	{`Service[s] {"ensure":"running"}`, "systemctl", "proc/1/comm:systemd run/systemd/system/x", true},
	{`Ssl_pkey[/srv/k.pem] {"ensure":"present"}`, "openssl", "", false},
	{`Swap_file[/swap] {"ensure":"present"}`, "blkid mkswap swapon swapoff", "swap proc/swaps:Filename", false},
	{`User[u] {"ensure":"present","uid":4242}`, "useradd usermod userdel chage getent", "etc/passwd etc/group etc/shadow", true},
	{`Vcsrepo[/srv/r] {"ensure":"present","provider":"git","source":"https://www.example.com/r.git"}`, "git", "", false},
	{`Volume_group[v] {"ensure":"present","physical_volumes":["/dev/x"]}`, "vgs pvs vgcreate", "dev/x", false},
	{`X509_cert[/srv/c.crt] {"ensure":"present","private_key":"/srv/k.pem","template":"/srv/t.cnf"}`, "openssl", "srv/k.pem srv/t.cnf", false},
	{`X509_request[/srv/c.csr] {"ensure":"present","private_key":"/srv/k.pem","template":"/srv/t.cnf"}`, "openssl", "srv/k.pem srv/t.cnf", false},
}

// absent matches the error of a type without its program. A host without a known package manager or init system has another one.
var absent = regexp.MustCompile(`the program \S+ is missing|package manager|init script s does not exist`)

// TestProgramFaults applies a resource of each type whose programs are missing, print bytes that mean nothing, or hang.
func TestProgramFaults(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	noise = append(noise, "\x00\x1b]0;title\a\x1b[31m\u202e\xff\n\tx"...)
	for _, c := range programs {
		t.Run(c.resource, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // rabbitmqctl is tried again for minutes
				apply := func(names string, run func(*resource.Command) (*resource.Output, error)) string {
					t.Helper()
					m := providertest.Scripted(t, names, nil)
					for f := range strings.FieldsSeq(c.files) {
						name, text, _ := strings.Cut(f, ":")
						m.Write(name, text, 0o644)
					}
					m.Host.Run = func(_ context.Context, cmd *resource.Command) (*resource.Output, error) {
						if cmd.Timeout == 0 {
							t.Errorf("%q has no time limit", cmd.Argv)
						}
						return run(cmd)
					}
					place := strings.NewReplacer(`"/srv/`, `"`+m.Root+"/srv/", "[/srv/", "["+m.Root+"/srv/", ":/srv/", ":"+m.Root+"/srv/").Replace
					if err := os.MkdirAll(filepath.Join(m.Root, "srv"), 0o755); err != nil {
						t.Fatal(err)
					}
					got, err := hosttest.Try(t, m.Host, provider.All(), false, place(c.resource))
					if err != nil {
						t.Fatal(err)
					}
					bad := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }
					if i := strings.IndexFunc(got, bad); i >= 0 || !utf8.ValidString(got) || len(got) > 4000 {
						t.Errorf("%d bytes that are not safe to print: %.300q", len(got), got)
					}
					return got
				}
				failed := func(what, got string) {
					t.Helper()
					if !strings.Contains(got, " failed") {
						t.Errorf("%s: %q", what, got)
					}
				}
				got := apply("", func(cmd *resource.Command) (*resource.Output, error) {
					if filepath.IsAbs(cmd.Argv[0]) {
						t.Errorf("%q runs, but does not exist", cmd.Argv)
					}
					return resource.Exec(t.Context(), &resource.Command{Argv: []string{"no-" + cmd.Argv[0]}})
				})
				failed("no program", got)
				if !absent.MatchString(got) {
					t.Errorf("the error does not name the missing program: %q", got)
				}
				got = apply(c.programs, func(*resource.Command) (*resource.Output, error) {
					return &resource.Output{Stdout: noise, Stderr: noise}, nil
				})
				if !c.trusted {
					failed("noise, exit code 0", got)
				}
				failed("noise, exit code 3", apply(c.programs, func(*resource.Command) (*resource.Output, error) {
					return &resource.Output{Stdout: noise, Stderr: noise, Code: 3}, nil
				}))
				got = apply(c.programs, func(*resource.Command) (*resource.Output, error) { return nil, resource.ErrTimeout })
				failed("a program that hangs", got)
				if !strings.Contains(got, "timed out") {
					t.Errorf("the error does not name the time limit: %q", got)
				}
			})
		})
	}
}
