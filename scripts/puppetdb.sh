#!/bin/bash
# puppetdb.sh start DIR [HTTP HTTPS SQL]   start a PuppetDB and write what reaches it to DIR
# puppetdb.sh serve DIR [HTTP HTTPS SQL]   the same, say "ready" on standard output, and stop it at the end of standard input
# puppetdb.sh stop DIR                     stop it (DIR stays)
#
# A throwaway PuppetDB with a PostgreSQL of its own, on loopback, from the distribution's packages puppetdb and
# postgresql (setup.sh test). It touches no system service, no cluster of the distribution's and no file outside DIR, and
# works for root and for an ordinary user. HTTP, HTTPS and SQL are ports (default 18080, 18081, 18082).
#
# DIR then holds: ssl/ca.pem, ssl/client.pem and ssl/client.key, with which https://localhost:HTTPS answers; other
# certificates of the same authority (ssl/ca.key) are refused. http://localhost:HTTP answers everybody on this machine.
set -eu

readonly jar=/usr/share/puppetdb/puppetdb.jar
readonly patience=300 # seconds until it answers, on a busy machine

die() { echo "puppetdb: $*" >&2; exit 1; }
usage() { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

# as COMMAND...: neither PostgreSQL nor PuppetDB needs root, and PostgreSQL refuses it. The process stays the command's own.
as() {
	if [ "$(id -u)" = 0 ]; then
		exec setpriv --reuid=puppetdb --regid=puppetdb --clear-groups -- "$@"
	fi
	exec "$@"
}

# running FILE WORD: the process that a pid file names, if it runs and is ours.
running() {
	local pid
	[ -s "$1" ] && read -r pid <"$1" && tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qF -- "$dir/$2" && echo "$pid"
}

java_pid() { running "$dir/run/java.pid" conf.d; }
sql_pid() { running "$dir/sql/postmaster.pid" sql; }

stop() {
	local pid tries
	# PuppetDB holds connections to the database, so it goes first. It has nothing that must be kept.
	if pid=$(java_pid); then
		kill -KILL "$pid"
		while [ -n "$(java_pid)" ]; do sleep 0.05; done
	fi
	if pid=$(sql_pid); then
		kill -QUIT "$pid" # its fastest way to end, and all its processes with it
		for ((tries = 0; tries < 200; tries++)); do
			[ -n "$(sql_pid)" ] || break
			sleep 0.05
		done
	fi
	rm -f "$dir/run/java.pid"
}

database() {
	local bin sql="$dir/sql"
	bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' | sort -V | tail -n 1)
	[ -n "$bin" ] || die 'initdb is not installed: install postgresql'
	if [ ! -f "$sql/PG_VERSION" ]; then
		(as "$bin/initdb" -D "$sql" -U postgres -E UTF8 --locale=C.UTF-8 -A trust) >"$dir/run/initdb.log" 2>&1 ||
			die "initdb: $(tail -n 3 "$dir/run/initdb.log")"
	fi
	# What is thrown away needs no disk.
	(as setsid "$bin/postgres" -D "$sql" -p "$port_sql" -c listen_addresses=127.0.0.1 -c "unix_socket_directories=$dir/run" -c fsync=off \
		-c synchronous_commit=off -c full_page_writes=off -c shared_buffers=32MB) >"$dir/run/postgresql.log" 2>&1 </dev/null &
	local waited=0
	until "$bin/pg_isready" -q -h "$dir/run" -p "$port_sql"; do
		[ $((waited++)) -lt $((patience * 10)) ] && kill -0 $! 2>/dev/null || die "PostgreSQL: $(tail -n 3 "$dir/run/postgresql.log")"
		sleep 0.1
	done
	query() { "$bin/psql" -h "$dir/run" -p "$port_sql" -U postgres -X -q -A -t -v ON_ERROR_STOP=1 "$@"; }
	[ -z "$(query -d postgres -c "select 1 from pg_roles where rolname = 'reader'")" ] || return 0
	# Queries are made as a role that only reads, as PuppetDB's manual wants it.
	query -d postgres -c "create role puppetdb login" -c "create role reader login" -c "grant reader to puppetdb" \
		-c "create database puppetdb owner puppetdb encoding 'UTF8' template template0"
	query -d puppetdb -c 'create extension pg_trgm' -c 'revoke create on schema public from public' -c 'grant create on schema public to puppetdb' \
		-c 'alter default privileges for user puppetdb in schema public grant select on tables to reader' \
		-c 'alter default privileges for user puppetdb in schema public grant usage on sequences to reader' \
		-c 'alter default privileges for user puppetdb in schema public grant execute on functions to reader'
}

# certificate NAME EXTENSION...: signed by the authority of DIR.
certificate() {
	local name=$1
	shift
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" -keyout "$dir/ssl/$name.key" 2>/dev/null |
		openssl x509 -req -CA "$dir/ssl/ca.pem" -CAkey "$dir/ssl/ca.key" -CAcreateserial -days 30 -out "$dir/ssl/$name.pem" \
			-extfile <(printf '%s\n' "$@") 2>/dev/null
}

certificates() {
	[ ! -f "$dir/ssl/client.pem" ] || return 0
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj '/CN=test authority' \
		-addext 'keyUsage=critical,keyCertSign,cRLSign' -keyout "$dir/ssl/ca.key" -out "$dir/ssl/ca.pem" 2>/dev/null
	certificate server 'subjectAltName=DNS:localhost,IP:127.0.0.1' 'extendedKeyUsage=serverAuth'
	certificate client 'extendedKeyUsage=clientAuth'
	if [ "$(id -u)" = 0 ]; then chown puppetdb "$dir/ssl/server.key"; fi
}

configuration() {
	local section
	echo client >"$dir/conf.d/allowed"
	cat >"$dir/conf.d/config.ini" <<-END
		[global]
		vardir = $dir/var
		logging-config = $dir/logback.xml
		[puppetdb]
		disable-update-checking = true
		certificate-allowlist = $dir/conf.d/allowed
	END
	# What tests write stays, whatever its date.
	for section in 'database puppetdb' 'read-database reader'; do
		printf '[%s]\nsubname = //127.0.0.1:%s/puppetdb\nusername = %s\npassword = none\nmaximum-pool-size = 4\n' \
			"${section% *}" "$port_sql" "${section#* }"
		printf 'gc-interval = 0\nnode-ttl = 3650d\nnode-purge-ttl = 3650d\nreport-ttl = 3650d\n'
	done >"$dir/conf.d/database.ini"
	cat >"$dir/conf.d/jetty.ini" <<-END
		[jetty]
		host = 127.0.0.1
		port = $port_http
		ssl-host = 127.0.0.1
		ssl-port = $port_https
		ssl-key = $dir/ssl/server.key
		ssl-cert = $dir/ssl/server.pem
		ssl-ca-cert = $dir/ssl/ca.pem
	END
	cat >"$dir/conf.d/auth.conf" <<-'END'
		authorization: { version: 1, rules: [
		  { name: status, sort-order: 1, allow-unauthenticated: true, match-request: { path: "/status/v1", type: path, method: get } },
		  { name: rest, sort-order: 2, deny: "*", match-request: { path: "/", type: path } } ] }
	END
	cat >"$dir/logback.xml" <<-END
		<configuration><appender name="file" class="ch.qos.logback.core.FileAppender"><file>$dir/run/puppetdb.log</file>
		<encoder><pattern>%d %-5p %c{2} %m%n</pattern></encoder></appender><root level="warn"><appender-ref ref="file"/></root></configuration>
	END
}

# answers tells whether it takes requests. It must not be asked in other ways while it starts: that fills its log.
answers() {
	local line
	{
		exec 3<>"/dev/tcp/127.0.0.1/$port_http" &&
			printf 'GET /pdb/meta/v1/version HTTP/1.0\r\n\r\n' >&3 && read -r -t 5 line <&3 && exec 3>&-
	} 2>/dev/null && [[ $line == *' 200 '* ]]
}

start() {
	[ -f $jar ] || die "$jar does not exist: install puppetdb"
	umask 022
	mkdir -p "$dir"/{conf.d,run,sql,ssl,var}
	chmod 755 "$dir"
	if [ "$(id -u)" = 0 ]; then chown puppetdb "$dir"/{run,sql,var}; fi
	chmod 700 "$dir/sql"
	certificates
	configuration
	database
	# Little memory, and a quick start: what its quick compiler makes is quick enough.
	(as setsid java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.security.egd=file:/dev/urandom -Djava.io.tmpdir="$dir/run" \
		-cp $jar clojure.main -m puppetlabs.puppetdb.core services --config "$dir/conf.d" --bootstrap-config /etc/puppetdb/bootstrap.cfg) \
		>"$dir/run/console.log" 2>&1 </dev/null &
	local pid=$! waited=0
	echo $pid >"$dir/run/java.pid"
	until answers; do
		[ $((waited++)) -lt $((patience * 5)) ] && kill -0 $pid 2>/dev/null ||
			die "it does not answer: $(tail -n 20 "$dir/run/console.log" "$dir/run/puppetdb.log" 2>&1)"
		sleep 0.2
	done
}

[ $# -ge 2 ] || usage
action=$1
dir=$(realpath -m "$2")
port_http=${3:-18080} port_https=${4:-18081} port_sql=${5:-18082}
case $action in
start)
	trap stop ERR EXIT
	start
	trap - ERR EXIT
	echo "puppetdb: https://localhost:$port_https with $dir/ssl/{ca.pem,client.pem,client.key}, http://localhost:$port_http" >&2
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
