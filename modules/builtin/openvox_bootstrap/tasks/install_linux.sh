#!/bin/sh
# Installs a package of OpenVox. The release package of the collection, which
# sets up the package repository, is installed first.
. "$PT__installdir/sh_task_helper/files/task_helper.sh"
. "$PT__installdir/sh_task_helper/files/os.sh"
task=install
. "$PT__installdir/openvox_bootstrap/files/common.sh"

package=$(given "${PT_package-}" openvox-agent)
version=$(given "${PT_version-}" latest)
collection=$(given "${PT_collection-}" openvox8)
apt_source=$(given "${PT_apt_source-}" https://apt.voxpupuli.org)
yum_source=$(given "${PT_yum_source-}" https://yum.voxpupuli.org)
stop_service=$(given "${PT_stop_service-}" false)

plain package "$package"
only package "$package" 'a-z0-9.+-'
plain version "$version"
only version "$version" 'A-Za-z0-9.+~:_-'
plain collection "$collection"
only collection "$collection" 'a-z0-9.-'
source_url apt_source "$apt_source"
source_url yum_source "$yum_source"
service=
case $stop_service:$package in
false:*) ;;
true:openvox-agent) service=puppet ;;
true:openvoxdb) service=puppetdb ;;
true:openvox-server) service=puppetserver ;;
true:*) fail "stop_service: the service of the package $package is unknown" ;;
*) fail "stop_service must be true or false: $stop_service" ;;
esac

# An agent that is installed is replaced only by a version that was asked for.
if [ "$package" = openvox-agent ]; then
	if [ -r /opt/puppetlabs/puppet/VERSION ]; then
		installed=$(cat /opt/puppetlabs/puppet/VERSION)
	else
		installed=$(puppet --version 2>/dev/null) || installed=
	fi
	case $installed:$version in
	:*) ;;
	*:latest | "$version:$version")
		say "Version $installed of the agent is installed already."
		finish
		;;
	esac
fi

platform
case $kind in
deb) url=$apt_source/$collection-release-$family$release.deb ;;
*) url=$yum_source/$collection-release-$family-$release.noarch.rpm ;;
esac
needs_root
manager
download "$url" "$PT__installdir/${url##*/}"
install_file "$PT__installdir/${url##*/}"
case $manager in
apt-get) package_manager update ;;
zypper) package_manager --gpg-auto-import-keys refresh ;;
*) package_manager clean expire-cache ;;
esac

case $manager:$version in
apt-get:latest | dnf:latest | yum:latest | zypper:latest) package_manager install "$package" ;;
apt-get:*-*) package_manager install --allow-downgrades "$package=$version" ;;
apt-get:*) package_manager install --allow-downgrades "$package=$version-1+$family$release" ;;
zypper:*) package_manager install --oldpackage "$package=$version" ;;
*) package_manager install "$package-$version" ;;
esac
say "Installed $package, version $version, from the collection $collection."

if [ -n "$service" ]; then
	puppet=$(puppet_program) || fail "cannot stop the service $service: puppet is not installed"
	must "$puppet" resource service "$service" ensure=stopped enable=false
	say "Stopped and disabled the service $service."
fi
finish
