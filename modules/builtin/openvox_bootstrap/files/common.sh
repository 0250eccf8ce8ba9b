# Functions that the tasks of openvox_bootstrap share. A task sets task to its
# own name, and reads sh_task_helper/files/task_helper.sh before this file.

# say TEXT: adds a line to the output of the task.
log=
say() {
	log=$log$1$newline
}

# finish: ends the task. Its output is the text that say collected.
finish() {
	json_object _output "$log"
	exit 0
}

# fail MESSAGE: ends the task with an error.
fail() {
	printf '{"_output":'
	json_string "$log"
	printf ',"_error":{"kind":"openvox_bootstrap/%s-error","msg":' "$task"
	json_string "$1"
	printf ',"details":{}}}\n'
	exit 1
}

# given VALUE DEFAULT: prints the value of a parameter, or the default if the
# parameter is not set. The value undef of a plan arrives as null.
given() {
	case $1 in
	'' | null) printf '%s' "$2" ;;
	*) printf '%s' "$1" ;;
	esac
}

# source_url NAME URL: ends the task if the URL of a source cannot be used.
source_url() {
	case $2 in
	http://* | https://* | file:///*) only "$1" "$2" 'A-Za-z0-9._~:/?#@!$&()*+,;=%-' ;;
	*) fail "$1 must be a URL of http, https or file: $2" ;;
	esac
}

# puppet_program: prints the path of Puppet. OpenVox installs it into
# /opt/puppetlabs, which is on PATH only after the next login.
puppet_program() {
	if [ -x /opt/puppetlabs/bin/puppet ]; then
		printf /opt/puppetlabs/bin/puppet
	else
		command -v puppet
	fi
}

# platform: sets family and release to the parts that OpenVox uses in the names
# of its packages, and kind to the kind of package.
platform() {
	kind=rpm release=$os_major
	case $os_name in
	Amazon) family=amazon ;;
	RedHat | CentOS | Scientific | OracleLinux | Rocky | AlmaLinux) family=el ;;
	Fedora) family=fedora ;;
	SLES) family=sles ;;
	Debian)
		family=debian kind=deb
		# A Debian that is not released yet has a codename and no version.
		case $os_major:$os_codename in
		[0123456789]*) ;;
		*:*trixie*) release=13 ;;
		*:*forky*) release=14 ;;
		*) release= ;;
		esac
		;;
	Ubuntu) family=ubuntu kind=deb release=$os_full ;;
	*) fail "OpenVox has no packages for the platform ${os_name:-unknown} $os_full" ;;
	esac
	[ -n "$release" ] || fail "the version of the platform $os_name is unknown"
	only 'the version of the platform' "$release" 'A-Za-z0-9.'
}

# needs_root: ends the task if the user cannot install packages.
needs_root() {
	[ "$(id -u)" = 0 ] || fail 'only root can install packages. Connect as root, or use --run-as root'
}

# download URL FILE: copies the content of a URL to a file.
download() {
	case $1:$(first_of curl wget) in
	file://*) must cp "${1#file://}" "$2" ;;
	*:curl) must curl --fail --silent --show-error --location --retry 3 --output "$2" "$1" ;;
	*:wget) must wget -q -O "$2" "$1" ;;
	*) fail "download of $1: neither curl nor wget is installed" ;;
	esac
	[ -s "$2" ] || fail "download of $1: the file is empty"
	say "Downloaded $1."
}

# manager: sets manager to the package manager of the platform.
manager() {
	case $kind in
	deb) set -- apt-get ;;
	*) set -- dnf yum zypper ;;
	esac
	manager=$(first_of "$@") || fail "no package manager found: $*"
}

# package_manager ARGUMENT...: runs the package manager without questions.
package_manager() {
	case $manager in
	apt-get) must env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=60 "$@" ;;
	zypper) must zypper --non-interactive "$@" ;;
	*) must "$manager" -y "$@" ;;
	esac
}

# install_file FILE: installs the package in a file. An older version replaces a
# newer one. Zypper checks the signature of such a file, for which it has no key
# yet; the other package managers do not check it.
install_file() {
	case $manager in
	apt-get) package_manager install --allow-downgrades "$1" ;;
	zypper) package_manager --no-gpg-checks install --oldpackage "$1" ;;
	*) package_manager install "$1" ;;
	esac
}
