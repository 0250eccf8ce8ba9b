#!/bin/bash
# kdc.sh start DIR [KDC SSH]   start a KDC and an SSH server that takes its tickets, and say how they are reached
# kdc.sh serve DIR [KDC SSH]   the same, say "ready" on standard output, and stop them at the end of standard input
# kdc.sh stop DIR              stop them (DIR stays)
#
# Throwaway Kerberos realms on loopback, from the distribution's packages krb5-kdc, krb5-admin-server, krb5-user and
# openssh-server (setup.sh test). No file outside DIR is written, no system service, keytab or account touched, and it
# works for root and for an ordinary user, who is the one that can log in. KDC and SSH are ports (default 18088, 12222).
#
# The realm BOLT.TEST has the principals tester (password "tester", keytab DIR/user.keytab), who may log in, guest
# (password "guest"), who may not, and host/localhost (DIR/host.keytab). The realm OTHER.TEST, which trusts it and is
# trusted by it, has traveller (password "traveller") and host/far.other.test. DIR/krb5.conf says where they are.
set -eu

readonly patience=30 # seconds until they answer, on a busy machine

die() { echo "kdc: $*" >&2; exit 1; }
usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

# running FILE NAME: the process that a pid file names, if it runs and is that program. One that has ended, and that
# nobody has asked about yet, has no command line any more.
running() {
	local pid
	[ -s "$1" ] && read -r pid <"$1" && { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep -qF -- "$2" && echo "$pid"
}

stop() {
	local pid name
	for name in sshd krb5kdc; do
		if pid=$(running "$dir/run/$name.pid" $name); then
			kill -KILL "$pid" # the data is not kept
			while [ -n "$(running "$dir/run/$name.pid" $name)" ]; do sleep 0.02; done
		fi
		rm -f "$dir/run/$name.pid"
	done
}

# listens PORT: somebody does.
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# started NAME PORT LOG: waits until what was started answers.
started() {
	local waited=0
	until listens "$2" && [ -n "$(running "$dir/run/$1.pid" "$1")" ]; do
		[ $((waited++)) -lt $((patience * 20)) ] || die "$1 does not answer: $(tail -n 5 "$3" 2>&1)"
		sleep 0.05
	done
}

configuration() {
	local realm
	cat >"$dir/krb5.conf" <<-END
		[libdefaults]
		    default_realm = BOLT.TEST
		    dns_lookup_realm = false
		    dns_lookup_kdc = false
		    dns_canonicalize_hostname = false
		    rdns = false
		    qualify_shortname = ""
		    forwardable = true
		    udp_preference_limit = 1
		    k5login_directory = $dir/k5login
		[realms]
		    BOLT.TEST = {
		        kdc = 127.0.0.1:$port_kdc
		        auth_to_local = DEFAULT
		    }
		    OTHER.TEST = {
		        kdc = 127.0.0.1:$port_kdc
		    }
		[domain_realm]
		    .other.test = OTHER.TEST
	END
	printf '[kdcdefaults]\nkdc_listen = 127.0.0.1:%s\nkdc_tcp_listen = 127.0.0.1:%s\n[logging]\nkdc = FILE:%s\n[domain_realm]\n[realms]\n' \
		"$port_kdc" "$port_kdc" "$dir/run/krb5kdc.log" >"$dir/kdc.conf"
	for realm in BOLT.TEST OTHER.TEST; do
		cat >>"$dir/kdc.conf" <<-END
			$realm = {
			    database_name = $dir/db/$realm
			    key_stash_file = $dir/db/$realm.stash
			    max_life = 10h
			    max_renewable_life = 7d
			    supported_enctypes = aes256-cts-hmac-sha384-192:normal aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
			    default_principal_flags = +forwardable,+renewable
			}
		END
	done
	{ echo tester@BOLT.TEST; echo traveller@OTHER.TEST; } >"$dir/k5login/$(id -un)"
}

# kadmin REALM: obeys the lines of standard input. It ends well whatever happens, so what it says is looked at.
kadmin() {
	local said
	said=$(kadmin.local -r "$1" 2>&1) || die "$said"
	! grep -q ' while ' <<<"$said" || die "$said"
}

databases() {
	[ ! -f "$dir/db/done" ] || return 0
	local realm
	for realm in BOLT.TEST OTHER.TEST; do
		kdb5_util create -r $realm -s -P "$(head -c 18 /dev/urandom | base64)" >"$dir/run/kdb5_util.log" 2>&1 ||
			die "kdb5_util: $(tail -n 3 "$dir/run/kdb5_util.log")"
		printf 'addprinc -pw %s %s\n' "$trust" krbtgt/OTHER.TEST@BOLT.TEST "$trust" krbtgt/BOLT.TEST@OTHER.TEST | kadmin $realm
	done
	kadmin BOLT.TEST <<-END
		addprinc -pw tester tester
		addprinc -pw guest guest
		addprinc -randkey host/localhost
		addprinc -randkey host/keyless.test
		ktadd -norandkey -k $dir/user.keytab tester
		ktadd -norandkey -k $dir/host.keytab host/localhost
		ktadd -norandkey -k $dir/keyless.keytab host/keyless.test
	END
	kadmin OTHER.TEST <<-END
		addprinc -pw traveller traveller
		addprinc -randkey host/far.other.test
		ktadd -norandkey -k $dir/host.keytab host/far.other.test
	END
	touch "$dir/db/done"
}

sshd() {
	[ -f "$dir/ssh_host_ed25519_key" ] || ssh-keygen -q -t ed25519 -N '' -f "$dir/ssh_host_ed25519_key"
	cat >"$dir/sshd_config" <<-END
		ListenAddress 127.0.0.1:$port_ssh
		HostKey $dir/ssh_host_ed25519_key
		PidFile $dir/run/sshd.pid
		AuthenticationMethods gssapi-with-mic
		GSSAPIAuthentication yes
		GSSAPIStrictAcceptorCheck no
		GSSAPICleanupCredentials yes
		PubkeyAuthentication no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin yes
		UsePAM no
		UseDNS no
		StrictModes no
		PrintMotd no
		Subsystem sftp internal-sftp
		MaxStartups 500
		SetEnv SHLVL=1 KRB5_CONFIG=$dir/krb5.conf
		LogLevel DEBUG1
	END
	echo "[localhost]:$port_ssh,[127.0.0.1]:$port_ssh,far.other.test $(cut -d ' ' -f 1,2 "$dir/ssh_host_ed25519_key.pub")" >"$dir/known_hosts"
	[ "$(id -u)" != 0 ] || mkdir -p /run/sshd
	# It takes its realms and keys from the environment.
	KRB5_KTNAME="FILE:$dir/host.keytab" /usr/sbin/sshd -f "$dir/sshd_config" -E "$dir/run/sshd.log"
	started sshd "$port_ssh" "$dir/run/sshd.log"
}

start() {
	local program
	for program in kdb5_util kadmin.local krb5kdc /usr/sbin/sshd ssh-keygen; do
		command -v $program >/dev/null || die "$program is not in PATH: install krb5-kdc, krb5-admin-server, krb5-user and openssh-server"
	done
	umask 077
	mkdir -p "$dir"/{db,k5login,run}
	configuration
	databases
	krb5kdc -r BOLT.TEST -r OTHER.TEST -P "$dir/run/krb5kdc.pid"
	started krb5kdc "$port_kdc" "$dir/run/krb5kdc.log"
	sshd
}

[ $# -ge 2 ] || usage
action=$1
dir=$(realpath -m "$2")
port_kdc=${3:-18088} port_ssh=${4:-12222}
trust=trust # the password of the principals by which the realms trust each other
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export KRB5_CONFIG="$dir/krb5.conf" KRB5_KDC_PROFILE="$dir/kdc.conf"
case $action in
start)
	trap stop ERR EXIT
	start
	trap - ERR EXIT
	cat >&2 <<-END
		kdc: export KRB5_CONFIG=$dir/krb5.conf KRB5CCNAME=FILE:$dir/ccache
		kdc: kinit tester     (the password is tester)
		kdc: ssh -o GSSAPIAuthentication=yes -o UserKnownHostsFile=$dir/known_hosts -p $port_ssh localhost
	END
	;;
serve)
	trap stop EXIT
	trap 'exit 1' HUP INT PIPE TERM
	start
	echo ready
	read -r _ || true
	;;
stop) stop ;;
*) usage ;;
esac
