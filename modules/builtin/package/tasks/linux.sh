#!/bin/sh
# Installs, removes, upgrades and looks at packages with the system's package
# manager.
#
# Each manager has functions of its own, called by its name: X_installed prints
# the version that is installed or nothing, X_latest the one that could be, if it
# knows, and X_install, X_uninstall and X_upgrade do that. Options of the user
# are words of $more.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"

# Messages are read below, so they have to be in English. LC_ALL as a whole stays
# out of it: programs that packages bring with them take their encoding from it
# for good, a database for one.
LANG=${LC_ALL:-${LANG-}}
[ -n "$LANG" ] || unset LANG
unset LC_ALL
LC_MESSAGES=C
export LC_MESSAGES

action=${PT_action-}
name=${PT_name-}
version=${PT_version-}
more=${PT_manager_options-}
provider=${PT_provider-}
# A parameter that a plan gives as undef is null.
[ "$version" != null ] || version=
[ "$more" != null ] || more=
[ "$provider" != null ] || provider=

# Nothing here may have a meaning of its own to a package manager: no patterns,
# no versions in names, no options.
plain name "$name"
case $name in
/*) only name "$name" 'A-Za-z0-9._+:~/@%^-' ;; # a file to install
*) only name "$name" 'A-Za-z0-9._+:@()-' ;;
esac
if [ -n "$version" ]; then
	plain version "$version"
	only version "$version" 'A-Za-z0-9._+:~^-'
fi
case $action in
install | status | uninstall | upgrade) ;;
*) fail "unknown action '$action': use install, status, uninstall or upgrade" 255 ;;
esac

# apt-get and dpkg

apt_installed() {
	# A package that was removed is still known by its configuration.
	# shellcheck disable=SC2016 # dpkg-query expands these
	dpkg-query --show --showformat '${Status}|${Version}\n' -- "$name" 2>/dev/null |
		awk -F'|' '$1 ~ / installed$/ { print $2; exit }'
}
apt_latest() {
	apt-cache policy -- "$name" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2; exit }'
}
apt_run() {
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	# shellcheck disable=SC2086 # words
	must apt-get -q -y -o DPkg::Lock::Timeout=60 $more "$@"
}
# Where there is no package of a name, apt-get takes it for something else: for a
# regular expression if it has a dot or a plus in it, for the opposite of the
# action if a plus or a minus is at its end.
apt_known() {
	# The name of an architecture after a colon has neither at its end.
	case $name in
	*:*[!abcdefghijklmnopqrstuvwxyz0123456789]) false ;;
	*) apt-cache --all-names pkgnames -- "${name%%:*}" 2>/dev/null | grep -Fqx -- "${name%%:*}" ;;
	esac || fail "package $name does not exist, or the package lists are out of date"
}
apt_install() {
	case $name in
	/*)
		apt_run install -- "$name"
		name=$(dpkg-deb --field "$name" Package)
		;;
	*)
		apt_known
		apt_run install -- "$name${version:+=$version}"
		;;
	esac
}
apt_uninstall() {
	[ -z "$(apt_installed)" ] || apt_run remove -- "$name"
	# What is left of it is part of the result: "deinstall ok config-files".
	# shellcheck disable=SC2016 # dpkg-query expands this
	left=$(dpkg-query --show --showformat '${Status}\n' -- "$name" 2>/dev/null | head -n 1)
	case $left in
	'' | *' not-installed') ;;
	*) uninstalled=$left ;;
	esac
}
apt_upgrade() {
	apt_known
	apt_run install --only-upgrade -- "$name${version:+=$version}"
}

# dnf, yum and rpm

# The name of the package that is installed for the name: another one may
# provide it, as vim-enhanced does vim.
rpm_name() {
	if rpm -q -- "$name" >/dev/null 2>&1; then
		printf '%s' "$name"
	else
		rpm -q --qf '%{NAME}\n' --whatprovides -- "$name" 2>/dev/null | head -n 1
	fi
}
rpm_version() {
	rpm_package=$(rpm_name)
	case $rpm_package in
	'' | 'no package provides'*) return 0 ;;
	esac
	# Of packages that may be there more than once, the last one is the newest.
	rpm -q --qf '%{VERSION}-%{RELEASE}\n' -- "$rpm_package" 2>/dev/null | tail -n 1
}
# The name of the package in a file, where that is what was installed.
rpm_file() {
	case $name in
	/*) name=$(rpm -q --qf '%{NAME}\n' --package -- "$name" 2>/dev/null) ;;
	esac
}
dnf_installed() { rpm_version; }
dnf_latest() {
	rpm_package=$(rpm_name)
	# Status 100 says that there are updates.
	"$program" -q check-update "${rpm_package:-$name}" 2>/dev/null </dev/null |
		awk -v name="${rpm_package:-$name}" '{ package = $1; sub(/\.[^.]*$/, "", package) } package == name { print $2; exit }'
}
dnf_run() {
	# shellcheck disable=SC2086 # words
	must "$program" -y $more "$@"
}
dnf_install() {
	dnf_run install "$name${version:+-$version}"
	rpm_file
}
dnf_uninstall() { [ -z "$(rpm_version)" ] || dnf_run remove "$name${version:+-$version}"; }
dnf_upgrade() {
	dnf_run upgrade "$name${version:+-$version}"
	# Some versions succeed at upgrading what does not exist.
	[ -n "$(rpm_version)" ] || fail "$name is not installed"
}

# zypper and rpm

zypper_installed() { rpm_version; }
zypper_latest() {
	zypper --non-interactive --no-refresh list-updates -t package --all 2>/dev/null </dev/null |
		awk -F'|' -v name="$name" '{ gsub(/ /, "") } $3 == name { print $5; exit }'
}
zypper_run() {
	# shellcheck disable=SC2086 # words
	must zypper --non-interactive $more "$@"
}
zypper_install() {
	case $name in
	/*)
		zypper_run install -- "$name"
		rpm_file
		;;
	*) zypper_run install --name -- "$name${version:+=$version}" ;;
	esac
}
zypper_uninstall() { [ -z "$(rpm_version)" ] || zypper_run remove --name -- "$name${version:+=$version}"; }
# "zypper update" keeps to the vendor, "install" of the latest version does not.
zypper_upgrade() {
	[ -n "$(rpm_version)" ] || fail "$name is not installed"
	zypper_new=${version:-$(zypper_latest)}
	[ -z "$zypper_new" ] || zypper_run install --name -- "$name=$zypper_new"
}

# apk

apk_installed() {
	apk list --installed "$name" 2>/dev/null | apk_version
}
apk_latest() {
	apk list --upgradable "$name" 2>/dev/null | apk_version
}
# A line is "NAME-VERSION ARCHITECTURE {ORIGIN} (LICENSE) [STATE]"; a version
# begins with a digit.
apk_version() {
	awk -v name="$name" 'index($1, name "-") == 1 {
		version = substr($1, length(name) + 2)
		if (version ~ /^[0-9]/) { print version; exit }
	}'
}
apk_run() {
	# shellcheck disable=SC2086 # words
	must apk $more "$@"
}
apk_install() { apk_run add "$name${version:+=$version}"; }
apk_uninstall() { [ -z "$(apk_installed)" ] || apk_run del "$name"; }
apk_upgrade() {
	[ -n "$(apk_installed)" ] || fail "$name is not installed"
	if [ -n "$version" ]; then
		apk_run add "$name=$version"
	else
		apk_run add --upgrade "$name"
	fi
}

# pacman

pacman_installed() { pacman -Q -- "$name" 2>/dev/null | awk '{ print $2; exit }'; }
pacman_latest() { pacman -Si -- "$name" 2>/dev/null | awk '$1 == "Version" { print $3; exit }'; }
pacman_run() {
	# shellcheck disable=SC2086 # words
	must pacman --noconfirm $more "$@"
}
pacman_install() {
	[ -z "$version" ] || fail 'pacman installs no other version than the latest one' 255
	pacman_run -S --needed -- "$name"
}
pacman_uninstall() { [ -z "$(pacman_installed)" ] || pacman_run -R -- "$name"; }
pacman_upgrade() {
	[ -n "$(pacman_installed)" ] || fail "$name is not installed"
	pacman_install
}

# pkg

pkg_installed() { pkg query %v "$name" 2>/dev/null | head -n 1; }
pkg_latest() { pkg rquery %v "$name" 2>/dev/null | head -n 1; }
pkg_run() {
	pkg_action=$1
	shift
	# shellcheck disable=SC2086 # words
	must pkg "$pkg_action" -y $more "$@"
}
pkg_install() { pkg_run install "$name${version:+-$version}"; }
pkg_uninstall() { [ -z "$(pkg_installed)" ] || pkg_run delete "$name"; }
pkg_upgrade() {
	[ -n "$(pkg_installed)" ] || fail "$name is not installed"
	pkg_run upgrade "$name"
}

# own_manager: the package manager of this system. It goes by what the system is
# before what is there: apt-get can be installed on Fedora, too.
own_manager() {
	ids=$(awk -F= '$1 == "ID" || $1 == "ID_LIKE" { gsub(/["\047]/, "", $2); print $2 }' /etc/os-release 2>/dev/null)
	for id in $ids; do
		case $id in
		debian | ubuntu) first_of apt-get && return ;;
		fedora | rhel | centos | amzn) first_of dnf yum && return ;;
		suse | opensuse | sles) first_of zypper && return ;;
		alpine) first_of apk && return ;;
		arch | archlinux) first_of pacman && return ;;
		esac
	done
	first_of apt-get dnf yum zypper apk pacman pkg
}

case $provider in
'') program=$(own_manager) || fail 'could not find a known package manager: apt-get, dnf, yum, zypper, apk, pacman or pkg' 255 ;;
apt | aptitude) program=apt-get ;;
dnf | yum | zypper | apk | pacman | pkg) program=$provider ;;
dnfmodule) program=dnf ;;
pkgng) program=pkg ;;
*) fail "unknown provider '$provider': use apt, dnf, yum, zypper, apk, pacman or pkg" 255 ;;
esac
command -v "$program" >/dev/null || fail "$program is not installed" 255
case $program in
apt-get) manager=apt ;;
yum) manager=dnf ;;
*) manager=$program ;;
esac

# status: what is installed, and what could be if that is another version.
status() {
	installed=$("${manager}_installed")
	if [ -z "$installed" ]; then
		json_object status uninstalled version ''
		return
	fi
	latest=$("${manager}_latest")
	if [ -n "$latest" ] && [ "$latest" != "$installed" ]; then
		json_object status installed version "$installed" latest "$latest"
	else
		json_object status installed version "$installed"
	fi
}

# name_of_file: makes name the name of the package in a file, where the manager
# can tell it without installing, and version the file's.
name_of_file() {
	case $manager:$name in
	apt:/*)
		version=$(dpkg-deb --field "$name" Version 2>/dev/null)
		name=$(dpkg-deb --field "$name" Package 2>/dev/null)
		;;
	dnf:/* | zypper:/*)
		version=$(rpm -q --qf '%{VERSION}-%{RELEASE}\n' --package -- "$name" 2>/dev/null)
		name=$(rpm -q --qf '%{NAME}\n' --package -- "$name" 2>/dev/null)
		;;
	esac
	[ -n "$name" ] || fail 'the file does not hold a package' 1
}

# offered: fails if the package manager does not offer the version. pkg is not asked.
offered() {
	case $manager in
	apt) must apt-get -q --simulate install -- "$name=$version" ;;
	apk) must apk add --simulate "$name=$version" ;;
	dnf)
		try "$program" -q list --showduplicates "$name-$version" ||
			fail "version $version of $name does not exist: $(said "$program")"
		;;
	zypper)
		# Installed packages that no repository has are in "(System Packages)". A version
		# without its release matches each release.
		zypper --non-interactive --no-refresh search --type package --match-exact --details -- "$name" 2>/dev/null </dev/null |
			awk -F'|' -v want="$version" '
				{ gsub(/ /, "") }
				$6 != "(SystemPackages)" && ($4 == want || index($4, want "-") == 1) { found = 1 }
				END { exit !found }' ||
			fail "the repositories of zypper do not have version $version of $name"
		;;
	esac
}

# noop: what the action would change. Options of the user are not passed to the package
# manager.
noop() {
	change=
	wanted=$version # before name_of_file sets it
	case $manager:$action:$version in
	pacman:install:?* | pacman:upgrade:?*) pacman_install ;; # fails
	esac
	[ "$action" != install ] || name_of_file
	case $action:$manager:$name in
	install:apt:/* | status:* | uninstall:*) ;;
	*:apt:*) [ -n "$version" ] && [ -n "$(apt_installed)" ] || apt_known ;;
	esac
	installed=$("${manager}_installed")
	latest=$("${manager}_latest")
	case $action:$manager:${installed:-none}:${latest:-none} in
	install:pacman:none:none | install:pkg:none:none) fail "package $name does not exist" ;;
	upgrade:apt:*) ;;
	upgrade:*:none:*) fail "$name is not installed" ;;
	esac
	case $action:$installed in
	uninstall:?*) change=uninstall ;;
	install:) change="install${version:+ $version}" ;;
	install:* | upgrade:?*)
		case $version:$installed in
		:*)
			# "apk add" leaves what is there.
			[ -z "$latest" ] || [ "$latest" = "$installed" ] || [ "$action:$manager" = install:apk ] || change="upgrade to $latest"
			;;
		"$installed:$installed") ;;
		*)
			# A version without its release is that version, where packages have releases.
			case $manager:$installed in
			dnf:"$version"-* | zypper:"$version"-* | apk:"$version"-*) ;;
			*) change="install $version" ;;
			esac
			;;
		esac
		;;
	esac
	[ "$change" != install ] || [ -z "$latest" ] || change="install $latest"
	# Options of the user can name further repositories, so that the manager would not
	# find a version without them.
	if [ -n "$wanted" ] && [ -z "$more" ] && [ "$change" = "install $wanted" ]; then
		offered
	fi
	case $action in
	upgrade)
		new=${installed:-uninstalled}
		[ -z "$change" ] || new=${change##* }
		noop_object old_version "${installed:-uninstalled}" version "$new" change "$change"
		;;
	*)
		if [ -n "$installed" ] && [ -n "$latest" ] && [ "$latest" != "$installed" ]; then
			noop_object status installed version "$installed" latest "$latest" change "$change"
		elif [ -n "$installed" ]; then
			noop_object status installed version "$installed" change "$change"
		else
			noop_object status uninstalled version '' change "$change"
		fi
		;;
	esac
}

case $action:$name in
install:/* | *:[!/]*) ;;
*) fail "$action takes the name of a package, not a file: $name" 255 ;;
esac
if [ "${PT__noop-}" = true ]; then
	noop
	exit 0
fi
case $action in
status) status ;;
install)
	"${manager}_install"
	status
	;;
uninstall)
	uninstalled=uninstalled
	"${manager}_uninstall"
	json_object status "$uninstalled"
	;;
upgrade)
	old=$("${manager}_installed")
	"${manager}_upgrade"
	new=$("${manager}_installed")
	json_object old_version "${old:-uninstalled}" version "${new:-uninstalled}"
	;;
esac
