#!/bin/sh
# Installs the agent from the packages of a collection: a package that sets up
# the collection's repository comes first, and the agent from there.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"
. "$PT__installdir/sh_task_helper/files/os.sh"

# What was done is the task's output, with an error or without.
log=
say() {
	log=$log$1$newline
}
finish() {
	json_object _output "$log"
	exit 0
}
fail() {
	printf '{"_output":'
	json_string "$log"
	printf ',"_error":{"kind":"puppet_agent/install-error","msg":'
	json_string "$1"
	printf ',"details":{}}}\n'
	exit 1
}

# given VALUE: the value of a parameter; undef of a plan is null.
given() {
	[ "$1" = null ] || printf '%s' "$1"
}
version=$(given "${PT_version-}")
collection=$(given "${PT_collection-}")
collection=${collection:-puppet}
source_url=$(given "${PT_absolute_source-}")
yum_source=$(given "${PT_yum_source-}")
apt_source=$(given "${PT_apt_source-}")
username=$(given "${PT_username-}")
password=$(given "${PT_password-}")
retry=$(given "${PT_retry-}")
retry=${retry:-5}

only version "$version" 'A-Za-z0-9._+~-'
only collection "$collection" 'a-z0-9-'
only retry "$retry" '0-9'
for url in "$source_url" "$yum_source" "$apt_source"; do
	case $url in
	'' | http://* | https://* | file://*) only source "$url" 'A-Za-z0-9._~:/?#@!$&()*+,;=%-' ;;
	*) fail "a source is a URL of http, https or file: $url" ;;
	esac
done
case $username$password in
*"$newline"*) fail 'username and password are one line each' ;;
esac

# What there is, and whether it will do.
if [ -r /opt/puppetlabs/puppet/VERSION ]; then
	installed=$(cat /opt/puppetlabs/puppet/VERSION)
else
	installed=$(puppet --version 2>/dev/null)
fi
if [ -z "$version" ]; then
	if [ -n "$installed" ]; then
		say "Version $installed is installed, and no other one was asked for."
		finish
	fi
	version=latest
elif [ "$version" = "$installed" ]; then
	say "Version $installed is installed."
	finish
fi

# Where a collection is, and what the packages are called in it.
package=puppet-agent
release=$collection
user_needed=
key=https://yum.puppet.com/RPM-GPG-KEY-puppet
case $collection in
puppetcore*-nightly)
	if [ -z "$source_url$yum_source" ] || [ -z "$source_url$apt_source" ]; then
		fail "the collection $collection has no public source: give yum_source and apt_source"
	fi
	release=puppet${collection#puppetcore}
	;;
puppetcore*)
	yum=https://yum-puppetcore.puppet.com/public apt=https://apt-puppetcore.puppet.com/public
	key=$yum/RPM-GPG-KEY-puppet
	release=puppet${collection#puppetcore}
	user_needed=yes
	[ -n "$password" ] || fail "the collection $collection needs a password"
	;;
puppet*nightly) yum=https://nightlies.puppet.com/yum apt=https://nightlies.puppet.com/apt ;;
puppet*) yum=https://yum.puppet.com apt=https://apt.puppet.com ;;
openvox*)
	yum=https://yum.voxpupuli.org apt=https://apt.voxpupuli.org
	key=$yum/GPG-KEY-openvox.pub
	package=openvox-agent
	[ "$collection" != openvox ] || release=openvox8
	;;
*) fail "unknown collection $collection" ;;
esac
yum=${yum_source:-${yum-}}
apt=${apt_source:-${apt-}}

case $os_name in
Debian | Ubuntu | Linuxmint | Raspbian)
	kind=deb
	codename=$os_codename
	if [ "$os_name" = Linuxmint ]; then
		# Mint's own codenames are of no use: what it is built on counts.
		codename=$(awk -F= '$1 == "UBUNTU_CODENAME" || $1 == "DEBIAN_CODENAME" { gsub(/"/, "", $2); print $2; exit }' /etc/os-release)
	fi
	case $collection:$os_name in
	openvox*:Ubuntu) file=$release-release-ubuntu$os_full.deb ;;
	openvox*) file=$release-release-debian$os_major.deb ;;
	*) file=$release-release-$codename.deb ;;
	esac
	url=$apt/$file
	;;
Fedora) kind=rpm file=$release-release-fedora-$os_major.noarch.rpm ;;
Amazon)
	kind=rpm
	case $os_major:$(uname -m) in
	2:x86_64) file=$release-release-el-7.noarch.rpm ;;
	*) file=$release-release-amazon-$os_major.noarch.rpm ;;
	esac
	;;
SLES) kind=zypper file=$release-release-sles-$os_major.noarch.rpm ;;
*)
	[ "$os_family" = RedHat ] || fail "packages of the agent for $os_name $os_full do not exist"
	kind=rpm file=$release-release-el-$os_major.noarch.rpm
	;;
esac
[ "$kind" = deb ] || url=$yum/$file
url=${source_url:-$url}

if [ "${PT__noop-}" = true ]; then
	say "Would set up the collection $collection with $url and install $package, version $version."
	finish
fi
[ "$(id -u)" = 0 ] || fail 'only root can install the agent: connect as root, or use --run-as root'

# again COMMAND...: runs a command until it succeeds, and retries it as often as
# the parameter says.
again() {
	tries=$retry
	until try "$@"; do
		[ "$tries" -gt 0 ] || fail "$(said "$@")"
		tries=$((tries - 1))
		say "Trying again: $(said "$@" | tail -n 1)"
		sleep 1
	done
}

# download URL FILE: the user name and the password, where there are any, are
# read from a file: arguments can be seen by everybody.
download() {
	(
		umask 077
		: >"$PT__installdir/.login.$$"
	)
	case $url in
	"$yum"/* | "$apt"/*) login=$password ;;
	*) login=${source_url:+$password} ;;
	esac
	case $1:$(first_of curl wget) in
	file://*) must cp "${1#file://}" "$2" ;;
	*:curl)
		[ -z "$login" ] || printf 'user = "%s"\n' "$(printf '%s' "${username:-forge-key}:$password" | sed 's/[\\"]/\\&/g')" >"$PT__installdir/.login.$$"
		again curl --fail --silent --show-error --location --config "$PT__installdir/.login.$$" --output "$2" "$1"
		;;
	*:wget)
		[ -z "$login" ] || printf 'user = %s\npassword = %s\n' "${username:-forge-key}" "$password" >"$PT__installdir/.login.$$"
		WGETRC=$PT__installdir/.login.$$
		export WGETRC
		again wget -q -O "$2" "$1"
		unset WGETRC
		;;
	*)
		if [ ! -x /usr/lib/apt/apt-helper ] || [ -n "$login" ]; then
			fail 'a download needs curl or wget'
		fi
		again /usr/lib/apt/apt-helper download-file "$1" "$2"
		;;
	esac
	rm -f "$PT__installdir/.login.$$"
	[ -s "$2" ] || fail "$1 is empty"
	say "Downloaded $1."
}

# credentials FILE SEPARATOR USER-KEY: puts the user name and the password into a
# file of "key SEPARATOR value" lines that the repository's package brought.
credentials() {
	[ -n "$user_needed" ] && [ -n "$password" ] || return 0
	[ -e "$1" ] || fail "$url brought no $1 to keep the user name and the password in"
	new=$(mktemp "$1.XXXXXX") || fail "cannot write to ${1%/*}"
	if ! user=${username:-forge-key} password=$password LC_ALL=C awk -v separator="$2" -v key="$3" '
		function put() {
			print key separator ENVIRON["user"]
			print "password" separator ENVIRON["password"]
			done = 1
		}
		{
			name = $0
			sub(/^#/, "", name)
			sub(/[ \t=].*$/, "", name)
			if (name == key) { if (separator == "=" || !done) put(); next }
			if (name == "password") next
			print
		}
		END { if (!done) put() }' "$1" >"$new" || ! cat "$new" >"$1"; then
		rm -f "$new"
		fail "cannot change $1"
	fi
	rm -f "$new"
}

# Repositories of other collections would win over the new one, or lose to it.
# others COMMAND...: removes each release package in the list on standard input
# that is not the new one, $own.
others() {
	while read -r other; do
		case $other in
		"$own" | '') ;;
		puppet-release | puppet-nightly-release | puppet[0123456789]*-release | openvox[0123456789]*-release) try "$@" "$other" && say "Removed $other." ;;
		esac
	done
}

setup=$PT__installdir/$file
download "$url" "$setup"
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
case $kind in
deb)
	own=$(dpkg-deb --field "$setup" Package) || fail "$url is no Debian package"
	# shellcheck disable=SC2016 # dpkg-query expands this
	dpkg-query --show --showformat '${Package}\n' >"$PT__installdir/.packages.$$" 2>/dev/null
	others dpkg --purge <"$PT__installdir/.packages.$$"
	must dpkg --install --force-confmiss --force-confdef --force-confold "$setup"
	credentials /etc/apt/auth.conf.d/apt-puppetcore-puppet.conf ' ' login
	again apt-get -q -y -o DPkg::Lock::Timeout=60 update
	if [ "$version" = latest ]; then
		again apt-get -q -y -o DPkg::Lock::Timeout=60 install "$package"
	else
		again apt-get -q -y -o DPkg::Lock::Timeout=60 --allow-downgrades install "$package=$version-*"
	fi
	;;
*)
	own=$(rpm -q --qf '%{NAME}' --package "$setup" 2>/dev/null) || fail "$url is no RPM package"
	rpm -qa --qf '%{NAME}\n' >"$PT__installdir/.packages.$$" 2>/dev/null
	others rpm --erase <"$PT__installdir/.packages.$$"
	if [ "$kind" = zypper ]; then
		download "$key" "$PT__installdir/key"
		must rpm --import "$PT__installdir/key"
		must rpm --upgrade --oldpackage --replacepkgs "$setup"
		credentials /etc/zypp/credentials.d/PuppetcoreCreds = username
		if [ "$version" = latest ]; then
			again zypper --non-interactive install "$package"
		else
			again zypper --non-interactive install --oldpackage --no-recommends "$package=$version"
		fi
	else
		must rpm --upgrade --oldpackage --replacepkgs "$setup"
		credentials "/etc/yum.repos.d/$release-release.repo" = username
		program=$(first_of dnf yum) || fail 'there is neither dnf nor yum on this system'
		if [ "$version" = latest ]; then
			again "$program" -y install "$package"
			again "$program" -y upgrade "$package"
		else
			again "$program" -y install "$package-$version"
		fi
	fi
	;;
esac
say "Installed $package $version from the collection $collection."

if [ "$(given "${PT_stop_service-}")" = true ]; then
	must /opt/puppetlabs/bin/puppet resource service puppet ensure=stopped enable=false
	say 'Stopped and disabled the service puppet.'
fi
finish
